package main

import (
	"context"
	"sync/atomic"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/headers"
	"google.golang.org/grpc"
)

// gate keeps callers from outside waiting until the namespaces and search attributes are
// in place: a client that connects can use them at once, and one that was connected
// before a restart never meets a server without them. Refused calls get Unavailable,
// which every SDK retries. The server's own calls pass.
type gate struct {
	open atomic.Bool
}

// intercept is a gRPC interceptor of the frontend.
func (g *gate) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if !g.open.Load() && headers.GetValues(ctx, headers.ClientNameHeaderName)[0] != headers.ClientNameServer {
		return nil, serviceerror.NewUnavailable("temporal-dev is starting")
	}
	return next(ctx, req)
}
