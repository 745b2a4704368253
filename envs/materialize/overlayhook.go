package materialize

import "github.com/hpcenv/hpcenv/envs/activation"

// The file OverlayHook of site-packages has one line, OverlayLine, which Python runs when it
// starts: if activation names an overlay of this prefix, its modules and its .pth
// files count as if they were in site-packages. (PYTHONPATH would put them before
// the standard library, and its .pth files are not read.) An overlay's path has the
// environment's id in it, as the prefix has, so that another environment's Python
// that is started from a job leaves it alone. A virtual environment on top of the
// prefix that sees the prefix's packages sees the overlay too. Where no overlay is
// named, nothing changes.
const (
	// OverlayHook is its name, OverlayLine the line.
	OverlayHook = "hpcenv-overlay.pth"
	OverlayLine = `import os, sys, site; o = os.environ.get("` + activation.OverlayName + `"); ` +
		`o and os.path.basename(getattr(sys, "base_prefix", sys.prefix)) in o.split("/") and site.addsitedir(o + "/lib/python/site-packages")` + "\n"
)
