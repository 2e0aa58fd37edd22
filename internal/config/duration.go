package config

import "time"

// duration reads a time such as 5s or 1m30s, from nothing to most.
func (o *object) duration(key string, fallback, most time.Duration) time.Duration {
	value, at, ok := o.scalar(key)
	if !ok {
		return fallback
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > most {
		o.r.problem(at.line, at.path, "must be a time from 0s to %s, such as 5s", most)
		return fallback
	}
	return d
}
