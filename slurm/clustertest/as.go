//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// runAs is the program behind the script commands u1 and u2: its arguments run
// on the cluster's submit host as an account of the cluster. None of the stories
// submits as root.
func runAs(account string) {
	dir, err := os.Getwd()
	if err == nil {
		argv := []string{os.Getenv("DEVCLUSTER"), "exec", "--as", account, "--cwd", dir, "--keep-env", "--",
			"env", "HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("USERPATH")}
		err = syscall.Exec(argv[0], append(argv, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintf(os.Stderr, "as %s: %v\n", account, err)
	os.Exit(126)
}

// installPrograms makes the programs of this test binary available to the
// accounts: the binary dispatches on the name it is called by.
func installPrograms(bin string, names []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "clustertest"), b, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Symlink("clustertest", filepath.Join(bin, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
