package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// errFailed says that the tests did not succeed; the details were printed.
var errFailed = errors.New("tests failed")

// errNothing says that no test passed: nothing was tested.
var errNothing = errors.New("no test ran")

// counter adds up events. A test with subtests counts as one more test.
type counter struct {
	passed, failed, skipped int
	// broken counts packages that failed without a failed test of their own:
	// they did not build, timed out, or called os.Exit.
	broken int
	// failedIn: packages with at least one failed test.
	failedIn map[string]bool
	// output of tests that have not ended yet.
	output map[string][]string
	// show is where people read along; nil for none.
	show io.Writer
	// logs names tests, with commas between, whose output is shown also if they passed.
	logs string
}

func newCounter() *counter {
	return &counter{failedIn: map[string]bool{}, output: map[string][]string{}}
}

// read takes in a stream of events. Lines that are no events (the compiler's,
// the linker's) are shown as they are.
func (c *counter) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if perr := c.line(line); perr != nil {
				return perr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *counter) line(line []byte) error {
	var e event
	if line[0] != '{' || json.Unmarshal(line, &e) != nil || e.Action == "" {
		return c.print(string(line))
	}
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			return c.packageOutput(e)
		}
		c.output[key] = append(c.output[key], e.Output)
		return nil
	case "pass", "fail", "skip":
		if e.Test != "" {
			return c.testEnd(e, key)
		}
		if e.Action == "fail" && !c.failedIn[e.Package] {
			c.broken++
		}
		return nil
	}
	return nil
}

// packageOutput shows a package's verdict and what failed to build; the chatter
// of packages without tests is dropped.
func (c *counter) packageOutput(e event) error {
	text := e.Output
	if text == "PASS\n" || text == "FAIL\n" || strings.HasPrefix(text, "?") || strings.HasPrefix(text, "coverage:") {
		return nil
	}
	return c.print(text)
}

func (c *counter) testEnd(e event, key string) error {
	lines := c.output[key]
	delete(c.output, key)
	switch e.Action {
	case "pass":
		c.passed++
		if !slices.Contains(strings.Split(c.logs, ","), e.Test) {
			return nil
		}
	case "fail":
		c.failed++
		c.failedIn[e.Package] = true
	case "skip":
		c.skipped++
	}
	return c.print(strings.Join(lines, ""))
}

func (c *counter) print(text string) error {
	if c.show == nil {
		return nil
	}
	if _, err := io.WriteString(c.show, text); err != nil {
		return fmt.Errorf("showing the tests' output: %w", err)
	}
	return nil
}

// summary is the closing line.
func (c *counter) summary() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed+c.broken, c.skipped)
}

// verdict is nil only if tests ran and none failed.
func (c *counter) verdict() error {
	switch {
	case c.failed+c.broken > 0:
		return errFailed
	case c.passed == 0:
		return errNothing
	}
	return nil
}
