package selection_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Rules that are accepted can be kept and read back, and choose without a panic.
func FuzzReadRules(f *testing.F) {
	f.Add([]byte("rules:\n  - {key: a, gpu: true, network: [roce], prefer: [UCX with GPU, environment x]}"), uint64(1))
	f.Add([]byte("- {key: mixed, mixed: true, prefer: [with GPU]}\n- {key: b, partition: [a], set: [{name: A, value: x}]}"), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r, err := selection.ReadRules(data)
		if err != nil {
			if !errors.Is(err, selection.ErrRules) {
				t.Fatalf("an error without its class: %v", err)
			}
			return
		}
		canonical, err := r.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		back, err := selection.LoadRules(canonical)
		if err != nil {
			t.Fatalf("%v\n%s", err, canonical)
		}
		if back.Digest() != r.Digest() {
			t.Fatalf("read back they have another digest:\n%s", canonical)
		}
		in := newWorld(t, seed).input()
		in.Rules = r
		for _, p := range both(in) {
			wired(t, p)
		}
	})
}

// Whatever a job's environment has for a pinned plan, a node answers or says that
// it cannot be used.
func FuzzPinnedPlan(f *testing.F) {
	for seed := range uint64(40) {
		for _, p := range both(newWorld(f, seed).input()) {
			pinned, err := p.Pin(nil)
			if err != nil {
				f.Fatal(err)
			}
			data, err := json.Marshal(pinned)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, seed)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		var p selection.PinnedPlan
		if err := json.Unmarshal(data, &p); err != nil {
			return
		}
		if _, err := json.Marshal(&p); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		in := newWorld(t, seed%40).input()
		var digests []string
		for _, g := range in.Groups {
			digests = append(digests, g.Kind.Digest)
		}
		done, err := p.Resolve(digests)
		if err != nil {
			done = &p
		}
		for i := range in.Groups {
			d, err := done.Decide(&in.Groups[i].Kind, loader(in))
			if err == nil && (d.Environment == "" || d.Platform == "") {
				t.Fatalf("a decision for nothing: %+v", d)
			}
		}
	})
}
