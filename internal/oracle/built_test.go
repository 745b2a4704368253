//go:build oracle

package oracle

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// recipes are what rattler-build is given, and the package that must come of it.
// They need nothing but a shell, so no channel is asked.
var recipes = map[string]string{
	"noarch/built-generic-1.0.0-*.conda": `
package: {name: built-generic, version: 1.0.0}
build:
  noarch: generic
  number: 3
  script:
    - mkdir -p $PREFIX/share/built $PREFIX/bin
    - echo "$PREFIX/share" > $PREFIX/share/built/where
    - printf '#!%s/bin/python3 -u\nprint()\n' "$PREFIX" > $PREFIX/bin/built
    - chmod 755 $PREFIX/bin/built
    - ln -s built $PREFIX/bin/built-link
    - touch $PREFIX/share/built/empty
about: {license: MIT}
`,
	"linux-64/built-arch-2.1-*.conda": `
package: {name: built-arch, version: "2.1"}
build:
  script:
    - mkdir -p $PREFIX/lib $PREFIX/etc/conda/activate.d
    - printf 'BIN\0%s/lib\0tail\0' "$PREFIX" > $PREFIX/lib/libbuilt.bin
    - ln -s libbuilt.bin $PREFIX/lib/libbuilt.bin.1
    - echo "export BUILT=$PREFIX" > $PREFIX/etc/conda/activate.d/built.sh
`,
	"noarch/built-python-3.0-*.conda": `
package: {name: built-python, version: "3.0"}
build:
  noarch: python
  python:
    entry_points: [built-run = built.mod:main]
  script:
    - mkdir -p $PREFIX/lib/python3.11/site-packages/built $PREFIX/bin
    - echo "P='$PREFIX'" > $PREFIX/lib/python3.11/site-packages/built/mod.py
    - touch $PREFIX/lib/python3.11/site-packages/built/__init__.py
    - printf '#!%s/bin/python\n' "$PREFIX" > $PREFIX/bin/built-script
    - chmod 755 $PREFIX/bin/built-script
`,
}

// testBuilt: packages that rattler-build makes are packages like any other, alone
// and together, at a short and at a long prefix.
func testBuilt(t *testing.T, s *session) {
	out := filepath.Join(s.base, "built")
	all := []Locked{writePackage(t, filepath.Join(s.base, "stand-in"), standIn("3.11.4"), "", false)}
	for pattern, recipe := range recipes {
		dir := filepath.Join(s.base, "recipe")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "recipe.yaml")
		if err := os.WriteFile(file, []byte(recipe), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.driver.Build(context.Background(), file, out); err != nil {
			t.Fatal(err)
		}
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: built were %v, %v", pattern, found, err)
		}
		all = append(all, lockArchive(t, found[0]))
	}
	for name, n := range map[string]int{"short": shortPrefix, "long": longPrefix} {
		t.Run(name, func(t *testing.T) { s.check(t, inputName(t), Text(all), "default", n) })
	}
	for _, l := range all[1:] {
		t.Run(l.Name, func(t *testing.T) { s.check(t, inputName(t), Text([]Locked{all[0], l}), "default", shortPrefix) })
	}
}
