package checkup

import (
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// TestCheckByTheSitesTable: what check says of a driver is what launches say, by the
// table that the site put in place of the program's.
func TestCheckByTheSitesTable(t *testing.T) {
	site, err := cuda.Parse("site", []byte(strings.Replace(cuda.Default().Text, "family 12 525.60.13", "family 12 540.1", 1)))
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{Node: "n7", Facts: &facts.Facts{Machine: "x86_64", Platform: "linux-64", GPU: &facts.GPU{Vendor: "nvidia", Driver: "535.104.05", CUDA: "12.2"}}}
	level := func(table *cuda.Table) (out preflight.Level) {
		e := Environment{CUDA: table, Needs: &needs.Needs{Version: needs.Version, Locked: []requirement.Requirement{
			{Spec: "cuda-driver 12.9", Source: requirement.CUDA, Packages: []string{"cuda-version 12.9"}}}}}
		for _, f := range h.Check(t.Context(), e).Findings {
			if f.ID == "cuda-driver" {
				return f.Level
			}
		}
		t.Fatal("the driver was not judged")
		return
	}
	if got := level(nil); got != preflight.Fits {
		t.Errorf("by the program's table: %s", got)
	}
	if got := level(site); got != preflight.Unfit {
		t.Errorf("by the site's table: %s", got)
	}
}
