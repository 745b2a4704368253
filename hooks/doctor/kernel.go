package doctor

import (
	"context"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/sandbox"
	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// lookKernel: what the kernel and a few programs must offer, by what the host is for.
func (h *Host) lookKernel(ctx context.Context, r *Report) (f findings) {
	f = append(f, h.lookNamespaces(r)...)
	if r.is(RoleCompute) && h.plug.where != "" {
		f = append(f, h.lookMounting()...)
	}
	if r.is(RoleLogin) || r.is(RoleCompute) {
		if path, err := squashfuse.Find(); err != nil {
			f.add(Note, "squashfuse", "install it where users run hpcenv run and hpcenv shell outside of jobs", "%v", err)
		} else if _, err := os.Stat("/dev/fuse"); err != nil {
			f.add(Warning, "squashfuse", "load the module fuse", "%s is here, /dev/fuse is not: %v", path, err)
		} else {
			f.add(OK, "squashfuse", "", "%s", path)
		}
	}
	if r.is(RoleDaemon) {
		if err := image.NewTool("").Available(ctx); err != nil {
			f.add(Problem, "mksquashfs", "install squashfs-tools 4.5 or newer, or set delivery: tree", "%v", err)
		} else {
			f.add(OK, "mksquashfs", "", "makes images")
		}
	}
	return f
}

// lookNamespaces: user name spaces and the sandbox that rests on them.
func (h *Host) lookNamespaces(r *Report) (f findings) {
	const check = "user namespaces"
	if n, ok := h.number("/proc/sys/user/max_user_namespaces"); ok && n == 0 {
		f.add(Problem, check, "sysctl user.max_user_namespaces=15000", "user.max_user_namespaces is 0: the sandbox and hpcenv run need them")
		return f
	}
	if n, ok := h.number("/proc/sys/kernel/unprivileged_userns_clone"); ok && n == 0 {
		f.add(Problem, check, "sysctl kernel.unprivileged_userns_clone=1", "kernel.unprivileged_userns_clone is 0")
		return f
	}
	if n, ok := h.number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); ok && n == 1 {
		level, next := Warning, "install hpcenv's AppArmor profile (package hpcenv) and reload: apparmor_parser -r /etc/apparmor.d/hpcenv"
		if h.there("/etc/apparmor.d/hpcenv") {
			level, next = Note, ""
		}
		f.add(level, check, next, "AppArmor restricts them to programs with a profile")
	}
	err := sandbox.New().Available()
	switch {
	case err == nil:
		f.add(OK, check, "", "the sandbox works here")
	case h.UID == 0 && !r.is(RoleDaemon):
		f.add(Note, check, "", "%v", err)
	case r.is(RoleDaemon):
		f.add(Warning, check, "install bubblewrap, allow user name spaces", "%v: Python environments are made without byte-code", err)
	default:
		f.add(Note, check, "", "%v: a store of one's own gets no byte-code", err)
	}
	return f
}

// lookMounting: what mounting an image takes.
func (h *Host) lookMounting() (f findings) {
	const check = "images"
	known, err := os.ReadFile(h.at("/proc/filesystems"))
	if err != nil {
		f.add(Unknown, check, "", "%v", err)
		return f
	}
	if !strings.Contains(string(known), "\tsquashfs\n") && !h.module("squashfs") {
		f.add(Warning, check, "load the module squashfs at boot (modules-load.d), or install squashfuse", "the kernel has no squashfs")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil && !h.module("loop") {
		f.add(Warning, check, "load the module loop at boot (modules-load.d)", "there are no loop devices: %v", err)
	}
	if len(f) == 0 {
		f.add(OK, check, "", "squashfs and loop devices are there")
	}
	return f
}

// module tells whether the running kernel has a module to load.
func (h *Host) module(name string) bool {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return false
	}
	list, err := os.ReadFile(h.at("/lib/modules/" + unix.ByteSliceToString(u.Release[:]) + "/modules.dep"))
	return err == nil && strings.Contains(string(list), "/"+name+".ko")
}

// number reads a file that holds one number.
func (h *Host) number(path string) (int, bool) {
	data, err := os.ReadFile(h.at(path))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return n, err == nil
}
