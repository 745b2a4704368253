package helper

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/staging"
)

// attachFlags come from root-owned configuration (plugstack.conf) and from
// slurmd, never from the job's environment.
type attachFlags struct {
	store, prefixRoot, runDir string
	owner, uid, gid           int
	groups, job, pin          string
	group                     string // in whose part of the store the trees lie; "" = everybody's
	shared                    bool   // the mounts are those of other steps, too

	end time.Time // until when attaching waits, for storage or for other steps

	local     staging.Config // copies on this node's disk; without Dir: none
	localFail string         // store or refuse: what follows when there is no copy
	localEnd  time.Time      // until when this attach waits for copies

	delivery, fuse string // which way is preferred: tree or image; how squashfuse is used

	part      staging.Part              // of the store, that the pin's choices lie in
	known     map[string]*staging.Known // copies that this node has, by the environment's id
	activates map[string][]activates    // by the environment's id
	delivered []string                  // what was attached as what
}

// attach makes the cluster's trees of this platform, or those of a group's part of
// the store, visible at the prefix root, in the mount namespace it was started in. It runs as root with an empty
// environment. On storage that refuses root only the user may look at the
// files, so a child that has become the user opens the directory and hands the
// descriptor over; root mounts the descriptor and never a path. What is there as an image
// only is mounted at its prefix (mountOne).
func attach(args []string) error {
	var f attachFlags
	fl := newFlags("attach")
	fl.StringVar(&f.store, "store", "", "")
	fl.StringVar(&f.prefixRoot, "prefix-root", "", "")
	fl.StringVar(&f.runDir, "run-dir", "", "")
	fl.StringVar(&f.groups, "groups", "", "")
	fl.StringVar(&f.job, "job", "", "")
	fl.IntVar(&f.owner, "owner", -1, "")
	fl.IntVar(&f.uid, "uid", -1, "")
	fl.IntVar(&f.gid, "gid", -1, "")
	fl.StringVar(&f.pin, "pin", "", "")
	fl.BoolVar(&f.shared, "shared", false, "")
	fl.StringVar(&f.local.Dir, "local", "", "")
	fl.Int64Var(&f.local.Budget, "local-size", 0, "")
	fl.BoolVar(&f.local.Memory, "local-memory", false, "")
	fl.StringVar(&f.localFail, "local-fail", "store", "")
	fl.StringVar(&f.delivery, "delivery", asImage, "")
	fl.StringVar(&f.fuse, "fuse", fuseYes, "")
	if err := parse(fl, args); err != nil {
		return err
	}
	// The pin is the user's to write. It names a group at most, into whose part of the
	// store the user's child gets as the user.
	p, err := stepPin(f.runDir, f.job, f.pin)
	if err != nil {
		return refuse(api.ExitFailed, "%w; next: submit the job again", err)
	}
	if p == nil || p.Delivery() == pin.Own {
		return nil
	}
	if f.store == "" {
		return refuse(api.ExitUnreachable, "this job uses the cluster's store, but no store is configured on this node; next: the administrator adds store=PATH to the hpcenv line of plugstack.conf")
	}
	f.group = p.Group
	unix.Umask(0o022) // prefixes are for all to see
	if err := f.attach(p); err != nil {
		return err
	}
	return f.answerAttached(os.Stdout)
}

// attach has the user's child open what the pin's choices lie in, and mounts it.
func (f *attachFlags) attach(p *pin.Pin) (err error) {
	f.end = time.Now().Add(attachTime)
	// Another step in the same namespace has mounted environments one by one.
	each, err := eachMounted(f.prefixRoot)
	if err != nil {
		return err
	}
	if !each && f.shared && f.delivery != asTree {
		// The trees that another step of the job has mounted there would be hidden.
		has, err := os.ReadDir(f.prefixRoot)
		if len(has) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.delivery = asTree
		}
	}
	f.know(p)
	defer func() { err = errors.Join(err, f.forget()) }()
	c, err := startOpener(p.Within(f.store), idsOf(p), each, f)
	if err != nil {
		return err
	}
	err = f.mountAll(c)
	return errors.Join(err, c.close())
}

// idsOf are the environments that this node may get: which one, the activation decides.
func idsOf(p *pin.Pin) []string {
	var ids []string
	for _, c := range append([]pin.Choice{p.Choice}, p.Others...) {
		if c.HasPlatform(hostPlatform()) && !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// mountAll mounts what the child offers.
func (f *attachFlags) mountAll(c *opener) error {
	for first := true; ; first = false {
		one, file, err := c.next()
		if err != nil {
			return err
		}
		if one.End {
			return nil
		}
		if one.ID == "" {
			err = bindReadOnly(int(file.Fd()), one.Name, f.prefixRoot)
			f.deliver(one.ID, asTree)
		} else {
			err = f.mountOne(c, one, file, first)
		}
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return err
		}
	}
}

// bindReadOnly mounts the directory behind fd at target, read-only, nosuid and
// nodev. Doing it twice in one namespace mounts once.
func bindReadOnly(fd int, name, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return refuse(api.ExitUnreachable, "prefix root %s cannot be made on this node: %w; next: the administrator creates it", target, err)
	}
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	if same, err := sameDirectory(fd, target); err != nil {
		return refuse(api.ExitUnreachable, "prefix root %s: %w", target, err)
	} else if same {
		return nil
	}
	if err := unix.Mount(self, target, "", unix.MS_BIND, ""); err != nil {
		return refuse(api.ExitUnreachable, "%s cannot be mounted at %s: %w", name, target, err)
	}
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("", target, "", flags, ""); err != nil {
		// Not read-only is not acceptable: take it away again.
		return errors.Join(
			refuse(api.ExitUnreachable, "%s cannot be made read-only at %s: %w", name, target, err),
			unix.Unmount(target, unix.MNT_DETACH))
	}
	return nil
}

// sameDirectory compares without asking a server that may refuse root: cached
// attributes suffice, the directory was opened a moment ago.
func sameDirectory(fd int, path string) (bool, error) {
	var a, b unix.Statx_t
	const mask = unix.STATX_INO
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, mask, &a); err != nil {
		return false, err
	}
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, mask, &b); err != nil {
		if errors.Is(err, unix.EACCES) {
			// The prefix root itself is always root's to see; what refuses is
			// what an earlier step mounted there.
			return true, nil
		}
		return false, err
	}
	return a.Ino == b.Ino && a.Dev_major == b.Dev_major && a.Dev_minor == b.Dev_minor, nil
}
