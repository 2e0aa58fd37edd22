package dispatch

import (
	"context"
	"strconv"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/oncehook/oncehook/internal/store"
)

// requestID names the row. Its number alone would not: a database that was
// restored or made anew gives it out again, and Temporal would take the new start
// for the old run's, which it is not.
func requestID(s store.Start) string {
	return s.Ref.ReceiptID + "/" + strconv.FormatInt(s.OutboxID, 10)
}

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
