package wrapper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Words by which this program calls itself; Main serves them.
const (
	// StartWord starts a holder and ends, so that the holder is no child of the
	// program that is launched: start TREES PREFIX_ROOT.
	StartWord = "wrapper-start"
	// HoldWord makes the namespace and keeps it: hold TREES PREFIX_ROOT READY_FD.
	HoldWord = "wrapper-hold"
	// EnterWord goes on within it: enter JOB_FD.
	EnterWord = "wrapper-enter"
)

// Serves tells whether Main serves a word.
func Serves(word string) bool {
	return word == StartWord || word == HoldWord || word == EnterWord
}

// Main runs the parts of a launch that this program calls itself for; args[0]
// is one of the words. It returns the exit code.
func Main(args []string) int {
	var code int
	var err error
	switch {
	case args[0] == StartWord && len(args) == 3:
		code, err = start(args[1], args[2], os.Stdout)
	case args[0] == HoldWord && len(args) == 4:
		code, err = hold(args[1], args[2], args[3])
	case args[0] == EnterWord && len(args) == 2:
		code, err = entered(args[1])
	default:
		code, err = api.ExitUsage, fmt.Errorf("%s is not for people\nnext: hpcenv run --help", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hpcenv: error:", err)
	}
	return code
}

// enter goes on with the job in a namespace in which the prefix is attached.
// This process becomes nsenter, since only a program with a single thread can
// join a user namespace, which no Go program is.
func enter(ctx context.Context, o Options, r *resolved, j job) (int, error) {
	root := filepath.Dir(r.meta.Prefix)
	trees := filepath.Join(r.store, "trees", o.Platform)
	if err := mountable(r, root, trees); err != nil {
		return failed(err)
	}
	nsenter, err := program("nsenter", "/usr/bin/nsenter", "/bin/nsenter")
	if err != nil {
		return failed(err)
	}
	self, err := os.Executable()
	if err != nil {
		return failed(fmt.Errorf("own program: %w", err))
	}
	// A working directory that is gone is no reason to fail here.
	if wd, err := os.Getwd(); err == nil {
		j.Dir = wd
	}
	h, err := findHolder(ctx, o.Env, self, trees, root)
	if err != nil {
		return failed(err)
	}
	f, err := j.pack()
	if err != nil {
		return failed(err)
	}
	argv := []string{nsenter, "--preserve-credentials", "--user=" + h.ns("user"), "--mount=" + h.ns("mnt"), "--", self, EnterWord, strconv.Itoa(int(f.Fd()))}
	err = unix.Exec(nsenter, argv, o.Env)
	runtime.KeepAlive(f) // or the next program would not inherit it
	return failed(fmt.Errorf("%s: %w", nsenter, err))
}

// mountable tells what is in the way of attaching, before anything is tried.
func mountable(r *resolved, root, trees string) error {
	if _, err := os.Stat(filepath.Join(trees, r.meta.ID, "conda-meta", "history")); err != nil {
		return storeError(r.store, err)
	}
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "this host has no %s, the place where environments appear: %v\nnext: ask the administrator to make the (empty) directory: mkdir -p %s", root, err, root)
	}
	return nil
}

func program(what string, paths ...string) (string, error) {
	for _, p := range paths {
		if runnable(p) == nil {
			return p, nil
		}
	}
	return "", api.Errorf(api.ExitFailed, "%s is needed to attach an environment without root, and this host has none\nnext: ask the administrator to install util-linux, or to bind the environments at boot", what)
}

// pack writes the job to a memory file that outlives this program.
func (j job) pack() (*os.File, error) {
	j.Input.Scripts.Stderr = nil
	data, err := json.Marshal(wire{j, toBytes(j.Input.Env), toBytes(j.Argv)})
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	fd, err := unix.MemfdCreate("hpcenv-job", 0)
	if err != nil {
		return nil, fmt.Errorf("launch: memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "job")
	if _, err := f.Write(data); err != nil {
		return nil, fmt.Errorf("launch: memory file: %w", err)
	}
	return f, nil
}

// wire carries what need not be text as bytes, which JSON strings must be.
type wire struct {
	Job  job
	Env  [][]byte
	Argv [][]byte
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func fromBytes(list [][]byte) []string {
	out := make([]string, 0, len(list))
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

// entered is the launch within the namespace.
func entered(arg string) (int, error) {
	fd, err := strconv.Atoi(arg)
	if err != nil {
		return api.ExitUsage, fmt.Errorf("%s: %q is not a descriptor", EnterWord, arg)
	}
	f := os.NewFile(uintptr(fd), "job")
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return failed(fmt.Errorf("launch: %w", err))
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return failed(fmt.Errorf("launch: %w", err))
	}
	if err := f.Close(); err != nil {
		return failed(fmt.Errorf("launch: %w", err))
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return failed(fmt.Errorf("launch: %w", err))
	}
	j := w.Job
	j.Input.Env, j.Argv = fromBytes(w.Env), fromBytes(w.Argv)
	j.Input.Scripts.Stderr = os.Stderr
	if j.Dir != "" {
		if err := os.Chdir(j.Dir); err != nil {
			return failed(fmt.Errorf("working directory: %w", err))
		}
	}
	if there, err := attached(j.Input.Prefix); err != nil || !there {
		return api.ExitUnreachable, fmt.Errorf("the environment did not appear at %s (%v)\nnext: ask the administrator to bind the environments at boot", j.Input.Prefix, err)
	}
	return j.become(context.Background(), os.Stderr)
}

// startHolder has a holder started, and returns when the prefix root is
// attached in its namespace.
func startHolder(ctx context.Context, self, trees, root string) (*holder, error) {
	cmd := exec.CommandContext(ctx, self, StartWord, trees, root)
	cmd.Env, cmd.Dir = []string{}, "/"
	var said, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failure
	if err := cmd.Run(); err != nil {
		msg := strings.TrimPrefix(strings.TrimSpace(failure.String()), "hpcenv: error: ")
		if msg == "" {
			msg = fmt.Sprintf("%s %s: %v", self, StartWord, err)
		}
		return nil, api.Errorf(api.ExitUnreachable, "the environment is not attached on this host: %s", msg)
	}
	h := new(holder)
	if err := json.Unmarshal(said.Bytes(), h); err != nil {
		return nil, fmt.Errorf("attaching: %s %s: %w", self, StartWord, err)
	}
	return h, nil
}

// start starts the process that makes and keeps a namespace, waits until the
// prefix root is attached in it, and tells which it is.
func start(trees, root string, out io.Writer) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	ready, readyW, err := os.Pipe()
	if err != nil {
		return failed(err)
	}
	cmd := exec.Command(self, HoldWord, trees, root, "3")
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.ExtraFiles = []*os.File{readyW}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		// A terminal's Ctrl-C is for the program, not for the holder.
		Setsid: true,
	}
	err = cmd.Start()
	if cerr := readyW.Close(); err == nil && cerr != nil {
		err = cerr
	}
	if err != nil {
		return api.ExitUnreachable, fmt.Errorf("a namespace to attach it in was refused: %w\nnext: use sbatch --env-lock, or ask the administrator to bind %s at %s at boot, or to allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, or an AppArmor profile for hpcenv)", err, trees, root)
	}
	said, err := io.ReadAll(io.LimitReader(ready, 4096))
	if err != nil || string(said) != "ready" {
		if len(said) == 0 {
			said = []byte(fmt.Sprintf("the holder ended early (%v)", cmd.Wait()))
		}
		return api.ExitUnreachable, fmt.Errorf("attaching %s at %s in a namespace of your own: %s\nnext: use sbatch --env-lock, or ask the administrator to bind it at boot", trees, root, said)
	}
	begun, err := startTime(cmd.Process.Pid)
	if err != nil {
		return failed(err)
	}
	if err := json.NewEncoder(out).Encode(holder{Pid: cmd.Process.Pid, Start: begun}); err != nil {
		return failed(err)
	}
	return api.ExitDone, nil
}
