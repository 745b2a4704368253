//go:build linux

package cmd

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// firstUser of a crowd; nobody of this host has such a uid.
const firstUser = 70_000

// crowdWithin bounds a crowd's work.
const crowdWithin = 3 * time.Minute

type crowdKey struct{}

// crowd are processes of as many users.
type crowd struct {
	group sync.WaitGroup
	mu    sync.Mutex
	wrong []string
	done  int
}

// crowdCmd: crowd start N COMMAND… runs it as N users at once, each its own uid and group;
// crowd wait N waits for them, and demands that all N succeeded.
func crowdCmd(ts *testscript.TestScript, _ bool, args []string) {
	c, _ := ts.Value(crowdKey{}).(*crowd)
	var n int
	_, err := fmt.Sscan(args[1], &n)
	ts.Check(err)
	switch args[0] {
	case "start":
		ctx, cancel := context.WithTimeout(context.Background(), crowdWithin)
		ts.Defer(cancel)
		env := []string{"PATH=" + ts.Getenv("PATH"), "HOME=/nonexistent", "HPCENV_SOCKET=" + ts.Getenv("HPCENV_SOCKET"), "GORACE=atexit_sleep_ms=0"}
		for i := range n {
			cmd := exec.CommandContext(ctx, args[2], args[3:]...)
			cmd.Env, cmd.Dir = env, "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(firstUser + i), Gid: uint32(firstUser + i)}}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			ts.Check(cmd.Start())
			c.group.Go(func() {
				err := cmd.Wait()
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.done++; err != nil {
					c.wrong = append(c.wrong, fmt.Sprintf("uid %d: %v: %s", firstUser+i, err, &stderr))
				}
			})
		}
	case "wait":
		c.group.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.wrong) > 0 {
			ts.Fatalf("%d of %d failed, the first: %s", len(c.wrong), n, c.wrong[0])
		}
		if c.done != n {
			ts.Fatalf("%d ended, want %d", c.done, n)
		}
	default:
		ts.Fatalf("crowd %s?", args[0])
	}
}
