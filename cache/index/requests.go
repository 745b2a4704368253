package index

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Request is one prepare that somebody asked for, and what came of it.
type Request struct {
	At       time.Time
	UID, GID int
	// Lock's digest and the environments that were asked for.
	Lock         string
	Environments []string
	// Seconds it took; PackagesNew and Bytes are what was fetched for it.
	Seconds     float64
	PackagesNew int
	Bytes       int64
	// Outcome is "done", or the first line of the error.
	Outcome string
}

// Asked notes a request.
func (x *Index) Asked(ctx context.Context, r Request) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO requests (at, uid, gid, lock, environments, seconds, packages_new, bytes, outcome)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.At.Unix(), r.UID, r.GID, r.Lock, strings.Join(r.Environments, "\n"), r.Seconds, r.PackagesNew, r.Bytes, r.Outcome)
		return err
	})
}

// RequestQuery narrows Requests; zero values do not.
type RequestQuery struct {
	// UID of who asked; nil = anybody.
	UID *int
	// Lock's digest.
	Lock string
	// Since and Limit bound the answer; 0 = 1000 rows.
	Since time.Time
	Limit int
}

// Requests returns what was asked for, the latest first.
func (x *Index) Requests(ctx context.Context, q RequestQuery) (_ []Request, err error) {
	cond, args := "at >= ?", []any{max(q.Since.Unix(), 0)}
	if q.UID != nil {
		cond, args = cond+" AND uid = ?", append(args, *q.UID)
	}
	if q.Lock != "" {
		cond, args = cond+" AND lock = ?", append(args, q.Lock)
	}
	if q.Limit <= 0 {
		q.Limit = 1000
	}
	rows, err := x.db.QueryContext(ctx, "SELECT at, uid, gid, lock, environments, seconds, packages_new, bytes, outcome FROM requests WHERE "+cond+" ORDER BY at DESC, id DESC LIMIT ?", append(args, q.Limit)...)
	if err != nil {
		return nil, x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []Request{}
	for rows.Next() {
		var r Request
		var at int64
		var envs string
		if err := rows.Scan(&at, &r.UID, &r.GID, &r.Lock, &envs, &r.Seconds, &r.PackagesNew, &r.Bytes, &r.Outcome); err != nil {
			return nil, x.classify(err)
		}
		r.At = time.Unix(at, 0).UTC()
		if envs != "" {
			r.Environments = strings.Split(envs, "\n")
		}
		out = append(out, r)
	}
	return out, x.classify(rows.Err())
}

// Forget removes requests older than a time and returns how many.
func (x *Index) Forget(ctx context.Context, before time.Time) (n int64, err error) {
	err = x.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM requests WHERE at < ?", before.Unix())
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return n, err
}

// reconciled is the key of the time of the last comparison with the store.
const reconciled = "reconciled"

// Reconciled is when the index was last compared with the store; zero = never.
func (x *Index) Reconciled(ctx context.Context) (time.Time, error) {
	var text string
	err := x.db.QueryRowContext(ctx, "SELECT value FROM state WHERE key = ?", reconciled).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, x.classify(err)
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, nil // not ours: compare again
	}
	return at, nil
}

// SetReconciled notes that the index was compared with the store at a time; the zero
// time = it has to be again.
func (x *Index) SetReconciled(ctx context.Context, at time.Time) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		if at.IsZero() {
			_, err := tx.ExecContext(ctx, "DELETE FROM state WHERE key = ?", reconciled)
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", reconciled, at.UTC().Format(time.RFC3339))
		return err
	})
}
