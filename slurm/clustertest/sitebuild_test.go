//go:build cluster

package clustertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// cmdSiteBuilds: site-builds DIR: a project in DIR whose environments have packages that
// are to be compiled on the site (mpi: a wrapper of MPI, its sources in the package;
// broken: one whose build fails), a daemon whose site_builds say how, and the second
// user as the build account, until the story ends. Builds run on n1.
func (c *cluster) cmdSiteBuilds(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: site-builds DIR")
		}
		read := func(name string) string {
			data, err := os.ReadFile(filepath.Join(c.root, "slurm/clustertest/testdata", name))
			ts.Check(err)
			return string(data)
		}
		wrapper := condatest.Package{Name: "mpi-hello-wrapper", Version: "25.3", Build: "0", Noarch: "generic", Files: []condatest.File{
			{Path: "mpi-wrapper/src/wrapper.c", Content: read("mpi-wrapper/wrapper.c")},
			{Path: "mpi-wrapper/src/wrapper.h", Content: read("mpi-wrapper/wrapper.h")},
			{Path: "mpi-wrapper/src/hello.c", Content: read("mpi-wrapper/hello.c")},
			{Path: "mpi-wrapper/build-mpi-wrapper.sh", Content: read("mpi-wrapper/build-mpi-wrapper.sh"), Exec: true},
			// As wrappers of that kind have it: they look below their own prefix, and find nothing.
			{Path: "etc/conda/activate.d/mpi-wrapper.sh", Content: "export MPI_WRAPPER=$(find $CONDA_PREFIX/mpi-wrapper -name '*.so')\necho MPI_WRAPPER=$MPI_WRAPPER\n"},
		}}
		broken := condatest.Package{Name: "broken-wrapper", Version: "1", Build: "0", Noarch: "generic", Files: []condatest.File{{Path: "share/broken", Content: "it is\n"}}}
		mpi, bad := "/noarch/"+wrapper.Dist()+".conda", "/noarch/"+broken.Dist()+".conda"
		extra := archiveOf(ts, "extra.txt", "from the sources\n")
		const extraAt = "/noarch/extra.tar.gz"
		archives := map[string][]byte{mpi: wrapper.Conda(t), bad: broken.Conda(t), extraAt: extra}
		url := c.packagesProject(t, ts, ts.MkAbs(args[0]), archives, map[string][]string{"mpi": {mpi}, "broken": {bad}})

		script := filepath.Join(c.state, "etc", "site-mpi-wrapper.sh")
		ts.Check(os.WriteFile(script, []byte(strings.ReplaceAll(read("site-mpi-wrapper.sh"), "STORE", c.nodeStore)), 0o644))
		ts.Check(os.Chmod(script, 0o755))
		nodes := "  nodes: [{platform: linux-64, sbatch: [--nodelist=n1]}]\n"
		more := "site_builds:\n" +
			"- name: mpi-wrapper\n  package: mpi-hello-wrapper >=25\n" + nodes +
			"  script: " + script + "\n" +
			fmt.Sprintf("  sources: [{url: %q, sha256: %x}]\n", url+extraAt, sha256.Sum256(extra)) +
			"  probe: [sh, -c, 'mpicc --version | head -n 1; mpicc --showme:version']\n" +
			"  mpi: openmpi\n  compiler: mpicc\n  paths: [/etc/openmpi]\n" +
			"  variables:\n  - {name: MPI_WRAPPER, value: '${overlay}/lib/libmpi_wrapper.so'}\n  - {name: PATH, value: '${overlay}/bin', prepend: true}\n" +
			"- name: broken\n  package: broken-wrapper\n" + nodes +
			fmt.Sprintf("  arguments: [sh, -c, 'echo the compiler says no; cp %[1]s $OVERLAY/mended']\n  paths: [%[1]s]\n", c.mended()) +
			"  variables: [{name: BROKEN, value: '${overlay}'}]\n" +
			"- name: of-slingshot\n  package: mpi-hello-wrapper\n  networks: [slingshot-11]\n" + nodes +
			"  arguments: [sh, -c, 'echo > ${overlay}/there']\n  variables: [{name: OF_SLINGSHOT, value: '${overlay}'}]\n"
		c.startBuildAccount(ts, "scripts:\n", more)
	}
}

// mended is a file of the nodes without which the broken build fails.
func (c *cluster) mended() string { return filepath.Join(c.state, "work", "mended") }

// cmdMend: mend: what the broken build lacks is there, until the story ends.
func (c *cluster) cmdMend(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(c.mended(), []byte("mended\n"), 0o644))
	ts.Defer(func() { ts.Check(os.Remove(c.mended())) })
}

// archiveOf is a .tar.gz with one file.
func archiveOf(ts *testscript.TestScript, name, content string) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	ts.Check(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}))
	_, err := w.Write([]byte(content))
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(z.Close())
	return buf.Bytes()
}
