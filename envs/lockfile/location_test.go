package lockfile_test

import (
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func TestRedactURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:secret@conda.example/main/linux-64/a-1-0.conda":  "https://conda.example/main/linux-64/a-1-0.conda",
		"https://secret@conda.example":                                 "https://conda.example",
		"https://a@b:secret@conda.example/x":                           "https://conda.example/x",
		"https://conda.example/t/secret-1/main/linux-64/a-1-0.conda":   "https://conda.example/main/linux-64/a-1-0.conda",
		"https://conda.example/conda/t/secret/main/noarch/a-1-0.conda": "https://conda.example/conda/main/noarch/a-1-0.conda",
		"https://conda.example/t/secret/t/secret/main":                 "https://conda.example/main",
		"https://conda.example/t/linux-64/a-1-0.conda":                 "https://conda.example/t/linux-64/a-1-0.conda",
		"https://conda.example/main/a@b.conda":                         "https://conda.example/main/a@b.conda",
		"https://conda.example/main?u=a@b":                             "https://conda.example/main?u=***",
		"https://conda.example/a.whl?X-Amz-Signature=secret;token=s":   "https://conda.example/a.whl?X-Amz-Signature=***&token=***",
		"https://conda.example/a.whl?secret#sha256=ab":                 "https://conda.example/a.whl?***#sha256=ab",
		"https://conda.example/a.whl#a?b=c":                            "https://conda.example/a.whl#a?b=c",
		"https://user:se%zzcret@conda.example/broken%zz":               "https://conda.example/broken%zz",
		"../some/t/x/path": "../some/t/x/path",
		"":                 "",
	} {
		if got := lockfile.RedactURL(in); got != want {
			t.Errorf("RedactURL(%q) = %q, want %q", in, got, want)
		}
	}
}

// A server whose only channel is its root: the token is all of the path.
func TestATokenIsAllOfAChannelsPath(t *testing.T) {
	const sum = "#sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
	for name, text := range map[string]string{
		"list":   "@EXPLICIT\nhttps://conda.example/t/secret-1/linux-64/a-1-0.conda" + sum,
		"lock":   strings.Replace(lock7("https://conda.example/t/secret-1/linux-64/a-1-0.conda", ""), "https://conda.example/main/\n", "https://conda.example/t/secret-1/\n", 1),
		"no end": strings.Replace(lock7("https://conda.example/t/secret-1/linux-64/a-1-0.conda", ""), "https://conda.example/main/\n", "https://conda.example/t/secret-1\n", 1),
	} {
		lock, err := lockfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(name, err)
		}
		env := lock.Environments[0]
		pkg := env.Platforms[0].Conda[0]
		if got := strings.Join(env.Channels, " "); got != "https://conda.example" {
			t.Errorf("%s: channels %s", name, got)
		}
		for _, text := range []string{string(pkg.Record()), pkg.Channel, pkg.Origin()} {
			if strings.Contains(text, "secret") {
				t.Errorf("%s: a credential in %s", name, text)
			}
		}
	}
}

// TestNoCredentialLeaves: whatever a lock is asked, its credentials are in
// Location and URL only.
func TestNoCredentialLeaves(t *testing.T) {
	const location = "https://user:secret@conda.example/t/secret/main/linux-64/a-1-0.conda?token=secret"
	lock, err := lockfile.Parse([]byte(strings.Replace(lock7(location, "depends: [b]\nsha256: zz"), "https://conda.example/main/\n", "https://u:secret@conda.example/main/\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	env := lock.Environments[0]
	pkg := env.Platforms[0].Conda[0]
	for _, text := range []string{string(pkg.Record()), pkg.Channel, env.Platforms[0].Validate().Error(), strings.Join(env.Channels, " ")} {
		if strings.Contains(text, "secret") {
			t.Errorf("a credential in %s", text)
		}
	}
	_, err = lockfile.Parse([]byte(lock7("https://user:secret@conda.example/t/secret/x/a-1-0.conda", "")))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a credential in %v", err)
	}
}

func TestResolve(t *testing.T) {
	for location, want := range map[string]string{
		"../channel/linux-64/a-1-0.conda":        "file:///home/u/channel/linux-64/a-1-0.conda",
		"./a-1-0.conda":                          "file:///home/u/p/a-1-0.conda",
		"/abs/a b/a-1-0.conda":                   "file:///abs/a%20b/a-1-0.conda",
		"https://conda.example/main/a-1-0.conda": "https://conda.example/main/a-1-0.conda",
		"file:///x/a-1-0.conda":                  "file:///x/a-1-0.conda",
	} {
		lock, err := lockfile.Parse([]byte(lock7(location, "subdir: linux-64")))
		if err != nil {
			t.Fatal(err)
		}
		pkg := lock.Environments[0].Platforms[0].Conda[0]
		before := string(pkg.Record())
		lock.Resolve("/home/u/p")
		lock.Resolve("/home/u/p")
		if pkg.URL != want {
			t.Errorf("%s resolves to %s, want %s", location, pkg.URL, want)
		}
		if local := !strings.HasPrefix(want, "https:"); pkg.Local != local {
			t.Errorf("%s: Local is %v", location, pkg.Local)
		}
		if after := string(pkg.Record()); after != before {
			t.Errorf("the record depends on where the lock lies: %s", after)
		}
	}
}
