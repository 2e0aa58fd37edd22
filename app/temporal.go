package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/dispatch"
)

// temporalServer returns options that say which server and namespace: a profile of
// the shared Temporal configuration file, overridden by this configuration's address
// and namespace, overridden by TEMPORAL_* in the environment.
func temporalServer(t config.Temporal) (client.Options, error) {
	// A configuration that names an address and no file means just that server;
	// the profile in somebody's home must not lend it an API key.
	alone := t.ConfigFile == "" && t.Address != "" && os.Getenv("TEMPORAL_CONFIG_FILE") == "" && os.Getenv("TEMPORAL_PROFILE") == ""
	request := envconfig.LoadClientOptionsRequest{DisableFile: alone, ConfigFileStrict: true}
	if !alone {
		request.ConfigFilePath = t.ConfigFile
		if os.Getenv("TEMPORAL_PROFILE") == "" && t.ConfigFile != "" {
			request.ConfigFileProfile = t.Profile
		}
	}
	options, err := envconfig.LoadClientOptions(request)
	if err != nil {
		return client.Options{}, fmt.Errorf("load the temporal configuration: %w", err)
	}
	if t.Address != "" && os.Getenv("TEMPORAL_ADDRESS") == "" {
		options.HostPort = t.Address
	}
	if t.Namespace != "" && os.Getenv("TEMPORAL_NAMESPACE") == "" {
		options.Namespace = t.Namespace
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	return options, nil
}

// TemporalOptions returns the options with which the roles connect to Temporal.
func (a *App) TemporalOptions() (client.Options, error) {
	options, err := temporalServer(a.settings.Temporal)
	if err != nil {
		return client.Options{}, err
	}
	a.encrypt(&options)
	if err := a.instrument(&options); err != nil {
		return client.Options{}, err
	}
	options.Logger = log.NewStructuredLogger(a.log)
	options.Identity = "oncehook " + a.process.String()
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(dispatch.RequestIDInterceptor()))
	return options, nil
}

// connect waits until Temporal answers and the namespace has what oncehook
// needs. It returns early only when ctx ends or the namespace is unusable.
func (a *App) connect(ctx context.Context) (client.Client, error) {
	options, err := a.TemporalOptions()
	if err != nil {
		return nil, err
	}
	delay, said := 100*time.Millisecond, time.Time{}
	for {
		c, err := client.DialContext(ctx, options)
		if err == nil {
			err = checkNamespace(ctx, c, options.Namespace)
			if err == nil {
				return c, nil
			}
			c.Close()
			var missing *missingAttributesError
			if errors.As(err, &missing) {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if now := time.Now(); now.Sub(said) >= awayReminder {
			a.log.WarnContext(ctx, "temporal does not answer yet", "address", options.HostPort, "error", err.Error())
			said = now
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
		delay = min(2*delay, 5*time.Second)
	}
}

type missingAttributesError struct {
	namespace string
	names     []string
}

func (e *missingAttributesError) Error() string {
	var flags strings.Builder
	for _, name := range e.names {
		flags.WriteString(" --name " + name + " --type Keyword")
	}
	return fmt.Sprintf("namespace %q lacks search attributes; add them with: temporal operator search-attribute create --namespace %s%s",
		e.namespace, e.namespace, flags.String())
}

// checkNamespace proves that every search attribute of a start is registered.
// A server that does not let us look (Temporal Cloud) is trusted; a start then
// tells.
func checkNamespace(ctx context.Context, c client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		var denied *serviceerror.PermissionDenied
		var unknown *serviceerror.Unimplemented
		if errors.As(err, &denied) || errors.As(err, &unknown) {
			return nil
		}
		return fmt.Errorf("list the search attributes: %w", err)
	}
	missing := slices.DeleteFunc(oncehook.SearchAttributes(), func(name string) bool {
		return have.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD
	})
	if len(missing) > 0 {
		return &missingAttributesError{namespace: namespace, names: missing}
	}
	return nil
}
