//go:build linux

package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/envs/cuda"
)

// The site's table is root's (or the daemon's own), is read whole or refused with the
// line, and may be absent where it is looked for unasked.
func TestTheSitesTable(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := cuda.Default().Text + "model 9.9 dc gpus H999\n"
	r, err := rules(config.Selection{CUDATable: write("good", own, 0o644)})
	if err != nil || r.CUDA() == nil || r.CUDA().ComputeOf("NVIDIA H999") != "9.9" {
		t.Errorf("%v", err)
	}
	if r, err = rules(config.Selection{}); err != nil || r.CUDA() != nil {
		t.Errorf("none: %v", err)
	}
	for path, want := range map[string]string{
		write("open", own, 0o666):                  "is not root's alone to write to",
		write("bad", own+"toolkit 9\n", 0o644):     "it is not of the form",
		filepath.Join(dir, "named, and not there"): "no such file",
	} {
		_, err := rules(config.Selection{CUDATable: path})
		if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "selection.cuda_table") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(config.CUDATablePath); errors.Is(err, os.ErrNotExist) {
		if r, err = rules(config.Selection{CUDATable: config.CUDATablePath}); err != nil || r.CUDA() != nil {
			t.Errorf("absent where it may be: %v", err)
		}
	}
}
