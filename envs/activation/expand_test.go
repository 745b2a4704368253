package activation

import (
	"fmt"
	"math/rand"
	"os/exec"
	"strings"
	"testing"
)

// expand must agree with a real shell wherever it says that it can.
func TestExpandAgreesWithBash(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	parts := []string{"$A", "${A}", "$B", "${LONG_name1}", "$", "\\", "\\\\", "\\$", "`", "'", "\"", " ", "a", "{", "}", "*", "~", ":", "/", "\n", "$NONE", "!", "#", "$(echo)", "${A:-x}", "é", "%", "(", ")"}
	vars := map[string]string{"A": "va l*", "B": "", "LONG_name1": "$A\\"}
	get := func(n string) (string, bool) { v, ok := vars[n]; return v, ok }
	var code strings.Builder
	var want, values []string
	for len(want) < 3000 {
		var v string
		for n := r.Intn(7); n >= 0; n-- {
			v += parts[r.Intn(len(parts))]
		}
		// A value without "$" is text, and rattler's quoting of \" is undone by
		// its own escaping: neither has a meaning to compare.
		if !strings.Contains(v, "$") || strings.Contains(v, `\"`) || strings.HasSuffix(v, `\`) || strings.Contains(v, "\\\n") {
			continue
		}
		got, ok := expand(v, get)
		if !ok {
			continue
		}
		want, values = append(want, got), append(values, v)
		fmt.Fprintf(&code, "printf '%%s\\0' \"%s\"\n", strings.ReplaceAll(v, `"`, `\"`))
	}
	cmd := exec.Command("/bin/bash", "--noprofile", "--norc")
	cmd.Stdin = strings.NewReader(code.String())
	cmd.Env = []string{"A=" + vars["A"], "B=", "LONG_name1=" + vars["LONG_name1"]}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(got) != len(want) {
		t.Fatalf("bash printed %d values, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q: bash gives %q, expand %q", values[i], got[i], want[i])
		}
	}
}
