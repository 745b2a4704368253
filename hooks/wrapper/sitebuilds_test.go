package wrapper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/image"
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

// What the site built is beside an environment that is an image, as an image and as a
// tree, for a program by itself and for those of a step; one that is damaged is told.
func TestSiteBuildsBesideImage(t *testing.T) {
	w := newImageWorld(t, true)
	overlays := []string{strings.Repeat("e", 32), strings.Repeat("f", 32)}
	var built sitebuild.Record
	built.Version = 1
	for i, overlay := range overlays {
		w.write(t, filepath.Join(w.Store, "trees", w.Platform, overlay, "lib", "w.so"), "built\n", 0o644)
		name := string(rune('A' + i))
		built.Builds = append(built.Builds, sitebuild.Entry{Name: name, State: sitebuild.Built, Overlay: overlay, Variables: []sitebuild.Variable{{Name: name, Value: "${overlay}/lib/w.so"}}})
	}
	w.writeJSON(t, sitebuild.RecordPath(w.Store, id, w.Platform), &built)
	tree, path := filepath.Join(w.Store, "trees", w.Platform, overlays[0]), w.imagePath(overlays[0])
	rec, err := image.NewTool("").Build(t.Context(), image.Job{Tree: tree, Out: path})
	must(t, err)
	must(t, os.Chmod(path, 0o444))
	must(t, os.RemoveAll(tree))
	w.writeJSON(t, sitebuild.MetaPath(w.Store, overlays[0], w.Platform), &sitebuild.Overlay{Version: 1, ID: overlays[0], Platform: w.Platform, Image: rec})
	w.Argv = []string{"sh", "-c", "cat $A $B; exec tool $A"}
	want := "built\nbuilt\ntool " + filepath.Join(w.root, overlays[0], "lib/w.so") + "\n"
	run(t, w.command(t)).want(t, 7, want)
	step := w.step(t, "overlays")
	for range 2 {
		run(t, w.command(t, step...)).want(t, 7, want)
	}
	must(t, os.Truncate(path, rec.Size-1))
	run(t, w.command(t)).want(t, api.ExitUnreachable, "", "what the site built for the environment (A)", path, "next: ")
	waitForHolders(t, w.root)
	w.waitForServers(t)
}
