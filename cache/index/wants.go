package index

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Owned is an environment with when a user asked for it last.
type Owned struct {
	Environment
	Asked time.Time
}

// Want notes that a user with a primary group asked for environments.
func (x *Index) Want(ctx context.Context, uid, gid int, at time.Time, envs []Key) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		for _, e := range envs {
			_, err := tx.ExecContext(ctx, `INSERT INTO wants (uid, gid, id, platform, at) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (uid, id, platform) DO UPDATE SET gid = excluded.gid, at = max(at, excluded.at)`, uid, gid, e.ID, e.Platform, at.Unix())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Usage sums up the environments that are there and that a user, or anybody with a
// primary group, asked for, each once; the other is nil.
func (x *Index) Usage(ctx context.Context, uid, gid *int) (environments int, bytes, inodes int64, err error) {
	column, value := "uid", uid
	if uid == nil {
		column, value = "gid", gid
	}
	err = x.db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(inodes), 0) FROM environments e
		WHERE EXISTS (SELECT 1 FROM wants w WHERE w.id = e.id AND w.platform = e.platform AND w.`+column+` = ?)`, *value).Scan(&environments, &bytes, &inodes)
	return environments, bytes, inodes, x.classify(err)
}

// Owned returns the environments that are there and that a user asked for, the latest
// asked for first, without their packages.
func (x *Index) Owned(ctx context.Context, uid int) (_ []Owned, err error) {
	rows, err := x.db.QueryContext(ctx, `SELECT e.id, e.platform, e.grp, e.name, e.lock, e.bytes, e.inodes, w.at FROM wants w
		JOIN environments e ON e.id = w.id AND e.platform = w.platform WHERE w.uid = ? ORDER BY w.at DESC, e.id, e.platform`, uid)
	if err != nil {
		return nil, x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []Owned{}
	for rows.Next() {
		var o Owned
		var at int64
		if err := rows.Scan(&o.ID, &o.Platform, &o.Group, &o.Name, &o.LockDigest, &o.Bytes, &o.Inodes, &at); err != nil {
			return nil, x.classify(err)
		}
		o.Asked = time.Unix(at, 0).UTC()
		out = append(out, o)
	}
	return out, x.classify(rows.Err())
}

// GiveUp forgets that a user asked for an environment, on all platforms.
func (x *Index) GiveUp(ctx context.Context, uid int, id string) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM wants WHERE uid = ? AND id = ?", uid, id)
		return err
	})
}
