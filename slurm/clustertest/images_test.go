//go:build cluster

package clustertest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/hooks/loopdev"
)

// loops COUNT FILE: before long so many loop devices show the file.
func cmdLoops(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: loops COUNT FILE")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	image, err := filepath.EvalSymlinks(ts.MkAbs(args[1])) // devices go by its name
	ts.Check(err)
	ts.Check(poll(20*time.Second, args[0]+" loop devices of "+args[1], func() (bool, error) {
		n, err := countLoops(image)
		return n == want, err
	}))
}

func countLoops(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	devices, err := loopdev.Using(filepath.Base(path))
	for _, d := range devices {
		same, sameErr := loopdev.Same(d, f)
		if same {
			n++
		}
		err = errors.Join(err, sameErr, d.Close())
	}
	return n, err
}
