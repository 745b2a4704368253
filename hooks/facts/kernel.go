package facts

import (
	"context"
	"os"
	"strconv"
	"strings"
)

// readKernel reads the release, as uname -r says it.
func readKernel(_ context.Context, h host) part {
	release, err := h.value("/proc/sys/kernel/osrelease")
	if err != nil {
		return part{problems: []string{err.Error()}}
	}
	return part{set: func(f *Facts) { f.Kernel = release }}
}

// readPageSize: this host's is asked of the kernel, a recorded one's is what it
// says of a process's memory.
func readPageSize(_ context.Context, h host) part {
	if h.live {
		return part{set: func(f *Facts) { f.PageSize = os.Getpagesize() }}
	}
	const name = "/proc/self/smaps"
	text, err := h.text(name)
	if err != nil {
		return part{problems: []string{err.Error()}}
	}
	size := pageSize(text)
	if size == 0 {
		return part{problems: []string{name + " has no KernelPageSize that could be one"}}
	}
	return part{set: func(f *Facts) { f.PageSize = size }}
}

// pageSize is the smallest in smaps (mappings of huge pages have theirs), in
// bytes; 0 if there is none.
func pageSize(smaps string) int {
	least := 0
	for line := range strings.Lines(smaps) {
		value, ok := strings.CutPrefix(line, "KernelPageSize:")
		if !ok {
			continue
		}
		kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		// A power of two between 4 kB and 64 kB is what Linux has.
		if err != nil || kb < 4 || kb > 64 || kb&(kb-1) != 0 {
			continue
		}
		if size := kb << 10; least == 0 || size < least {
			least = size
		}
	}
	return least
}
