package lockfile_test

import (
	"encoding/json"
	"testing"
)

// The bytes of a record are part of environment ids: a change here changes
// every id there is.
func TestRecordGolden(t *testing.T) {
	const location = "https://u:secret@conda.example/t/secret/main/noarch/six-1.16.0-pyh6c4a22f_0.tar.bz2"
	for name, c := range map[string]struct{ text, want string }{
		"full": {lock7(location, `sha256: A83E
md5: e5f2
depends: ["python", "b <2|>3 & \"x\""]
constrains: [z]
license: BSD-3-Clause
license_family: BSD
size: 14259
timestamp: 1620240338
python_site_packages_path: lib/p
purls: ["pkg:pypi/six@1.16"]
run_exports: {weak: [b, a], noarch: []}
track_features: [f, g]
features: h
flags: [i]
legacy_bz2_md5: 0a
legacy_bz2_size: 7
extra_depends: {y: [c], x: []}
unknown: {key: 1}`),
			`{"build":"pyh6c4a22f_0","build_number":0,"channel":"https://conda.example/main","constrains":["z"],"depends":["python","b <2|>3 & \"x\""],"extra_depends":{"x":[],"y":["c"]},"features":"h","flags":["i"],"fn":"six-1.16.0-pyh6c4a22f_0.tar.bz2","legacy_bz2_md5":"0a","legacy_bz2_size":7,"license":"BSD-3-Clause","license_family":"BSD","md5":"e5f2","name":"six","noarch":"python","purls":["pkg:pypi/six@1.16"],"python_site_packages_path":"lib/p","run_exports":{"weak":["b","a"]},"sha256":"a83e","size":14259,"subdir":"noarch","timestamp":1620240338000,"track_features":["f","g"],"url":"https://conda.example/main/noarch/six-1.16.0-pyh6c4a22f_0.tar.bz2","version":"1.16.0"}`},
		"bare": {lock6("../c/a-1-h_3.conda", "subdir: linux-64"),
			`{"arch":"x86_64","build":"h_3","build_number":3,"constrains":[],"depends":[],"fn":"a-1-h_3.conda","name":"a","platform":"linux","subdir":"linux-64","url":"../c/a-1-h_3.conda","version":"1"}`},
		"empty lists": {lock7("../c/a-1-h_3.conda", "subdir: linux-64\npurls: []\nrun_exports: {}"),
			`{"arch":"x86_64","build":"h_3","build_number":3,"constrains":[],"depends":[],"fn":"a-1-h_3.conda","name":"a","platform":"linux","purls":[],"run_exports":{},"subdir":"linux-64","url":"../c/a-1-h_3.conda","version":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := onlyPackage(t, c.text).Record()
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !json.Valid(got) {
				t.Error("not JSON")
			}
		})
	}
}

// TestRecordIgnoresOrder: the order of keys in the file is nothing.
func TestRecordIgnoresOrder(t *testing.T) {
	a := onlyPackage(t, lock7("../c/a-1-0.conda", "subdir: linux-64\nsize: 1\nlicense: x\nrun_exports: {weak: [a], strong: [b]}"))
	b := onlyPackage(t, lock7("../c/a-1-0.conda", "license: x\nrun_exports: {strong: [b], weak: [a]}\nsize: 1\nsubdir: linux-64"))
	if string(a.Record()) != string(b.Record()) {
		t.Errorf("%s\n%s", a.Record(), b.Record())
	}
}
