package helper

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// What the site built reaches a launch by the store alone: its variables, a refusal where
// a node does not see it, one line where it was not built.
func TestSiteBuilds(t *testing.T) {
	root, prefix := published(t)
	overlay := strings.Repeat("e", 32)
	at := filepath.Join(filepath.Dir(prefix), overlay)
	record := func(entries ...sitebuild.Entry) {
		t.Helper()
		data, err := json.Marshal(&sitebuild.Record{Version: 1, Builds: entries})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(sitebuild.RecordPath(root, testID, hostPlatform()), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{activation.MarkerName, activation.UndoName, "CONDA_PREFIX", "WRAPPER"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	try := func() (records, messages string, err error) {
		var out, said bytes.Buffer
		p := testPin(func(p *pin.Pin) { p.Store = root })
		err = activate(context.Background(), []string{"--pin=" + wire(t, p), "--run-dir=" + t.TempDir(), "--batch=1"}, &out, &said)
		return out.String(), said.String(), err
	}
	built := sitebuild.Entry{Name: "mpi", State: sitebuild.Built, Overlay: overlay, Variables: []sitebuild.Variable{{Name: "WRAPPER", Value: "${overlay}/w.so"}}}
	failed := sitebuild.Entry{Name: "gex", State: sitebuild.Failed, Problem: "exit status 2", Log: "logs/gex.log"}
	elsewhere := failed
	elsewhere.Networks = []string{"no such network"}

	record(built, elsewhere)
	if _, _, err := try(); exitCode(err) != api.ExitUnreachable || !strings.Contains(err.Error(), "not at "+at) || !strings.Contains(err.Error(), "next: ") {
		t.Errorf("an overlay that is not there: %v", err)
	}
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	records, messages, err := try()
	if err != nil || !strings.Contains(records, "set=WRAPPER="+at+"/w.so\x00") || strings.Contains(messages, "site build") {
		t.Errorf("built: %q %q %v", records, messages, err)
	}
	record(failed)
	records, messages, err = try()
	if err != nil || strings.Contains(records, "WRAPPER") || strings.Count(messages, "site build gex for "+hostPlatform()+" FAILED: exit status 2; log: "+root+"/logs/gex.log") != 1 {
		t.Errorf("failed: %q %q %v", records, messages, err)
	}
	if err := os.WriteFile(sitebuild.RecordPath(root, testID, hostPlatform()), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := try(); exitCode(err) != api.ExitUnreachable {
		t.Errorf("a damaged record: %v", err)
	}

	// A submission has the daemon finish what is not finished.
	st := &submitStore{root: root, own: true}
	for state, missing := range map[string]int{sitebuild.Built: 0, sitebuild.Failed: 0, sitebuild.NotRun: 0, sitebuild.Pending: 1} {
		built.State = state
		record(built)
		r, err := st.lookupIn(prepared.Store{Root: root}, &wanted{digest: testLock, name: "default"}, []string{hostPlatform()})
		if err != nil || len(r.missing) != missing {
			t.Errorf("%s: %+v %v", state, r, err)
		}
	}
}
