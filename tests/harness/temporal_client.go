package harness

import "go.temporal.io/sdk/client"

// Client is a client of the server, for what a person does by its UI or its
// command line. It is closed at the test's end.
func (s *Temporal) Client() client.Client {
	s.t.Helper()
	c := s.client()
	s.t.Cleanup(c.Close)
	return c
}
