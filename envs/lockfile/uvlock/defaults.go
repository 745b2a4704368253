package uvlock

import (
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// Defaults reads what a uv.lock leaves to a pyproject.toml: `tool.uv.default-groups`,
// a list of groups or "all". The error is about that file, not the lock, and names the
// line.
func Defaults(pyproject []byte) (Options, error) {
	var o Options
	root, err := tomltree.Parse(pyproject)
	if err != nil {
		return o, err
	}
	uv := root.Get("tool", "uv")
	v := uv.Get("default-groups")
	if v == nil {
		return o, nil
	}
	if v.Kind == tomltree.String && v.Text == "all" {
		o.DefaultAll = true
		return o, nil
	}
	var d tomltree.Decoder
	o.DefaultGroups = []string{} // given, perhaps empty: not uv's own default
	for _, g := range d.Texts(uv, "default-groups") {
		o.DefaultGroups = append(o.DefaultGroups, name.Normalize(g))
	}
	if d.Err != nil {
		return Options{}, d.Err
	}
	return o, nil
}
