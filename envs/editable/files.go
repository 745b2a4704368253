package editable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/wheel"
)

// Site is where an overlay has its modules and .dist-info, whatever the version
// of the Python that it is for.
const Site = "lib/python/site-packages"

// wheelText is WHEEL.
const wheelText = "Wheel-Version: 1.0\nGenerator: hpcenv\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

// File is one file of an overlay.
type File struct {
	Data []byte
	Exec bool
}

// files are what an editable install of the project writes, by their paths in the
// overlay: relative to it as an install's are to a prefix. python is the
// interpreter of the scripts.
func (p *Project) files(python string) (map[string]File, error) {
	out := map[string]File{}
	var rows []wheel.Row
	dist := fileName(p.Name) + "-" + p.Version + ".dist-info"
	put := func(name string, data []byte) {
		out[Site+"/"+name] = File{Data: data}
		rows = append(rows, wheel.NewRow(name, data))
	}
	var lines []string
	if len(p.Modules) > 0 {
		put(p.finderName()+".py", []byte(p.finderText()))
		lines = append(lines, "import "+p.finderName())
	}
	for _, path := range p.Paths {
		lines = append(lines, pthLine(path))
	}
	put(p.pth, []byte(strings.Join(lines, "\n")+"\n"))
	put(dist+"/METADATA", []byte(p.metadataText()))
	put(dist+"/WHEEL", []byte(wheelText))
	put(dist+"/INSTALLER", []byte(wheel.Installer))
	put(dist+"/REQUESTED", nil)
	direct, err := directURL(p.Dir)
	if err != nil {
		return nil, err
	}
	put(dist+"/direct_url.json", direct)
	if len(p.topLevel) > 0 {
		put(dist+"/top_level.txt", []byte(strings.Join(p.topLevel, "\n")+"\n"))
	}
	r := &reader{tree: Tree{Name: p.Name, Dir: p.Dir}}
	for _, l := range p.licences {
		if p.Backend == "uv_build" {
			break // names them only
		}
		data, err := r.file(l)
		if err != nil {
			return nil, r.refuse(0, "bring the file, or correct license-files", "the licence %s: %v", l, err)
		}
		put(dist+"/licenses/"+l, data)
	}
	text := p.entryPointsText()
	if text != "" {
		put(dist+"/entry_points.txt", []byte(text))
	}
	console, gui, err := wheel.ParseEntryPoints([]byte(text))
	if err != nil {
		return nil, r.refuse(0, "correct it", "its entry points: %v", err)
	}
	for _, ep := range slices.Concat(console, gui) {
		data := wheel.Launcher(python, ep)
		out["bin/"+ep.Name] = File{Data: data, Exec: true}
		rows = append(rows, wheel.NewRow("../../../bin/"+ep.Name, data))
	}
	rows = append(rows, wheel.Row{Path: dist + "/RECORD"})
	out[Site+"/"+dist+"/RECORD"] = File{Data: wheel.EncodeRecord(rows)}
	return out, nil
}

// directURL is direct_url.json (PEP 610) of a source tree.
func directURL(dir string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		URL string `json:"url"`
		Dir struct {
			Editable bool `json:"editable"`
		} `json:"dir_info"`
	}{URL: (&url.URL{Scheme: "file", Path: dir}).String(), Dir: struct {
		Editable bool `json:"editable"`
	}{true}})
	if err != nil {
		return nil, fmt.Errorf("direct_url.json of %s: %w", dir, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
