//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// page is what a documented page shows.
type page struct {
	// files by name: fenced blocks whose language is followed by one, e.g.
	// "```bash job.sh".
	files map[string]string
	// sessions are the "```console" blocks.
	sessions []session
}

// session is commands with what they print.
type session struct {
	line  int
	steps []step
}

// step is a line "$ COMMAND" and the lines up to the next.
type step struct {
	command string
	output  []string
}

// readPage reads a page of Markdown. Only what is fenced counts.
func readPage(path string) (*page, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &page{files: map[string]string{}}
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		info, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			continue
		}
		start, body := i+1, []string(nil)
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			body = append(body, lines[i])
		}
		if i == len(lines) {
			return nil, fmt.Errorf("%s:%d: the block has no end", path, start)
		}
		words := strings.Fields(info)
		switch {
		case len(words) == 2:
			p.files[words[1]] = strings.Join(body, "\n") + "\n"
		case len(words) == 1 && words[0] == "console":
			s := session{line: start}
			for _, l := range body {
				if command, ok := strings.CutPrefix(l, "$ "); ok {
					s.steps = append(s.steps, step{command: command})
				} else if len(s.steps) == 0 {
					return nil, fmt.Errorf("%s:%d: the block begins without a command", path, start)
				} else {
					last := &s.steps[len(s.steps)-1]
					last.output = append(last.output, l)
				}
			}
			p.sessions = append(p.sessions, s)
		}
	}
	return p, nil
}

// matches tells whether a program printed what the page shows: line by line, where …
// stands for anything within a line, and a line that is nothing else for any lines.
func (s *step) matches(printed string) (bool, error) {
	var re strings.Builder
	re.WriteString(`\A`)
	for _, l := range s.output {
		if l == "…" {
			re.WriteString(`(?:.*\n)*?`)
			continue
		}
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(l, " ")), "…", ".*") + `[ ]*\n`)
	}
	re.WriteString(`\z`)
	r, err := regexp.Compile(re.String())
	if err != nil {
		return false, err
	}
	return r.MatchString(printed), nil
}

// page FILE DIR: the commands of a page of the repository print what it shows, run in
// DIR by the first user one after the other. Whether a command may fail is what its
// output says: only one that shows an error may.
func (c *cluster) cmdPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: page FILE DIR")
	}
	p, err := readPage(c.root + "/" + args[0])
	ts.Check(err)
	ts.Check(ts.Chdir(args[1]))
	ran := 0
	for _, s := range p.sessions {
		for _, st := range s.steps {
			ran++
			err := ts.Exec("u1", "bash", "-c", "exec 2>&1; "+st.command)
			printed := ts.ReadFile("stdout")
			shows := strings.Contains(strings.Join(st.output, "\n"), "error")
			if (err != nil) != shows {
				ts.Fatalf("%s:%d: %s: %v\n%s", args[0], s.line, st.command, err, printed)
			}
			ok, err := st.matches(printed)
			ts.Check(err)
			if !ok {
				ts.Fatalf("%s:%d: %s: printed\n%s\nthe page shows\n%s", args[0], s.line, st.command, printed, strings.Join(st.output, "\n"))
			}
		}
	}
	if ran == 0 {
		ts.Fatalf("%s shows no command", args[0])
	}
}
