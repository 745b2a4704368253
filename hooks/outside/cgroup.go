package outside

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Slurm's cgroups of a step: …/job_1/step_0/… in the unified hierarchy, and
// slurm/uid_1000/job_1/step_0/… (slurm_NODE where several slurmd share a host) in each of
// the older ones.
var (
	ofStep  = regexp.MustCompile(`^(uid|job)_[0-9]+$`)
	ofSlurm = regexp.MustCompile(`^slurm(_.*)?$`)
)

// outside is the nearest ancestor of a cgroup that is no longer of a Slurm job; false: it
// is none of a job's.
func outside(cgroup string) (string, bool) {
	parts := strings.Split(strings.Trim(cgroup, "/"), "/")
	i := slices.IndexFunc(parts, ofStep.MatchString)
	if i < 0 {
		return "", false
	}
	if i > 0 && strings.HasPrefix(parts[i], "uid_") && ofSlurm.MatchString(parts[i-1]) {
		i--
	}
	return "/" + strings.Join(parts[:i], "/"), true
}

// refuges are the cgroups to go to, the best first: the top one, which admits processes in
// both versions; else, up from outside, the first that does. In the unified hierarchy one
// with controllers for its children admits none, and Slurm keeps "system" beside the jobs
// for its own processes.
func refuges(outside string, unified bool) []string {
	out := []string{"/"}
	if unified {
		out = append(out, path.Join(outside, "system"))
	}
	for at := outside; at != "/"; at = path.Dir(at) {
		out = append(out, at)
	}
	return out
}

// hierarchy is a mounted hierarchy of cgroups.
type hierarchy struct {
	// at is the mount point, root the cgroup that is mounted there.
	at, root string
	// controllers of the older version; nil = the unified one.
	controllers []string
}

// hierarchies are those that mountinfo has.
func hierarchies(mountinfo string) (out []hierarchy) {
	for line := range strings.Lines(mountinfo) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		f, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(f) < 5 || len(t) < 3 {
			continue
		}
		switch t[0] {
		case "cgroup2":
			out = append(out, hierarchy{at: f[4], root: f[3]})
		case "cgroup":
			out = append(out, hierarchy{at: f[4], root: f[3], controllers: strings.Split(t[2], ",")})
		}
	}
	return out
}

// has tells whether it is the one with these controllers, as /proc/PID/cgroup lists them;
// "" = the unified one.
func (h *hierarchy) has(controllers string) bool {
	if controllers == "" {
		return h.controllers == nil
	}
	for c := range strings.SplitSeq(controllers, ",") {
		if !slices.Contains(h.controllers, c) {
			return false
		}
	}
	return true
}

// procs is the file by which processes get into a cgroup; "" = it is not below the mount.
func (h *hierarchy) procs(cgroup string) string {
	rel, err := filepath.Rel(h.root, cgroup)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return filepath.Join(h.at, rel, "cgroup.procs")
}

// leaveCgroups takes a process out of the cgroups of the Slurm step that it was started in,
// in every hierarchy, so that neither the step's end nor its limits are the process's. root
// is where proc and the mounts of cgroups are looked up ("/" but for tests). The error says
// where it had to stay: then it is killed with the step. Where cgroups have a namespace
// they all look like the top one, and nothing is seen to be left.
func leaveCgroups(root string, pid int) error {
	read := func(name string) (string, error) {
		b, err := os.ReadFile(filepath.Join(root, "proc/self", name))
		return string(b), err
	}
	in, err := read("cgroup")
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without cgroups
	}
	if err != nil {
		return err
	}
	mounts, err := read("mountinfo")
	if err != nil {
		return err
	}
	mounted := hierarchies(mounts)
	var stays []error
	for line := range strings.Lines(in) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		if to, ok := outside(f[2]); ok {
			stays = append(stays, move(root, mounted, f[1], f[2], refuges(to, f[0] == "0"), pid))
		}
	}
	return errors.Join(stays...)
}

// move puts a process into the first of the cgroups that admits it.
func move(root string, mounted []hierarchy, controllers, from string, to []string, pid int) error {
	var errs []error
	for _, cgroup := range to {
		for i := range mounted {
			if !mounted[i].has(controllers) {
				continue
			}
			procs := mounted[i].procs(cgroup)
			if procs == "" {
				continue
			}
			err := enter(filepath.Join(root, procs), pid)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
	}
	return fmt.Errorf("it stays in the step's cgroup %s (%s) and ends with the step: %w", from, controllers, errors.Join(errs...))
}

func enter(procs string, pid int) error {
	f, err := os.OpenFile(procs, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(pid))
	return errors.Join(err, f.Close())
}
