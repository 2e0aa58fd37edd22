package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook/internal/devstack"
)

// Empty returns the URL of a new empty database, which is dropped when the test ends.
func Empty(t testing.TB) string {
	t.Helper()
	return create(t, Server(t), "template0")
}

// Template returns the URL of a new copy of a database that prepare fills once per test binary and name; the copy is
// dropped when the test ends. prepare must leave no connection open.
func Template(t testing.TB, name string, prepare func(url string) error) string {
	t.Helper()
	server := Server(t)
	tmpl := cluster.template(name)
	tmpl.once.Do(func() { tmpl.err = tmpl.make(server, prepare) })
	if tmpl.err != nil {
		t.Fatalf("pgtest: prepare template %q: %v", name, tmpl.err)
	}
	return create(t, server, tmpl.database)
}

// template is a database that others are copied from.
type template struct {
	once     sync.Once
	database string
	err      error
}

func (c *sharedServer) template(name string) *template {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.templates == nil {
		c.templates = map[string]*template{}
	}
	if c.templates[name] == nil {
		c.templates[name] = &template{database: fmt.Sprintf("template_%d", len(c.templates))}
	}
	return c.templates[name]
}

func (tmpl *template) make(server *devstack.Postgres, prepare func(url string) error) error {
	if err := exec(server, "CREATE DATABASE "+quote(tmpl.database)+" TEMPLATE template0"); err != nil {
		return err
	}
	if err := prepare(server.URL(tmpl.database)); err != nil {
		return err
	}
	// A connection to it would make copying fail.
	return exec(server, "ALTER DATABASE "+quote(tmpl.database)+" ALLOW_CONNECTIONS false")
}

// create makes a database and drops it, with whatever is still connected to it, when the test ends.
func create(t testing.TB, server *devstack.Postgres, from string) string {
	t.Helper()
	cluster.mu.Lock()
	cluster.databases++
	name := fmt.Sprintf("test_%d", cluster.databases)
	cluster.mu.Unlock()
	if err := exec(server, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(from)); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := exec(server, "DROP DATABASE "+quote(name)+" WITH (FORCE)"); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return server.URL(name)
}

// exec runs one statement on a connection of its own, so that this package holds none between calls.
func exec(server *devstack.Postgres, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func quote(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }

// DatabaseName returns the name of the database in a URL, for tests that address it from another connection.
func DatabaseName(t testing.TB, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal("pgtest: not a database URL")
	}
	return u.Path[1:]
}
