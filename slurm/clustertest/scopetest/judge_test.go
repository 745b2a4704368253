//go:build cluster

package scopetest

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

func seed(t *testing.T) *rand.Rand {
	n := rand.Int63()
	if text := os.Getenv("SCOPETEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (SCOPETEST_SEED=%d repeats it)", n, n)
	return rand.New(rand.NewSource(n))
}

// tally counts components by how good the answer was.
type tally struct{ exact, widened, narrow int }

func (a tally) String() string {
	return fmt.Sprintf("%d exact, %d widened, %d too narrow", a.exact, a.widened, a.narrow)
}

// brief are the fields of a record that decide.
func brief(record map[string]string) string {
	var out []string
	for _, key := range []string{
		"JobId", "Partition", "ReqNodeList", "ExcNodeList", "NumNodes", "NumTasks", "Features", "Prefer", "TresPerNode", "TresPerTask", "TresPerJob", "Reservation",
	} {
		if record[key] != "" {
			out = append(out, key+"="+record[key])
		}
	}
	return strings.Join(out, " ")
}

// judge compares answers with truths, by kind of submission.
func judge(t *testing.T, r report) (all tally, byKind map[string]*tally) {
	t.Helper()
	byKind = map[string]*tally{}
	for _, o := range r.Outcomes {
		for i, c := range o.Components {
			k := byKind[o.Submission.Kind]
			if k == nil {
				k = &tally{}
				byKind[o.Submission.Kind] = k
			}
			missing := slices.DeleteFunc(slices.Clone(c.Truth), func(n string) bool { return slices.Contains(c.Scope.Nodes, n) })
			switch {
			case len(missing) > 0:
				k.narrow++
				all.narrow++
				t.Errorf("too narrow: %s\ncomponent %d can land on %s, the answer is %s %q; Slurm: %s", o.Submission, i,
					hostlist.Compress(c.Truth), hostlist.Compress(c.Scope.Nodes), c.Scope.Why, brief(c.Record))
			case len(c.Truth) == len(c.Scope.Nodes):
				k.exact++
				all.exact++
			default:
				k.widened++
				all.widened++
				if c.Scope.Exact {
					t.Errorf("called exact, but it is not: %s\ncomponent %d can land on %s, the answer is %s; Slurm: %s", o.Submission, i,
						hostlist.Compress(c.Truth), hostlist.Compress(c.Scope.Nodes), brief(c.Record))
				}
			}
		}
	}
	for _, kind := range []string{"script", "wrap", "heredoc", "het", "hetscript", "salloc", "srun", "moved"} {
		if k := byKind[kind]; k != nil {
			t.Logf("%-10s %s", kind, k)
		}
	}
	t.Logf("%-10s %s", "all", all)
	return all, byKind
}
