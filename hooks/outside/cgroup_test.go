package outside

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// cgroupTree makes a directory with what a process of a step sees of its cgroups; admits
// are the cgroup.procs that can be written to.
func cgroupTree(t *testing.T, cgroup, mountinfo string, admits ...string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"cgroup": cgroup, "mountinfo": mountinfo} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "proc/self"), 0o755), os.WriteFile(filepath.Join(root, "proc/self", name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range admits {
		dir = filepath.Join(root, dir)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// entered are the cgroups of a tree that a process was put into.
func entered(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.Name() != "cgroup.procs" {
			return err
		}
		b, err := os.ReadFile(path)
		if rel, relErr := filepath.Rel(root, filepath.Dir(path)); relErr == nil && len(b) > 0 {
			if string(b) != "4711" {
				err = errors.Join(err, fmt.Errorf("%s: %q", path, b))
			}
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

const (
	unifiedMount = "30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
	oldMounts    = `25 22 0:22 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:8 - tmpfs tmpfs ro,mode=755
26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw
27 25 0:24 / /sys/fs/cgroup/systemd rw,nosuid shared:10 - cgroup cgroup rw,xattr,name=systemd
28 25 0:25 / /sys/fs/cgroup/memory rw,nosuid shared:11 - cgroup cgroup rw,memory
29 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:12 - cgroup cgroup rw,cpu,cpuacct
30 25 0:27 / /sys/fs/cgroup/cpuset rw,nosuid shared:13 - cgroup cgroup rw,cpuset
`
	oldCgroups = `12:cpuset:/slurm_n1/uid_1000/job_7/step_0
5:cpu,cpuacct:/system.slice/slurmd.service
4:memory:/slurm/uid_1000/job_7/step_0
1:name=systemd:/system.slice/slurmd.service
0::/system.slice/slurmd.service
`
)

// Where a process goes from the cgroups of a step: trees as systemd and Slurm make them.
func TestLeaveCgroups(t *testing.T) {
	const stepd = "sys/fs/cgroup/system.slice/slurmstepd.scope"
	for what, c := range map[string]struct {
		cgroup, mountinfo string
		admits, want      []string
		stays             string
	}{
		"unified, the top one": {
			"0::/system.slice/slurmstepd.scope/job_7/step_batch/slurm\n", unifiedMount,
			[]string{"sys/fs/cgroup", stepd, stepd + "/system"}, []string{"sys/fs/cgroup"}, "",
		},
		"unified, Slurm's own": {
			"0::/system.slice/n1_slurmstepd.scope/job_7/step_0/user/task_0\n", unifiedMount,
			[]string{"sys/fs/cgroup/system.slice/n1_slurmstepd.scope/system"}, []string{"sys/fs/cgroup/system.slice/n1_slurmstepd.scope/system"}, "",
		},
		"unified, an ancestor": {
			"0::/system.slice/slurmstepd.scope/job_7/step_0/slurm\n", unifiedMount,
			[]string{"sys/fs/cgroup/system.slice", stepd + "/job_7"}, []string{"sys/fs/cgroup/system.slice"}, "",
		},
		"unified, nowhere to go": {
			"0::/system.slice/slurmstepd.scope/job_7/step_0/slurm\n", unifiedMount,
			[]string{stepd + "/job_7", stepd + "/job_7/step_0"}, nil, "/job_7/step_0/slurm",
		},
		"unified, in a container": {
			"0::/machine/c1/slurmstepd.scope/job_7/step_0\n", "30 22 0:26 /machine/c1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			[]string{stepd, "sys/fs/cgroup/slurmstepd.scope"}, []string{"sys/fs/cgroup/slurmstepd.scope"}, "",
		},
		"not of a step":  {"0::/system.slice/slurmd.service\n", unifiedMount, []string{"sys/fs/cgroup"}, nil, ""},
		"not of Slurm's": {"0::/user.slice/my_job_7/job_x\n", unifiedMount, []string{"sys/fs/cgroup"}, nil, ""},
		"old": {
			oldCgroups, oldMounts,
			[]string{"sys/fs/cgroup/memory", "sys/fs/cgroup/memory/slurm", "sys/fs/cgroup/cpuset/slurm_n1", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/unified"},
			[]string{"sys/fs/cgroup/memory"}, "/slurm_n1/uid_1000/job_7/step_0",
		},
		"old, all": {
			oldCgroups, oldMounts,
			[]string{"sys/fs/cgroup/memory", "sys/fs/cgroup/cpuset"}, []string{"sys/fs/cgroup/cpuset", "sys/fs/cgroup/memory"}, "",
		},
		"not mounted": {oldCgroups, "", nil, nil, "(memory)"},
	} {
		root := cgroupTree(t, c.cgroup, c.mountinfo, c.admits...)
		err := leaveCgroups(root, 4711)
		if got := entered(t, root); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
		if (err != nil) != (c.stays != "") || err != nil && !strings.Contains(err.Error(), c.stays) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := leaveCgroups(t.TempDir(), 4711); err != nil {
		t.Errorf("no cgroups: %v", err)
	}
}

// Really: a process is put into cgroups that are named like a step's, in each hierarchy of
// this host that lets it, and leaves them.
func TestLeaveCgroupsHere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: no cgroup can be made")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	name, in := fmt.Sprintf("slurmtest-%d", os.Getpid()), 0
	var made []string
	for _, h := range hierarchies(string(mounts)) {
		step := name + "/job_7/step_0"
		if slices.Contains(h.controllers, "cpuset") {
			continue // an empty set admits nobody
		}
		err := os.MkdirAll(filepath.Join(h.at, step), 0o755)
		if err == nil {
			made = append(made, filepath.Join(h.at, name))
			err = enter(filepath.Join(h.at, step, "cgroup.procs"), sleeper.Process.Pid)
		}
		if err != nil {
			t.Logf("%s: %v", h.at, err)
			continue
		}
		in++
	}
	t.Cleanup(func() {
		if err := sleeper.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := sleeper.Wait(); err == nil {
			t.Error("it was not killed")
		}
		for _, dir := range made {
			for _, dir := range []string{dir + "/job_7/step_0", dir + "/job_7", dir} {
				for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
					err := os.Remove(dir)
					if err == nil {
						break
					}
					if time.Now().After(end) {
						t.Error(err)
						break
					}
				}
			}
		}
	})
	if in == 0 {
		t.Skip("NO CGROUP OF THIS HOST ADMITS A PROCESS")
	}
	// The sleeper's own view, as if it had asked itself.
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "proc"), 0o755), os.Symlink(fmt.Sprintf("/proc/%d", sleeper.Process.Pid), filepath.Join(root, "proc/self")),
		os.Symlink("/sys", filepath.Join(root, "sys"))); err != nil {
		t.Fatal(err)
	}
	where := func() []byte {
		b, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if b := where(); bytes.Count(b, []byte("/job_7/step_0")) != in {
		t.Fatalf("it is not in %d cgroups of a step:\n%s", in, b)
	}
	if err := leaveCgroups(root, sleeper.Process.Pid); err != nil {
		t.Error(err)
	}
	if b := where(); bytes.Contains(b, []byte("job_7")) {
		t.Errorf("it is still in a step's cgroup:\n%s", b)
	}
}
