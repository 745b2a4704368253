package index

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Everybody is the group of what everybody may read.
const Everybody = -1

// Environment is one published environment of one platform.
type Environment struct {
	ID       string
	Platform string
	// Group whose part of the store it lies in; Everybody = the store itself.
	Group      int
	Name       string
	LockDigest string
	// Created and LastUse are to the second.
	Created, LastUse time.Time
	// Bytes and Inodes that it takes of the store beyond what it shares.
	Bytes, Inodes int64
	// Tree and Image: the forms in which it is published.
	Tree, Image bool
	// Packages of the environment; Environments leaves them out.
	Packages []Package
	// Described identifies the description that this was read from (its size and time):
	// one that is unchanged need not be read again.
	Described string
	// Summary is what its reader wants told of it; the index does not look inside.
	Summary []byte
}

// Package is a package of an environment.
type Package struct {
	SHA256, Name, Version, Build string
}

// Key names an environment of a platform in a part of the store.
type Key struct {
	ID, Platform string
	Group        int
}

// Key of an environment.
func (e *Environment) Key() Key { return Key{e.ID, e.Platform, e.Group} }

// Put adds environments, or replaces what was known of them; LastUse never goes back.
func (x *Index) Put(ctx context.Context, envs ...Environment) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		p := &putter{ctx: ctx, tx: tx, packages: map[string]int64{}}
		for i := range envs {
			if err := p.put(&envs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// putter remembers, for one transaction, the rows of packages.
type putter struct {
	ctx      context.Context
	tx       *sql.Tx
	packages map[string]int64
}

func (p *putter) put(e *Environment) error {
	var row int64
	err := p.tx.QueryRowContext(p.ctx, `
		INSERT INTO environments (id, platform, grp, name, lock, created, last_use, bytes, inodes, tree, image, described, summary)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id, platform, grp) DO UPDATE SET name = excluded.name, lock = excluded.lock, created = excluded.created,
			last_use = max(last_use, excluded.last_use), bytes = excluded.bytes, inodes = excluded.inodes,
			tree = excluded.tree, image = excluded.image, described = excluded.described, summary = excluded.summary
		RETURNING row`,
		e.ID, e.Platform, e.Group, e.Name, e.LockDigest, e.Created.Unix(), e.LastUse.Unix(), e.Bytes, e.Inodes, e.Tree, e.Image, e.Described, e.Summary).Scan(&row)
	if err != nil {
		return err
	}
	if _, err := p.tx.ExecContext(p.ctx, "DELETE FROM holds WHERE environment = ?", row); err != nil {
		return err
	}
	for _, pkg := range e.Packages {
		id, err := p.pkg(pkg)
		if err != nil {
			return err
		}
		if _, err := p.tx.ExecContext(p.ctx, "INSERT OR IGNORE INTO holds (environment, package) VALUES (?, ?)", row, id); err != nil {
			return err
		}
	}
	return nil
}

func (p *putter) pkg(pkg Package) (id int64, err error) {
	if id = p.packages[pkg.SHA256]; id != 0 {
		return id, nil
	}
	err = p.tx.QueryRowContext(p.ctx, "SELECT id FROM packages WHERE sha256 = ?", pkg.SHA256).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = p.tx.QueryRowContext(p.ctx, "INSERT INTO packages (sha256, name, version, build) VALUES (?, ?, ?, ?) RETURNING id",
			pkg.SHA256, pkg.Name, pkg.Version, pkg.Build).Scan(&id)
	}
	p.packages[pkg.SHA256] = id
	return id, err
}

// Remove forgets environments; those that are not there are no error.
func (x *Index) Remove(ctx context.Context, keys ...Key) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		for _, k := range keys {
			if _, err := tx.ExecContext(ctx, "DELETE FROM environments WHERE id = ? AND platform = ? AND grp = ?", k.ID, k.Platform, k.Group); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM packages WHERE NOT EXISTS (SELECT 1 FROM holds WHERE package = packages.id)")
		return err
	})
}

// Used notes that environments, by id, were used at a time, on whatever platform.
func (x *Index) Used(ctx context.Context, at time.Time, ids ...string) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, "UPDATE environments SET last_use = max(last_use, ?) WHERE id = ?", at.Unix(), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Query narrows what is asked for.
type Query struct {
	// ID is an id or its beginning; "" = all.
	ID string
	// Groups whose parts may be told of, beside what is everybody's; nil = all.
	Groups []int
	// Lock's digest; "" = all.
	Lock string
}

// where is the condition of a query.
func (q Query) where() (string, []any) {
	cond, args := []string{"1"}, []any{}
	if q.ID != "" {
		// The range serves the index, where LIKE would not.
		cond, args = append(cond, "e.id >= ? AND e.id < ?"), append(args, q.ID, q.ID+"g")
	}
	if q.Lock != "" {
		cond, args = append(cond, "e.lock = ?"), append(args, q.Lock)
	}
	if q.Groups != nil {
		marks := "?" + strings.Repeat(", ?", len(q.Groups))
		cond, args = append(cond, "e.grp IN ("+marks+")"), append(args, Everybody)
		for _, g := range q.Groups {
			args = append(args, g)
		}
	}
	return strings.Join(cond, " AND "), args
}

const columns = "e.id, e.platform, e.grp, e.name, e.lock, e.created, e.last_use, e.bytes, e.inodes, e.tree, e.image, e.described, e.summary"

// Environments returns what matches, the newest first, without packages.
func (x *Index) Environments(ctx context.Context, q Query) ([]Environment, error) {
	where, args := q.where()
	return x.environments(ctx, "SELECT "+columns+" FROM environments e WHERE "+where+" ORDER BY e.created DESC, e.id, e.platform, e.grp", args...)
}

// Where returns the environments that have a package, by name, and version unless that
// is ""; with Packages holding those that matched.
func (x *Index) Where(ctx context.Context, q Query, name, version string) (_ []Environment, err error) {
	where, args := q.where()
	match := "p.name = ?"
	args = append(args, name)
	if version != "" {
		match, args = match+" AND p.version = ?", append(args, version)
	}
	rows, err := x.db.QueryContext(ctx, "SELECT "+columns+`, p.sha256, p.name, p.version, p.build FROM environments e
		JOIN holds h ON h.environment = e.row JOIN packages p ON p.id = h.package
		WHERE `+where+" AND "+match+" ORDER BY e.last_use DESC, e.id, e.platform, e.grp, p.version", args...)
	if err != nil {
		return nil, x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []Environment
	for rows.Next() {
		var pkg Package
		e, err := scan(rows, &pkg.SHA256, &pkg.Name, &pkg.Version, &pkg.Build)
		if err != nil {
			return nil, x.classify(err)
		}
		if n := len(out); n > 0 && out[n-1].Key() == e.Key() {
			out[n-1].Packages = append(out[n-1].Packages, pkg)
			continue
		}
		e.Packages = []Package{pkg}
		out = append(out, *e)
	}
	return out, x.classify(rows.Err())
}

// PackagesOf returns the packages of an environment.
func (x *Index) PackagesOf(ctx context.Context, k Key) (_ []Package, err error) {
	rows, err := x.db.QueryContext(ctx, `SELECT p.sha256, p.name, p.version, p.build FROM packages p JOIN holds h ON h.package = p.id
		JOIN environments e ON e.row = h.environment WHERE e.id = ? AND e.platform = ? AND e.grp = ? ORDER BY p.name, p.version`, k.ID, k.Platform, k.Group)
	if err != nil {
		return nil, x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []Package
	for rows.Next() {
		var p Package
		if err := rows.Scan(&p.SHA256, &p.Name, &p.Version, &p.Build); err != nil {
			return nil, x.classify(err)
		}
		out = append(out, p)
	}
	return out, x.classify(rows.Err())
}

func (x *Index) environments(ctx context.Context, query string, args ...any) (_ []Environment, err error) {
	rows, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []Environment{}
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, x.classify(err)
		}
		out = append(out, *e)
	}
	return out, x.classify(rows.Err())
}

// scan reads the columns of one environment, and further ones.
func scan(rows *sql.Rows, more ...any) (*Environment, error) {
	e := new(Environment)
	var created, used int64
	err := rows.Scan(append([]any{&e.ID, &e.Platform, &e.Group, &e.Name, &e.LockDigest, &created, &used, &e.Bytes, &e.Inodes, &e.Tree, &e.Image, &e.Described, &e.Summary}, more...)...)
	e.Created, e.LastUse = time.Unix(created, 0).UTC(), time.Unix(used, 0).UTC()
	return e, err
}

// Totals are sums over what matches.
type Totals struct {
	Environments  int
	Bytes, Inodes int64
}

// Totals of what matches.
func (x *Index) Totals(ctx context.Context, q Query) (t Totals, err error) {
	where, args := q.where()
	err = x.db.QueryRowContext(ctx, "SELECT count(*), ifnull(sum(bytes), 0), ifnull(sum(inodes), 0) FROM environments e WHERE "+where, args...).
		Scan(&t.Environments, &t.Bytes, &t.Inodes)
	return t, x.classify(err)
}

// Distrust makes all that was read from descriptions count as changed, so that it is read
// again; last use stays.
func (x *Index) Distrust(ctx context.Context) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE environments SET described = ''")
		return err
	})
}

// PackagesIn returns the sha256 of all packages of the environments in a part of the
// store.
func (x *Index) PackagesIn(ctx context.Context, group int) (_ map[string]bool, err error) {
	rows, err := x.db.QueryContext(ctx, "SELECT DISTINCT p.sha256 FROM packages p JOIN holds h ON h.package = p.id JOIN environments e ON e.row = h.environment WHERE e.grp = ?", group)
	if err != nil {
		return nil, x.classify(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[string]bool{}
	for rows.Next() {
		var sha string
		if err := rows.Scan(&sha); err != nil {
			return nil, x.classify(err)
		}
		out[sha] = true
	}
	return out, x.classify(rows.Err())
}
