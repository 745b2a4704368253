package server

import (
	"context"
	"os"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// ListFor has one environment for each group of the caller.
func (b *backend) ListFor(_ context.Context, groups []int) (out []api.Environment, err error) {
	for _, gid := range groups {
		out = append(out, api.Environment{Group: &gid})
	}
	return out, nil
}

func (b *backend) OwnParts([]int) []int { return nil }

// What a caller may see depends on the caller's groups, as the kernel tells them.
func TestListIsForTheCallersGroups(t *testing.T) {
	_, socket := start(t, &backend{})
	more, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	envs, err := dial(t, socket).List(context.Background())
	if err != nil || len(envs) != 1+len(more) {
		t.Fatalf("%d environments, %v; want one for each of %d groups", len(envs), err, 1+len(more))
	}
	for i, want := range append([]int{os.Getegid()}, more...) {
		if envs[i].Group == nil || *envs[i].Group != want {
			t.Errorf("group %d: %+v", want, envs[i])
		}
	}
}

// Where groups have parts of the store, only their members share work.
func TestWorkIsSharedByGroup(t *testing.T) {
	a, b := &api.PrepareRequest{Lock: []byte("x"), Group: 1}, &api.PrepareRequest{Lock: []byte("x"), Group: 2}
	if key(a, nil) != key(b, nil) {
		t.Error("without parts, work is not shared")
	}
	if key(a, []int{3}) == key(b, []int{3}) || key(a, []int{3}) == key(a, []int{4}) || key(a, []int{3}) == key(a, nil) {
		t.Error("with a part, work is shared with another group")
	}
}
