package tag

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/version"
)

// sdistSuffixes of source archives; the standard has the first, old indexes
// have the others too.
var sdistSuffixes = []string{".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz"}

// SdistStem returns the name of a source archive without its suffix; false if
// it does not end like one.
func SdistStem(file string) (string, bool) {
	for _, suffix := range sdistSuffixes {
		if stem, ok := strings.CutSuffix(file, suffix); ok {
			return stem, true
		}
	}
	return "", false
}

// ParseSdistName takes the name of a source archive apart: the project as the
// file has it, and the version. The error wraps ErrFileName.
func ParseSdistName(file string) (project string, v version.Version, err error) {
	stem, ok := SdistStem(file)
	if !ok {
		return "", v, fmt.Errorf("%w: %q does not end like a source archive", ErrFileName, file)
	}
	i := strings.LastIndexByte(stem, '-')
	if i <= 0 {
		return "", v, fmt.Errorf("%w: source archive %q: it is not NAME-VERSION", ErrFileName, file)
	}
	if v, err = version.Parse(stem[i+1:]); err != nil {
		return "", v, fmt.Errorf("%w: source archive %q: %w", ErrFileName, file, err)
	}
	return stem[:i], v, nil
}
