//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// runAs is the program behind the script commands u1 and u2: it becomes an
// account of the cluster, for good, and executes its arguments. None of the
// stories submits as root.
func runAs(account string) {
	if err := becomeAndExec(account, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "as %s: %v\n", account, err)
		os.Exit(126)
	}
}

func becomeAndExec(account string, argv []string) error {
	if len(argv) == 0 {
		return fmt.Errorf("no command")
	}
	u, err := user.Lookup(account)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	if err := syscall.Setgroups([]int{gid}); err != nil {
		return err
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return err
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return err
	}
	syscall.Umask(0o022)
	env := append(os.Environ(), "USER="+account, "LOGNAME="+account)
	return syscall.Exec(path, argv, env)
}
