package shellword

import (
	"os/exec"
	"testing"
)

func TestQuoteSurvivesTheShell(t *testing.T) {
	for _, s := range []string{"", "a", "/p/pixi.lock", "a b", "it's", "$HOME", "~/x", "a\nb", "*", "-e", "ä", `\`, "`id`", "!x"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("Quote(%q) = %s came back as %q, %v", s, Quote(s), out, err)
		}
	}
	if got := Quote("/p/pixi.lock"); got != "/p/pixi.lock" {
		t.Errorf("a plain word was quoted: %s", got)
	}
}
