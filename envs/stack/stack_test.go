package stack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// platform makes one of conda packages, "NAME VERSION BUILD", and wheels, "NAME
// VERSION".
func platform(packages string) *lockfile.Platform {
	p := &lockfile.Platform{Name: "linux-64", Subdir: "linux-64"}
	for line := range strings.SplitSeq(packages, ";") {
		switch f := strings.Fields(line); len(f) {
		case 2:
			p.PyPI = append(p.PyPI, &lockfile.PyPIPackage{Name: f[0], Version: f[1], Kind: lockfile.PyPIWheel})
		case 3:
			p.Conda = append(p.Conda, &lockfile.CondaPackage{Name: f[0], Version: f[1], Build: f[2], Channel: "https://conda.example/main"})
		}
	}
	return p
}

func TestFamilies(t *testing.T) {
	const all = "infiniband roce efa slingshot-10 slingshot-11 omni-path"
	for packages, want := range map[string]struct {
		family        stack.Family
		pkg, networks string
		mpi, remark   string
	}{
		"":                                 {"", "", "", "", ""},
		"numpy 2 py_0":                     {"", "", "", "", ""},
		"nccl 2.28 h0":                     {"", "", "", "", ""}, // computes over what its programs choose
		"ucx 1.19.0 h0":                    {stack.UCX, "ucx 1.19.0", "infiniband roce slingshot-10", "", ""},
		"ucx 1.20.0 h0":                    {stack.UCX, "ucx 1.20.0", "infiniband roce slingshot-10 efa", "", ""},
		"libucx-cu12 1.18.1":               {stack.UCX, "libucx-cu12 1.18.1", "", "", "without verbs"},
		"libucx-cu12 1.18.1;ucx 1.18.1 h0": {stack.UCX, "ucx 1.18.1", "infiniband roce slingshot-10", "", ""},
		// GASNet-EX comes before all.
		"realm-gex-wrapper 1.0 0;ucx 1.18.0 h0;openmpi 5.0.7 h0": {stack.GASNet, "realm-gex-wrapper 1.0", "slingshot-11 slingshot-10 omni-path", "openmpi 5", "conduit ofi"},
		"legate 25.7.0 cuda12_py312_gex_gpu_0;ucx 1.18.0 h0":     {stack.GASNet, "legate 25.7.0", "slingshot-11 slingshot-10 omni-path", "", "conduit ofi"},
		"legate 25.7.0 cuda12_py312_ucx_gpu_0;ucx 1.18.0 h0":     {stack.UCX, "ucx 1.18.0", "infiniband roce slingshot-10", "", ""},
		"gasnetex 2025.8 h0": {stack.GASNet, "gasnetex 2025.8", "slingshot-11 slingshot-10 omni-path", "", "conduit ofi"},
		// MPI speaks through what it links.
		"openmpi 5.0.7 h0;ucx 1.18.0 h0;libfabric 2.1 h0":   {stack.UCX, "ucx 1.18.0", "infiniband roce slingshot-10", "openmpi 5", ""},
		"mpich 4.3.0 h0;libfabric 2.1 h0;libfabric1 2.1 h0": {stack.Libfabric, "libfabric 2.1", "infiniband roce slingshot-10 efa", "mpich 4", ""},
		"openmpi 4.1.6 h0":                         {stack.MPI, "openmpi 4.1.6", "", "openmpi 4", "TCP only"},
		"openmpi 5.0.7 external_h1;libfabric 2 h0": {stack.MPI, "openmpi 5.0.7", all, "site", "the site's own"},
		"mpich 4.3 external_0":                     {stack.MPI, "mpich 4.3", all, "site", "the site's own"},
		"impi_rt 2021.14 h0;libfabric 2 h0":        {stack.MPI, "impi_rt 2021.14", "infiniband roce efa omni-path", "impi_rt 2021", ""},
		"impi-rt 2021.14":                          {stack.MPI, "impi-rt 2021.14", "infiniband roce efa omni-path", "impi-rt 2021", ""},
		"mpich 4.3":                                {stack.MPI, "mpich 4.3", "", "mpich 4", "not known"},
		"mvapich2 2.3.7 h0":                        {stack.MPI, "mvapich2 2.3.7", "infiniband roce", "mvapich2 2", ""},
		"libfabric 2.1 h0":                         {stack.Libfabric, "libfabric 2.1", "infiniband roce slingshot-10 efa", "", ""},
	} {
		got := stack.Of(platform(packages), nil)
		if got.Family != want.family || got.Package != want.pkg || strings.Join(got.Networks, " ") != want.networks || got.MPI != want.mpi {
			t.Errorf("%s: %+v", packages, got)
		}
		if remarks := strings.Join(got.Remarks, "; "); (remarks == "") != (want.remark == "") || !strings.Contains(remarks, want.remark) {
			t.Errorf("%s: remarks %q", packages, remarks)
		}
		if got.GPU || got.UsesGPU || got.GPUPackage != "" {
			t.Errorf("%s: a GPU? %+v", packages, got)
		}
	}
}

func TestGPU(t *testing.T) {
	const manifest, locks = "the manifest's system requirements", "the lock's platform linux-64"
	for name, c := range map[string]struct {
		depends, constrains, platform, system string
		needs                                 string // who; "" = nobody
	}{
		"nothing":               {},
		"a constraint alone":    {constrains: "__cuda >=12"},
		"another package's":     {depends: "__cudart"},
		"glibc":                 {depends: "__glibc >=2.17"},
		"depends":               {depends: "__cuda", needs: "a 1"},
		"depends on a version":  {depends: "__cuda  >=12.8", needs: "a 1"},
		"depends, strangely":    {depends: "__cuda >>12", needs: "a 1"},
		"a compute capability":  {depends: "__cuda_arch >=9.0", needs: "a 1"},
		"the manifest":          {system: "12.2", needs: manifest},
		"package over manifest": {depends: "__cuda", system: "12.2", needs: "a 1"},
		"the platform":          {platform: "__cuda=12", needs: locks},
		"only where there is":   {depends: `__cuda >=12[when="__cuda"]`},
	} {
		p := platform("a 1 0;b 1 0")
		p.Conda[0].Depends, p.Conda[0].Constrains, p.VirtualPackages = []string{c.depends}, []string{c.constrains}, []string{c.platform}
		p.Conda[1].Depends = p.Conda[0].Depends
		system := map[string]string{"__glibc": "2.28"}
		if c.system != "" {
			system["__cuda"] = c.system
		}
		if got := stack.Of(p, system); got.GPU != (c.needs != "") || got.GPUPackage != c.needs || got.UsesGPU != got.GPU {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := stack.Of(platform("cuda-version 12.9 h0"), nil); !got.UsesGPU || got.GPU {
		t.Errorf("CUDA without __cuda: %+v", got)
	}
	if got := stack.Of(platform("nvidia_cuda_runtime_cu12 12.9"), nil); !got.UsesGPU || got.GPU {
		t.Errorf("CUDA of wheels: %+v", got)
	}
}

func TestParts(t *testing.T) {
	want := []stack.Part{
		{Name: "UCX", Package: "libucx-cu12-1.18.1", Origin: stack.PyPI},
		{Name: "UCX", Package: "ucx-1.18.0-h0", Origin: "https://conda.example/main"},
		{Name: "MPI", Package: "openmpi-5.0.7-h0", Origin: "https://conda.example/main"},
		{Name: "CUDA", Package: "cuda-version-12.9-h0", Origin: "https://conda.example/main"},
	}
	if d := cmp.Diff(want, stack.Parts(platform("cuda-version 12.9 h0;ucx 1.18.0 h0;openmpi 5.0.7 h0;libucx-cu12 1.18.1;ucxx 0.42 h0"))); d != "" {
		t.Error(d)
	}
}
