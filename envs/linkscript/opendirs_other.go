//go:build !linux

package linkscript

import "fmt"

// openDirs: link scripts run on Linux, and only they leave directories that need it.
func openDirs(root string) error {
	return fmt.Errorf("%w: %s: link scripts run on Linux only", ErrCannotRun, root)
}
