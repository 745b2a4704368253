package doctor

import (
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/slurm/queries"
)

// lookSlurm: whether Slurm answers, and what of its configuration matters.
func (h *Host) lookSlurm(context.Context) (f findings) {
	const check = "Slurm"
	switch {
	case errors.Is(h.slurmErr, queries.ErrNoSlurm):
		f.add(Note, check, "", "this host has no Slurm commands")
		return f
	case h.slurmErr != nil:
		f.add(Problem, check, "see whether slurmctld runs (scontrol ping) and this host has its slurm.conf", "%v", h.slurmErr)
		return f
	}
	f.add(OK, check, "", "%s answers", orNone(h.settings["SLURM_VERSION"]))
	if h.plug.where == "" {
		return f
	}
	tmpfs := strings.HasSuffix(h.settings["JobContainerType"], "/tmpfs")
	mount := h.plug.arg("mount", "step")
	switch {
	case tmpfs && mount == "step":
		f.add(Problem, check, "write mount=job in "+h.plug.where, "JobContainerType is %s, and the plugin's line says mount=step", h.settings["JobContainerType"])
	case !tmpfs && mount == "job":
		f.add(Problem, check, "take mount=job out of "+h.plug.where, "mount=job needs job_container/tmpfs; JobContainerType is %s", orNone(h.settings["JobContainerType"]))
	}
	return f
}

// lookPlugin: whether Slurm here loads the plugin.
func (h *Host) lookPlugin(ctx context.Context) (f findings) {
	const check = "plugin"
	p := &h.plug
	switch {
	case p.err != nil && !errors.Is(p.err, os.ErrNotExist):
		f.add(Problem, check, "make it readable, and mend what it names: Slurm reads it in every command", "plugstack.conf: %v", p.err)
		return f
	case p.where == "":
		f.add(Note, check, "contrib/administrators.md has the line", "plugstack.conf (%s) does not load it: --env-lock is not to be had", orNone(p.file))
		return f
	case p.lines > 1:
		f.add(Problem, check, "leave one of its lines", "plugstack.conf loads it %d times", p.lines)
	}
	path := p.plugin
	if !filepath.IsAbs(path) {
		dir := h.settings["PluginDir"]
		if dir == "" {
			f.add(Unknown, check, "", "%s: where PluginDir is is not known", p.where)
			return f
		}
		for part := range strings.SplitSeq(dir, ":") {
			if path = filepath.Join(part, p.plugin); h.there(path) {
				break
			}
		}
	}
	f = append(f, h.lookPluginFile(path)...)
	return append(f, h.loads(ctx)...)
}

// lookPluginFile: its file.
func (h *Host) lookPluginFile(path string) (f findings) {
	const check = "plugin"
	st, err := os.Stat(h.at(path))
	if err != nil {
		f.add(Problem, check, "install it there (package hpcenv-slurm), or take its line out of plugstack.conf", "%s names a file that is not there: %v", h.plug.where, err)
		return f
	}
	if why := othersMayWrite(st); why != "" {
		f.add(Problem, check, "chown root and chmod go-w it", "%s %s, and slurmd loads it", path, why)
	}
	e, err := elf.Open(h.at(path))
	if err != nil {
		f.add(Problem, check, "install it again", "%s: %v", path, err)
		return f
	}
	defer e.Close() // only read
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]; e.Machine != want {
		f.add(Problem, check, "install that of this host's architecture", "%s is for %s, this host is %s", path, e.Machine, want)
	}
	return f
}

// loads asks Slurm itself: srun's help lists the options of the plugins that it loads.
func (h *Host) loads(ctx context.Context) (f findings) {
	const check = "plugin"
	if _, err := exec.LookPath("srun"); err != nil {
		f.add(Unknown, check, "", "srun is not in PATH: whether Slurm loads it was not tried")
		return f
	}
	out, err := command(ctx, "srun", "--help")
	switch {
	case strings.Contains(out, "--env-lock"):
		f.add(OK, check, "", "loaded by srun (%s, %s)", h.plug.how, h.plug.where)
	case h.there(h.plug.arg("off", offPath)):
		f.add(Note, check, "", "srun does not offer --env-lock: the plugin is switched off")
	default:
		why := firstLine(out)
		if err == nil {
			why = "srun --help says nothing of it"
			for line := range strings.Lines(out) {
				if strings.Contains(line, "spank") || strings.Contains(line, "plugstack") {
					why = strings.TrimSpace(line)
					break
				}
			}
		}
		f.add(Problem, check, "srun -vv true tells why; install the plugin of this Slurm's release", "srun does not load it: %s", why)
	}
	return f
}

// owner is the account that the plugin takes for the store's; false = it is not said.
func (h *Host) owner() (int, bool) {
	n, err := strconv.Atoi(h.plug.args["owner"])
	return n, err == nil
}
