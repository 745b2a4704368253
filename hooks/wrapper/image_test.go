package wrapper

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

func TestRunFromImage(t *testing.T) {
	type place struct {
		name    string
		cluster bool
		root    func(w *world) // changes the host before
	}
	for _, c := range []place{
		{"cluster's store", true, nil},
		{"own store", false, nil},
		{"no prefix root", true, func(w *world) { must(t, os.Remove(w.root)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newImageWorld(t, c.cluster)
			if c.root != nil {
				c.root(w)
			}
			bin, beside := w.program(t), filepath.Dir(w.Store)
			for name, as := range accounts() {
				t.Run(name, func(t *testing.T) {
					run := func(argv ...string) outcome {
						cmd := w.call
						cmd.Argv = argv
						e := cmd.command(t)
						e.Path, e.Dir, e.SysProcAttr = bin, "/var", as
						return run(t, e)
					}
					run("sh", "-c", `pwd; id -u; id -g; ls -A $CONDA_PREFIX/bin; cat `+beside+`/store/FORMAT | wc -l; exec tool "$COMPUTED"`).
						want(t, 7, fmt.Sprintf("/var\n%[1]d\n%[1]d\nbare\nlost\nnoexec\ntool\n0\ntool %[2]s\n", idOf(as), w.prefix))
					// Nothing can be left there that would be lost.
					if got := run("sh", "-c", `touch $CONDA_PREFIX/x $CONDA_PREFIX/../x`); got.code == 0 || !strings.Contains(got.stderr, "Read-only") {
						t.Errorf("writing beside the environment: %+v", got)
					}
				})
			}
			if c.cluster {
				if entries, err := os.ReadDir(w.root); c.root == nil && err != nil || len(entries) != 0 {
					t.Errorf("the host sees %v, %v at the prefix root", entries, err)
				}
			}
			waitForHolders(t, filepath.Dir(w.prefix))
			w.waitForServers(t)
		})
	}
}

func idOf(as *syscall.SysProcAttr) int {
	if as == nil {
		return os.Getuid()
	}
	return int(as.Credential.Uid)
}

// A prefix root at a top directory that this host does not have: the namespace gets
// another root directory, with all that the host's has.
func TestPrefixRootAtTheTop(t *testing.T) {
	t.Parallel()
	needImages(t)
	w := newWorld(t, true)
	must(t, os.Remove(w.root))
	top := "/" + filepath.Base(filepath.Dir(w.Store))
	w.root = filepath.Join(top, "e")
	w.prefix = filepath.Join(w.root, id)
	w.pack(t, id)
	w.reindex(t, id)
	w.Argv = []string{"sh", "-c", "pwd; ls -A /; readlink /bin; head -c4 /dev/zero | wc -c; exec tool $COMPUTED"}
	entries, err := os.ReadDir("/")
	must(t, err)
	names := []string{filepath.Base(top)}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	cmd := w.command(t)
	cmd.Dir = "/var"
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	got := run(t, cmd)
	for _, n := range names {
		if !strings.Contains(got.stdout, n+"\n") {
			t.Errorf("%q is not there, in %q", n, got.stdout)
		}
	}
	if link, err := os.Readlink("/bin"); err == nil && !strings.Contains(got.stdout, "\n"+link+"\n4\n") {
		t.Errorf("/bin is no link to %s: %q", link, got.stdout)
	}
	if !strings.HasPrefix(got.stdout, "/var\n") || !strings.HasSuffix(got.stdout, "tool "+w.prefix+"\n") || got.code != 7 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(top); !os.IsNotExist(err) {
		t.Errorf("the host has %s now: %v", top, err)
	}
	waitForHolders(t, w.root)
	w.waitForServers(t)
}

func TestRanksShareOneServer(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t, true)
	const ranks = 20
	step := w.step(t, "ranks")
	start := func(argv ...string) (*exec.Cmd, *bytes.Buffer) {
		c := w.call
		c.Argv = argv
		cmd, out := c.command(t, step...), new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		must(t, cmd.Start())
		return cmd, out
	}
	var cmds []*exec.Cmd
	var outs []*bytes.Buffer
	for range ranks {
		cmd, out := start("sh", "-c", "readlink /proc/self/ns/mnt; cat $CONDA_PREFIX/conda-meta/history; sleep 1")
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	seen := map[string]bool{}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		seen[outs[i].String()] = true
	}
	if n := len(w.servers(t)); len(seen) != 1 || n != 1 {
		t.Fatalf("%d ranks are in namespaces %v, served by %d programs", ranks, seen, n)
	}

	// The holder is killed: who runs goes on, and who starts gets another.
	left := filepath.Join(t.TempDir(), "go")
	long, out := start("sh", "-c", "while [ ! -e "+left+" ]; do sleep 0.05; done; exec tool on")
	until(t, func() bool { return strings.Contains(cmdline(long.Process.Pid), "while") })
	for _, pid := range holders(t, w.root) {
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	until(t, func() bool { return len(holders(t, w.root)) == 0 })
	c := w.call
	c.Argv = []string{"tool", "next"}
	run(t, c.command(t, step...)).want(t, 7, "tool next\n")
	must(t, os.WriteFile(left, nil, 0o644))
	if err := long.Wait(); out.String() != "tool on\n" {
		t.Errorf("after its holder was killed, a program says %q (%v)", out, err)
	}
	waitForHolders(t, w.root)
	w.waitForServers(t)
}

// Another environment of the same step joins the namespace; one within another sees both.
func TestSeveralEnvironments(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t, true)
	const otherID = "fedcba9876543210fedcba9876543210"
	tree := filepath.Join(w.Store, "trees", w.Platform, otherID)
	w.write(t, filepath.Join(tree, "conda-meta/history"), "", 0o644)
	w.write(t, filepath.Join(tree, "bin/other"), "#!/bin/sh\necho other \"$@\"\n", 0o755)
	w.pack(t, otherID)
	other := w.call
	other.Lock = []byte("another lock of " + t.Name())
	(&world{call: other, root: w.root}).reindex(t, otherID)
	step := w.step(t, "several")
	ns := func(c call, env ...string) string {
		c.Argv = []string{"sh", "-c", "readlink /proc/self/ns/mnt; ls -d " + w.root + "/*/"}
		return run(t, c.command(t, env...)).stdout
	}
	one, both := ns(w.call, step...), ns(other, step...)
	if first, _, _ := strings.Cut(one, "\n"); !strings.HasPrefix(both, first+"\n") || !strings.Contains(both, otherID) || !strings.Contains(both, id) {
		t.Errorf("one environment: %q; another: %q", one, both)
	}
	for _, env := range [][]string{nil, step, w.step(t, "nested")} {
		inner := other
		inner.Argv = []string{"sh", "-c", "other 1; " + w.prefix + "/bin/tool 2; echo $CONDA_PREFIX"}
		cmd := inner.command(t)
		outer := w.call
		outer.Argv = []string{"env", cmd.Env[2], cmd.Path}
		run(t, outer.command(t, env...)).want(t, 0, "other 1\ntool 2\n"+filepath.Join(w.root, otherID)+"\n")
	}
	waitForHolders(t, w.root)
	w.waitForServers(t)
}

func TestImageNotUsed(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t, true)
	w.Argv = []string{"tool"}
	path := w.imagePath(id)
	good, err := os.ReadFile(path)
	must(t, err)
	rewrite := func(data []byte, mode os.FileMode) {
		must(t, os.RemoveAll(path))
		must(t, os.WriteFile(path, data, mode))
	}
	for name, spoil := range map[string]func(){
		"truncated":  func() { rewrite(good[:len(good)-1], 0o444) },
		"superblock": func() { rewrite(append([]byte("hsqs\xff"), good[5:]...), 0o444) },
		"writable":   func() { rewrite(good, 0o664) },
		"link": func() {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		},
		"directory is a link": func() {
			rewrite(good, 0o444)
			must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".real"))
			must(t, os.Symlink(filepath.Dir(path)+".real", filepath.Dir(path)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			spoil()
			run(t, w.command(t)).want(t, api.ExitUnreachable, "", w.Store, "next: ", "hpcenv admin verify")
			if real := filepath.Dir(path) + ".real"; name == "directory is a link" {
				must(t, os.Remove(filepath.Dir(path)))
				must(t, os.Rename(real, filepath.Dir(path)))
			}
		})
	}
	rewrite(good, 0o444)
	t.Run("owner", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("ONLY ROOT CAN GIVE FILES AWAY: a wrong owner is not tested here")
		}
		must(t, os.Chown(path, 54321, -1))
		run(t, w.command(t)).want(t, api.ExitUnreachable, "", "54321", "next: ")
		must(t, os.Chown(path, 0, -1))
	})
	t.Run("tables damaged", func(t *testing.T) {
		bad := bytes.Clone(good)
		for i := 96; i < len(bad); i++ {
			bad[i] ^= 0xff
		}
		rewrite(bad, 0o444)
		run(t, w.command(t)).want(t, api.ExitUnreachable, "", "squashfuse", "next: ")
		rewrite(good, 0o444)
	})
	hidden := "for p in /usr/bin/squashfuse /usr/bin/squashfuse_ll; do [ ! -e $p ] || mount --bind /dev/null $p; done; exec \"$0\""
	within := func(t *testing.T, w *world, script string, unshare ...string) outcome {
		cmd := w.command(t)
		cmd.Args = append(append([]string{"unshare"}, unshare...), "sh", "-c", script, cmd.Path)
		var err error
		cmd.Path, err = exec.LookPath("unshare")
		must(t, err)
		return run(t, cmd)
	}
	t.Run("no squashfuse", func(t *testing.T) {
		within(t, w, hidden, "-Urm").want(t, api.ExitUnreachable, "", "squashfuse is not installed", "next: ", "--delivery both")
	})
	t.Run("namespaces off", func(t *testing.T) {
		within(t, w, "echo 0 >/proc/sys/user/max_user_namespaces; exec \"$0\"", "-Ur").
			want(t, api.ExitUnreachable, "", "sysctl user.max_user_namespaces is 0", "next: ", "sbatch")
	})
	t.Run("a tree in its place", func(t *testing.T) {
		tree := filepath.Join(w.Store, "trees", w.Platform, id)
		w.write(t, filepath.Join(tree, "conda-meta/history"), "", 0o644)
		w.write(t, filepath.Join(tree, "bin/tool"), "#!/bin/sh\necho tree\n", 0o755)
		w.write(t, filepath.Join(tree, "etc/conda/activate.d/a.sh"), "", 0o644)
		within(t, w, hidden, "-Urm").want(t, 0, "tree\n", "note: the environment's tree is used", "squashfuse is not installed")
		if got := run(t, w.command(t)); got.stdout != "tool\n" || got.code != 7 {
			t.Errorf("with both and squashfuse: %+v", got)
		}
	})
	waitForHolders(t, w.root)
	w.waitForServers(t)
}

// In a terminal, keys reach the program and not the holder.
func TestShellFromImageHasJobControl(t *testing.T) {
	t.Parallel()
	w := newImageWorld(t, true)
	w.Shell = true
	cmd := w.command(t, "SHELL=/bin/bash", "TERM=dumb")
	terminal, err := exec.LookPath("script")
	if err != nil {
		t.Skipf("NO SCRIPT(1): a terminal is not tested here (%v)", err)
	}
	cmd.Args = []string{"script", "-qefc", cmd.Path, "/dev/null"}
	cmd.Path = terminal
	in, err := cmd.StdinPipe()
	must(t, err)
	out := new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	must(t, cmd.Start())
	say := func(text, answer string) {
		t.Helper()
		_, err := in.Write([]byte(text))
		must(t, err)
		until(t, func() bool { return strings.Contains(out.String(), answer) })
	}
	say("tool $((20+1))\n", "tool 21")
	say("sh -c 'echo wait$((1+1)); exec sleep 100'\n", "wait2")
	say("\x1a", "Stopped")
	say("jobs; fg\n", "sleep 100")
	time.Sleep(300 * time.Millisecond) // until it is in the foreground again
	say("\x03", "^C")
	say("echo code$?\n", "code130")
	say("stty size >/dev/null && echo is$((4+4))\n", "is8")
	_, err = in.Write([]byte("exit 5\n"))
	must(t, err)
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("the shell ended with %v\n%s", err, out)
	}
	waitForHolders(t, w.root)
	w.waitForServers(t)
}

func TestHookFromImage(t *testing.T) {
	w := newImageWorld(t, true)
	w.Hook = true
	run(t, w.command(t)).want(t, api.ExitUnreachable, "", "image", "hpcenv shell", "next: ")
}

func TestSwitchesAreNamed(t *testing.T) {
	root := t.TempDir()
	if got := switchedOff(root); got != nil {
		t.Errorf("without switches: %q", got)
	}
	for name, value := range map[string]string{"user/max_user_namespaces": "15000", "kernel/unprivileged_userns_clone": "0", "kernel/apparmor_restrict_unprivileged_userns": "1"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(value+"\n"), 0o644))
	}
	want := "sysctl kernel.unprivileged_userns_clone is 0, sysctl kernel.apparmor_restrict_unprivileged_userns is 1"
	if got := strings.Join(switchedOff(root), ", "); got != want {
		t.Errorf("got %q", got)
	}
}
