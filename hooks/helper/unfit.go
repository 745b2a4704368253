package helper

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// unfit says which nodes of a plan would refuse the job, and which those are as a
// hostlist: of an environment that was named with what it lacks on each of them, since
// others of the lock may fit there. Both are "" if all nodes can run it.
func unfit(plan *selection.Plan) (sentence, nodes string) {
	subject := "nothing of the lock fits "
	if plan.Wish.Environment != "" {
		subject = plan.Wish.Environment + " does not fit "
	}
	var why []string
	at := map[string][]string{}
	var all []string
	for i := range plan.Rows {
		r := &plan.Rows[i]
		if r.Problem == "" {
			continue
		}
		text := ""
		if named := plan.Wish.Environment; named != "" {
			if j := slices.IndexFunc(r.Rejected, func(x selection.Rejected) bool { return x.Environment == named }); j >= 0 {
				text = r.Rejected[j].Text()
			}
		}
		if at[text] == nil {
			why = append(why, text)
		}
		at[text], all = append(at[text], r.Nodes), append(all, r.Nodes)
	}
	if len(all) == 0 {
		return "", ""
	}
	var parts []string
	for _, text := range why {
		part := joined(at[text])
		if text != "" {
			part += " (" + text + ")"
		}
		parts = append(parts, part)
	}
	return subject + strings.Join(parts, ", "), joined(all)
}

// joined makes one hostlist of several; of what is no hostlist, a list.
func joined(lists []string) string {
	var names []string
	for _, list := range lists {
		more, err := hostlist.Expand(list)
		if err != nil {
			return strings.Join(lists, ",")
		}
		names = append(names, more...)
	}
	return hostlist.Compress(names)
}
