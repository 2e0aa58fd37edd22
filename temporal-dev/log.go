package main

import (
	"os"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// serverLog is the server's log, on stderr and without stack traces: stdout carries the
// ready line alone.
type serverLog struct {
	log.Logger
	level zap.AtomicLevel
	asked zapcore.Level
}

// newLogger makes a log that is silent until the server has settled.
func newLogger(level, format string) serverLog {
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder := zapcore.NewJSONEncoder(encoding)
	if format != "json" {
		encoder = zapcore.NewConsoleEncoder(encoding)
	}
	l := serverLog{level: zap.NewAtomicLevel(), asked: log.ParseZapLevel(level)}
	if level == "never" {
		// Above fatal: nothing is written, and a fatal error still ends the process.
		l.asked = zapcore.InvalidLevel
	}
	l.settled(false)
	l.Logger = log.NewZapLogger(zap.New(zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), l.level)))
	return l
}

// settled tells whether the server is up and wanted. While it starts and stops, its parts
// miss each other and say so as warnings and errors that mean nothing; only somebody who
// asked for more than warnings sees those.
func (l serverLog) settled(yes bool) {
	if yes || l.asked < zapcore.WarnLevel {
		l.level.SetLevel(l.asked)
		return
	}
	l.level.SetLevel(max(l.asked, zapcore.FatalLevel))
}
