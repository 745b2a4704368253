package preflight

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// preferSystem is the variable that makes UCX's wheel load the site's UCX, with any
// value but "false" (rapidsai/ucx-wheels load.py, 2026-11).
const preferSystem = "RAPIDS_LIBUCX_PREFER_SYSTEM_LIBRARY"

// systemUCX are the names by which it then loads the site's: without a version, as
// development packages have them. What is not there is taken from the wheel.
var systemUCX = []string{"libucs.so", "libuct.so", "libucp.so"}

// wheelUCX: UCX from PyPI, which has no RDMA, on a node that has.
func wheelUCX(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || p.space == nil || err != nil {
		return nil, err
	}
	s := &in.Needs.Stack
	net := in.rdma()
	if s.Family != stack.UCX || !s.Wheel() || net == nil {
		return nil, nil
	}
	f := Finding{ID: "wheel-ucx", Level: Warn, Act: User, Packages: packages(s.Package)}
	need := minor(s.Version())
	f.Next = fmt.Sprintf("take the conda package ucx instead; or where the site has UCX %s or newer, set %s=1", need, preferSystem)
	value, set := in.lookup(preferSystem)
	if !set || strings.EqualFold(value, "false") {
		f.Evidence = fmt.Sprintf("UCX from PyPI (%s) is built without RDMA: it would run over TCP instead of %s", s.Package, describe(*net))
		return []Finding{in.network(f)}, nil
	}
	lack, version, err := p.siteUCX()
	switch {
	case err != nil:
		return nil, err
	case lack != "":
		f.Evidence = fmt.Sprintf("%s=%s, and %s: UCX from PyPI (%s) would run over TCP instead of %s", preferSystem, value, lack, s.Package, describe(*net))
		f.Next = fmt.Sprintf("take the conda package ucx instead; or ask the administrator for UCX %s or newer with its development package, on the loader's path", need)
	case version != "" && older(version, need):
		f.Evidence = fmt.Sprintf("the site's UCX is %s, and the environment was made with %s: it needs %s or newer", version, s.Package, need)
		f.Next = fmt.Sprintf("take the conda package ucx instead; or load the site's module of UCX %s or newer before the job", need)
	default:
		f = Finding{ID: "wheel-ucx", Level: Fits, Evidence: "the site's UCX " + version + " stands for that from PyPI"}
		return []Finding{f}, nil
	}
	return []Finding{in.network(f)}, nil
}

// rdma is a network of the node that UCX with RDMA would drive; nil = it has none.
func (in *Input) rdma() *facts.Network {
	for _, n := range in.fabrics() {
		switch n.Kind {
		case facts.InfiniBand, facts.RoCE, facts.Slingshot10, facts.EFA:
			if n.Active {
				return &n
			}
		}
	}
	return nil
}

// siteUCX says what the site's UCX lacks to be used over RDMA; "" = nothing. version
// is "" if the library does not tell.
func (p *process) siteUCX() (lack, version string, err error) {
	in := p.in
	opened := p.space.Copy()
	var ucp *loader.Found
	for _, name := range systemUCX {
		found, err := opened.Find(name)
		if err != nil {
			return "", "", err
		}
		if found == nil {
			lack := in.name() + " has no " + name
			if versioned, err := opened.Find(name + ".0"); err != nil {
				return "", "", err
			} else if versioned != nil {
				lack = fmt.Sprintf("%s has %s, and no %s beside it (which the development package has)", in.name(), versioned.Path, name)
			}
			return lack, "", nil
		}
		v, err := opened.Open(name)
		if err != nil {
			return "", "", err
		}
		if !v.Loads {
			return in.lack(v, ""), "", nil
		}
		ucp = found
	}
	if version, err = p.ucxVersion(ucp.Path); err != nil {
		return "", "", err
	}
	lack, err = p.siteVerbs(opened, path.Dir(ucp.Path))
	return lack, version, err
}

// siteVerbs: the site's UCX in a directory has a module for RDMA that loads.
func (p *process) siteVerbs(opened *loader.Space, dir string) (string, error) {
	lack := "its UCX has no libuct_ib in " + dir + "/ucx"
	for _, name := range []string{"libuct_ib.so.0", "libuct_ib.so"} {
		module := path.Join(dir, "ucx", name)
		v, err := opened.Judge(module)
		switch {
		case err != nil:
			return "", err
		case v.Loads:
			return "", nil
		case v.Missing != module:
			lack = p.in.lack(v, "")
		}
	}
	return lack, nil
}

// maxUCP bounds what is read of a libucp, which has a few MB with its symbols.
const maxUCP = 64 << 20

// versionText is a version as ucp_get_version_string returns it, among the library's
// constants: three numbers and a zero byte.
var versionText = regexp.MustCompile(`([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})\x00`)

// ucxVersion reads the version of a libucp; "" = it does not tell, or not clearly. In
// every version of UCX the file's name is libucp.so.0.0.0.
func (p *process) ucxVersion(file string) (string, error) {
	b, err := p.system.ReadFile(file, maxUCP)
	if err != nil {
		return "", fmt.Errorf("the site's UCX: %w", err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return "", fmt.Errorf("the site's UCX: %s: %w", file, err)
	}
	constants := f.Section(".rodata")
	if constants == nil {
		return "", nil
	}
	if b, err = constants.Data(); err != nil {
		return "", fmt.Errorf("the site's UCX: %s: %w", file, err)
	}
	found := ""
	for _, m := range versionText.FindAllSubmatchIndex(b, -1) {
		at := m[2]
		if at > 0 && bytes.IndexByte([]byte("0123456789._-"), b[at-1]) >= 0 {
			continue
		}
		switch v := string(b[at:m[3]]); {
		case found == "":
			found = v
		case found != v:
			return "", nil
		}
	}
	return found, nil
}

// minor is a version's first two numbers.
func minor(version string) string {
	words := strings.SplitN(version, ".", 3)
	return strings.Join(words[:min(2, len(words))], ".")
}

// older tells that a version is below another, by their first two numbers.
func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b), 2) {
		x, err1 := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err1 != nil || err2 != nil || x != y {
			return err1 == nil && err2 == nil && x < y
		}
	}
	return false
}
