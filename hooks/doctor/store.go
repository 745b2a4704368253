package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// store is where the cluster's store is on this host; "" = none is named.
func (h *Host) store() string {
	if at := h.plug.arg("store", ""); at != "" {
		return at
	}
	if h.Conf.Own {
		return ""
	}
	return h.Conf.Store
}

// lookStore: that it is there, whose it is, and who may write.
func (h *Host) lookStore(context.Context) (f findings) {
	const check = "store"
	root := h.store()
	if root == "" {
		f.add(Note, check, "", "neither %s nor plugstack.conf names a cluster's store", "/etc/hpcenv/hpcenv.conf")
		return f
	}
	format, err := cache.ReadFormat(root)
	if err != nil {
		next := "mount it here, or correct store= in plugstack.conf and hpcenv.conf; hpcenvd makes it when it starts first"
		if errors.Is(err, os.ErrPermission) {
			next = "let everybody read and enter it and the directories above (chmod a+rX)"
		}
		f.add(Problem, check, next, "%v", err)
		return f
	}
	st, err := os.Stat(root)
	if err != nil {
		f.add(Problem, check, "mount it here", "%v", err)
		return f
	}
	uid := -1
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		uid = int(sys.Uid)
	}
	owner, said := h.owner()
	switch {
	case uid != format.OwnerUID:
		f.add(Problem, check, "chown it; users' ids must be the same on all hosts", "%s belongs to uid %d here, its FORMAT says %d", root, uid, format.OwnerUID)
	case said && owner != format.OwnerUID:
		f.add(Problem, check, fmt.Sprintf("write owner=%d in %s", format.OwnerUID, h.plug.where), "the plugin takes uid %d for its owner, FORMAT says %d", owner, format.OwnerUID)
	case h.plug.where != "" && !said:
		f.add(Problem, check, fmt.Sprintf("write owner=%d in %s: without it images are not mounted", format.OwnerUID, h.plug.where), "the plugin's line has no owner=")
	default:
		f.add(OK, check, "", "%s, layout %d, of uid %d, for %s", root, format.Version, format.OwnerUID, strings.Join(format.Platforms, " "))
	}
	if at := h.plug.arg("prefix_root", defaultRoot); h.plug.where != "" && at != format.PrefixRoot {
		f.add(Problem, check, "write prefix_root="+format.PrefixRoot+" in "+h.plug.where, "its prefix root is %s, the plugin's %s", format.PrefixRoot, at)
	}
	for dir, want := range map[string]os.FileMode{"": 0o755, "trees": 0o755, "images": 0o755, "meta": 0o755, "inbox": 0o1733} {
		f = append(f, mode(filepath.Join(root, dir), want)...)
	}
	return f
}

// mode compares who may do what with a directory of the store.
func mode(path string, want os.FileMode) (f findings) {
	st, err := os.Stat(path)
	if err != nil {
		f.add(Problem, "permissions", "restart hpcenvd, which makes what is missing", "%v", err)
		return f
	}
	got := st.Mode().Perm()
	if st.Mode()&os.ModeSticky != 0 {
		got |= 0o1000
	}
	if got != want {
		f.add(Problem, "permissions", fmt.Sprintf("chmod %o %s", want, path), "%s has mode %04o, not %04o", path, got, want)
	}
	return f
}

const (
	// lowBytes and lowShare: less free space than both is worth a warning; lowInodes
	// likewise.
	lowBytes  = 20 << 30
	lowInodes = 200_000
	lowShare  = 0.05
)

// lookFileSystem: what kind it is, how full, and what it can do.
func (h *Host) lookFileSystem(context.Context) (f findings) {
	root := h.store()
	if root == "" {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(root, &fs); err != nil {
		f.add(Unknown, "free space", "", "%s: %v", root, err)
		return f
	}
	free, size := fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize)
	level, next := OK, ""
	if free < lowBytes && float64(free) < lowShare*float64(size) {
		level, next = Warning, "make room, or give hpcenvd a budget (hpcenv admin config show), and hpcenv admin gc --dry-run"
	}
	f.add(level, "free space", next, "%s free of %s on %s", bytes(free), bytes(size), name(fs.Type))
	if fs.Files > 0 { // a file system without a fixed number says 0
		level, next = OK, ""
		if fs.Ffree < lowInodes && float64(fs.Ffree) < lowShare*float64(fs.Files) {
			level, next = Warning, "deliver images, which take one inode each (delivery: image)"
		}
		f.add(level, "free inodes", next, "%d of %d", fs.Ffree, fs.Files)
	}
	if fs.Flags&unix.ST_NOEXEC != 0 {
		f.add(Warning, "mount options", "mount it without noexec, or deliver images", "noexec: programs do not run from trees of this store")
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(root), func(r rune) bool { return r == '/' || r == '_' || r == '-' }) {
		if strings.HasPrefix(word, "scratch") || word == "tmp" || strings.HasPrefix(word, "nobackup") {
			f.add(Warning, "purge policy", "ask the storage's administrators to leave it out of the purge, or move the store",
				"%s looks like a place that is purged: environments that nobody started for a while would lose files", root)
			break
		}
	}
	return append(f, h.tryFileSystem(root)...)
}

// tryFileSystem tries what the daemon does on it, and compares clocks.
func (h *Host) tryFileSystem(root string) (f findings) {
	const check = "file system features"
	dir, err := os.MkdirTemp(filepath.Join(root, "tmp"), "doctor-*")
	if err != nil {
		if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
			f.add(Unknown, check, "", "only the store's owner may try them: run it as that account on the daemon's host")
			return f
		}
		f.add(Problem, check, "see that the store's file system takes files", "%v", err)
		return f
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			f.add(Warning, check, "remove it", "%v", err)
		}
	}()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	before := time.Now()
	file, err := os.OpenFile(a, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		f.add(Problem, check, "see that the store's file system takes files", "%v", err)
		return f
	}
	defer file.Close() // only tried
	if st, err := file.Stat(); err == nil {
		if off := st.ModTime().Sub(before); off > time.Minute || off < -time.Minute {
			f.add(Warning, "clock", "set both clocks by NTP", "the store's server is %s off this host's clock", off.Round(time.Second))
		} else {
			f.add(OK, "clock", "", "the store's server agrees within %s", time.Duration(max(off, -off)).Round(time.Second)+time.Second)
		}
	}
	can := func(what string, err error, without string) {
		if err != nil {
			f.add(Note, check, "", "no %s (%v): %s", what, err, without)
			return
		}
		f.add(OK, check, "", "%s", what)
	}
	can("hard links", os.Link(a, b), "trees are copies; deliver images")
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, filepath.Join(dir, "c"), unix.RENAME_NOREPLACE); err != nil {
		can("rename without replacing", err, "a plain rename serves")
	}
	can("locks (flock)", unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), "work may be done twice, never wrongly")
	return f
}

// sample bounds how many environments are looked at.
const sample = 64

// lookContent: that what descriptions promise is there; a purge takes files by age.
func (h *Host) lookContent(ctx context.Context) (f findings) {
	root := h.store()
	if root == "" {
		return nil
	}
	dir, err := os.Open(filepath.Join(root, "meta"))
	if err != nil {
		return nil // said already
	}
	defer dir.Close() // only read
	ids, err := dir.Readdirnames(sample)
	if len(ids) == 0 {
		f.add(Note, "content", "", "no environment is prepared yet")
		return f
	}
	missing := 0
	for _, id := range ids {
		metas, gerr := filepath.Glob(filepath.Join(root, "meta", id, "*.json"))
		err = errors.Join(err, gerr, ctx.Err())
		for _, m := range metas {
			platform, of := strings.CutSuffix(filepath.Base(m), ".json")
			if !of || strings.Contains(platform, ".") {
				continue // what is kept beside a description
			}
			_, terr := os.Stat(filepath.Join(root, "trees", platform, id))
			_, ierr := os.Stat(filepath.Join(root, "images", platform, id+cache.ImageSuffix))
			if terr != nil && ierr != nil {
				missing++
				if missing == 1 {
					f.add(Problem, "content", "prepare its lock again; if files went by age, take the store out of the purge", "environment %s for %s is described but neither a tree nor an image is there", id, platform)
				}
			}
		}
	}
	switch {
	case err != nil:
		f.add(Unknown, "content", "", "%v", err)
	case missing == 0:
		f.add(OK, "content", "", "%d environments looked at, all there", len(ids))
	case missing > 1:
		f.add(Problem, "content", "", "%d of the %d environments that were looked at are not there", missing, len(ids))
	}
	return f
}

// bytes for people.
func bytes(n uint64) string {
	switch {
	case n >= 1<<40:
		return fmt.Sprintf("%.1f TiB", float64(n)/(1<<40))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// name of a file system by its magic number (statfs(2)).
func name(magic int64) string {
	known := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
		unix.NFS_SUPER_MAGIC: "NFS", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.FUSE_SUPER_MAGIC: "FUSE",
		0x0BD00BD0: "Lustre", 0x47504653: "GPFS", 0x19830326: "BeeGFS", 0x00C36400: "CephFS", unix.SMB2_SUPER_MAGIC: "SMB",
	}
	if n := known[magic]; n != "" {
		return n
	}
	return fmt.Sprintf("a file system of type %#x", magic)
}
