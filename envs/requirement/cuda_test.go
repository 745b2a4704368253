package requirement_test

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

var update = flag.Bool("update", false, "write testdata/cuda.txt anew")

// gpuNode has a driver, what it serves, and GPUs.
func gpuNode(driver, compute string, gpus ...string) requirement.Node {
	n := node("x86_64", "__archspec 1 x86_64", "__glibc 2.34 0")
	n.Driver, n.GPUs = driver, gpus
	if v, ok := cuda.Default().Serves(driver); ok {
		n.Virtuals["__cuda"] = requirement.Virtual{Name: "__cuda", Version: v.String(), Build: "0"}
		if compute != "" {
			n.Virtuals["__cuda_arch"] = requirement.Virtual{Name: "__cuda_arch", Version: compute, Build: "0"}
		}
	}
	return n
}

// cudaLocks are locks as they are written: "conda NAME VERSION BUILD [constrains]" and
// "wheel NAME VERSION".
var cudaLocks = []struct{ name, packages string }{
	{"conda 12.9", "conda cuda-version 12.9 h4f385c5_3 __cuda >=12\nconda cupy 13.4.1 py312_0 __cuda >=12.0"},
	{"conda 13.0", "conda cuda-version 13.0 h7428d3b_3 __cuda >=13"},
	{"conda 13.0 with compat", "conda cuda-version 13.0 h7428d3b_3 __cuda >=13\nconda cuda-compat 13.0.2 0"},
	{"conda builds", "conda pytorch 2.1.0 py3.11_cuda11.8_cudnn8.7.0_0\nconda jaxlib 0.4.1 cuda112py39_0\nconda arrow 1 cuda120py39_0"},
	{"cudatoolkit", "conda cudatoolkit 11.2.2 hbe64b41_10"},
	{"torch cu126", "wheel torch 2.6.0+cu126\nwheel nvidia-cublas-cu12 12.6.4.1\nwheel nvidia-cuda-runtime-cu12 12.6.77"},
	{"torch of PyPI", "wheel torch 2.4.0\nwheel nvidia-cublas-cu12 12.1.3.1\nwheel nvidia-cuda-runtime-cu12 12.1.105"},
	{"cu13", "wheel nvidia-cuda-runtime 13.0.96\nwheel nvidia-cublas 13.1.0.3"},
	{"cupy", "wheel cupy-cuda12x 13.4.1"},
	{"jax", "wheel jax-cuda12-plugin 0.5.0\nwheel jax-cuda12-pjrt 0.5.0"},
	{"names alone", "wheel nvidia-nccl-cu12 2.20.5\nwheel libucx-cu12 1.18.0"},
	{"two families", "wheel libucx-cu12 1.18.0\nwheel torch 2.9.0+cu130"},
	{"nothing", "wheel nvidia-cuda-runtime 0.0.1\nwheel cuda-python 12.4\nwheel focus-cu 1\nwheel pycuda 2024\nconda numpy 2.0 cudaless_0"},
}

func cudaLock(t *testing.T, packages string) []requirement.Requirement {
	t.Helper()
	p := &lockfile.Platform{Name: "linux-64", Subdir: "linux-64"}
	for line := range strings.Lines(packages) {
		w := strings.Fields(line)
		if w[0] == "wheel" {
			p.PyPI = append(p.PyPI, &lockfile.PyPIPackage{Name: w[1], Version: w[2], Kind: lockfile.PyPIWheel, FileName: w[1] + ".whl"})
			continue
		}
		c := pkg(w[1], w[2])
		c.Build = w[3]
		if len(w) > 4 {
			c.Constrains = []string{strings.Join(w[4:], " ")}
		}
		p.Conda = append(p.Conda, c)
	}
	return requirement.Of(p, nil)
}

func cudaNodes() []requirement.Node {
	removed := gpuNode("535.104.05", "9.0", "H100")
	delete(removed.Virtuals, "__cuda")
	delete(removed.Virtuals, "__cuda_arch")
	told := gpuNode("520.61.05", "7.0", "V100")
	told.Virtuals["__cuda"] = requirement.Virtual{Name: "__cuda", Version: "12.4", Build: "0"}
	unread := node("", "__cuda 12.4 0")
	assumed := node("", "__cuda", "__cuda_arch")
	assumed.Assumed, assumed.GPUs = true, []string{"V100"}
	return []requirement.Node{
		gpuNode("390.157", "", "K80"), gpuNode("450.80.02", "3.7", "K80"), gpuNode("520.61.05", "7.0", "V100"), gpuNode("525.53.10", "8.0", "A100"),
		gpuNode("525.60.13", "8.0", "A100"), gpuNode("535.104.05", "9.0", "H100"), gpuNode("535.104.05", "8.6", "RTX 3090"), gpuNode("545.23.06", "9.0", "H100"),
		gpuNode("580.65.06", "7.0", "V100", "H100"), gpuNode("580.65.06", "9.0", "H100"), gpuNode("700.1", "9.0", "H100"), gpuNode("580.65.06", "", "X1"),
		removed, told, unread, assumed, node("x86_64", "__archspec 1 x86_64"),
	}
}

// TestDriverTable: what each lock asks, and what is said of it on nodes with drivers of
// all ages.
func TestDriverTable(t *testing.T) {
	var b strings.Builder
	for _, lock := range cudaLocks {
		fmt.Fprintf(&b, "%s\n", lock.name)
		list := cudaLock(t, lock.packages)
		for _, r := range list {
			compat := ""
			if r.Compat != "" {
				compat = " compat " + r.Compat
			}
			fmt.Fprintf(&b, "  %s %s by %s%s\n", r.Source, r.Spec, r.By(), compat)
		}
		for _, n := range cudaNodes() {
			what := fmt.Sprintf("%s %s", n.Driver, strings.Join(n.GPUs, "+"))
			if v, ok := n.Virtuals["__cuda"]; ok {
				what += " CUDA " + v.Version
			}
			var unmet []requirement.Judged
			var notes []string
			state := requirement.Met
			for _, r := range list {
				v := requirement.Check(r, n)
				switch {
				case !v.OK():
					unmet = append(unmet, requirement.Judged{Requirement: r, Verdict: v})
					state = v.State
				case v.State == requirement.Assumed && state == requirement.Met:
					state = v.State
				}
				if note := requirement.Note(r, v, n); note != "" {
					notes = append(notes, note)
				}
			}
			fmt.Fprintf(&b, "    %-32s %s\n", strings.TrimSpace(what), state)
			for _, text := range append(requirement.Texts(unmet, n), notes...) {
				fmt.Fprintf(&b, "      %s\n", text)
			}
		}
	}
	const golden = "testdata/cuda.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Error(d)
	}
}

// TestNewerDriversRunMore: a newer driver, or a GPU of a later capability, never makes
// unmet what an older one met. (With cuda-compat it may: that is made for some branches.)
func TestNewerDriversRunMore(t *testing.T) {
	w := rand.New(rand.NewPCG(5, 6))
	branches := []int{390, 450, 470, 520, 525, 535, 545, 560, 575, 580, 590, 610, 720}
	driver := func() string {
		return fmt.Sprintf("%d.%d.%02d", branches[w.IntN(len(branches))], w.IntN(130), w.IntN(20))
	}
	computes := []string{"3.7", "5.0", "6.1", "7.0", "7.5", "8.6", "9.0", "10.0", "12.0"}
	met := 0
	for range 20000 {
		a, b := driver(), driver()
		da, _ := cuda.ParseDriver(a)
		db, _ := cuda.ParseDriver(b)
		if db.Compare(da) < 0 {
			a, b = b, a
		}
		i := w.IntN(len(computes))
		j := i + w.IntN(len(computes)-i)
		old, newer := gpuNode(a, computes[i]), gpuNode(b, computes[j])
		if _, is := old.Virtuals["__cuda"]; !is {
			continue // without a known CUDA nothing binds but a floor above the table
		}
		for _, kind := range []string{"cuda-driver", "cuda-compute"} {
			r := requirement.Requirement{Spec: fmt.Sprintf("%s %d.%d", kind, 10+w.IntN(5), w.IntN(10)), Source: requirement.CUDA, Packages: []string{"a 1"}}
			was, is := requirement.Check(r, old), requirement.Check(r, newer)
			if was.State == requirement.Met {
				met++
				if is.State != requirement.Met {
					t.Fatalf("%s: met with %s (%s), %s with %s (%s)", r.Spec, a, computes[i], is.State, b, computes[j])
				}
			}
		}
	}
	if met < 1000 {
		t.Errorf("only %d were met", met)
	}
}

// TestCUDAOfRealLocks counts the families that real locks ask for.
func TestCUDAOfRealLocks(t *testing.T) {
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	locks, environments, wheels := 0, 0, 0
	families := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) != "pixi.lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lock, err := lockfile.Parse(data)
		if err != nil {
			return nil // other tests say which cannot be read
		}
		locks++
		for _, env := range lock.Environments {
			for _, p := range env.Platforms {
				asks := false
				for _, r := range requirement.Of(p, nil) {
					if err := requirement.Readable(r); err != nil && r.Source == requirement.CUDA {
						t.Errorf("%s %s: %v", path, env.Name, err)
					}
					if family, is := strings.CutPrefix(r.Spec, "cuda-driver "); is {
						major, _, _ := strings.Cut(family, ".")
						families[major]++
						asks = true
						for _, by := range r.Packages {
							if !strings.HasPrefix(by, "cuda-version ") {
								wheels++
							}
						}
					}
				}
				if asks {
					environments++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d locks, %d environments on platforms with CUDA, %d packages beside cuda-version that say so: %v", locks, environments, wheels, families)
	if locks < 100 || families["12"] < 10 || families["13"] < 10 || wheels < 1 {
		t.Errorf("%d locks, %d environments, %d others, %v", locks, environments, wheels, families)
	}
}
