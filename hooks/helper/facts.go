package helper

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// writeFacts reads what this node is and leaves it where launches look: the boot
// unit's work (hpcenv-facts.service). With -o - it is printed.
func writeFacts(ctx context.Context, args []string, out io.Writer) error {
	fl := newFlags("facts")
	root := fl.String("root", "/", "")
	file := fl.String("o", filepath.Join(DefaultRunDir, facts.RecordFile), "")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return refuse(api.ExitUsage, "facts: usage: hpcenv slurm-hook facts [--root DIR] [-o FILE|-]")
	}
	info, err := os.Stat(*root)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", *root)
	}
	if err != nil {
		return refuse(api.ExitUsage, "facts: %w; next: --root names the directory that has the node's /proc and /sys", err)
	}
	f := facts.Read(ctx, *root)
	if *file == "-" {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(f)
	}
	dir := filepath.Dir(*file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("facts: %w; next: run it as root, or name another file with -o", err)
	}
	if err := facts.Save(*file, f); err != nil {
		return fmt.Errorf("facts: %s: %w; next: run it as root, or name another file with -o", *file, err)
	}
	return nil
}
