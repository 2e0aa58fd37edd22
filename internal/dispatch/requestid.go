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
func requestID(s store.Start) string { return rowID(s.Ref.ReceiptID, s.OutboxID) }

func rowID(receiptID string, outboxID int64) string {
	return receiptID + "/" + strconv.FormatInt(outboxID, 10)
}

type requestIDKey struct{}

// withRequestID makes a start or a signal made with ctx carry the request id.
func withRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestIDInterceptor gives starts and signals the request ID of their outbox
// row, so that a repeated one is recognized by Temporal as the same. The client must
// be dialled with it: grpc.WithChainUnaryInterceptor(RequestIDInterceptor()).
func RequestIDInterceptor() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if id, ok := ctx.Value(requestIDKey{}).(string); ok {
			switch request := req.(type) {
			case *workflowservice.StartWorkflowExecutionRequest:
				request.RequestId = id
			case *workflowservice.SignalWorkflowExecutionRequest:
				request.RequestId = id
			}
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}
