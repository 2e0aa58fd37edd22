// Package page lays the admin API's answers out for a terminal: plain text, readable in 100 columns, times
// in UTC. What a sender chose (ids, types, errors) is cleaned, so that it cannot steer the terminal.
package page
