package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleManifest() *Manifest {
	d := digestOf([]byte("x"))
	return &Manifest{Version: manifestVersion, SHA256: d, MD5: strings.Repeat("a", 32), Size: 10, Format: FormatConda,
		Meta: json.RawMessage(`{"a":"<b>&"}`), Notes: []string{"one\ntwo"},
		Entries: []Entry{
			{Path: "a\tb\nc", Type: EntryFile, SHA256: d, Size: 900, Exec: true, NoLink: true, Binary: true, Placeholder: "/tab\there\\", Offsets: []int64{0, 20, 800}},
			{Path: "d", Type: EntryDir},
			{Path: "e", Type: EntryFile, SHA256: emptySHA256, Time: 1700000000},
			{Path: "l\xff", Type: EntryLink, Target: "back\\slash\n"},
			{Path: "p", Type: EntryFile, SHA256: d, Size: 900, Placeholder: "/never/found"},
		}}
}

func TestManifestRoundTrip(t *testing.T) {
	m := sampleManifest()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got); d != "" {
		t.Error(d)
	}
}

func TestShortenedManifestIsRefused(t *testing.T) {
	data, err := sampleManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		if _, err := DecodeManifest(data[:i]); !errors.Is(err, ErrIntegrity) {
			t.Fatalf("the first %d bytes: got %v", i, err)
		}
	}
}

func TestBadEntriesAreNotEncoded(t *testing.T) {
	d := digestOf([]byte("x"))
	for name, entries := range map[string][]Entry{
		"escape":        {{Path: "../x", Type: EntryDir}},
		"absolute":      {{Path: "/x", Type: EntryDir}},
		"not clean":     {{Path: "a/./b", Type: EntryDir}},
		"empty name":    {{Path: "", Type: EntryDir}},
		"twice":         {{Path: "a", Type: EntryDir}, {Path: "a", Type: EntryDir}},
		"unsorted":      {{Path: "b", Type: EntryDir}, {Path: "a", Type: EntryDir}},
		"no digest":     {{Path: "a", Type: EntryFile}},
		"offset at end": {{Path: "a", Type: EntryFile, SHA256: d, Size: 5, Placeholder: "/pp", Offsets: []int64{3}}},
		"offset alone":  {{Path: "a", Type: EntryFile, SHA256: d, Size: 5, Offsets: []int64{3}}},
		"no link text":  {{Path: "a", Type: EntryLink}},
		"unknown type":  {{Path: "a", Type: "socket"}},
	} {
		m := &Manifest{Version: manifestVersion, SHA256: d, Entries: entries}
		if _, err := m.Encode(); !errors.Is(err, ErrIntegrity) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzManifest: what decodes encodes to bytes that decode to the same.
func FuzzManifest(f *testing.F) {
	data, err := sampleManifest().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(fmt.Sprintf("{\"version\":2,\"sha256\":%q,\"entries\":0}\n", strings.Repeat("0", 64))))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data)
		if err != nil {
			if !errors.Is(err, ErrIntegrity) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("decoded but not encodable: %v", err)
		}
		m2, err := DecodeManifest(again)
		if err != nil {
			t.Fatalf("own bytes are refused: %v", err)
		}
		third, err := m2.Encode()
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("not stable: %v", err)
		}
		if d := cmp.Diff(m.Entries, m2.Entries); d != "" {
			t.Fatal(d)
		}
	})
}

// TestFindAll compares the search in chunks with a search in one piece.
func TestFindAll(t *testing.T) {
	data := []byte(strings.Repeat("/pp/pp/p /ppp//pp", 50) + "/pp")
	for _, word := range []string{"/pp", "/pp/pp", "p", "absent", "/ppp//pp"} {
		var want []int64
		for at := 0; ; {
			i := strings.Index(string(data[at:]), word)
			if i < 0 {
				break
			}
			want = append(want, int64(at+i))
			at += i + len(word)
		}
		for chunk := 1; chunk < 70; chunk++ {
			got, err := findAll(bytes.NewReader(data), []byte(word), chunk)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%q in chunks of %d:\n%s", word, chunk, d)
			}
		}
	}
}
