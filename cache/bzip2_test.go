package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/cosnicolaou/pbzip2"

	"github.com/hpcenv/hpcenv/cache/archive"
)

func bzip2Of(t testing.TB, data []byte) []byte {
	t.Helper()
	if _, err := exec.LookPath("bzip2"); err != nil {
		t.Skip("BZIP2 ABSENT: install bzip2 to test .tar.bz2 archives")
	}
	cmd := exec.Command("bzip2", "-1")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTarBz2(t *testing.T) {
	t.Run("standard", func(t *testing.T) { testTarBz2(t, nil, 1000, 300<<10) })
	parallel := func(ctx context.Context, in io.Reader) io.Reader { return pbzip2.NewReader(ctx, in) }
	t.Run("parallel", func(t *testing.T) { testTarBz2(t, parallel, 3<<20) })
}

// testTarBz2 tries whole and damaged archives, whose content is of these sizes,
// with a decompressor for the large ones.
func testTarBz2(t *testing.T, large archive.Decompressor, sizes ...int) {
	for _, size := range sizes {
		tarData := makeTar(t, member{name: "info/index.json", body: "{}"}, member{name: "lib/noise", body: string(noise(size))})
		half := len(tarData) / 2
		whole := bzip2Of(t, tarData)
		one, two := bzip2Of(t, tarData[:half]), bzip2Of(t, tarData[half:])
		join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
		flipped := bytes.Clone(whole)
		flipped[len(flipped)/2] ^= 4
		for _, c := range []struct {
			name string
			data []byte
			ok   bool
		}{
			{"one stream", whole, true},
			{"two streams", join(one, two), true},
			{"two streams and an empty one", join(one, two, bzip2Of(t, nil)), true},
			{"truncated at the end", whole[:len(whole)-2], false},
			{"truncated in the middle", whole[:len(whole)/2], false},
			{"second stream is missing", one, false},
			{"second stream is truncated", join(one, two[:len(two)/2]), false},
			{"garbage behind", join(whole, []byte("garbage behind the stream")), false},
			{"a bit flipped", flipped, false},
			{"no bzip2", bytes.Repeat([]byte("no bzip2"), size/8), false},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := newStore(t)
				s.UseBzip2(large)
				m, err := s.Ingest(context.Background(), writeFile(t, c.data), sourceOf(c.data, FormatTarBz2, ""), plain(""))
				if !c.ok {
					if !errors.Is(err, ErrIntegrity) {
						t.Errorf("got %v, want an integrity error", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Entries) != 1 || m.Entries[0].SHA256 != digestOf(noise(size)) {
					t.Errorf("got %v", m.Entries)
				}
			})
		}
	}
}
