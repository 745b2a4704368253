package main

import (
	"context"
	"fmt"
	"io"
)

func bench(ctx context.Context, out io.Writer, o *options) (int, error) {
	w, err := newWorld(ctx, o)
	if err != nil {
		return 1, err
	}
	fmt.Fprintln(out, "files", w.files, "modules", w.modules, "ops", len(w.trace.Ops))
	for range 2 {
		for _, l := range []launch{
			{contender: floor, nodes: 1, slowness: 1},
			{contender: floor, nodes: 1, slowness: 1, real: true},
			{contender: floor, nodes: 2, slowness: 8},
			{contender: floor, nodes: 8, slowness: 8}, {contender: image, nodes: 8, slowness: 8},
		} {
			rs, err := w.run(ctx, l)
			if err != nil {
				return 1, err
			}
			fmt.Fprintln(out, l.contender, l.nodes, l.real, rs[0].Attached, rs[0].Wall, rs[0].Asked)
		}
		if err := w.forget(); err != nil {
			return 1, err
		}
	}
	return 0, w.close()
}
