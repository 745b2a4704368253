package scope

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// recordHeader begins the file that contrib/slurm/cli_filter.lua writes: the process
// that wrote it and its start time follow, since children inherit the open file.
const recordHeader = "hpcenv-cli-filter 1 "

// maxRecord bounds the bytes of that file.
const maxRecord = 1 << 20

// recordOf finds what a cli_filter wrote down in the process pid: an open file without a
// name. A cli_filter in Lua can set no variable, and a file with a name would outlive
// what it speaks of.
func recordOf(pid int, program string) Record {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	start, err := startTime(pid)
	if err != nil {
		return nil
	}
	header := fmt.Sprintf("%s%d %s\n", recordHeader, pid, start)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if target, err := os.Readlink(path); err != nil || !strings.HasSuffix(target, " (deleted)") {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxRecord {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		if text, err := readAll(path); err == nil && strings.HasPrefix(text, header) {
			return parseRecord(text[len(header):], program)
		}
	}
	return nil
}

func readAll(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	return string(data), err
}

// startTime of a process, in the kernel's ticks: with its number it names one process.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, ok := cutLast(string(data), ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat is not understood", pid)
	}
	return fields[19], nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// parseRecord reads the last component of a record, the one that is being submitted:
// a line "component PROGRAM", lines name=value with % for what a line cannot carry, a
// line "end". A record that is cut off, or of another program, is none.
func parseRecord(text, program string) Record {
	at := strings.LastIndex("\n"+text, "\ncomponent "+program+"\n")
	if at < 0 {
		return nil
	}
	body, complete := strings.CutSuffix(text[at+len("component "+program+"\n"):], "end\n")
	if !complete {
		return nil
	}
	r := request{program: program, values: map[string]string{}, recorded: true}
	for line := range strings.Lines(body) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		value, err := url.PathUnescape(value)
		if !ok || err != nil {
			return nil
		}
		r.values[canonical(name)] = value
	}
	return Record{r}
}
