package devstack

import (
	"context"
	"net"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// waitReady returns once the server answers for the namespace and the UI, if there is one, listens.
func (t *Temporal) waitReady(ctx context.Context, cfg TemporalConfig, logStart int64) error {
	defer announceSlow(cfg.Progress, "waiting for Temporal to answer")()
	ctx, cancel := context.WithTimeout(ctx, temporalReady)
	defer cancel()
	conn, err := grpc.NewClient(t.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	return poll(ctx, 25*time.Millisecond, func() (bool, error) {
		if t.process.exited() {
			return false, temporalExit(cfg.LogFile, logStart)
		}
		// The client's own pause between attempts to connect grows to seconds; the server is up sooner.
		conn.ResetConnectBackoff()
		callCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := frontend.DescribeNamespace(callCtx, &workflowservice.DescribeNamespaceRequest{Namespace: cfg.Namespace})
		return err == nil && t.uiListens(), nil
	})
}

func (t *Temporal) uiListens() bool {
	if t.uiURL == "" {
		return true
	}
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(t.uiURL, "http://"), time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
