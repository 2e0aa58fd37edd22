package app

import "net/http"

// whileDraining asks senders on kept connections to connect anew, once the server
// drains: their balancer then finds another process. Closing the connections would
// cut off whatever is already on its way over them.
func (s *Server) whileDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
