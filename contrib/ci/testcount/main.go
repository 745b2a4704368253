// Command testcount reads what `go test -json` writes. Without -totals it reads
// standard input and prints what people want to see: one line per package and
// test binary, and the whole output of every test that failed or was skipped.
// -logs TEST shows that test's output also if it passed.
// With -totals it reads the named files and ends with one line,
// "N passed, N failed, N skipped".
//
// It exits 1 if a test or package failed, if a line says that something did not
// build, or if no test passed at all: tests that did not run are no success.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	totals := flag.Bool("totals", false, "count the events in the named files instead of showing standard input")
	logs := flag.String("logs", "", "show the output of these tests (with commas between) also if they passed")
	flag.Parse()
	if err := run(*totals, *logs, flag.Args(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "testcount: %v\n", err)
		os.Exit(1)
	}
}

func run(totals bool, logs string, files []string, stdin io.Reader, out io.Writer) error {
	count := newCounter()
	if !totals {
		count.show, count.logs = out, logs
		if err := count.read(stdin); err != nil {
			return fmt.Errorf("reading the events on standard input: %w", err)
		}
	}
	for _, name := range files {
		if err := readFile(count, name); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, count.summary()); err != nil {
		return fmt.Errorf("printing the counts: %w", err)
	}
	return count.verdict()
}

func readFile(count *counter, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("opening the results of a test run: %w", err)
	}
	defer f.Close()
	if err := count.read(f); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}
