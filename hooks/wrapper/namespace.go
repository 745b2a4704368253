package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/checkup"
	launching "github.com/hpcenv/hpcenv/hooks/launch"
)

// Words by which this program calls itself; Main serves them.
const (
	// StartWord starts a holder and ends, so that the holder is no child of the
	// program that is launched: start PREFIX SOCKET.
	StartWord = "wrapper-start"
	// HoldWord attaches in a namespace and keeps it: hold PREFIX SOCKET.
	HoldWord = "wrapper-hold"
	// ServeWord becomes the program that shows an image: serve PROGRAM.
	ServeWord = "wrapper-serve"
	// EnterWord goes on within the namespace: enter JOB_FD DIRECTORY_FD FD…, which it closes.
	EnterWord = "wrapper-enter"
)

// Serves tells whether Main serves a word.
func Serves(word string) bool {
	return word == StartWord || word == HoldWord || word == ServeWord || word == EnterWord
}

// Main runs the parts of a launch that this program calls itself for; args[0]
// is one of the words. It returns the exit code.
func Main(args []string) int {
	var code int
	var err error
	switch {
	case args[0] == StartWord && len(args) == 3:
		code, err = start(args[1], args[2], os.Stdout)
	case args[0] == HoldWord && len(args) == 3:
		code, err = hold(args[2])
	case args[0] == ServeWord && len(args) == 2:
		code, err = becomeServer(args[1])
	case args[0] == EnterWord && len(args) >= 2:
		code, err = entered(args[1:])
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
	ns, err := r.attach(ctx, o, self)
	if err != nil {
		return failed(err)
	}
	if here, err := ns.here(); err != nil {
		return failed(err)
	} else if here { // what its holder attached has appeared
		if err := ns.close(); err != nil {
			return failed(fmt.Errorf("attaching: %w", err))
		}
		return j.become(ctx, o.Stderr)
	}
	f, wd, err := j.pack()
	if err != nil {
		return failed(err)
	}
	argv := []string{nsenter, "--preserve-credentials"}
	fds := []string{strconv.Itoa(int(f.Fd())), strconv.Itoa(wd)}
	for name, file := range map[string]*os.File{"--user=": ns.user, "--mount=": ns.mount} {
		fd, err := unix.Dup(int(file.Fd())) // without close-on-exec
		if err != nil {
			return failed(fmt.Errorf("attaching: %w", err))
		}
		argv, fds = append(argv, name+fdPath(fd)), append(fds, strconv.Itoa(fd))
	}
	argv = append(append(argv, "--", self, EnterWord), fds...)
	err = unix.Exec(nsenter, argv, o.Env)
	runtime.KeepAlive(f) // or the next program would not inherit it
	return failed(fmt.Errorf("%s: %w", nsenter, err))
}

// attach has the environment attached in a namespace, in the best of the ways there are.
func (r *resolved) attach(ctx context.Context, o Options, self string) (ns *namespaces, err error) {
	ways, against := r.ways(o)
	built, err := r.builtWays(o)
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		if ns == nil && (against == nil || !errors.As(against, new(*namespacesError))) {
			var failed error
			if ns, failed = join(ctx, o.Env, self, append([]way{w}, built...)); failed != nil {
				against = errors.Join(failed, against)
			}
		}
		if w.image != nil {
			err = errors.Join(err, w.image.Close())
		}
	}
	for _, w := range built {
		if w.image != nil {
			err = errors.Join(err, w.image.Close())
		}
	}
	switch {
	case ns == nil:
		return nil, errors.Join(against, err)
	case against != nil && checkup.FirstOfNode(launching.Lookup(o.Env)):
		why, _, _ := strings.Cut(against.Error(), "\n")
		fmt.Fprintf(o.Stderr, "hpcenv: note: the environment's tree is used in place of its image: %s\n", why)
	}
	return ns, err
}

func program(what string, paths ...string) (string, error) {
	for _, p := range paths {
		if runnable(p) == nil {
			return p, nil
		}
	}
	return "", api.Errorf(api.ExitFailed, "%s is needed to attach an environment without root, and this host has none\nnext: ask the administrator to install util-linux, or to attach the environments at boot", what)
}

// pack writes the job to a memory file that outlives this program, as does wd, the
// descriptor of the working directory (-1: it cannot be entered again).
func (j job) pack() (f *os.File, wd int, err error) {
	j.Input.Scripts.Stderr = nil
	data, err := json.Marshal(wire{j, toBytes(j.Input.Env), toBytes(j.Argv), []byte(j.Dir)})
	if err != nil {
		return nil, -1, fmt.Errorf("launch: %w", err)
	}
	fd, err := unix.MemfdCreate("hpcenv-job", 0)
	if err != nil {
		return nil, -1, fmt.Errorf("launch: memory file: %w", err)
	}
	f = os.NewFile(uintptr(fd), "job")
	if _, err := f.Write(data); err != nil {
		return nil, -1, fmt.Errorf("launch: memory file: %w", err)
	}
	if wd, err = unix.Open(".", unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
		wd = -1 // there is its name
	}
	return f, wd, nil
}

// wire carries what need not be text as bytes, which JSON strings must be.
type wire struct {
	Job  job
	Env  [][]byte
	Argv [][]byte
	Dir  []byte
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

// goBack goes to the working directory, which entering the namespace left: by name, so
// that what is attached below it is seen; else, where that is gone or lies below a
// directory that this user may not search, by its descriptor. wd may be nil.
func (j job) goBack(wd *os.File) error {
	err := error(unix.ENOENT)
	if j.Dir != "" {
		err = os.Chdir(j.Dir)
	}
	if wd == nil {
		return inDirectory(err)
	}
	if err != nil {
		err = wd.Chdir()
	}
	return errors.Join(inDirectory(err), wd.Close())
}

func inDirectory(err error) error {
	if err == nil {
		return nil
	}
	return api.Errorf(api.ExitFailed, "the working directory cannot be entered again beside the environment: %v\nnext: change to a directory that you may enter", err)
}

// entered is the launch within the namespace.
func entered(args []string) (int, error) {
	var files []*os.File
	for _, arg := range args {
		fd, err := strconv.Atoi(arg)
		if err != nil {
			return api.ExitUsage, fmt.Errorf("%s: %q is not a descriptor", EnterWord, arg)
		}
		files = append(files, os.NewFile(uintptr(fd), "descriptor "+arg))
	}
	if len(files) < 2 {
		return api.ExitUsage, fmt.Errorf("%s: too few descriptors", EnterWord)
	}
	f, wd := files[0], files[1]
	for _, other := range files[2:] {
		if err := other.Close(); err != nil {
			return failed(fmt.Errorf("launch: %w", err))
		}
	}
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
	j.Input.Env, j.Argv, j.Dir = fromBytes(w.Env), fromBytes(w.Argv), string(w.Dir)
	j.Input.Scripts.Stderr = os.Stderr
	if err := j.goBack(wd); err != nil {
		return failed(err)
	}
	if there, err := attached(j.Input.Prefix); err != nil || !there {
		return api.ExitUnreachable, fmt.Errorf("the environment did not appear at %s (%v)\nnext: ask the administrator to bind the environments at boot", j.Input.Prefix, err)
	}
	return j.become(context.Background(), os.Stderr)
}
