package gpu

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// FuzzDecode: whatever the child printed, there is an error or a report that can be
// judged, refine facts, and be kept.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"vendor":"nvidia","state":"ok","driver":"535.104.05","cuda":"12.2","gpus":[{"index":0,"minor":0,"compute":"9.0","mig":{"enabled":true,"pending":false}}]}`))
	f.Add([]byte(`{"version":1,"vendor":"nvidia","state":"failed","failures":[{"call":"nvmlInit_v2","code":18,"text":"x"}]}`))
	f.Add([]byte(`{"version":1,"vendor":"nvidia","state":"ok","gpus":[{"index":1,"lost":true,"ecc":{"ever":1}}],"withheld":[{"index":0,"device":"","why":""}],"missing":["a"]}`))
	f.Add([]byte("{\"version\":1} trailing"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			if r != nil || !errors.Is(err, ErrAnswer) {
				t.Fatalf("%+v %v", r, err)
			}
			return
		}
		v := Judge(Evidence{Report: r, Served: []string{"0000:18:00.0"}})
		if !slices.Contains(levels, v.Level) || len(v.GPUs) != len(r.GPUs) {
			t.Errorf("%+v", v)
		}
		for _, find := range v.Findings {
			if find.ID == "" || find.Evidence == "" || find.Next == "" || worse(v.Level, find.Level) != v.Level {
				t.Errorf("%+v in %s", find, v.Level)
			}
		}
		if (len(v.Findings) == 0) != (v.Level == OK) {
			t.Errorf("%s with %d findings", v.Level, len(v.Findings))
		}
		facts.ReadWith(t.Context(), t.TempDir(), facts.Options{GPUs: Refine(facts.DefaultGPUs(), r)})
		out, err := json.Marshal(Record{Version: RecordVersion, Report: r, Verdict: v})
		if err != nil {
			t.Fatal(err)
		}
		var back Record
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatal(err)
		}
	})
}
