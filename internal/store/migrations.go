package store

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one SQL file. Its first line states the oldest binary, by the
// newest migration that it knows, which works with the schema after this one:
//
//	-- serves-from: 3
//
// Without such a line only binaries that know the migration itself are served.
type migration struct {
	version    int64
	name       string
	checksum   string
	servesFrom int64
}

const servesFromPrefix = "-- serves-from:"

func ownMigrations() (fs.FS, []migration, error) {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, nil, err
	}
	list, err := readMigrations(sub)
	return sub, list, err
}

// readMigrations lists the migrations in a folder by version.
func readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]migration, 0, len(names))
	for _, name := range names {
		m, err := readMigration(files, name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b migration) int { return int(a.version - b.version) })
	return list, nil
}

func readMigration(files fs.FS, name string) (migration, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return migration{}, err
	}
	number, _, _ := strings.Cut(path.Base(name), "_")
	version, err := strconv.ParseInt(number, 10, 32)
	if err != nil || version < 1 {
		return migration{}, fmt.Errorf("the name does not begin with a version")
	}
	sum := sha256.Sum256(text)
	m := migration{version: version, name: name, checksum: hex.EncodeToString(sum[:]), servesFrom: version}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if value, ok := strings.CutPrefix(string(first), servesFromPrefix); ok {
		m.servesFrom, err = strconv.ParseInt(strings.TrimSpace(value), 10, 32)
		if err != nil || m.servesFrom < 1 || m.servesFrom > version {
			return migration{}, fmt.Errorf("serves-from is not a version from 1 to its own")
		}
	}
	return m, nil
}
