package health

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// askGPUs refreshes the record of the GPUs and returns it, nil if there is none. The error says that it could not be kept. A driver that hangs or
// crashes is no reason not to read the rest of the node.
func askGPUs(ctx context.Context, o Options, root string) (*gpu.Record, error) {
	if root != "/" && o.GPU.Program == "" {
		return nil, nil
	}
	opt := o.GPU
	opt.RunDir = o.RunDir
	r, err := gpu.Refresh(ctx, root, opt)
	if errors.Is(err, gpu.ErrBusy) {
		fmt.Fprintln(o.Stderr, err)
		// What is kept is as good as what the other probe is about to replace.
		if r, err = gpu.Load(root, filepath.Join(o.RunDir, gpu.RecordFile)); err != nil {
			fmt.Fprintln(o.Stderr, err)
			return nil, nil
		}
	}
	if r == nil {
		return nil, err
	}
	for _, f := range r.Verdict.Findings {
		if f.Level != gpu.Warn {
			fmt.Fprintln(o.Stderr, f)
		}
	}
	return r, err
}
