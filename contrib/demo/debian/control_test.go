package debian

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStanzas(t *testing.T) {
	const text = `Package: liba1
Version: 2:1.0~rc1-3
Architecture: amd64
Pre-Depends: libc6 (>= 2.34)
Depends: libb:any (= 1) | libc [amd64], libd
Description: one line
 and more
SHA256: ABCDEF

Package: python3-x
Version: 1
Architecture: all
`
	got, err := parseStanzas(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []*Stanza{
		{Package: "liba1", Version: "2:1.0~rc1-3", Architecture: "amd64", SHA256: "abcdef", Description: "one line",
			Depends: [][]string{{"libc6"}, {"libb", "libc"}, {"libd"}}},
		{Package: "python3-x", Version: "1", Architecture: "all"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stanzas (-want +got):\n%s", diff)
	}
	if got := want[0].fileName(); got != "liba1_2%3a1.0~rc1-3_amd64.deb" {
		t.Errorf("file name %s", got)
	}
	if got := want[1].aptName(); got != "python3-x=1" {
		t.Errorf("apt's name %s", got)
	}
}
