package lockfile

import "testing"

// A channel key says what it likes; where a package is from is its location's to
// say.
func TestOriginGoesByTheLocation(t *testing.T) {
	const claim = "https://conda.example/main"
	for location, want := range map[string]string{
		"https://conda.example/main/linux-64/a-1-0.conda":            "https://conda.example/main",
		"https://conda.example/t/x/main/noarch/a-1-0.tar.bz2":        "https://conda.example/main", // x is a token
		"https://me:secret@conda.example/main/noarch/a-1-0.conda":    "https://conda.example/main",
		"https://conda.example@evil.example/main/noarch/a-1-0.conda": "https://evil.example/main",
		"https://conda.example/linux-64/a-1-0.conda":                 "https://conda.example",
		"file:///srv/main/linux-64/a-1-0.conda":                      "file:///srv/main",
		"/srv/main/linux-64/a-1-0.conda":                             "file:///srv/main",
		// What follows names no package of that channel.
		"/home/me/a-1-0.conda":                                                "",
		"main/linux-64/a-1-0.conda":                                           "",
		"../main/linux-64/a-1-0.conda":                                        "",
		"/srv/main/../evil/linux-64/a-1-0.conda":                              "",
		"https://conda.example/main/../linux-64/a-1-0.conda":                  "",
		"https://conda.example/main/%2e%2e/noarch/a-1-0.conda":                "",
		"https://conda.example/main/..%2fevil/noarch/a-1.conda":               "",
		"https://conda.example/main//noarch/a-1-0.conda":                      "",
		"https://conda.example/main/evil/a-1-0.conda":                         "",
		"https://conda.example/main/noarch/a-1-0.conda?x=1":                   "",
		"https://evil.example/?https://conda.example/main/noarch/a-1-0.conda": "",
		"https://conda.example/main/noarch/":                                  "",
		"https://conda.example/main/noarch/..%2fa-1-0.conda":                  "",
	} {
		if got := (&CondaPackage{Location: location, Channel: claim}).Origin(); got != want {
			t.Errorf("%s: %q, want %q", location, got, want)
		}
	}
}
