package standalone

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/python/name"
)

// bundled finds the distributions in site-packages and the files of each: whoever
// installs another version of one takes these away.
func (t *tree) bundled() error {
	infos := map[string]string{} // folder → name-version
	compiled := map[string][]string{}
	for p := range t.by {
		dir, file := path.Split(p)
		if source, ok := strings.CutSuffix(dir, "__pycache__/"); ok && strings.HasSuffix(file, ".pyc") {
			stem, _, _ := strings.Cut(file, ".")
			compiled[source+stem+".py"] = append(compiled[source+stem+".py"], p)
		}
		rest, ok := strings.CutPrefix(p, t.meta.Site+"/")
		if !ok {
			continue
		}
		if info, file, _ := strings.Cut(rest, "/"); file == "RECORD" && strings.HasSuffix(info, ".dist-info") && t.isFile(p) {
			infos[info] = strings.TrimSuffix(info, ".dist-info")
		}
	}
	for _, info := range slices.Sorted(maps.Keys(infos)) {
		at := strings.LastIndexByte(infos[info], '-')
		if at <= 0 {
			continue
		}
		files, err := t.listed(info)
		if err != nil {
			return err
		}
		for p := range maps.Clone(files) {
			for _, c := range compiled[p] {
				files[c] = true
			}
		}
		for p, e := range t.by {
			if strings.HasPrefix(p, t.meta.Site+"/"+info+"/") && e.Type != cache.EntryDir {
				files[p] = true
			}
		}
		if t.meta.Bundled == nil {
			t.meta.Bundled = map[string]Bundled{}
		}
		t.meta.Bundled[name.Normalize(infos[info][:at])] = Bundled{Version: infos[info][at+1:], Paths: slices.Sorted(maps.Keys(files))}
	}
	return nil
}

// listed are the files of the tree that a RECORD names.
func (t *tree) listed(info string) (map[string]bool, error) {
	data, err := t.read(t.meta.Site + "/" + info + "/RECORD")
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	r := csv.NewReader(strings.NewReader(string(data)))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s/%s/RECORD: %w: %w", t.meta.Site, info, err, cache.ErrIntegrity)
		}
		if e := t.by[path.Join(t.meta.Site, row[0])]; e != nil && e.Type != cache.EntryDir {
			files[e.Path] = true
		}
	}
}
