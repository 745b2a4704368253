package recipe

import (
	"bytes"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

// finish adds what a package needs besides Debian's files.
func (l *layout) finish(p *condapkg.Package, src Source, entries []debian.Entry) {
	if wantsPython(src.Stanza) && p.Name != "python" {
		if p.Noarch == "" {
			p.Depends = append(p.Depends, "python >="+l.py+",<"+nextMinor(l.py)+".0a0")
		} else {
			p.Depends = append(p.Depends, "python >=3.9")
		}
	}
	switch p.Name {
	case "python":
		// What Debian splits off for its smallest systems is always there here.
		p.Depends = append(p.Depends, "libpython"+l.py+"-stdlib")
		p.SitePackages = "lib/python" + l.py + "/site-packages"
		p.Files = append(p.Files,
			condapkg.File{Path: "bin/python", Link: "python" + l.py},
			condapkg.File{Path: "bin/python3", Link: "python" + l.py})
	case "ca-certificates":
		p.Files = append(p.Files, condapkg.File{Path: "ssl/cacert.pem", Data: bundle(entries)},
			envVars(p.Name, `{"SSL_CERT_FILE": "`+condapkg.Placeholder+`/ssl/cacert.pem"}`))
	case "ncurses-base":
		p.Files = append(p.Files, envVars(p.Name, `{"TERMINFO_DIRS": "`+condapkg.Placeholder+`/share/terminfo"}`))
	}
	if p.Noarch == "python" {
		l.entryPoints(p)
	}
}

// nextMinor is the next Python version: 3.11 → 3.12.
func nextMinor(py string) string {
	major, minor, _ := strings.Cut(py, ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return py // py always comes from a package called python3.N
	}
	return major + "." + strconv.Itoa(n+1)
}

func envVars(name, json string) condapkg.File {
	return condapkg.File{Path: "etc/conda/env_vars.d/" + name + ".json", Data: []byte(json + "\n")}
}

// bundle joins the certificates that Debian ships one by one.
func bundle(entries []debian.Entry) []byte {
	var names []int
	for i := range entries {
		if strings.HasPrefix(entries[i].Path, "usr/share/ca-certificates/") && strings.HasSuffix(entries[i].Path, ".crt") {
			names = append(names, i)
		}
	}
	sort.Slice(names, func(a, b int) bool { return entries[names[a]].Path < entries[names[b]].Path })
	var out bytes.Buffer
	for _, i := range names {
		out.Write(bytes.TrimSpace(entries[i].Data))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// entryPoints moves console scripts from generated files to the package's
// metadata: the installer of a noarch python package writes them.
func (l *layout) entryPoints(p *condapkg.Package) {
	script := map[string]bool{}
	for i := range p.Files {
		if path.Base(p.Files[i].Path) != "entry_points.txt" {
			continue
		}
		for cmd, target := range consoleScripts(p.Files[i].Data) {
			if have(p.Files, "python-scripts/"+cmd) && !script[cmd] {
				script[cmd] = true
				p.EntryPoints = append(p.EntryPoints, cmd+" = "+target)
			}
		}
	}
	sort.Strings(p.EntryPoints)
	kept := p.Files[:0]
	for _, f := range p.Files {
		if cmd, ok := strings.CutPrefix(f.Path, "python-scripts/"); !ok || !script[cmd] {
			kept = append(kept, f)
		}
	}
	p.Files = kept
}

func have(files []condapkg.File, name string) bool {
	for i := range files {
		if files[i].Path == name {
			return true
		}
	}
	return false
}

// consoleScripts reads the [console_scripts] section of entry_points.txt.
func consoleScripts(data []byte) map[string]string {
	out, in := map[string]string{}, false
	for _, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "["):
			in = line == "[console_scripts]"
		case in:
			if cmd, target, ok := strings.Cut(line, "="); ok {
				out[strings.TrimSpace(cmd)] = strings.ReplaceAll(strings.TrimSpace(target), " ", "")
			}
		}
	}
	return out
}
