package cli

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// needsText prints what an environment's files ask of a node, in the lines of inspect.
func needsText(w io.Writer, p *api.PlatformDetail) {
	n := p.Needs
	if n == nil {
		if p.NeedsUnknown != "" {
			fmt.Fprintf(w, "asks of a node\t%s\n", p.NeedsUnknown)
		}
		return
	}
	if g := n.Glibc; g != nil {
		fmt.Fprintf(w, "glibc\t%s or newer (%s)\n", g.Version, fileOf(g.File, g.Package))
	}
	if g := n.Page; g != nil {
		fmt.Fprintf(w, "pages\tof at most %d KiB (%s)\n", g.Size>>10, fileOf(g.File, g.Package))
	}
	for _, r := range n.Runtime {
		fmt.Fprintf(w, "node's C++\t%s (%s)\n", r.Version, fileOf(r.File, r.Package))
	}
	for _, l := range n.Libraries {
		if slices.ContainsFunc(ofGlibc, func(name string) bool { return strings.HasPrefix(l.Name, name) }) {
			continue // the version of the whole is said
		}
		by := fileOf(l.File, l.Package)
		if l.Files > 1 {
			by += fmt.Sprintf(" and %s more", countedText(l.Files-1, "file"))
		}
		if l.Module {
			by += "; programs start without"
		}
		fmt.Fprintf(w, "node's library\t%s (%s)\n", strings.TrimRight(l.Name+" "+l.Version, " "), by)
	}
	for _, c := range n.Copies {
		text := c.Library + ": " + strings.Join(c.Files, ", ")
		if c.By != "" {
			text += "; " + c.By + " can get either"
		}
		fmt.Fprintf(w, "several copies\t%s\n", text)
	}
	for _, f := range n.Foreign {
		fmt.Fprintf(w, "foreign\t%s: for %s\n", f.File, f.What)
	}
	for _, b := range n.Broken {
		fmt.Fprintf(w, "broken\t%s: %s\n", b.File, b.What)
	}
	for _, line := range cudaLines(n.CUDA) {
		fmt.Fprintf(w, "CUDA code\t%s\n", line)
	}
	for _, line := range moduleLines(n.Modules) {
		fmt.Fprintf(w, "opened late\t%s\n", line)
	}
}

// ofGlibc are what glibc's own libraries are called.
var ofGlibc = []string{"ld-linux", "libc.so.", "libm.so.", "libmvec.so.", "libdl.so.", "libpthread.so.", "librt.so.", "libutil.so.", "libresolv.so.", "libanl.so.", "libnss_", "libBrokenLocale.so."}

// fileOf names a file and its package.
func fileOf(file, pkg string) string {
	if pkg == "" {
		return file
	}
	return file + " of " + pkg
}

// cudaLines say of each package what GPUs its files have code for.
func cudaLines(files []api.NeedsCUDA) (lines []string) {
	type code struct {
		archs, problems []string
		files           int
	}
	of := map[string]*code{}
	var order []string
	for _, f := range files {
		name := cmp.Or(f.Package, f.File)
		c := of[name]
		if c == nil {
			c = new(code)
			of[name], order = c, append(order, name)
		}
		c.files++
		for _, a := range f.Code { // each file's are sorted
			if !slices.Contains(c.archs, a) {
				c.archs = append(c.archs, a)
			}
		}
		if f.Problem != "" {
			c.problems = append(c.problems, f.File+": "+f.Problem)
		}
	}
	slices.Sort(order)
	for _, name := range order {
		c := of[name]
		line := fmt.Sprintf("%s: %s in %s", name, cmp.Or(strings.Join(c.archs, " "), "none that could be read"), countedText(c.files, "file"))
		if len(c.problems) > 0 {
			line += "; " + c.problems[0]
		}
		lines = append(lines, line)
	}
	return lines
}

// moduleLines count the modules by what opens them and where they are.
func moduleLines(modules []api.NeedsModule) (lines []string) {
	count := map[string]int{}
	var order []string
	for _, m := range modules {
		key := m.Of + ": %s in " + path.Dir(m.Path)
		if m.Package != "" {
			key += " (" + m.Package + ")"
		}
		if count[key]++; count[key] == 1 {
			order = append(order, key)
		}
	}
	for _, key := range order {
		lines = append(lines, strings.Replace(key, "%s", countedText(count[key], "file"), 1))
	}
	return lines
}
