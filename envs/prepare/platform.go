package prepare

import (
	"fmt"
	"slices"
	"strings"
)

// subdirs are the conda subdirs that people mean by what uname, Docker, Go or
// Slurm call an architecture; the keys are in lower case, without "linux".
var subdirs = map[string]string{
	"64": "linux-64", "x86_64": "linux-64", "x86-64": "linux-64", "x64": "linux-64", "amd64": "linux-64", "intel": "linux-64",
	"aarch64": "linux-aarch64", "arm64": "linux-aarch64", "arm64v8": "linux-aarch64", "armv8": "linux-aarch64", "arm": "linux-aarch64",
	"grace": "linux-aarch64", "gh200": "linux-aarch64",
	"ppc64le": "linux-ppc64le", "riscv64": "linux-riscv64",
}

// meant is the conda subdir that somebody may have meant by name, or "".
func meant(name string) string {
	arch := strings.ToLower(name)
	for _, system := range []string{"linux", "osx", "macos", "darwin", "win", "windows"} {
		if rest, ok := strings.CutPrefix(arch, system); ok {
			arch = strings.TrimLeft(rest, "-_/")
			break
		}
	}
	return subdirs[arch]
}

// notMade is the error for a platform that the store makes nothing for.
func notMade(name string, made []string) error {
	text := fmt.Sprintf("%q is no platform that this store makes environments for; it makes %s", name, strings.Join(made, ", "))
	if m := meant(name); slices.Contains(made, m) {
		return fmt.Errorf("%w: %s\nnext: did you mean --platform %s?", ErrRequest, text, m)
	}
	return fmt.Errorf("%w: %s\nnext: name one of these with --platform, or leave it out: then those of the cluster's nodes count", ErrRequest, text)
}
