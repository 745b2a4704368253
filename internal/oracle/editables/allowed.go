//go:build oracle

package editables

import (
	"slices"
	"strings"
)

// allow takes out of both what may differ, and why.
func allow(name string, theirs, ours *facts) {
	backend, _, _ := strings.Cut(name, "/")
	for _, f := range []*facts{ours, theirs} { // theirs last: it is asked about
		// Which version of core metadata a backend writes.
		delete(f.Metadata, "metadata-version")
		// The description is compared apart.
		delete(f.Metadata, "description")
		// Which fields were computed: hpcenv computes none.
		delete(f.Metadata, "dynamic")
		f.Files = slices.DeleteFunc(f.Files, func(p string) bool {
			// uv's own notes; what pdm has beside its .pth; the text of setuptools' finder and ours.
			return strings.HasSuffix(p, "/uv_cache.json") || strings.HasSuffix(p, "/uv_build.json") || p == ".gitignore" ||
				strings.HasPrefix(p, "__editable___") || strings.HasPrefix(p, "_hpcenv_editable_")
		})
		f.Path = slices.DeleteFunc(f.Path, func(p string) bool {
			// The placeholder of setuptools' finder for namespaces.
			return strings.HasPrefix(p, "__editable__.")
		})
		if backend == "poetry-core" && slices.Contains(theirs.Metadata["classifier"], "Programming Language :: Python :: 3.11") {
			// It lists the Pythons that it knows and the project allows.
			delete(f.Metadata, "classifier")
		}
		if backend == "flit_core" {
			delete(f.Metadata, "import-name") // PEP 794, which only this backend writes so far
		}
		if backend == "uv_build" {
			f.Metadata["requires-dist"] = nil // markers in its own normal form; the other backends have the same ones compared
		}
		if backend == "pdm-backend" && len(theirs.EntryPoints) == 0 {
			f.Files = slices.DeleteFunc(f.Files, func(p string) bool { return strings.HasSuffix(p, "/entry_points.txt") }) // an empty one
		}
		if name == "setuptools/namespace flat" {
			f.Path = nil // setuptools has a hook of sys.path for a namespace, the overlay the directory above it
		}
		if slices.Equal(f.Metadata["summary"], []string{""}) {
			delete(f.Metadata, "summary")
		}
		if backend == "poetry-core" || backend == "uv_build" {
			// Each writes people its own way.
			for _, k := range []string{"author", "author-email", "maintainer", "maintainer-email"} {
				delete(f.Metadata, k)
			}
		}
	}
}
