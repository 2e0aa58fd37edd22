package dispatch

import (
	"context"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

type requestIDKey struct{}

// withRequestID makes a start made with ctx carry the request id.
func withRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestIDInterceptor gives starts the request ID of their outbox row, so that
// a repeated start is recognized by Temporal as the same one. The client must
// be dialled with it: grpc.WithChainUnaryInterceptor(RequestIDInterceptor()).
func RequestIDInterceptor() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if start, ok := req.(*workflowservice.StartWorkflowExecutionRequest); ok {
			if id, ok := ctx.Value(requestIDKey{}).(string); ok {
				start.RequestId = id
			}
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}
