package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/bench/link/stack"
)

// env is one environment to prepare: packages of one channel, and a variant.
// Another variant of the same packages is another environment (another id).
type env struct {
	channel  string // URL
	packages []stack.Package
	variant  int
}

func (e env) url(p stack.Package) string {
	return fmt.Sprintf("%s/%s/%s", e.channel, p.Subdir, p.File)
}

// lock is the environment as a pixi.lock.
func (e env) lock() []byte {
	var b, records strings.Builder
	fmt.Fprintf(&b, "version: 6\nenvironments:\n  default:\n    channels:\n    - url: %s/\n    packages:\n      linux-64:\n", e.channel)
	for i, p := range e.packages {
		fmt.Fprintf(&b, "      - conda: %s\n", e.url(p))
		fmt.Fprintf(&records, "- conda: %s\n  sha256: %s\n  md5: %s\n", e.url(p), p.SHA256, p.MD5)
		if len(p.Depends) > 0 {
			records.WriteString("  depends:\n")
			for _, d := range p.Depends {
				fmt.Fprintf(&records, "  - %s\n", d)
			}
		}
		if i == 0 {
			fmt.Fprintf(&records, "  license: variant-%d\n", e.variant)
		}
		fmt.Fprintf(&records, "  size: %d\n", p.Size)
	}
	b.WriteString("packages:\n")
	b.WriteString(records.String())
	return []byte(b.String())
}

// writeLock writes the lock into a fresh folder and returns the lock's path.
func (e env) writeLock(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%d.lock", e.variant))
	return path, os.WriteFile(path, e.lock(), 0o644)
}
