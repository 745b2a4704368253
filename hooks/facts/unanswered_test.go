package facts

import (
	"context"
	"testing"

	"github.com/hpcenv/hpcenv/envs/requirement"
)

// TestUnanswered: whatever readers come to an end in time, no requirement over the
// others is unmet.
func TestUnanswered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		f := Read(ctx, "/")
		n := requirement.Node{Virtuals: map[string]requirement.Virtual{}}
		for _, v := range Virtuals(f, nil) {
			n.Virtuals[v.Name] = v
		}
		for _, spec := range []string{"__glibc >=2.1", "__linux >=2.6", "__unix"} {
			if v := requirement.Check(requirement.Requirement{Spec: spec, Source: requirement.Depends}, n); !v.OK() {
				t.Fatalf("%s: %+v of %+v", spec, v, f)
			}
		}
	}
}
