//go:build cluster

package clustertest

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"
)

// aged LOCK DAYS: as if what is prepared of the lock was used last so many days ago. The
// daemon is stopped for that, and started again.
func (c *cluster) cmdAged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: aged LOCK DAYS")
	}
	days, err := strconv.Atoi(args[1])
	ts.Check(err)
	sum := sha256.Sum256([]byte(ts.ReadFile(args[0])))
	ts.Check(c.devcluster("daemon", "stop").Run())
	db, err := sql.Open("sqlite3", filepath.Join(c.state, "daemon", "index.db"))
	ts.Check(err)
	r, err := db.Exec("UPDATE environments SET last_use = ? WHERE lock = ?", time.Now().AddDate(0, 0, -days).Unix(), hex.EncodeToString(sum[:]))
	ts.Check(err)
	n, err := r.RowsAffected()
	ts.Check(err)
	ts.Check(db.Close())
	ts.Check(c.devcluster("daemon", "start").Run())
	if n == 0 {
		ts.Fatalf("nothing is prepared of %s", args[0])
	}
}
