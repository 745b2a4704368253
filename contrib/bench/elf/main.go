// Command elfbench measures what reading an environment's programs and libraries
// costs: 25,000 files of which nothing is known, the same as files of packages whose
// facts are not kept yet or kept, and judging libraries as the loader would. `make
// bench-elf` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/elf/loader"
	"github.com/hpcenv/hpcenv/internal/figure"
)

const (
	runs = 5
	// target for 25,000 files that were never read, in milliseconds.
	target = 2000
	// pageSize that libraries are judged for, in bytes.
	pageSize = 4096
)

func main() {
	dir := ""
	switch len(os.Args) {
	case 1:
	case 2:
		dir = os.Args[1]
	default:
		fmt.Fprintln(os.Stderr, "usage: elfbench [PREFIX]")
		os.Exit(2)
	}
	code, err := bench(context.Background(), os.Stdout, dir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "elfbench: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// bench measures on the prefix, "" = one that is made from files of this host.
func bench(ctx context.Context, out io.Writer, prefix string) (code int, err error) {
	work, err := os.MkdirTemp("", "elfbench-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if prefix == "" {
		prefix = filepath.Join(work, "prefix")
		if err := makePrefix(prefix); err != nil {
			return 1, err
		}
	}
	files, err := hashed(prefix)
	if err != nil {
		return 1, err
	}
	packages, err := takeIn(work, prefix, files)
	if err != nil {
		return 1, err
	}
	var survey *elf.Survey
	var cold, taken, kept []time.Duration
	size := 0
	for range runs {
		unix.Sync()
		if err := evict(prefix, files); err != nil {
			return 1, err
		}
		start := time.Now()
		if survey, err = elf.SurveyOf(ctx, prefix, files, elf.Options{}); err != nil {
			return 1, err
		}
		cold = append(cold, time.Since(start))
		a, b, n, err := packages.survey(ctx)
		if err != nil {
			return 1, err
		}
		taken, kept, size = append(taken, a), append(kept, b), n
	}
	judged, each, err := judge()
	if err != nil {
		return 1, err
	}
	const ms = float64(time.Millisecond)
	fmt.Fprintf(out, "%-52s %10s\n", fmt.Sprintf("%d files, %d of them ELF", survey.Files, survey.ELF), "ms")
	fmt.Fprintf(out, "%-52s %10.1f\n", "survey, nothing known, content not in memory", float64(figure.Median(cold))/ms)
	fmt.Fprintf(out, "%-52s %10.1f\n", "needs, packages known, content not in memory", float64(figure.Median(taken))/ms)
	fmt.Fprintf(out, "%-52s %10.1f\n", "needs, packages' facts kept", float64(figure.Median(kept))/ms)
	fmt.Fprintf(out, "%-52s %10.3f\n", fmt.Sprintf("one library judged as the loader would, of %d", judged), float64(each)/ms)
	r := figure.NewReport(out)
	r.AtMost("elf.survey.cold", float64(figure.Median(cold))/ms, "ms", target)
	r.AtMost("elf.needs.cold", float64(figure.Median(taken))/ms, "ms", target)
	r.Note("elf.needs.kept", float64(figure.Median(kept))/ms, "ms")
	r.Note("elf.needs.size", float64(size)/1000, "kB")
	r.Note("elf.judge", float64(each)/ms, "ms")
	return r.ExitCode(), nil
}

// evict takes the files' content out of memory, so that it is read from the disk.
func evict(prefix string, files []elf.File) error {
	for _, f := range files {
		if f.Link != "" {
			continue
		}
		h, err := os.Open(filepath.Join(prefix, filepath.FromSlash(f.Path)))
		if err != nil {
			return err
		}
		if err := errors.Join(unix.Fadvise(int(h.Fd()), 0, 0, unix.FADV_DONTNEED), h.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// judge resolves the libraries of this host, with none of them read before.
func judge() (count int, each time.Duration, err error) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	var all []time.Duration
	for range runs {
		s, err := loader.Open(loader.Root{}, loader.Options{Machine: machine, PageSize: pageSize})
		if err != nil {
			return 0, 0, err
		}
		libraries, err := filepath.Glob(s.DefaultDirs[0] + "/*.so.*")
		if err != nil {
			return 0, 0, err
		}
		libraries = libraries[:min(len(libraries), 300)]
		if len(libraries) == 0 {
			return 0, 0, fmt.Errorf("no libraries in %s", s.DefaultDirs[0])
		}
		start := time.Now()
		space, verdict, err := s.Start(loader.Process{Program: "/bin/sh"})
		if err != nil || space == nil {
			return 0, 0, fmt.Errorf("/bin/sh: %v, %w", verdict, err)
		}
		for _, l := range libraries {
			if _, err := space.Judge(l); err != nil {
				return 0, 0, err
			}
		}
		count = len(libraries)
		all = append(all, time.Since(start)/time.Duration(count))
	}
	return count, figure.Median(all), nil
}
