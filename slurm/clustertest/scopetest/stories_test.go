//go:build cluster

package scopetest

import "testing"

// wanted is how many submissions are compared.
const wanted = 200

// TestScope: no answer is too narrow.
func TestScope(t *testing.T) {
	g := generator{seed(t)}
	c := start(t)
	kinds := []string{"script", "script", "script", "wrap", "wrap", "heredoc", "heredoc", "het", "hetscript", "script", "wrap", "salloc", "srun"}
	p := plan{Until: wanted}
	for i := range 10 * wanted {
		p.Submissions = append(p.Submissions, g.next(kinds[i%len(kinds)]))
	}
	r := c.drive(p)
	all, kinded := judge(t, r)
	t.Logf("%d submissions, of which Slurm refused %d", len(r.Outcomes), len(r.Outcomes)-wanted)
	if len(kinded) != 7 || all.exact < wanted/2 {
		t.Errorf("the submissions try too little: %s", all)
	}
}
