package wrapper

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// run has what the site built, says what it failed to build, and asks the service to
// finish what is not finished.
func TestSiteBuilds(t *testing.T) {
	w := newWorld(t, false)
	overlay := strings.Repeat("e", 32)
	e := sitebuild.Entry{Name: "mpi", State: sitebuild.Built, Overlay: overlay, Variables: []sitebuild.Variable{{Name: "WRAPPER", Value: "${overlay}/w.so"}}}
	lacking := sitebuild.Entry{Name: "gex", State: sitebuild.Failed, Problem: "exit status 2"}
	record := func(entries ...sitebuild.Entry) {
		t.Helper()
		w.writeJSON(t, sitebuild.RecordPath(w.Store, id, w.Platform), &sitebuild.Record{Version: 1, Builds: entries})
	}
	w.Argv = []string{"sh", "-c", "echo ${WRAPPER-unset}"}
	run(t, w.command(t)).want(t, 0, "unset\n")
	record(e, lacking)
	run(t, w.command(t)).want(t, 0, filepath.Join(filepath.Dir(w.prefix), overlay)+"/w.so\n", "site build gex for linux-64 FAILED: exit status 2")
	run(t, w.command(t, "WRAPPER=/mine")).want(t, 0, "/mine\n")
	e.State = sitebuild.Pending
	record(e)
	run(t, w.command(t)).want(t, api.ExitUnreachable, "", "the service was asked")
}
