package selection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/hpcenv/hpcenv/envs/cuda"
)

// ReadRules reads a site's rules as YAML: a list of rows, or a mapping with the
// key rules that holds one.
//
//	rules:
//	  - key: gpu-slingshot-10
//	    gpu: true
//	    network: [slingshot-10]
//	    prefer: [UCX with GPU]
//
// The error is of class ErrRules, with the line where the form is wrong.
func ReadRules(data []byte) (Rules, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return Rules{}, fmt.Errorf("%w: %w", ErrRules, err)
	}
	if len(doc.Content) == 0 {
		return NewRules(nil)
	}
	var rows []Rule
	var err error
	if doc.Content[0].Kind == yaml.MappingNode {
		var file struct {
			Rules []Rule `yaml:"rules"`
		}
		err = strict(data, &file)
		rows = file.Rules
	} else {
		err = strict(data, &rows)
	}
	if err != nil {
		return Rules{}, fmt.Errorf("%w: %w; a row has key, gpu, network, partition, architecture, mixed, prefer and set", ErrRules, err)
	}
	return NewRules(rows)
}

// strict decodes YAML of one document without unknown keys.
func strict(data []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return err
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: only one document is read", max(more.Line, 1))
	}
	return nil
}

// LoadRules reads what Rules.Canonical wrote: the rules that a pin names by their
// digest, wherever the default table has gone since. The error is of class
// ErrRules.
func LoadRules(data []byte) (Rules, error) {
	var c canonicalRules
	if err := json.Unmarshal(data, &c); err != nil {
		return Rules{}, fmt.Errorf("%w: %w", ErrRules, err)
	}
	if c.Version != rulesVersion {
		return Rules{}, fmt.Errorf("%w: they have version %d, this hpcenv reads %d", ErrRules, c.Version, rulesVersion)
	}
	rows := make([]*Rule, 0, len(c.Site)+len(c.Default))
	for _, list := range [][]*Rule{c.Site, c.Default} {
		if slices.Contains(list, nil) {
			return Rules{}, fmt.Errorf("%w: an empty row", ErrRules)
		}
		rows = append(rows, list...)
	}
	for _, r := range c.Site {
		r.site = true
	}
	r, err := layRules(rows)
	if err != nil || c.CUDA == "" {
		return r, err
	}
	table, err := cuda.Parse(c.CUDAOrigin, []byte(c.CUDA))
	if err != nil {
		return Rules{}, fmt.Errorf("%w: %w", ErrRules, err)
	}
	return r.WithCUDA(table)
}
