package facts

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// compressors by the kernel's options.
var compressors = map[string]string{
	"CONFIG_SQUASHFS_ZLIB": "gzip", "CONFIG_SQUASHFS_LZ4": "lz4", "CONFIG_SQUASHFS_LZO": "lzo",
	"CONFIG_SQUASHFS_XZ": "xz", "CONFIG_SQUASHFS_ZSTD": "zstd",
}

// readSquashfs tells whether the kernel mounts images, and with which
// compressors, by its configuration; without one, by the file systems and
// modules that it has, which do not tell compressors.
func readSquashfs(_ context.Context, h host) part {
	release, err := h.value("/proc/sys/kernel/osrelease")
	if err != nil {
		release = ""
	}
	var problems []string
	loaded := false
	if text, err := h.text("/proc/filesystems"); err == nil {
		loaded = contains(text, "squashfs")
	} else {
		problems = append(problems, err.Error())
	}
	present := loaded || hasModule(h.tree, release, "squashfs")
	set := func(s Squashfs) part {
		return part{set: func(f *Facts) { f.Squashfs = s }, problems: problems}
	}

	config, from, err := kernelConfig(h.tree, release)
	if err != nil {
		problems = append(problems, err.Error())
	}
	if config == "" {
		switch {
		case present:
			problems = append(problems, "the kernel mounts images, but no configuration of it says with which compressors")
			return set(Squashfs{Mounts: Yes})
		case h.exists("/lib/modules/" + release + "/modules.dep"):
			return set(Squashfs{Mounts: No})
		}
		problems = append(problems, "neither /proc/filesystems nor a configuration of the kernel shows squashfs")
		return set(Squashfs{Mounts: Unknown})
	}
	s := parseConfig(config)
	if s.Mounts == Yes && !present && !contains(strings.ReplaceAll(config, "\n", " "), "CONFIG_SQUASHFS=y") {
		// Configured as a module, which is not installed, or not to be seen here.
		if !h.exists("/lib/modules/" + release + "/modules.dep") {
			problems = append(problems, from+" has squashfs as a module; whether it is installed cannot be seen")
			s.Mounts = Unknown
		} else {
			s = Squashfs{Mounts: No}
		}
	}
	if loaded { // what it does counts more than what a file says
		s.Mounts = Yes
	}
	return set(s)
}

// parseConfig reads a kernel's configuration.
func parseConfig(config string) Squashfs {
	s := Squashfs{Mounts: No}
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if value != "y" && value != "m" {
			continue
		}
		if key == "CONFIG_SQUASHFS" {
			s.Mounts = Yes
		}
		if c, ok := compressors[key]; ok {
			add(&s.Compressors, c)
		}
	}
	if s.Mounts == No {
		s.Compressors = nil
	}
	slices.Sort(s.Compressors)
	return s
}

// kernelConfig is the running kernel's configuration and where it was found; ""
// if it is nowhere.
func kernelConfig(t tree, release string) (config, from string, err error) {
	names := []string{"/proc/config.gz"}
	if release != "" {
		names = append(names, "/boot/config-"+release, "/lib/modules/"+release+"/config", "/usr/lib/modules/"+release+"/config")
	}
	for _, name := range names {
		text, e := t.text(name)
		if e == nil && strings.HasSuffix(name, ".gz") {
			text, e = gunzip(text)
		}
		switch {
		case e == nil && strings.Contains(text, "CONFIG_"):
			return text, name, nil // what could not be read does not matter then
		case e == nil:
			err = errors.Join(err, errors.New(name+" is no configuration of a kernel"))
		case !errors.Is(e, fs.ErrNotExist):
			err = errors.Join(err, e)
		}
	}
	return "", "", err
}

func gunzip(s string) (string, error) {
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(z, maxText))
	return b.String(), err
}

// hasModule: the module is part of the kernel, or installed for it.
func hasModule(t tree, release, name string) bool {
	if release == "" {
		return false
	}
	for _, list := range []string{"modules.builtin", "modules.dep"} {
		text, err := t.text("/lib/modules/" + release + "/" + list)
		if err == nil && strings.Contains(text, "/"+name+".ko") {
			return true
		}
	}
	return false
}
