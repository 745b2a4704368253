package activation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
)

const (
	activateDir   = "etc/conda/activate.d"
	deactivateDir = "etc/conda/deactivate.d"
	envVarsDir    = "etc/conda/env_vars.d"
	stateFile     = "conda-meta/state"

	// unsetValue in conda-meta/state or env_vars.d removes a variable.
	unsetValue = "***unset***"
	// maxVarsFile bounds one file of variables, in bytes.
	maxVarsFile = 1 << 20
)

// FromTree computes the static activation of a prefix: root is where its tree
// lies now, prefix the path at which it will be used. Links that lead out of
// root are not followed. An unreadable or malformed file of variables is an
// error that names it; single entries that no environment can hold are passed
// over and named in Notes.
func FromTree(root, prefix string) (Static, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return Static{}, fmt.Errorf("activation of %s: %w", prefix, err)
	}
	// Only read from, so closing it can lose nothing.
	defer r.Close()
	st := Static{Patch: Patch{Ops: []Op{
		{Kind: OpPrepend, Name: "PATH", Value: prefix + "/bin", Sep: ":"},
		{Kind: OpSet, Name: "CONDA_SHLVL", Value: "1"},
		{Kind: OpSet, Name: "CONDA_PREFIX", Value: prefix},
	}}}
	vars, err := readVars(r, &st.Notes)
	if err != nil {
		return Static{}, fmt.Errorf("activation of %s: %w", prefix, err)
	}
	st.Patch.Ops = append(st.Patch.Ops, vars...)
	if st.Scripts, err = listDir(r, activateDir, ".sh"); err != nil {
		return Static{}, fmt.Errorf("activation of %s: %w", prefix, err)
	}
	if st.Deactivate, err = listDir(r, deactivateDir, ".sh"); err != nil {
		return Static{}, fmt.Errorf("activation of %s: %w", prefix, err)
	}
	return st, nil
}

// listDir returns the files of a folder that end in ext, sorted, as paths
// relative to the root; a folder that is not there has none.
func listDir(r *os.Root, dir, ext string) ([]string, error) {
	entries, err := fs.ReadDir(r.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		if path.Ext(e.Name()) != ext {
			continue
		}
		info, err := r.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		if info.Mode().IsRegular() {
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return out, nil
}

// readVars reads env_vars.d in the order of file names, then conda-meta/state.
// As in rattler a later value takes the place of an earlier one of the same
// name, and keeps its position: what refers to it sees the last value.
func readVars(r *os.Root, notes *[]string) ([]Op, error) {
	files, err := listDir(r, envVarsDir, ".json")
	if err != nil {
		return nil, err
	}
	var all []Op
	at := map[string]int{}
	add := func(ops []Op) {
		for _, op := range ops {
			if i, ok := at[op.Name]; ok {
				all[i] = op
				continue
			}
			at[op.Name] = len(all)
			all = append(all, op)
		}
	}
	for _, f := range files {
		var vars orderedVars
		if err := readJSON(r, f, &vars); err != nil {
			return nil, err
		}
		add(varOps(f, vars, notes))
	}
	var state struct {
		EnvVars orderedVars `json:"env_vars"`
	}
	err = readJSON(r, stateFile, &state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i := range state.EnvVars {
		state.EnvVars[i].name = strings.ToUpper(state.EnvVars[i].name)
	}
	add(varOps(stateFile, state.EnvVars, notes))
	return all, nil
}

// orderedVars is a JSON object in the order of the file.
type orderedVars []struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *orderedVars) UnmarshalJSON(data []byte) error {
	var check map[string]json.RawMessage
	if err := json.Unmarshal(data, &check); err != nil || check == nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("key %v is not a string", key)
		}
		*o = append(*o, struct {
			name  string
			value json.RawMessage
		}{name, v})
	}
	return nil
}

func readJSON(r *os.Root, name string, into any) error {
	info, err := r.Stat(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file; the package that ships it is broken", name)
	}
	f, err := r.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxVarsFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxVarsFile {
		return fmt.Errorf("%s: larger than %d bytes; no environment can hold it", name, maxVarsFile)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: not the JSON object that conda describes (%w); the package that ships it is broken", name, err)
	}
	return nil
}

// varOps turns one file's variables into operations, in their order.
func varOps(file string, vars orderedVars, notes *[]string) []Op {
	var ops []Op
	for _, v := range vars {
		var val string
		why := ""
		switch {
		case json.Unmarshal(v.value, &val) != nil || string(v.value) == "null":
			why = "its value is not a string"
		case !validName(v.name) || strings.ContainsRune(val, 0):
			why = "no environment can hold it"
		case reserved(v.name):
			why = "the name is reserved"
		}
		if why != "" {
			*notes = append(*notes, fmt.Sprintf("%s: variable %q passed over: %s", file, v.name, why))
			continue
		}
		if val == unsetValue {
			ops = append(ops, Op{Kind: OpUnset, Name: v.name})
			continue
		}
		ops = append(ops, Op{Kind: OpSet, Name: v.name, Value: val, Expand: strings.Contains(val, "$")})
	}
	return ops
}

// reserved names belong to the activation itself; no package may set them.
func reserved(name string) bool {
	return name == "PATH" || name == "CONDA_PREFIX" || name == "CONDA_SHLVL" || name == "CONDA_DEFAULT_ENV" ||
		name == MarkerName || name == UndoName || name == ShadowName || name == OverlayName || strings.HasPrefix(name, "PIXI_PROJECT_") || strings.HasPrefix(name, "PIXI_ENVIRONMENT_")
}
