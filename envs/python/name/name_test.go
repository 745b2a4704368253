package name_test

import (
	"math/rand/v2"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/internal/peer"
)

const askPackaging = `
import json, sys
from packaging.utils import canonicalize_name, is_normalized_name, InvalidName
out = []
for t in json.load(sys.stdin):
    try: canonicalize_name(t, validate=True); valid = True
    except InvalidName: valid = False
    out.append([canonicalize_name(t), valid, is_normalized_name(t)])
json.dump(out, sys.stdout)
`

// Names are normalized and judged as the library `packaging` does.
func TestSameAsPackaging(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	letters := []rune("abAB09-_.-_. é")
	var texts []string
	for range 5000 {
		s := make([]rune, r.IntN(7))
		for i := range s {
			s[i] = letters[r.IntN(len(letters))]
		}
		texts = append(texts, string(s))
	}
	var answers [][3]any
	peer.Ask(t, askPackaging, texts, &answers)
	for i, text := range texts {
		if got := [3]any{name.Normalize(text), name.Valid(text), name.Normalized(text)}; got != answers[i] {
			t.Errorf("%q: %v; packaging: %v", text, got, answers[i])
		}
	}
}

// Normalizing twice changes nothing more; a valid name's normal form is valid.
func FuzzNormalize(f *testing.F) {
	f.Add("Foo.__bar")
	f.Add("-İ-")
	f.Fuzz(func(t *testing.T, text string) {
		once := name.Normalize(text)
		if name.Normalize(once) != once {
			t.Fatalf("%q: %q, then %q", text, once, name.Normalize(once))
		}
		if name.Valid(text) && (!name.Normalized(once) || !name.Equal(text, once)) {
			t.Fatalf("%q: %q", text, once)
		}
	})
}
