package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// readyTimeout bounds the time from the start of the services to the ready line.
	readyTimeout = 60 * time.Second
	pollInterval = 25 * time.Millisecond
	// probeName is a workflow ID and a task queue that nobody uses.
	probeName = "temporal-dev-ready-probe"
)

// createNamespaces adds missing namespaces to the database before the server runs, so
// that they are known to it from its first instant.
func createNamespaces(store *config.SQL, names []string) error {
	namespaces := make([]*sqliteschema.NamespaceConfig, 0, len(names))
	for _, name := range names {
		namespace, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, nil)
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
		namespace.Detail.Config.Retention = durationpb.New(retention)
		namespaces = append(namespaces, namespace)
	}
	if err := sqliteschema.CreateNamespaces(store, namespaces...); err != nil {
		return fmt.Errorf("create namespaces: %w", err)
	}
	return nil
}

// setup brings a running server to what the command line asked for and waits until a
// caller can rely on it.
type setup struct {
	workflows  workflowservice.WorkflowServiceClient
	operator   operatorservice.OperatorServiceClient
	attributes map[string]enumspb.IndexedValueType
}

// finishSetup returns once every namespace has its retention and search attributes and
// all services answer for it.
func finishSetup(ctx context.Context, frontend string, o options) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient(frontend,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(asServer))
	if err != nil {
		return fmt.Errorf("connect to frontend: %w", err)
	}
	defer func() { _ = conn.Close() }()
	s := setup{
		workflows:  workflowservice.NewWorkflowServiceClient(conn),
		operator:   operatorservice.NewOperatorServiceClient(conn),
		attributes: o.SearchAttributes,
	}
	for _, namespace := range o.Namespaces {
		for _, step := range []func(context.Context, string) error{
			s.setRetention, s.addSearchAttributes, s.querySearchAttributes, s.reachServices,
		} {
			if err := poll(ctx, func() error { return step(ctx, namespace) }); err != nil {
				return fmt.Errorf("set up namespace %s: %w", namespace, err)
			}
		}
	}
	return nil
}

// asServer marks calls as the server's own, which the gate lets pass.
func asServer(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(headers.SetVersions(ctx), method, req, reply, conn, opts...)
}

func (s setup) setRetention(ctx context.Context, namespace string) error {
	described, err := s.workflows.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	if described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == retention {
		return nil
	}
	_, err = s.workflows.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	return err
}

// addSearchAttributes adds those that the namespace lacks and reports errNotYet until
// they are listed. One that exists with another type is an error for good.
func (s setup) addSearchAttributes(ctx context.Context, namespace string) error {
	if len(s.attributes) == 0 {
		return nil
	}
	listed, err := s.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := maps.Clone(s.attributes)
	for name, want := range s.attributes {
		have, ok := listed.GetCustomAttributes()[name]
		if ok && have != want {
			return permanentError{fmt.Errorf("search attribute %s is %s there, asked for as %s", name, have, want)}
		}
		if ok {
			delete(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = s.operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: missing,
	})
	if status.Code(err) == codes.InvalidArgument {
		return permanentError{errors.New(status.Convert(err).Message())}
	}
	if err != nil {
		return err
	}
	return errNotYet
}

// querySearchAttributes proves that visibility knows each search attribute. Until it does
// it calls the query invalid.
func (s setup) querySearchAttributes(ctx context.Context, namespace string) error {
	for name := range s.attributes {
		_, err := s.workflows.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: namespace,
			Query:     fmt.Sprintf("`%s` IS NOT NULL", name),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reachServices proves that history and matching answer for the namespace.
func (s setup) reachServices(ctx context.Context, namespace string) error {
	_, err := s.workflows.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: probeName},
	})
	if err != nil && status.Code(err) != codes.NotFound {
		return err
	}
	_, err = s.workflows.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace,
		TaskQueue: &taskqueuepb.TaskQueue{Name: probeName},
	})
	return err
}

var errNotYet = errors.New("not there yet")

// permanentError marks what waiting cannot mend.
type permanentError struct{ error }

// poll calls step until it succeeds, fails for good, or ctx ends.
func poll(ctx context.Context, step func() error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := step()
		var permanent permanentError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &permanent):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting: %w", err)
		case <-ticker.C:
		}
	}
}
