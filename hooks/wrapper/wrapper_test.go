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

	"github.com/hpcenv/hpcenv/daemon/api"
)

func TestRun(t *testing.T) {
	w := newWorld(t, false)
	w.Activations = map[string][]byte{"default": []byte(`{"name":"proj","env":{"":{"FROM_MANIFEST":"$COMPUTED"}}}`)}
	for name, c := range map[string]struct {
		argv   []string
		code   int
		stdout string
		stderr []string
	}{
		"exit code and output":  {[]string{"tool", "a b"}, 7, "tool a b\n", []string{"noise"}},
		"environment":           {[]string{"sh", "-c", "echo $FROM_MANIFEST $CONDA_DEFAULT_ENV ${PYTHONPATH-unset}"}, 0, w.prefix + " proj unset\n", []string{"PYTHONPATH"}},
		"script without #!":     {[]string{"bare"}, 0, "bare " + w.prefix + "/bin/bare\n", nil},
		"not there":             {[]string{"no-such-command"}, ExitNotFound, "", []string{"no-such-command", "next: "}},
		"not there, by path":    {[]string{"./no-such"}, ExitNotFound, "", []string{"./no-such"}},
		"not runnable":          {[]string{"noexec"}, ExitNotRunnable, "", []string{"noexec"}},
		"interpreter not there": {[]string{"lost"}, ExitNotFound, "", []string{"interpreter"}},
		"nothing":               {nil, api.ExitUsage, "", []string{"next: "}},
		"argument like a flag":  {[]string{"echo", "--", "-n"}, 0, "-- -n\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := w.call
			c2.Argv = c.argv
			run(t, c2.command(t, "PYTHONPATH=/x")).want(t, c.code, c.stdout, c.stderr...)
		})
	}
}

func TestRunWithinRunIsActiveOnce(t *testing.T) {
	w := newWorld(t, false)
	w.Argv = []string{"sh", "-c", "echo $PATH"}
	inner := w.call.command(t)
	outer := w.call
	// The script changes PATH; the run within leaves that alone.
	outer.Argv = []string{"env", "PATH=/mine:" + w.prefix + "/bin:/usr/bin:/bin", inner.Env[2], inner.Path}
	run(t, outer.command(t)).want(t, 0, "/mine:"+w.prefix+"/bin:/usr/bin:/bin\n")
}

func TestTheServiceIsAskedOnlyForWhatIsMissing(t *testing.T) {
	w := newWorld(t, false)
	w.Argv = []string{"true"}
	run(t, w.command(t)).want(t, 0, "")
	other := w.call
	other.Lock = []byte("another lock")
	run(t, other.command(t)).want(t, api.ExitUnreachable, "", "the service was asked")
	other = w.call
	other.Environment = "gex"
	run(t, other.command(t)).want(t, api.ExitUnreachable, "", "the service was asked")
}

func TestHook(t *testing.T) {
	w := newWorld(t, false)
	w.Hook = true
	for shell, args := range map[string][]string{"bash": {"--norc"}, "sh": nil, "": nil} {
		c := w.call
		c.HookFor = shell
		got := run(t, c.command(t, "SHELL=/bin/sh"))
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		if shell == "" {
			shell = "sh"
		}
		cmd := exec.Command(shell, append(args, "-c", got.stdout+"\necho $CONDA_PREFIX $COMPUTED; tool x")...)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		run(t, cmd).want(t, 7, w.prefix+" "+w.prefix+"\ntool x\n")
	}
	c := w.call
	c.HookFor = "powershell"
	run(t, c.command(t)).want(t, api.ExitUsage, "", "powershell", "bash")
}

func TestShell(t *testing.T) {
	w := newWorld(t, false)
	w.Shell = true
	w.Activations = map[string][]byte{"default": []byte("{\"name\":\"proj`$(id)`\"}")}
	home := t.TempDir()
	w.write(t, filepath.Join(home, ".bashrc"), "PATH=/from/bashrc:/usr/bin:/bin:"+w.prefix+"/bin; PS1='$ '; CONDA_PREFIX=/other; OWN=1\n", 0o644)
	cmd := w.command(t, "SHELL=/bin/bash", "HOME="+home)
	cmd.Env = append([]string{"HOME=" + home}, cmd.Env...)
	cmd.Stdin = strings.NewReader("echo \"$PS1|$OWN|$PATH|$CONDA_PREFIX\"\ntool y\nexit 5\n")
	run(t, cmd).want(t, 5, "(proj??(id)?) $ |1|"+w.prefix+"/bin:/from/bashrc:/usr/bin:/bin|"+w.prefix+"\ntool y\n")
	c := w.call
	cmd = c.command(t, "SHELL=/no/such/shell")
	cmd.Stdin = strings.NewReader("echo $CONDA_PREFIX\n")
	run(t, cmd).want(t, 0, w.prefix+"\n")
}

// accounts are those that a launch is tried as: the one of the test, and if
// that is root, an ordinary one too.
func accounts() map[string]*syscall.SysProcAttr {
	out := map[string]*syscall.SysProcAttr{"own account": nil}
	if os.Getuid() == 0 {
		out["ordinary account"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
	return out
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if err := exec.Command("unshare", "-Um", "true").Run(); err != nil {
		t.Skipf("USER NAMESPACES REFUSED: attaching without root is not tested here (%v)", err)
	}
}

func TestRunAttaches(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	w := newWorld(t, true)
	bin := w.program(t)
	for name, as := range accounts() {
		t.Run(name, func(t *testing.T) {
			c := w.call
			c.Argv = []string{"sh", "-c", "pwd; id -u; cat $CONDA_PREFIX/conda-meta/history; echo \"$ODD\"; read c </proc/$$/task/$$/children; echo \"[$c]\"; exec tool \"$COMPUTED\""}
			cmd := c.command(t, "ODD=\xff\n'")
			cmd.Path, cmd.Dir, cmd.SysProcAttr = bin, "/var", as
			uid := os.Getuid()
			if as != nil {
				uid = int(as.Credential.Uid)
			}
			// "[]": the holder is not the command's child.
			run(t, cmd).want(t, 7, fmt.Sprintf("/var\n%d\n\xff\n'\n[]\ntool %s\n", uid, w.prefix))
			if entries, err := os.ReadDir(w.root); err != nil || len(entries) != 0 {
				t.Errorf("the host sees %v, %v at the prefix root", entries, err)
			}
			waitForHolders(t, w.root)
		})
	}
}

// The working directory is the same one within, whatever it is called, also where no
// name leads to it any more.
func TestRunStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	w := newWorld(t, true)
	bin := w.program(t)
	top, err := os.MkdirTemp("/tmp", "hpcenv-\xff\n-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(top, "d")
	for name, c := range map[string]struct{ first, want string }{
		"odd name":    {"", "here"},
		"closed path": {"chmod 0600 ..; ", "here"},
		"gone":        {"mkdir gone; cd gone; rmdir ../gone; ", ""},
	} {
		for who, as := range accounts() {
			t.Run(name+", "+who, func(t *testing.T) {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				w.write(t, filepath.Join(dir, "here"), "", 0o644)
				for _, d := range []string{top, dir} {
					if err := os.Chmod(d, 0o777); err != nil {
						t.Fatal(err)
					}
					if as != nil {
						if err := os.Chown(d, int(as.Credential.Uid), -1); err != nil {
							t.Fatal(err)
						}
					}
				}
				inner := w.call
				inner.Argv = []string{"sh", "-c", "ls; test $(stat -c %i .) = $INODE"}
				cmd := inner.command(t)
				cmd.Path, cmd.Dir, cmd.SysProcAttr = "/bin/sh", dir, as
				cmd.Args = []string{"sh", "-c", c.first + "INODE=$(stat -c %i .) exec \"$0\"", bin}
				want := ""
				if c.want != "" {
					want = c.want + "\n"
				}
				run(t, cmd).want(t, 0, want)
			})
		}
	}
}

func TestRanksOfAStepShareOneNamespace(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	w := newWorld(t, true)
	w.Argv = []string{"readlink", "/proc/self/ns/mnt"}
	const ranks = 8
	step := func(env ...string) map[string]bool {
		var cmds []*exec.Cmd
		var outs []*bytes.Buffer
		for range ranks {
			cmd, out := w.command(t, env...), new(bytes.Buffer)
			cmd.Stdout, cmd.Stderr = out, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		seen := map[string]bool{}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			seen[outs[i].String()] = true
		}
		return seen
	}
	inStep := w.step(t, "trees")
	if seen := step(inStep...); len(seen) != 1 {
		t.Errorf("%d ranks of a step are in %d namespaces: %v", ranks, len(seen), seen)
	}
	if seen := step(); len(seen) != ranks {
		t.Errorf("%d programs outside of jobs are in %d namespaces", ranks, len(seen))
	}
	waitForHolders(t, w.root)
	// The file now names a process that is gone.
	if seen := step(inStep...); len(seen) != 1 {
		t.Errorf("after the holder's end, %d ranks are in %d namespaces", ranks, len(seen))
	}
	waitForHolders(t, w.root)
}

func TestNotAttachable(t *testing.T) {
	w := newWorld(t, true)
	w.Argv = []string{"true"}
	c := w.call
	c.Hook = true
	run(t, c.command(t)).want(t, api.ExitUnreachable, "", w.prefix, "next: ")
	if err := os.RemoveAll(filepath.Join(w.Store, "trees")); err != nil {
		t.Fatal(err)
	}
	run(t, w.command(t)).want(t, api.ExitUnreachable, "", w.Store, "next: ", "mounted")
}
