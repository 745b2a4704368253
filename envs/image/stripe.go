package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// lustreMagic is the type that statfs tells of Lustre.
const lustreMagic = 0x0bd00bd0

// An image on Lustre is spread so that a thousand nodes that read it ask many
// servers: a stripe for each perServer bytes, in pieces of stripeSize. More than
// maxStripes would only make opening it dearer; a file system with fewer servers
// takes what it has.
const (
	stripeSize = "4M"
	perServer  = 32 << 20
	maxStripes = 32
)

func onLustre(dir string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false, err
	}
	return uint32(st.Type) == lustreMagic, nil
}

// stripe makes out, empty, with a layout for so many bytes, if it lies on Lustre and
// this host has lfs: a file's layout is chosen when it is made. It returns over how
// many servers, 0 = none was chosen. A layout is worth having and never worth failing
// for: if lfs fails, the file gets what its directory has.
func (t *Tool) stripe(ctx context.Context, out string, bytes int64) (int, error) {
	is, err := t.onLustre(filepath.Dir(out))
	if err != nil {
		return 0, fmt.Errorf("%w: look at the file system of %s: %w", cache.ErrStore, out, err)
	}
	if !is {
		return 0, nil
	}
	lfs, err := exec.LookPath(t.lfs)
	if err != nil {
		return 0, nil // clients of Lustre without its tools
	}
	n := int(min(max(bytes/perServer, 1), maxStripes))
	if err := exec.CommandContext(ctx, lfs, "setstripe", "-c", strconv.Itoa(n), "-S", stripeSize, out).Run(); err == nil {
		return n, nil
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err := os.Remove(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: remove %s: %w", cache.ErrStore, out, err)
	}
	return 0, nil
}
