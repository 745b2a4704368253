//go:build cluster

package scopetest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	c.plugins(t, "", "")
	r := c.drive(t, p)
	all, kinded := judge(t, r)
	t.Logf("%d submissions, of which Slurm refused %d", len(r.Outcomes), len(r.Outcomes)-wanted)
	if len(kinded) != 7 || all.exact < wanted/2 {
		t.Errorf("the submissions try too little: %s", all)
	}
}

// mover is a site's job_submit script: it moves jobs from one partition to another.
const mover = `
local to = { gpu = "cpu", cpu = "arm", arm = "mixed", closed = "all", [""] = "gpu" }
local function move(job_desc)
	job_desc.partition = to[job_desc.partition or ""] or job_desc.partition
	if job_desc.features == "ib" then
		job_desc.features = "x86_64"
	end
end
`

const moving = mover + `
function slurm_job_submit(job_desc, part_list, uid)
	move(job_desc)
	return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, uid)
	return slurm.SUCCESS
end
`

// TestMovedJobs: a job_submit script that moves jobs makes every answer wide.
func TestMovedJobs(t *testing.T) {
	g := generator{seed(t)}
	c := start(t)
	c.plugins(t, moving, "")
	p := plan{Until: 40}
	for range 400 {
		s := g.next(g.pick("script", "wrap", "heredoc"))
		s.Kind = "moved"
		p.Submissions = append(p.Submissions, s)
	}
	r := c.drive(t, p)
	judge(t, r)
	moved := 0
	for _, o := range r.Outcomes {
		for _, k := range o.Components {
			if k.Record["Partition"] != k.Scope.Partition {
				moved++
			}
			if !k.Scope.Every || !strings.Contains(strings.Join(k.Scope.Why, " "), "job_submit plugin lua") {
				t.Errorf("%s: not every node: %q", o.Submission, k.Scope.Why)
			}
		}
	}
	if moved < 5 {
		t.Errorf("only %d jobs were moved", moved)
	}
}

// TestScripts: with the scripts of contrib/slurm answers are exact, also for scripts
// on standard input, and no job gets out of them.
func TestScripts(t *testing.T) {
	g := generator{seed(t)}
	c := start(t)
	contrib := func(name string) string { return filepath.Join(c.root, "contrib/slurm", name) }
	for _, name := range []string{"job_submit.lua", "cli_filter.lua"} {
		write(t, filepath.Join(c.dir, name), read(t, contrib(name)))
	}
	// A site's own cli_filter, which chooses a partition, before ours.
	filter := `dofile("` + filepath.Join(c.dir, "cli_filter.lua") + `")
function slurm_cli_pre_submit(options, offset)
	if options["partition"] == nil then
		options["partition"] = "arm"
	end
	hpcenv_cli_record(options)
	return slurm.SUCCESS
end
`
	submit := `dofile("` + filepath.Join(c.dir, "job_submit.lua") + `")` + mover + `
function slurm_job_submit(job_desc, part_list, uid)
	if job_desc.name ~= "stay" then
		move(job_desc)
	end
	return hpcenv_job_submit(job_desc, part_list)
end
`
	t.Run("exact", func(t *testing.T) {
		c.plugins(t, read(t, contrib("job_submit.lua")), filter)
		p := plan{Until: 60, Enforced: true}
		for range 600 {
			p.Submissions = append(p.Submissions, g.next(g.pick("script", "wrap", "heredoc", "het", "hetscript", "salloc", "srun")))
		}
		r := c.drive(t, p)
		_, kinds := judge(t, r)
		if k := kinds["heredoc"]; k == nil || k.exact <= k.widened {
			t.Errorf("scripts on standard input: %v", k)
		}
		for _, o := range r.Outcomes {
			if strings.Contains(o.Refused, "hpcenv:") {
				t.Errorf("a job that nobody moved is refused: %s: %s", o.Submission, o.Refused)
			}
		}
	})
	t.Run("enforced", func(t *testing.T) {
		c.plugins(t, submit, filter)
		for _, test := range []struct{ args, needs, want, refused string }{
			{args: "-p gpu", refused: "moved to the partition cpu"},
			{args: "-p gpu -C ib", refused: "moved to the partition cpu"},
			{args: "-p closed", want: "", refused: "moved to the partition all"},
			{args: "-p mixed", want: "Partition=mixed"},
			{args: "-p mixed -C ib", refused: "features of this job were changed"},
			{args: "-p gpu -J stay", want: "Partition=gpu"},
			{args: "-J stay", want: "Partition=arm"},
			{args: "-p gpu -w g01 -J stay", want: "ReqNodeList=g01"},
			{args: "-p mixed", needs: "a100", want: "Features=a100"},
			{args: "-p mixed -C x86_64", needs: "a100|h100", want: "Features=x86_64&(a100|h100)"},
			{args: "-p mixed -C x86_64&a100", needs: "a100", want: "Features=x86_64&a100"},
			{args: "-p mixed -C [a100|h100]", needs: "ib", refused: "cannot be joined"},
		} {
			s := submission{Kind: "enforced", Needs: test.needs, Stdin: "#!/bin/sh\nhostname\n"}
			s.Args = append([]string{"sbatch"}, strings.Fields(test.args)...)
			o := c.drive(t, plan{Submissions: []submission{s}, Enforced: true}).Outcomes[0]
			switch {
			case test.refused != "":
				if !strings.Contains(o.Refused, test.refused) || !strings.Contains(o.Refused, "next: ") {
					t.Errorf("%s: %q, want a refusal with %q", s, o.Refused, test.refused)
				}
			case o.Refused != "" || !slices.Contains(strings.Fields(brief(o.Components[0].Record)), test.want):
				t.Errorf("%s: %q %v, want %s", s, o.Refused, o.Components, test.want)
			}
		}
	})
}
