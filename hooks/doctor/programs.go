package doctor

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/internal/clientconf"
	"github.com/hpcenv/hpcenv/internal/version"
)

// lookConf: what hpcenv's commands go by.
func (h *Host) lookConf(context.Context) (f findings) {
	const check = "configuration"
	switch {
	case h.ConfErr != nil:
		f.add(Problem, check, "mend what is named there", "%v", h.ConfErr)
	case h.Conf.Own:
		f.add(Note, check, "", "%s is not there: users' commands work on stores of their own", clientconf.Path)
	default:
		f.add(OK, check, "", "socket %s, store %s", orNone(h.Conf.Socket), orNone(h.Conf.Store))
	}
	if at := h.plug.arg("store", ""); at != "" && h.Conf.Store != "" && !h.Conf.Own && at != h.Conf.Store {
		f.add(Problem, check, "name one path in both", "users' commands use the store %s, the plugin uses %s (%s)", h.Conf.Store, at, h.plug.where)
	}
	if at := h.plug.arg("prefix_root", defaultRoot); h.plug.where != "" && h.Conf.PrefixRoot != "" && at != h.Conf.PrefixRoot {
		f.add(Problem, check, "name one path in both", "users' commands have the prefix root %s, the plugin has %s (%s)", h.Conf.PrefixRoot, at, h.plug.where)
	}
	return f
}

// lookOff: whether the plugin is switched off here.
func (h *Host) lookOff(context.Context) (f findings) {
	off := h.plug.arg("off", offPath)
	data, err := os.ReadFile(h.at(off))
	if err != nil {
		return nil // it is not, or that is not this host's
	}
	reason, _, _ := strings.Cut(string(data), "\n")
	f.add(Warning, "switched off", "remove "+off+" to switch it on", "the plugin is switched off on this host: %s", orNone(reason))
	return f
}

// lookPrograms: that all of hpcenv here is of one release, and root's.
func (h *Host) lookPrograms(ctx context.Context) (f findings) {
	own := version.String()
	f.add(OK, "hpcenv", "", "%s", own)
	if h.plug.where != "" || h.there(helperPath) {
		f = append(f, h.program(ctx, "helper", h.plug.arg("helper", helperPath), []string{"version"}, own)...)
	}
	if h.there(daemonPath) {
		f = append(f, h.program(ctx, "hpcenvd", daemonPath, []string{"--version"}, own)...)
	}
	return f
}

// program looks at one of hpcenv's programs.
func (h *Host) program(ctx context.Context, check, path string, args []string, want string) (f findings) {
	st, err := os.Stat(h.at(path))
	if err != nil {
		f.add(Problem, check, "install it there (package hpcenv-slurm), or name its place with helper= in plugstack.conf", "%v", err)
		return f
	}
	if why := othersMayWrite(st); why != "" {
		f.add(Problem, check, "chown root and chmod go-w it and the directories above", "%s %s, and root runs it", path, why)
		return f
	}
	out, err := command(ctx, h.at(path), args...)
	switch {
	case err != nil:
		f.add(Problem, check, "install the program of this host's architecture", "%s does not run: %v", path, err)
	case !strings.Contains(out, want):
		f.add(Warning, check, "install one release everywhere", "%s is %s, this is %s", path, firstLine(out), want)
	default:
		f.add(OK, check, "", "%s, the same release", path)
	}
	return f
}

// othersMayWrite tells who but root may change a file; "" = nobody.
func othersMayWrite(st os.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case ok && sys.Uid != 0:
		return "does not belong to root"
	case st.Mode().Perm()&0o022 != 0:
		return "may be written to by others than root"
	}
	return ""
}

// commandTime bounds one command.
const commandTime = 10 * time.Second

// command runs a program with nothing of this process's environment but PATH and where
// Slurm's configuration lies, and returns what it printed.
func command(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"SLURM_CONF", "SLURM_CONF_SERVER"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
