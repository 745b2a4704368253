package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// OverrideFile is where a site says what hpcenv reads wrongly on its nodes, below
// the root: JSON with only those fields of Facts that it replaces. Objects are
// merged, lists are replaced, null takes a field away (a JSON merge patch, RFC
// 7386). With cpu.name alone its ancestors and level follow, with gpu.driver
// alone its CUDA, with machine alone its platform.
const OverrideFile = "/etc/hpcenv/facts.json"

// override applies the site's file; one that cannot be used changes nothing, and
// is a problem.
func override(t tree, f *Facts) {
	text, err := t.text(OverrideFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var changed *Facts
	if err == nil {
		changed, err = merged(f, []byte(text))
	}
	if err != nil {
		f.problem("override", fmt.Sprintf("%s is not used: %v", OverrideFile, err))
		return
	}
	*f = *changed
}

// merged is f with the fields of a patch.
func merged(f *Facts, text []byte) (*Facts, error) {
	var patch map[string]any
	if err := decode(text, &patch); err != nil {
		return nil, err
	}
	for _, own := range []string{"version", "problems", "overrides"} {
		if _, ok := patch[own]; ok {
			return nil, fmt.Errorf("%q is not a site's to say", own)
		}
	}
	b, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	var target map[string]any
	if err := decode(b, &target); err != nil {
		return nil, err
	}
	var names []string
	merge(target, patch, "", &names)
	if err := derive(target, patch); err != nil {
		return nil, err
	}
	if b, err = json.Marshal(target); err != nil {
		return nil, err
	}
	out := new(Facts)
	if err := decode(b, out); err != nil {
		return nil, err
	}
	if err := plausible(out); err != nil {
		return nil, err
	}
	slices.Sort(names)
	out.Overrides = names
	sortNetworks(out.Networks)
	return out, nil
}

// decode reads one JSON value whose fields are all known.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // sizes stay what they are
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// merge applies a patch, and names the fields that it changed.
func merge(target, patch map[string]any, prefix string, names *[]string) {
	for key, v := range patch {
		object, isObject := v.(map[string]any)
		old, hasObject := target[key].(map[string]any)
		switch {
		case v == nil:
			delete(target, key)
		case isObject:
			if !hasObject {
				old = map[string]any{}
				target[key] = old
			}
			merge(old, object, prefix+key+".", names)
			continue
		default:
			target[key] = v
		}
		*names = append(*names, prefix+key)
	}
}

// derive fills in what follows from fields that the patch gave alone.
func derive(target, patch map[string]any) error {
	if machine, ok := patch["machine"].(string); ok {
		if _, given := patch["platform"]; !given {
			target["platform"] = platforms[machine]
		}
	}
	if cpu, ok := patch["cpu"].(map[string]any); ok {
		name, named := cpu["name"].(string)
		if _, given := cpu["ancestors"]; named && !given {
			ancestors := Ancestors(name)
			if ancestors == nil {
				return fmt.Errorf("cpu.name %q is none of archspec's names; next: give cpu.ancestors too", name)
			}
			level := 0
			for _, a := range ancestors {
				level = max(level, archspec().byName[a].level())
			}
			c := target["cpu"].(map[string]any) // merge made it an object
			c["ancestors"], c["level"] = ancestors, level
			delete(c, "because")
		}
	}
	if gpu, ok := patch["gpu"].(map[string]any); ok {
		g := target["gpu"].(map[string]any)
		driver, named := gpu["driver"].(string)
		if _, given := gpu["cuda"]; named && !given && g["vendor"] == "nvidia" {
			g["cuda"] = CUDAOf(driver)
		}
	}
	return nil
}

// plausible refuses values that no reader could have read.
func plausible(f *Facts) error {
	if f.PageSize < 0 || f.PageSize&(f.PageSize-1) != 0 {
		return fmt.Errorf("page_size %d is no power of two", f.PageSize)
	}
	for _, n := range f.Networks {
		if !slices.Contains(kindOrder, n.Kind) {
			return fmt.Errorf("%q is no kind of network; there are %q", n.Kind, kindOrder)
		}
	}
	if f.GPU != nil && f.GPU.Vendor != "nvidia" && f.GPU.Vendor != "amd" {
		return fmt.Errorf("gpu.vendor %q is neither nvidia nor amd", f.GPU.Vendor)
	}
	switch f.Squashfs.Mounts {
	case Yes, No, Unknown:
	default:
		return fmt.Errorf("squashfs.mounts %q is neither yes, no nor unknown", f.Squashfs.Mounts)
	}
	return nil
}
