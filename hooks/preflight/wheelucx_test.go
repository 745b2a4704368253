package preflight_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

const wheelDir = "lib/python3.12/site-packages/libucx/lib/"

// wheeled is a node with UCX from PyPI and an InfiniBand adapter.
func wheeled(t *testing.T) *world {
	t.Helper()
	w := stacked(t, stack.Stack{Family: stack.UCX, Package: "libucx-cu12 1.18.1"})
	for _, name := range []string{"libucs.so", "libuct.so", "libucp.so"} {
		w.lib(wheelDir + name)
	}
	w.lib(wheelDir+"ucx/libuct_cma.so", "libuct.so")
	w.in.Facts.Networks = []facts.Network{mlx}
	return w
}

// siteUCX puts a UCX of a version on the node, with names that end in suffix.
func (w *world) siteUCX(version, suffix string, verbs ...string) {
	w.t.Helper()
	c := filepath.Join(w.stage, "version.c")
	w.check(os.WriteFile(c, []byte(`const char *ucp_get_version_string(void) { return "`+version+`"; }`), 0o644))
	for _, name := range []string{"libucs.so", "libuct.so", "libucp.so"} {
		w.put("/usr/lib/"+name+suffix, w.compile(name+suffix, nil, c))
	}
	w.lib("/usr/lib/ucx/libuct_ib.so.0", verbs...)
}

// TestWheelUCX: UCX from PyPI has two remedies, and the second has conditions.
func TestWheelUCX(t *testing.T) {
	w := wheeled(t)
	w.want("wheel-ucx", preflight.Warn, "UCX from PyPI (libucx-cu12 1.18.1) is built without RDMA", "mlx5_0 (infiniband, 200 Gbit/s)",
		"the conda package ucx", "UCX 1.18 or newer, set RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY=1")
	w.none("transports") // said once
	w.env["RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"] = "False"
	w.want("wheel-ucx", preflight.Warn, "built without RDMA")
	w.env["RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"] = "1"
	w.want("wheel-ucx", preflight.Warn, "n7 has no libucs.so", "would run over TCP", "the conda package ucx", "UCX 1.18 or newer")
	w.in.Facts.Networks = []facts.Network{eth}
	w.none("wheel-ucx")

	w = wheeled(t) // an empty value prefers the site's, too
	w.env["RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"] = ""
	w.siteUCX("1.17.0", "")
	w.want("wheel-ucx", preflight.Warn, "the site's UCX is 1.17.0", "needs 1.18 or newer")

	for _, version := range []string{"1.18.0", "1.20.1", "2.0.0"} {
		w = wheeled(t)
		w.env["RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"] = "1"
		w.siteUCX(version, "")
		w.want("wheel-ucx", preflight.Fits, version)
	}

	w = wheeled(t) // without its development package
	w.env["RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"] = "1"
	w.siteUCX("1.20.0", ".0")
	w.want("wheel-ucx", preflight.Warn, "/usr/lib/libucs.so.0, and no libucs.so beside it (which the development package has)")

	culprit := randomLibrary()
	w = wheeled(t) // its own module does not load
	w.env["RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"] = "1"
	w.siteUCX("1.20.0", "", culprit)
	w.want("wheel-ucx", preflight.Warn, "/usr/lib/ucx/libuct_ib.so.0 needs "+culprit)
}
