package config

import (
	"log/slog"
	"strings"
)

// Telemetry says where a process shows how it fares.
type Telemetry struct {
	// Addr is where `work` and `serve --only ingress` answer /livez, /readyz and
	// /metrics; "" means nowhere. The admin listener does it anyway.
	Addr string
}

// Log configures the log.
type Log struct {
	// Level is the least severe level that is written.
	Level slog.Level
}

func (r *reader) telemetry(o *object) Telemetry {
	t := Telemetry{Addr: o.optionalAddress("addr", "127.0.0.1:9464")}
	o.done()
	return t
}

// optionalAddress reads host:port, or "". example is for the message.
func (o *object) optionalAddress(key, example string) string {
	value, _, ok := o.scalar(key)
	o.known = o.known[:len(o.known)-1] // address takes it again
	if !ok || value == "" {
		o.take(key)
		return ""
	}
	return o.address(key, example)
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

func (r *reader) log(o *object) Log {
	var l Log
	if value, at, ok := o.scalar("level"); ok {
		if l.Level, ok = levels[value]; !ok {
			r.problem(at.line, at.path, "must be debug, info, warn or error")
		}
	}
	o.done()
	return l
}

type telemetryView struct {
	Addr string `yaml:"addr"`
}

type logView struct {
	Level string `yaml:"level"`
}

func viewLog(l Log) logView { return logView{Level: strings.ToLower(l.Level.String())} }
