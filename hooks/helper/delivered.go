package helper

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/pin"
)

// DeliveredName is the variable that tells tasks what their environment is attached as
// on their node.
const DeliveredName = "HPCENV_DELIVERED"

// What an environment is attached as: the values of DeliveredName.
const (
	asTree       = "tree"       // the store's tree
	asImage      = "image"      // the store's image, mounted by the kernel
	asLocal      = "local"      // the image's copy on the node's disk, mounted by the kernel
	asSquashfuse = "squashfuse" // the image, shown by a process
)

// answerAttached tells the shim, and through it activate, what was attached as what: after
// a NUL byte, that it is not taken for what attach says to people, words ID=WHAT; "*" are
// all trees.
func (f *attachFlags) answerAttached(out io.Writer) error {
	if len(f.delivered) == 0 {
		return nil
	}
	_, err := io.WriteString(out, "\x00"+strings.Join(f.delivered, " "))
	return err
}

func (f *attachFlags) deliver(id, what string) {
	if id == "" {
		id = "*"
	}
	f.delivered = append(f.delivered, id+"="+what)
}

// deliveredAs is what answerAttached said of an environment. Nothing was said where the
// host has the trees, and of a user's own.
func deliveredAs(attached, id string) string {
	what := asTree
	for word := range strings.FieldsSeq(attached) {
		if name, as, ok := strings.Cut(word, "="); ok && name == id {
			what = as
		}
	}
	return what
}

// recordDelivered leaves what was mounted for steps that find it mounted.
func (f *attachFlags) recordDelivered(id, what string) error {
	name := filepath.Join(f.prefixRoot, "."+id)
	err := os.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(name, []byte(what), 0o444)
	}
	if err != nil {
		return fmt.Errorf("prefix root: %w", err)
	}
	return nil
}

// recordedDelivered is what recordDelivered left; "image" where nothing did.
func (f *attachFlags) recordedDelivered(id string) (string, error) {
	b, err := os.ReadFile(filepath.Join(f.prefixRoot, "."+id))
	if errors.Is(err, fs.ErrNotExist) {
		return asImage, nil
	}
	return string(b), err
}

// tellNotes says what attach said: as other warnings, once per node in a job, and again in
// a step whose environment is attached otherwise than the job's script has it on that node.
func (f *activateFlags) tellNotes(stderr io.Writer, p *pin.Pin, env func(string) (string, bool)) {
	script, _ := env(DeliveredName)
	again := script != "" && script != deliveredAs(f.attached, p.ID) && batchHost(env) == nodeName()
	if !again && !f.warns(p, env) {
		return
	}
	for line := range strings.Lines(f.notes) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(stderr, "hpcenv: %s: %s\n", nodeName(), line)
		}
	}
}
