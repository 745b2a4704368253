package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// openForRoot is the child of attach: it becomes the user, opens what the job needs of the
// store, checks that it is the store owner's, and sends it on fd 3: the directory of all
// trees if that has all there is; else each environment by itself, a tree or an image.
func openForRoot(args []string) error {
	fl := newFlags("open")
	var o opening
	fl.StringVar(&o.root, "root", "", "")
	fl.StringVar(&o.platform, "platform", "", "")
	fl.IntVar(&o.owner, "owner", -1, "")
	fl.StringVar(&o.group, "group", "", "")
	fl.BoolVar(&o.each, "each", false, "")
	fl.BoolVar(&o.trees, "trees", false, "")
	have := fl.String("have", "", "")
	uid, gid := fl.Int("uid", -1, ""), fl.Int("gid", -1, "")
	groups, ids := fl.String("groups", "", ""), fl.String("ids", "", "")
	if err := parse(fl, args); err != nil {
		return err
	}
	if err := becomeUser(*uid, *gid, *groups); err != nil {
		return err
	}
	conn, err := fdmsg.Conn(os.NewFile(3, "root"))
	if err != nil {
		return err
	}
	comma := func(r rune) bool { return r == ',' }
	o.have = strings.FieldsFunc(*have, comma)
	err = o.offer(conn, strings.FieldsFunc(*ids, comma))
	return errors.Join(err, conn.Close())
}

// openTree opens a directory of the store's trees, or the one that holds them all.
func (o *opening) openTree(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case o.group != "" && errors.Is(err, fs.ErrPermission):
		return nil, notOfGroup("the job's environment", o.group)
	case o.group != "" && errors.Is(err, fs.ErrNotExist):
		return nil, refuse(api.ExitUnreachable, "the store has nothing for group %s here: %w; next: submit the job again, or exclude the node (--exclude) if others have it", o.group,
			&fs.PathError{Op: "open", Path: dir, Err: err})
	case err != nil:
		return nil, refuse(api.ExitUnreachable, "the store is not mounted here: %w; next: tell the administrator that this node lacks it, or exclude the node (--exclude)",
			&fs.PathError{Op: "open", Path: dir, Err: err})
	}
	f := os.NewFile(uintptr(fd), dir)
	if err := o.owned(f, dir, 0o022); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// owned refuses what is not the store owner's, or has one of the modes' bits.
func (o *opening) owned(f *os.File, name string, modes uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return refuse(api.ExitUnreachable, "store: %w", &fs.PathError{Op: "stat", Path: name, Err: err})
	}
	if o.owner >= 0 && int(st.Uid) != o.owner {
		return refuse(api.ExitUnreachable, "%s belongs to uid %d, not to the configured owner %d; it is not mounted; next: tell the administrator, who checks owner= in plugstack.conf and who has replaced it", name, st.Uid, o.owner)
	}
	if st.Mode&modes != 0 {
		who, next := "others", "go-w"
		if modes&0o200 != 0 {
			who, next = "somebody", "a-w"
		}
		return refuse(api.ExitUnreachable, "%s may be written by %s (mode %04o); it is not mounted; next: the administrator runs chmod %s on it", name, who, st.Mode&0o7777, next)
	}
	return nil
}

// notOfGroup is what is said to a user who may not read an environment.
func notOfGroup(what, group string) error {
	return refuse(api.ExitUnreachable, "%s was made with a credential and is for the members of group %s only, of which this user is none here; next: prepare the lock with a credential of your own, or have the administrator see that this node knows your groups", what, group)
}

// becomeUser gives up root for good. The process does it itself, after its exec:
// only so does the kernel keep the user from tracing it and looking into it. A
// child that is exec'ed as the user could be made to send root any directory in
// the place of the one that was checked.
func becomeUser(uid, gid int, groups string) error {
	if err := takeIdentity(uid, gid, groups); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("shutting tracers out: %w", err)
	}
	// The change of identity has cleared it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tying the opening child to its parent: %w", err)
	}
	return nil
}

// takeIdentity makes the process a user's.
func takeIdentity(uid, gid int, groups string) error {
	if uid < 0 || gid < 0 {
		return refuse(api.ExitUsage, "--uid and --gid are needed")
	}
	ids, err := parseGroups(groups)
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(ids); err != nil {
		return fmt.Errorf("giving up root's groups: %w", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("giving up root's group: %w", err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("giving up root: %w", err)
	}
	return nil
}

func parseGroups(list string) ([]int, error) {
	var groups []int
	for _, g := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return nil, refuse(api.ExitUsage, "attach: --groups: %w", err)
		}
		groups = append(groups, int(n))
	}
	return groups, nil
}
