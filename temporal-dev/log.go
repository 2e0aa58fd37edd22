package main

import (
	"os"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes the server's log to stderr, without stack traces: stdout carries the
// ready line alone.
func newLogger(level, format string) log.Logger {
	if level == "never" {
		return log.NewNoopLogger()
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder := zapcore.NewJSONEncoder(encoding)
	if format != "json" {
		encoder = zapcore.NewConsoleEncoder(encoding)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), log.ParseZapLevel(level))
	return log.NewZapLogger(zap.New(core))
}
