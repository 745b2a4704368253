//go:build cluster

package clustertest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/hooks/loopdev"
)

// loops COUNT FILE: before long so many loop devices show the file, or copies of it on
// the nodes.
func (c *cluster) cmdLoops(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: loops COUNT FILE")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	image, err := filepath.EvalSymlinks(ts.MkAbs(args[1])) // devices go by its name
	ts.Check(err)
	content, err := os.ReadFile(image)
	ts.Check(err)
	sum := sha256.Sum256(content)
	ts.Check(poll(20*time.Second, args[0]+" loop devices of "+args[1], func() (bool, error) {
		n, err := c.countLoops(image)
		copies, globErr := filepath.Glob(filepath.Join(c.state, "nodes/*/copies", hex.EncodeToString(sum[:])+".sqfs"))
		err = errors.Join(err, globErr)
		for _, path := range copies {
			more, moreErr := c.countLoops(path)
			if !errors.Is(moreErr, os.ErrNotExist) { // one that was there a moment ago
				err = errors.Join(err, moreErr)
			}
			n += more
		}
		return n == want, err
	}))
}

// countLoops tells how many loop devices show a file of the store or a copy. What a file
// system shows that refuses root, root cannot compare: there its name must do, which has
// an id that no other cluster has.
func (c *cluster) countLoops(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	served := c.squash && strings.HasPrefix(path, c.store+"/")
	devices, err := loopdev.Using(filepath.Base(path))
	for _, d := range devices {
		same, sameErr := served, error(nil)
		if !served {
			same, sameErr = loopdev.Same(d, f)
		}
		if same {
			n++
		}
		err = errors.Join(err, sameErr, d.Close())
	}
	return n, err
}
