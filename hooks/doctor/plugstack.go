package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pluginFile is the plugin's name.
const pluginFile = "hpcenv_spank.so"

// plugstack is what plugstack.conf says of the plugin.
type plugstack struct {
	// file that was read; "" = none was found.
	file string
	// where its line is, FILE:LINE; "" = it has none.
	where string
	// required or optional.
	how string
	// plugin as written, args by key.
	plugin string
	args   map[string]string
	// lines is how many lines load it.
	lines int
	err   error
}

// arg is an argument of the line, or what the plugin takes without it.
func (p *plugstack) arg(key, otherwise string) string {
	if v := p.args[key]; v != "" {
		return v
	}
	return otherwise
}

// readPlugstack finds the plugin's line where Slurm would: in the file that slurm.conf
// names, or beside slurm.conf, or in what a configless slurmctld sent.
func (h *Host) readPlugstack() plugstack {
	var places []string
	if named := h.settings["PlugStackConfig"]; named != "" {
		places = append(places, named)
	}
	if conf := os.Getenv("SLURM_CONF"); conf != "" {
		places = append(places, filepath.Join(filepath.Dir(conf), "plugstack.conf"))
	}
	places = append(places, slurmEtc+"/plugstack.conf", slurmRun+"/plugstack.conf")
	for _, file := range places {
		p := plugstack{file: file}
		if p.err = h.readPlugstackFile(&p, file, 0); errors.Is(p.err, fs.ErrNotExist) {
			continue
		}
		return p
	}
	return plugstack{}
}

// maxIncludes bounds how deep files may include each other.
const maxIncludes = 8

func (h *Host) readPlugstackFile(p *plugstack, file string, depth int) (err error) {
	if depth > maxIncludes {
		return fmt.Errorf("%s: files include each other more than %d deep", file, maxIncludes)
	}
	f, err := os.Open(h.at(file))
	if err != nil {
		return err
	}
	defer f.Close() // only read
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		text, _, _ := strings.Cut(sc.Text(), "#")
		fields := strings.Fields(text)
		switch {
		case len(fields) < 2:
		case fields[0] == "include":
			if err := h.include(p, file, fields[1], depth); err != nil {
				return err
			}
		case filepath.Base(fields[1]) == pluginFile:
			p.lines++
			p.where, p.how, p.plugin, p.args = fmt.Sprintf("%s:%d", file, n), fields[0], fields[1], map[string]string{}
			for _, a := range fields[2:] {
				key, value, _ := strings.Cut(a, "=")
				p.args[key] = value
			}
		}
	}
	return sc.Err()
}

// include follows a line `include PATTERN`, relative to the file that has it.
func (h *Host) include(p *plugstack, file, pattern string, depth int) error {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(filepath.Dir(file), pattern)
	}
	found, err := filepath.Glob(h.at(pattern))
	if err != nil {
		return fmt.Errorf("%s: include %s: %w", file, pattern, err)
	}
	for _, path := range found {
		if h.Root != "" {
			path = "/" + strings.TrimPrefix(strings.TrimPrefix(path, filepath.Join("/", h.Root)), "/")
		}
		if err := h.readPlugstackFile(p, path, depth+1); err != nil {
			return err
		}
	}
	return nil
}
