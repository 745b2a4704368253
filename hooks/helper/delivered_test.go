package helper

import (
	"bytes"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/pin"
)

// answered is attach's answer for a step of an imageStore.
func answered(what string) string {
	return "\x00" + testID + "=" + what + " " + treeID + "=" + asTree
}

// What attach said is told once per node in a job, and again where a step's environment is
// attached otherwise than the script's; tasks learn what theirs is attached as.
func TestDelivered(t *testing.T) {
	t.Setenv("SLURMD_NODENAME", "n1")
	for name, c := range map[string]struct {
		flags activateFlags
		env   map[string]string
		want  string
		as    string
	}{
		"nothing":           {activateFlags{batch: true}, nil, "", asTree},
		"all trees":         {activateFlags{batch: true, attached: "*=tree"}, nil, "", asTree},
		"a script":          {activateFlags{batch: true, attached: testID + "=squashfuse " + treeID + "=tree", notes: "warning: a\nwarning: b"}, nil, "hpcenv: n1: warning: a\nhpcenv: n1: warning: b\n", asSquashfuse},
		"a later step":      {activateFlags{step: "3", attached: testID + "=image", notes: "warning: a"}, map[string]string{DeliveredName: asImage}, "", asImage},
		"it differs":        {activateFlags{step: "3", attached: testID + "=squashfuse", notes: "warning: a"}, map[string]string{DeliveredName: asImage}, "hpcenv: n1: warning: a\n", asSquashfuse},
		"on another node":   {activateFlags{step: "3", attached: testID + "=squashfuse", notes: "warning: a"}, map[string]string{DeliveredName: asImage, "SLURM_JOB_NODELIST": "n0"}, "", asSquashfuse},
		"of another answer": {activateFlags{batch: true, attached: treeID + "=image"}, nil, "", asTree},
	} {
		env := func(key string) (string, bool) {
			if own, has := c.env[key]; has {
				return own, true
			}
			v, ok := map[string]string{"ENVIRONMENT": "BATCH", "SLURM_JOB_NODELIST": "n1"}[key]
			return v, ok
		}
		var out bytes.Buffer
		c.flags.tellNotes(&out, &pin.Pin{Choice: pin.Choice{ID: testID}}, env)
		if out.String() != c.want {
			t.Errorf("%s: %q", name, out.String())
		}
		if as := deliveredAs(c.flags.attached, testID); as != c.as {
			t.Errorf("%s: %s", name, as)
		}
	}
}

// A step that finds the image mounted says so, too, as what it was mounted.
func TestDeliveredAgain(t *testing.T) {
	s := newImageStore(t)
	out, err := s.inNamespace(`attach "$@" || exit; printf local >$root/.` + testID + `; attach "$@"; cat "$root/../answers"`)
	if err != nil || out != answered(asImage)+answered(asImage)+answered(asLocal) {
		t.Errorf("%v: %q", err, out)
	}
}
