package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// Error classes.
var (
	// ErrCorrupt: the file is no index, or is damaged. Aside puts it away.
	ErrCorrupt = errors.New("index is damaged")
	// ErrNewer: a newer release made it.
	ErrNewer = errors.New("index was made by a newer release")
)

// Lost names what goes with an index and cannot be read from the store again.
var Lost = []string{
	"when environments were last used (all count as used now)",
	"who asked for which locks and environments before (budgets begin at nothing)",
}

// Index of one store. Its methods may be called by several goroutines.
type Index struct {
	path string
	db   *sql.DB
	// writing is held by whoever writes.
	writing chan struct{}
	// Fresh: there was none; what it holds has to be read from the store.
	Fresh bool
}

// migrations make a layout from the one before, the first from nothing. One that was
// released is never changed; the number of those that ran is the file's user_version.
var migrations = []string{`
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE packages (
	id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, name TEXT NOT NULL, version TEXT NOT NULL, build TEXT NOT NULL);
CREATE INDEX packages_by_name ON packages (name, version);
CREATE TABLE environments (
	row INTEGER PRIMARY KEY, id TEXT NOT NULL, platform TEXT NOT NULL, grp INTEGER NOT NULL,
	name TEXT NOT NULL, lock TEXT NOT NULL, created INTEGER NOT NULL, last_use INTEGER NOT NULL,
	bytes INTEGER NOT NULL, inodes INTEGER NOT NULL, tree INTEGER NOT NULL, image INTEGER NOT NULL,
	described TEXT NOT NULL, summary BLOB NOT NULL,
	UNIQUE (id, platform, grp));
CREATE INDEX environments_by_lock ON environments (lock);
CREATE INDEX environments_by_use ON environments (last_use);
CREATE TABLE holds (
	environment INTEGER NOT NULL REFERENCES environments (row) ON DELETE CASCADE, package INTEGER NOT NULL REFERENCES packages (id),
	PRIMARY KEY (environment, package)) WITHOUT ROWID;
CREATE INDEX holds_by_package ON holds (package);
CREATE TABLE requests (
	id INTEGER PRIMARY KEY, at INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,
	lock TEXT NOT NULL, environments TEXT NOT NULL, seconds REAL NOT NULL, packages_new INTEGER NOT NULL, bytes INTEGER NOT NULL,
	outcome TEXT NOT NULL);
CREATE INDEX requests_by_time ON requests (at);
CREATE INDEX requests_by_lock ON requests (lock);
CREATE INDEX requests_by_user ON requests (uid, at);
`, `
CREATE TABLE wants (
	uid INTEGER NOT NULL, gid INTEGER NOT NULL, id TEXT NOT NULL, platform TEXT NOT NULL, at INTEGER NOT NULL,
	PRIMARY KEY (uid, id, platform)) WITHOUT ROWID;
CREATE INDEX wants_by_environment ON wants (id, platform);
`}

// Open opens the index at path, makes it if it is not there, and brings an older layout
// to this one. What SQLite finds wrong with the file is of class ErrCorrupt; a layout of
// a newer release is of class ErrNewer. The directory must be there.
func Open(ctx context.Context, path string) (*Index, error) {
	_, err := os.Stat(path)
	fresh := errors.Is(err, os.ErrNotExist)
	// A commit is in the log, and the log is durable, before it is answered: last use and
	// history survive a power cut.
	options := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"on"}, "_busy_timeout": {"10000"}, "_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?"+options.Encode())
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", path, err)
	}
	// Readers beside one writer; each has a page cache of its own.
	db.SetMaxOpenConns(4)
	x := &Index{path: path, db: db, Fresh: fresh, writing: make(chan struct{}, 1)}
	if err := x.prepare(ctx); err != nil {
		return nil, errors.Join(x.classify(err), db.Close())
	}
	return x, nil
}

// prepare checks the file and brings it up to date.
func (x *Index) prepare(ctx context.Context) error {
	var found string
	// quick_check reads every page; of 10,000 environments that is some 30 MB.
	if err := x.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, found)
	}
	var version int
	if err := x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("%w: it has layout %d, this one reads %d\nnext: start the newer hpcenvd, or remove the file: all but %s is read from the store again", ErrNewer, version, len(migrations), Lost[0])
	}
	for ; version < len(migrations); version++ {
		if err := x.migrate(ctx, version); err != nil {
			return fmt.Errorf("layout %d: %w", version+1, err)
		}
	}
	return nil
}

func (x *Index) migrate(ctx context.Context, from int) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, migrations[from]); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(from+1))
		return err
	})
}

// classify gives what SQLite says of a damaged file its class, and every error the path.
func (x *Index) classify(err error) error {
	if err == nil {
		return nil
	}
	var s sqlite3.Error
	if errors.As(err, &s) && (s.Code == sqlite3.ErrCorrupt || s.Code == sqlite3.ErrNotADB) {
		return fmt.Errorf("index %s: %w: %w", x.path, ErrCorrupt, err)
	}
	return fmt.Errorf("index %s: %w", x.path, err)
}

// write does work in one transaction.
func (x *Index) write(ctx context.Context, work func(*sql.Tx) error) error {
	// One at a time: SQLite lets writers that meet sleep, for longer each time, and 50
	// submissions a second meet.
	select {
	case x.writing <- struct{}{}:
		defer func() { <-x.writing }()
	case <-ctx.Done():
		return fmt.Errorf("index %s: %w", x.path, context.Cause(ctx))
	}
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return x.classify(err)
	}
	if err := work(tx); err != nil {
		return errors.Join(x.classify(err), tx.Rollback())
	}
	return x.classify(tx.Commit())
}

// Close ends the use of the index.
func (x *Index) Close() error { return x.db.Close() }

// Path of the file.
func (x *Index) Path() string { return x.path }

// Check looks through the whole file, its indices too. Errors are of class ErrCorrupt
// and name the first ten faults.
func (x *Index) Check(ctx context.Context) (err error) {
	rows, err := x.db.QueryContext(ctx, "PRAGMA integrity_check(10)")
	if err != nil {
		return x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var faults []error
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return x.classify(err)
		}
		if line != "ok" {
			faults = append(faults, errors.New(line))
		}
	}
	if err := rows.Err(); err != nil {
		return x.classify(err)
	}
	if len(faults) > 0 {
		return x.classify(fmt.Errorf("%w: %w", ErrCorrupt, errors.Join(faults...)))
	}
	return nil
}

// Aside puts a damaged index away under a name with the time, so that a new one can be
// made and somebody can look at the old, and returns that name.
func Aside(path string, now time.Time) (string, error) {
	aside := path + "." + now.UTC().Format("20060102T150405Z") + ".damaged"
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("index: %w", err)
	}
	var errs []error
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	// The name of the new one must not appear beside the old log after a power cut.
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	return aside, errors.Join(append(errs, err)...)
}
