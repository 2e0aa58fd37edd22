// Package drain finds out when a system has nothing left that it could do now: the
// outbox has nothing due, and Temporal says of every open run that it waits, for a
// signal, a timer or a retry that is due later.
package drain
