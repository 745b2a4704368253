package facts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// TestNothingThere: a root without files has no facts, and every reader that needs
// one says so.
func TestNothingThere(t *testing.T) {
	for _, root := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		f := facts.Read(t.Context(), root)
		if f.Machine != "" || f.Glibc != "" || f.GPU != nil || len(f.Networks) > 0 || f.Squashfs.Mounts != facts.Unknown {
			t.Errorf("%+v", f)
		}
		for _, reader := range []string{"machine", "processor", "page size", "glibc", "kernel", "squashfs"} {
			if !hasProblem(f, reader+": ") {
				t.Errorf("no problem of %s in %q", reader, f.Problems)
			}
		}
	}
}

// TestNoLinkLeadsOut: a recorded node is not completed from this host's files.
func TestNoLinkLeadsOut(t *testing.T) {
	outside := t.TempDir()
	writeTree(t, outside, "osrelease", "9.9.9-outside\n")
	for _, target := range []string{filepath.Join(outside, "osrelease"), strings.Repeat("../", 30) + outside + "/osrelease"} {
		f := read(t, "link /proc/sys/kernel/osrelease "+target+"\n")
		if f.Kernel != "" {
			t.Errorf("%s was followed: %q", target, f.Kernel)
		}
	}
	f := read(t, "file /etc/release 1.2.3\nlink /proc/sys/kernel/osrelease /etc/release\n")
	if f.Kernel != "1.2.3" {
		t.Errorf("an absolute link below the root: %q, %q", f.Kernel, f.Problems)
	}
}

// TestPipeInTheWay: a pipe where a file should be does not hold the reader up.
func TestPipeInTheWay(t *testing.T) {
	root := factstest.Tree(t, "eth")
	at := filepath.Join(root, "proc/sys/kernel/osrelease")
	must(t, os.Remove(at))
	must(t, syscall.Mkfifo(at, 0o644))
	if f := facts.Read(t.Context(), root); f.Kernel != "" || !hasProblem(f, "kernel: ", "no regular file") {
		t.Errorf("kernel %q, problems %q", f.Kernel, f.Problems)
	}
}

// probe is a GPU probe of the test's.
type probe func(context.Context) (*facts.GPU, []string)

func (p probe) GPUs(ctx context.Context, _ string) (*facts.GPU, []string) { return p(ctx) }

// TestProbes: the first that knows of a GPU answers, and all problems are told.
func TestProbes(t *testing.T) {
	fails := probe(func(context.Context) (*facts.GPU, []string) { return nil, []string{"no library"} })
	knows := probe(func(context.Context) (*facts.GPU, []string) {
		return &facts.GPU{Vendor: "nvidia", Driver: "1"}, nil
	})
	never := probe(func(context.Context) (*facts.GPU, []string) { panic("asked") })
	f := facts.ReadWith(t.Context(), factstest.Tree(t, "eth"), facts.Options{GPUs: []facts.GPUProbe{fails, knows, never}})
	if f.GPU == nil || f.GPU.Driver != "1" || !hasProblem(f, "gpu: no library") {
		t.Errorf("%+v, %q", f.GPU, f.Problems)
	}
}

// TestHangingDriver: a reader that does not come back, or fails in a way that no
// one foresaw, is its own problem; the rest is read.
func TestHangingDriver(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	root := factstest.Tree(t, "ib-gpu")
	for name, p := range map[string]probe{
		"deadline": func(context.Context) (*facts.GPU, []string) { <-release; return nil, nil },
		"reader":   func(context.Context) (*facts.GPU, []string) { panic("out of range") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		f := facts.ReadWith(ctx, root, facts.Options{GPUs: []facts.GPUProbe{p}})
		cancel()
		if f.GPU != nil || !hasProblem(f, "gpu: ", name) {
			t.Errorf("%s: %+v, %q", name, f.GPU, f.Problems)
		}
		if f.Glibc != "2.34" || len(f.Networks) != 5 {
			t.Errorf("%s: the rest was not read: %+v", name, f)
		}
	}
}

func TestSquashfs(t *testing.T) {
	const (
		release = "file /proc/sys/kernel/osrelease 5.1\n"
		builtin = release + "file /boot/config-5.1 CONFIG_SQUASHFS=y\n"
		module  = release + "file /boot/config-5.1 CONFIG_SQUASHFS=m\n"
	)
	for _, c := range []struct{ name, tree, want string }{
		{"built in", builtin, "yes"},
		{"a module that is loaded", module + "file /proc/filesystems squashfs\n", "yes"},
		{"a module that is installed", module + "file /lib/modules/5.1/modules.dep kernel/fs/squashfs/squashfs.ko.zst:\n", "yes"},
		{"a module that is not", module + "file /lib/modules/5.1/modules.dep kernel/fs/xfs/xfs.ko:\n", "no"},
		{"a module that cannot be seen", module, "unknown"},
		{"not configured", release + "file /boot/config-5.1 CONFIG_XFS_FS=y\n", "no"},
		{"loaded, whatever the file says", release + "file /boot/config-5.1 CONFIG_XFS_FS=y\nfile /proc/filesystems squashfs\n", "yes"},
		{"loaded, compressors unknown", "file /proc/filesystems squashfs\n", "yes"},
		{"no configuration, modules without it", release + "file /lib/modules/5.1/modules.dep kernel/fs/xfs/xfs.ko:\n", "no"},
		{"another kernel's configuration", release + "file /boot/config-6.1 CONFIG_SQUASHFS=y\n", "unknown"},
		{"no gzip", release + "file /proc/config.gz CONFIG_SQUASHFS=y\n", "unknown"},
	} {
		if f := read(t, c.tree); f.Squashfs.Mounts != c.want {
			t.Errorf("%s: %s, want %s (%q)", c.name, f.Squashfs.Mounts, c.want, f.Problems)
		}
	}
	f := read(t, "file /proc/filesystems squashfs\n")
	if f.Squashfs.Compressors != nil || !hasProblem(f, "squashfs: ", "with which compressors") {
		t.Errorf("compressors %q, %q", f.Squashfs.Compressors, f.Problems)
	}
}

func TestGPUs(t *testing.T) {
	const (
		version = "file /proc/driver/nvidia/version NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat\n"
		control = "file /dev/nvidiactl\n"
	)
	gpu := func(n, minor string) string {
		return "-- proc/driver/nvidia/gpus/0000:0" + n + ":00.0/information --\nModel: \t NVIDIA H100\nDevice Minor: \t " + minor + "\n"
	}
	for _, c := range []struct {
		name, tree string
		count      int
		problem    string
	}{
		{"two", version + control + "file /dev/nvidia0\nfile /dev/nvidia1\n" + gpu("1", "0") + gpu("2", "1"), 2, ""},
		{"one is hidden", version + control + "file /dev/nvidia0\n" + gpu("1", "0") + gpu("2", "1"), 1, "/dev/nvidia1 is missing"},
		{"all are hidden", version + control + gpu("1", "0"), 0, "/dev/nvidia0 is missing"},
		{"nodes come with the first use", version + "file /usr/bin/nvidia-modprobe\n" + gpu("1", "0"), 1, ""},
		{"lost", version + control + "file /dev/nvidia0\n" + gpu("1", "0") + gpu("2", "Unknown"), 1, "is the GPU lost?"},
		{"driver without GPUs", version + control + "dir /proc/driver/nvidia/gpus\n", 0, "serves no GPU"},
		{"no driver", "file /sys/bus/pci/devices/0000:01:00.0/class 0x030200\nfile /sys/bus/pci/devices/0000:01:00.0/vendor 0x10de\n", 0, "their driver is not loaded"},
		{"a display", "file /sys/bus/pci/devices/0000:01:00.0/class 0x030000\nfile /sys/bus/pci/devices/0000:01:00.0/vendor 0x1a03\n", 0, ""},
	} {
		f := read(t, x86+c.tree)
		n := 0
		if f.GPU != nil {
			for _, m := range f.GPU.Models {
				n += m.Count
			}
		}
		if n != c.count {
			t.Errorf("%s: %d GPUs, want %d (%q)", c.name, n, c.count, f.Problems)
		}
		if told := hasProblem(f, "gpu: ", c.problem); c.problem != "" && !told || c.problem == "" && hasProblem(f, "gpu: ") {
			t.Errorf("%s: problems %q, want %q", c.name, f.Problems, c.problem)
		}
	}
}
