package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
)

const (
	defaultPort      = 7233
	defaultNamespace = "default"
)

// options is the parsed command line of "server start-dev".
type options struct {
	// IP is the loopback address every listener binds to.
	IP string
	// Port is the frontend's gRPC port; 0 asks for a free one.
	Port int
	// UIPort is the web UI's port; 0 asks for a free one. Defaults to Port + 1000.
	UIPort int
	// UICodecEndpoint is the URL with which the web UI's pages decrypt payloads.
	UICodecEndpoint string
	// Headless leaves the web UI out.
	Headless bool
	// Namespaces exist once the server is ready. "default" is always among them.
	Namespaces []string
	// DBFilename is the SQLite file; empty keeps everything in memory.
	DBFilename string
	// SearchAttributes exist in every namespace of Namespaces once the server is ready.
	SearchAttributes map[string]enumspb.IndexedValueType
	// DynamicConfig overrides the dynamic configuration of settings.go, by key.
	DynamicConfig map[string]any
	LogLevel      string
	LogFormat     string
}

// flagSet declares the flags, named and spelled as the Temporal CLI has them.
func (o *options) flagSet() *flag.FlagSet {
	o.SearchAttributes = map[string]enumspb.IndexedValueType{}
	o.DynamicConfig = map[string]any{}
	o.Namespaces = []string{defaultNamespace}
	flags := flag.NewFlagSet("temporal-dev server start-dev", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.IP, "ip", "127.0.0.1", "loopback `address` to listen on")
	flags.IntVar(&o.Port, "port", defaultPort, "`port` of the gRPC frontend, 0 for a free one")
	flags.IntVar(&o.UIPort, "ui-port", -1, "`port` of the web UI, 0 for a free one (default port + 1000)")
	flags.StringVar(&o.UICodecEndpoint, "ui-codec-endpoint", "", "`URL` of a codec server for the web UI")
	flags.BoolVar(&o.Headless, "headless", false, "run without the web UI")
	flags.StringVar(&o.DBFilename, "db-filename", "", "SQLite `file` to keep everything in (default in memory)")
	flags.StringVar(&o.LogLevel, "log-level", "warn", "debug, info, warn, error or never")
	flags.StringVar(&o.LogFormat, "log-format", "text", "text or json")
	flags.Func("namespace", "`name` of a namespace that shall exist besides default; repeatable", o.addNamespace)
	flags.Func("search-attribute", "`Name=Type` of a search attribute that shall exist; repeatable", o.addSearchAttribute)
	flags.Func("dynamic-config-value", "`KEY=JSON` of the server's dynamic configuration; repeatable", o.addDynamicConfig)
	return flags
}

// parseOptions parses and checks the arguments after "server start-dev". It returns
// flag.ErrHelp when help was asked for.
func parseOptions(args []string) (options, error) {
	var o options
	flags := o.flagSet()
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := o.check(); err != nil {
		return options{}, err
	}
	return o, nil
}

func (o *options) check() error {
	if o.IP == "localhost" {
		o.IP = "127.0.0.1"
	}
	// The server has no authentication at all, so it must not be reachable from outside.
	if ip := net.ParseIP(o.IP); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--ip %s is not a loopback address; temporal-dev listens on loopback only", o.IP)
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("--port %d is not a port", o.Port)
	}
	if o.UIPort < -1 || o.UIPort > 65535 {
		return fmt.Errorf("--ui-port %d is not a port", o.UIPort)
	}
	if u, err := url.Parse(o.UICodecEndpoint); err != nil || (o.UICodecEndpoint != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https")) {
		return errors.New("--ui-codec-endpoint is not an http or https URL")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error", "never"}, o.LogLevel) {
		return fmt.Errorf("--log-level %s is none of debug, info, warn, error, never", o.LogLevel)
	}
	// "pretty" is what older SDK starters pass for text.
	if !slices.Contains([]string{"text", "pretty", "json"}, o.LogFormat) {
		return fmt.Errorf("--log-format %s is none of text, json", o.LogFormat)
	}
	return nil
}

func (o *options) addNamespace(name string) error {
	if name == "" {
		return errors.New("empty name")
	}
	if !slices.Contains(o.Namespaces, name) {
		o.Namespaces = append(o.Namespaces, name)
	}
	return nil
}

func (o *options) addSearchAttribute(s string) error {
	name, typeName, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("expected Name=Type")
	}
	for number, known := range enumspb.IndexedValueType_name {
		value := enumspb.IndexedValueType(number)
		if value == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
			continue
		}
		if strings.EqualFold(typeName, known) || strings.EqualFold(typeName, value.String()) {
			o.SearchAttributes[name] = value
			return nil
		}
	}
	return fmt.Errorf("unknown type %q; known are Text, Keyword, Int, Double, Bool, Datetime, KeywordList", typeName)
}

func (o *options) addDynamicConfig(s string) error {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("expected KEY=JSON")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("value is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("value is more than one JSON value")
	}
	o.DynamicConfig[key] = plainNumbers(value)
	return nil
}

// plainNumbers turns JSON numbers into int where they are whole, else float64: the
// dynamic configuration reads counts as int only.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return int(whole)
		}
		fraction, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return fraction
	case map[string]any:
		for name, member := range v {
			v[name] = plainNumbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = plainNumbers(element)
		}
	}
	return value
}
