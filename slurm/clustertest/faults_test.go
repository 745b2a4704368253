//go:build cluster

package clustertest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// faulty KIND DIR: a project in DIR with one package that was never seen
// before, on a server that delivers it as KIND says: 404, wrong (other bytes),
// truncated, slow (three seconds), or good.
func (c *cluster) cmdFaulty(t testing.TB) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: faulty KIND DIR")
		}
		var nonce [8]byte
		_, err := rand.Read(nonce[:])
		ts.Check(err)
		p := condatest.Package{Name: "six", Version: "1.0", Build: "0", Noarch: "generic",
			Files: []condatest.File{{Path: "share/six", Content: hex.EncodeToString(nonce[:])}}}
		data := p.Conda(t)
		sum := sha256.Sum256(data)
		srv := httptest.NewServer(deliver(args[0], data))
		ts.Defer(srv.Close)
		dir := ts.MkAbs(args[1])
		ts.Check(os.MkdirAll(dir, 0o755))
		lock := lockOf(srv.URL+"/noarch/six-1.0-0.conda", hex.EncodeToString(sum[:]))
		ts.Check(os.WriteFile(filepath.Join(dir, "pixi.lock"), []byte(lock), 0o644))
		ts.Check(chownTree(dir, user1))
	}
}

func lockOf(url, sum string) string {
	return fmt.Sprintf(`version: 6
environments:
  default:
    channels:
    - url: %[1]s
    packages:
      linux-64:
      - conda: %[2]s
      linux-aarch64:
      - conda: %[2]s
packages:
- conda: %[2]s
  sha256: %[3]s
  noarch: generic
`, url[:strings.LastIndex(url, "/noarch")], url, sum)
}

func deliver(kind string, data []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := data // each request gets the same
		switch kind {
		case "404":
			http.NotFound(w, r)
			return
		case "wrong":
			data = append([]byte(nil), data...)
			data[len(data)/2] ^= 1
		case "truncated":
			data = data[:len(data)/2]
		case "slow":
			time.Sleep(3 * time.Second)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		if _, err := w.Write(data); err != nil {
			return // the client went away
		}
	})
}

// helper NODE missing|crash|count|measured|no-squashfs|no-loops|real: what stands where the helper
// of a node (or of the submit host, "login") is expected. count writes each verb to
// $WORK/verbs; measured writes the memory of each to $WORK/rss; no-… is
// the real one where the kernel lacks something (deny).
func (c *cluster) cmdHelper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: helper NODE missing|crash|count|measured|no-squashfs|no-loops|real")
	}
	path := filepath.Join(c.state, "nodes", args[0], "sw/bin/hpcenv")
	if args[0] == "login" {
		path = c.helper
	}
	real := path + ".real"
	if _, err := os.Stat(real); os.IsNotExist(err) {
		ts.Check(os.Rename(path, real))
		ts.Defer(func() { ts.Check(os.Rename(real, path)) })
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		ts.Fatalf("%v", err)
	}
	log := ts.MkAbs("verbs")
	script := ""
	switch args[1] {
	case "missing":
		return
	case "crash":
		script = "#!/bin/sh\nkill -SEGV $$\n"
	case "count":
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND, 0o666)
		ts.Check(err)
		ts.Check(f.Chmod(0o666))
		ts.Check(f.Close())
		// The nodes know the real one by the path they see it at.
		script = fmt.Sprintf("#!/bin/sh\necho \"$2\" >> %s\nexec %s.real \"$@\"\n", log, c.helper)
	case "measured":
		log := ts.MkAbs("rss")
		ts.Check(os.WriteFile(log, nil, 0o666))
		ts.Check(os.Chmod(log, 0o666))
		script = fmt.Sprintf("#!/bin/sh\nexec %s %s %s.real \"$@\"\n", filepath.Join(c.bin, "measured"), log, c.helper)
	case "no-squashfs", "no-loops":
		// Only root may take something away from itself.
		script = fmt.Sprintf("#!/bin/sh\n[ \"$2\" = attach ] || exec %[3]s.real \"$@\"\nexec %[1]s %[2]s %[3]s.real \"$@\"\n", filepath.Join(c.bin, "deny"), args[1], c.helper)
	case "real":
		ts.Check(os.Link(real, path))
		return
	default:
		ts.Fatalf("helper: unknown state %q", args[1])
	}
	ts.Check(os.WriteFile(path, []byte(script), 0o755))
}

// verbs: how often each verb of a counted helper ran, as "VERB N" lines in
// file verbs.count.
func cmdVerbs(ts *testscript.TestScript, neg bool, args []string) {
	counts := map[string]int{}
	for _, verb := range strings.Fields(ts.ReadFile("verbs")) {
		counts[verb]++
	}
	var b strings.Builder
	for _, verb := range []string{"submit", "attach", "open", "activate"} {
		fmt.Fprintf(&b, "%s %d\n", verb, counts[verb])
	}
	ts.Check(os.WriteFile(ts.MkAbs("verbs.count"), []byte(b.String()), 0o644))
	ts.Check(os.Truncate(ts.MkAbs("verbs"), 0))
}

// serve NODE PROGRAM: a file system of this test (root-squash, hang, stuck, stalled) stands
// where the node sees the store, until the story ends.
func (c *cluster) cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve NODE root-squash|hang|stuck|stalled")
	}
	node, real := args[0], "/srv/real-store"
	serve := []string{filepath.Join(c.bin, args[1]), real, c.nodeStore}
	if args[1] == "stuck" {
		serve = append(serve, c.stuckFile(node))
		ts.Defer(func() { ts.Check(os.RemoveAll(c.stuckFile(node))) })
	}
	sh := "mkdir -p " + real + " && mount --bind " + c.servedStore(node) + " " + real
	if out, err := c.onNode(node, "sh", "-c", sh).CombinedOutput(); err != nil {
		ts.Fatalf("%s: %v", out, err)
	}
	mounts := func() (int, error) {
		out, err := c.onNode(node, "cat", "/proc/self/mounts").Output()
		return strings.Count(string(out), " "+c.nodeStore+" fuse"), err
	}
	before, err := mounts()
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := c.onNode(node, serve...)
	cmd.Stderr = os.Stderr
	ts.Check(cmd.Start())
	ts.Defer(func() {
		cancel()
		out, err := c.onNode(node, "sh", "-c", "umount -l "+c.nodeStore+"; umount -l "+real).CombinedOutput()
		if err != nil {
			ts.Fatalf("%s: %v", out, err)
		}
		if err := cmd.Process.Kill(); err == nil {
			ts.Check(ignoreExit(cmd.Wait()))
		}
	})
	ts.Check(poll(10*time.Second, args[1]+" on "+node, func() (bool, error) {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		now, err := mounts()
		return now > before, err
	}))
}

// servedStore is where root on a node sees the store's directory itself.
func (c *cluster) servedStore(node string) string {
	if c.squash {
		return filepath.Join(c.state, "nodes", node, "private/store")
	}
	return c.nodeStore
}

// stuckFile is what file system "stuck" on a node does not answer.
func (c *cluster) stuckFile(node string) string { return filepath.Join(c.state, "work", "stuck."+node) }

// storage NODE KINDS: what file system "stuck" there does not answer from now on, of images:
// lookup, open, getattr, read, tables (behind the superblock), joined by commas. ! storage NODE: it answers.
func (c *cluster) cmdStorage(ts *testscript.TestScript, neg bool, args []string) {
	if neg && len(args) == 1 {
		args = append(args, "")
	} else if neg || len(args) != 2 {
		ts.Fatalf("usage: storage NODE KINDS, or ! storage NODE")
	}
	ts.Check(os.WriteFile(c.stuckFile(args[0]), []byte(args[1]), 0o644))
}

// cover DIR OPTIONS: a tmpfs over a directory of the store as the daemon sees
// it (a full or read-only store), until the story ends.
func (c *cluster) cmdCover(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cover DIR MOUNT-OPTIONS")
	}
	dir := filepath.Join(c.store, args[0])
	ts.Check(c.devcluster("daemon", "stop").Run())
	if out, err := c.onDaemonHost("mount", "-t", "tmpfs", "-o", args[1], "cover", dir).CombinedOutput(); err != nil {
		ts.Fatalf("%s: %v", out, err)
	}
	ts.Defer(func() {
		ts.Check(c.devcluster("daemon", "stop").Run())
		if out, err := c.onDaemonHost("umount", dir).CombinedOutput(); err != nil {
			ts.Fatalf("%s: %v", out, err)
		}
		ts.Check(c.devcluster("daemon", "start").Run())
	})
	ts.Check(c.devcluster("daemon", "start").Run())
}

// onDaemonHost runs a program as root where the daemon will start: on this
// machine, or in the root that the whole cluster runs from.
func (c *cluster) onDaemonHost(args ...string) *exec.Cmd {
	if c.suite != "" {
		return c.command(args...)
	}
	return exec.Command(args[0], args[1:]...)
}

// trace NODE FILE COMMAND…: runs a command of the first user while strace
// follows what slurmd of the node starts.
func (c *cluster) cmdTrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: trace NODE FILE COMMAND…")
	}
	// Once in a while strace misses the thread that starts slurmstepd.
	for try := range 5 {
		time.Sleep(time.Duration(try) * time.Second / 2)
		c.traceOnce(ts, args[0], ts.MkAbs(args[1]), args[2:])
		trace := ts.ReadFile(args[1])
		if strings.Contains(trace, "slurmstepd") {
			return
		}
		ts.Logf("try %d: a trace of %d bytes without slurmstepd:\n%.2000s", try+1, len(trace), trace)
	}
	ts.Fatalf("the trace does not show slurmstepd: strace did not work")
}

func (c *cluster) traceOnce(ts *testscript.TestScript, node, file string, command []string) {
	pid, err := c.pid(node)
	ts.Check(err)
	cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=file,process", "-o", file, "-p", pid)
	ts.Check(cmd.Start())
	ts.Check(poll(20*time.Second, "strace to follow slurmd", func() (bool, error) { return traced(pid, cmd.Process.Pid) }))
	err = ts.Exec("u1", command...)
	killErr := cmd.Process.Signal(os.Interrupt)
	waitErr := ignoreExit(cmd.Wait())
	ts.Check(err)
	ts.Check(killErr)
	ts.Check(waitErr)
}

// traced tells whether all threads of a process have this tracer.
func traced(pid string, tracer int) (bool, error) {
	threads, err := filepath.Glob("/proc/" + pid + "/task/*/status")
	if err != nil || len(threads) == 0 {
		return false, errors.Join(err, errors.New("no process "+pid))
	}
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // the thread has ended
		}
		if err != nil {
			return false, err
		}
		if !strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", tracer)) {
			return false, nil
		}
	}
	return true, nil
}

func (c *cluster) pid(part string) (string, error) {
	cmd := c.devcluster("pid", part)
	cmd.Stdout = nil
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
