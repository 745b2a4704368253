package conda

import (
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
)

// A path that no record could name is refused, wherever it is listed.
func TestPathsAreText(t *testing.T) {
	for _, in := range []legacyInfo{
		{files: []byte("good\nb\xffd\n")},
		{files: []byte("good\n"), hasPrefix: []byte("/ph text b\xffd\n")},
		{files: []byte("good\n"), noLink: []byte("b\xffd\n")},
	} {
		if _, _, err := parseLegacy(in); !errors.Is(err, cache.ErrIntegrity) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if out, _, err := parseLegacy(legacyInfo{files: []byte("é\n")}); err != nil || len(out) != 1 {
		t.Errorf("%v %v", out, err)
	}
}
