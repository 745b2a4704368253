package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// soname of the driver's library.
const soname = "libnvidia-ml.so.1"

// places where distributions put it, for hosts whose loader does not look there.
var places = []string{
	"/usr/lib64/nvidia", "/usr/lib64", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu", "/usr/lib/nvidia", "/usr/lib/wsl/lib",
}

// library is the driver's, loaded and started. A function that it lacks kills the
// process when it is called (the loader ends it), so that each is looked up first.
type library struct {
	nvml.Interface
	told io.Writer
	has  map[string]bool // what was looked up
}

// open loads and starts the library. nil: r says why not.
func open(r *gpu.Report, file string, told io.Writer) *library {
	names := []string{file}
	if file == "" {
		names = []string{soname}
		for _, p := range places {
			names = append(names, p+"/"+soname)
		}
	}
	r.State = gpu.StateNoLibrary
	for i, name := range names {
		if i > 0 && !exists(name) {
			continue // the loader's own answer for the soname tells enough
		}
		lib := load(r, name, told)
		if lib != nil {
			return lib.start(r)
		}
		if exists(name) {
			r.State = gpu.StateBroken
		}
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil && strings.Contains(file, "/")
}

// load opens a library and makes sure that it is one that can be started, before
// go-nvml calls into it. It stays open: go-nvml opens the same once more.
func load(r *gpu.Report, name string, told io.Writer) *library {
	fmt.Fprintln(told, "call: dlopen", name)
	raw := dl.New(name, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := raw.Open(); err != nil {
		r.Failures = append(r.Failures, gpu.Failure{Call: "dlopen " + name, Code: gpu.CodeLibraryNotFound, Text: err.Error()})
		return nil
	}
	r.Library = loaded(name)
	if raw.Lookup("nvmlInit_v2") != nil {
		if err := raw.Lookup("nvmlInit"); err != nil {
			r.Failures = append(r.Failures, gpu.Failure{Call: "dlsym nvmlInit", Code: gpu.CodeNoFunction, Text: err.Error()})
			r.State = gpu.StateBroken
			return nil
		}
	}
	return &library{Interface: nvml.New(nvml.WithLibraryPath(name)), told: told, has: map[string]bool{}}
}

// start initialises the library.
func (l *library) start(r *gpu.Report) *library {
	fmt.Fprintln(l.told, "call: nvmlInit_v2")
	if ret := l.Init(); ret != nvml.SUCCESS {
		r.State = gpu.StateFailed
		r.Failures = append(r.Failures, l.failure("nvmlInit_v2", ret))
		return nil
	}
	r.State = gpu.StateOK
	// Failures to find it elsewhere are no news any more.
	r.Failures = nil
	return l
}

// knows looks a function up, once.
func (l *library) knows(symbol string) bool {
	known, asked := l.has[symbol]
	if !asked {
		known = l.Extensions().LookupSymbol(symbol) == nil
		l.has[symbol] = known
	}
	return known
}

// missing functions, sorted.
func (l *library) missing() []string {
	var list []string
	for symbol, known := range l.has {
		if !known {
			list = append(list, symbol)
		}
	}
	slices.Sort(list)
	return list
}

// ask makes a call if the library has the function, and notes in list that it
// failed. True: it succeeded. about says which GPU it is about, for those who
// watch.
func (l *library) ask(list *[]gpu.Failure, about, symbol string, call func() nvml.Return) bool {
	if !l.knows(symbol) {
		return false
	}
	fmt.Fprintln(l.told, "call: "+symbol+about)
	ret := call()
	switch ret {
	case nvml.SUCCESS:
		return true
	case nvml.ERROR_NOT_SUPPORTED: // this GPU has no such thing
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		l.has[symbol] = false
	default:
		*list = append(*list, l.failure(symbol, ret))
	}
	return false
}

// failure words what a call returned, with the library's text if it has one.
func (l *library) failure(call string, ret nvml.Return) gpu.Failure {
	text := ""
	if l.Extensions().LookupSymbol("nvmlErrorString") == nil {
		text = l.ErrorString(ret)
	}
	if text == "" {
		text = "no text"
	}
	// The text is the library's memory, which go-nvml does not copy.
	return gpu.Failure{Call: call, Code: int(ret), Text: strings.ToValidUTF8(strings.Clone(text), "?")}
}

// loaded is the file that is mapped for a library that was opened by name: links
// followed, its name has the version of the driver it came with.
func loaded(name string) string {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return name
	}
	for line := range strings.Lines(string(b)) {
		if at := strings.IndexByte(line, '/'); at >= 0 && strings.Contains(line[at:], "/libnvidia-ml.so") {
			return strings.TrimSpace(line[at:])
		}
	}
	return name
}
