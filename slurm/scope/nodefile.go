package scope

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// maxNodeFile bounds the bytes of a file of nodes.
const maxNodeFile = 4 << 20

// nodeNames reads --nodelist and --exclude: a hostlist, or with a / in it the name of
// a file.
func (s Submission) nodeNames(text string) ([]string, error) {
	if strings.Contains(text, "/") {
		return s.nodeFile(text)
	}
	return hostlist.Expand(text)
}

// nodeFile reads a file of nodes: names joined by commas, perhaps with *COUNT, # begins
// a comment.
func (s Submission) nodeFile(name string) ([]string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Dir, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxNodeFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxNodeFile {
		return nil, errors.New("it is too long to be read at submit")
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Split(line, ",") {
			word, _, _ = strings.Cut(strings.Trim(word, space), "*")
			more, err := hostlist.Expand(word)
			if err != nil {
				return nil, err
			}
			names = append(names, more...)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it names no node")
	}
	return names, nil
}
