package conda

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/cache"
)

// EntryPoint is a command that a noarch python package wants: bin/<Command>
// imports Module and calls Func.
type EntryPoint struct {
	Command string `json:"command"`
	Module  string `json:"module"`
	// Func is a dotted name within Module.
	Func string `json:"func"`
}

// linkJSON is info/link.json.
type linkJSON struct {
	Noarch struct {
		Type        string   `json:"type"`
		EntryPoints []string `json:"entry_points"`
	} `json:"noarch"`
}

// parseLink reads info/link.json and returns its entry points.
func parseLink(data []byte) ([]EntryPoint, error) {
	var doc linkJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("info/link.json: %w: %w", err, cache.ErrIntegrity)
	}
	out := make([]EntryPoint, 0, len(doc.Noarch.EntryPoints))
	for _, text := range doc.Noarch.EntryPoints {
		ep, err := ParseEntryPoint(text)
		if err != nil {
			return nil, fmt.Errorf("info/link.json: %w", err)
		}
		out = append(out, ep)
	}
	return out, nil
}

// dottedName is a python name with dots. Names are letters of any alphabet,
// digits and underscores; nothing that could leave the generated script's line.
var dottedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$`)
})

// ParseEntryPoint reads `command = module:func`. Extras in brackets after func
// are dropped. A command that is not a plain file name is cache.ErrUnsafe.
func ParseEntryPoint(text string) (EntryPoint, error) {
	command, target, ok := strings.Cut(text, "=")
	if !ok {
		return EntryPoint{}, fmt.Errorf("entry point %q is not `command = module:function`: %w", text, cache.ErrIntegrity)
	}
	module, fn, ok := strings.Cut(target, ":")
	if !ok {
		return EntryPoint{}, fmt.Errorf("entry point %q names no function: %w", text, cache.ErrIntegrity)
	}
	if i := strings.IndexByte(fn, '['); i >= 0 {
		fn = fn[:i]
	}
	ep := EntryPoint{
		Command: strings.TrimSpace(command),
		Module:  strings.TrimSpace(module),
		Func:    strings.TrimSpace(fn),
	}
	if ep.Command == "" || strings.HasPrefix(ep.Command, ".") || len(ep.Command) > 255 ||
		strings.ContainsFunc(ep.Command, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '/' || r == '\\' }) {
		return EntryPoint{}, fmt.Errorf("entry point %q: the command is not a plain file name: %w", text, cache.ErrUnsafe)
	}
	for _, name := range []string{ep.Module, ep.Func} {
		if !dottedName().MatchString(name) {
			return EntryPoint{}, fmt.Errorf("entry point %q: %q is not a dotted python name: %w", text, name, cache.ErrUnsafe)
		}
	}
	return ep, nil
}
