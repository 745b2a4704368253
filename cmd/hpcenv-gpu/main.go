// Command hpcenv-gpu asks NVIDIA's driver what GPUs this node has and how they
// are, prints one JSON object (package hooks/gpu, Report), and ends. It is started
// by hpcenv, which does not link the driver's library, outlives its crashes and
// does not wait where it hangs.
//
//	hpcenv-gpu [--library FILE] [--devices] [--dev DIR] [--limit DURATION] [--progress]
//
//	--library   the driver's library; default: libnvidia-ml.so.1 as the loader finds
//	            it (LD_LIBRARY_PATH counts), then where distributions put it
//	--devices   only GPUs whose device node the caller may open, as in a step's
//	            cgroup; the others are listed as withheld
//	--dev       where the device nodes are; default /dev
//	--limit     end oneself after so long; default 30s
//	--progress  name each call on standard error before it is made
//
// The library knows nothing of CUDA_VISIBLE_DEVICES: all GPUs of the node are
// listed, in the driver's order, whatever it says.
//
// It must be linked with -Wl,-z,lazy, as the Makefile does: bound to all functions at
// its start, as some compilers have it, it would not start beside an old driver.
//
// Exit codes: 0 the object was printed, also if all that it has is why nothing is
// known; 2 wrong usage; 4 the limit passed; 1 it could not be printed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

const (
	exitFailed = 1
	exitUsage  = 2
	exitLimit  = 4
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	fl := flag.NewFlagSet("hpcenv-gpu", flag.ContinueOnError)
	library := fl.String("library", "", "`file` of the driver's library")
	devices := fl.Bool("devices", false, "only GPUs whose device node the caller may open")
	dev := fl.String("dev", "/dev", "`directory` of the device nodes")
	limit := fl.Duration("limit", 30*time.Second, "end oneself after so long")
	progress := fl.Bool("progress", false, "name each call on standard error before it is made")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 || *limit <= 0 {
		if err == nil {
			fmt.Fprintln(os.Stderr, "hpcenv-gpu: it takes no arguments, and a limit above 0; next: hpcenv-gpu --help")
		}
		return exitUsage
	}
	// A parent that was killed leaves no child behind, unless the kernel holds it.
	time.AfterFunc(*limit, func() {
		fmt.Fprintf(os.Stderr, "hpcenv-gpu: the driver has not answered for %v\n", *limit)
		os.Exit(exitLimit)
	})
	out, err := ownOutput()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hpcenv-gpu: standard output:", err)
		return exitFailed
	}
	told := io.Discard
	if *progress {
		told = os.Stderr
	}
	r := read(*library, told)
	if *devices {
		withhold(r, *dev)
	}
	b, err := json.Marshal(r)
	if err == nil {
		_, err = out.Write(append(b, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hpcenv-gpu: the report cannot be printed:", err)
		return exitFailed
	}
	return 0
}

// ownOutput keeps standard output for the report: what the driver's library
// prints goes to standard error.
func ownOutput() (*os.File, error) {
	fd, err := syscall.Dup(1)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	if err := dup2(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "standard output"), nil
}

// read asks the driver; told gets the name of each call before it is made.
func read(library string, told io.Writer) *gpu.Report {
	r := &gpu.Report{Version: gpu.ReportVersion, Vendor: "nvidia"}
	lib := open(r, library, told)
	if lib == nil {
		return r
	}
	lib.system(r)
	r.Missing = lib.missing()
	return r
}
