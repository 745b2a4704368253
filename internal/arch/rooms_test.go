package arch

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestRoomsAreListed: the list of rooms in the module's doc.go has every package;
// one within a room may be named in the room's entry.
func TestRoomsAreListed(t *testing.T) {
	doc, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	room := ""
	line := regexp.MustCompile(`^//\t(\S*) +(.*)$`)
	for text := range strings.Lines(string(doc)) {
		m := line.FindStringSubmatch(strings.TrimRight(text, "\n"))
		if m == nil {
			room = ""
			continue
		}
		if m[1] != "" {
			room = m[1]
		}
		entries[room] += " " + m[2]
	}
	listed := 0
	for pkg := range strings.Lines(string(out)) {
		rel, ok := strings.CutPrefix(strings.TrimSpace(pkg), module)
		if !ok || strings.HasPrefix(rel, "contrib/") || !strings.Contains(rel, "/") && entries[rel] == "" {
			continue // the module, what is around it, and folders that only hold rooms
		}
		listed++
		if entries[rel] != "" {
			continue
		}
		if !regexp.MustCompile(`\b` + path.Base(rel) + `\b`).MatchString(entries[path.Dir(rel)]) {
			t.Errorf("doc.go does not list %s", rel)
		}
	}
	if listed < 40 {
		t.Errorf("only %d packages were looked at", listed)
	}
}
