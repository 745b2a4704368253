//go:build linux

package serve

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// rules are what the site says about choosing: its rows, and its table of drivers,
// toolkits and GPUs. Both go into the store with the nodes, so that who submits and
// every node have the same. The error is of class config.ErrConfig.
func rules(conf config.Selection) (selection.Rules, error) {
	r, err := selection.NewRules(conf.Rules)
	if err != nil {
		return r, fmt.Errorf("%w: selection.rules: %w", config.ErrConfig, err)
	}
	if conf.CUDATable == "" {
		return r, nil
	}
	text, err := facts.ReadTrusted(conf.CUDATable)
	if errors.Is(err, fs.ErrNotExist) && conf.CUDATable == config.CUDATablePath {
		return r, nil
	}
	var table *cuda.Table
	if err == nil {
		table, err = cuda.Parse(conf.CUDATable, text)
	}
	if err != nil {
		return r, fmt.Errorf("%w: selection.cuda_table: %w; next: mend the file, or remove it (the program has a table of its own)", config.ErrConfig, err)
	}
	return r.WithCUDA(table)
}
