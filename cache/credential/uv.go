package credential

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// uvIndex is an index as uv's files have it.
type uvIndex struct {
	Name string `toml:"name"`
	URL  string `toml:"url"`
}

// readUV returns the credentials of uv's named indexes, by origin: those of
// UV_INDEX_<NAME>_USERNAME and _PASSWORD, or in the index's URL. What is called
// how is said by UV_INDEX and UV_DEFAULT_INDEX, and by uv.toml and
// pyproject.toml in dir and uv.toml in the user's configuration.
func readUV(env func(string) string, dir string) (map[string]Credential, error) {
	var list []uvIndex
	for _, v := range []string{env("UV_DEFAULT_INDEX"), env("UV_INDEX")} {
		for _, word := range strings.Fields(v) {
			name, rest, named := strings.Cut(word, "=")
			if !named || strings.ContainsAny(name, ":/") {
				name, rest = "", word
			}
			list = append(list, uvIndex{Name: name, URL: rest})
		}
	}
	var files []string
	if dir != "" {
		files = append(files, filepath.Join(dir, "uv.toml"), filepath.Join(dir, "pyproject.toml"))
	}
	if conf := configHome(env); conf != "" {
		files = append(files, filepath.Join(conf, "uv", "uv.toml"))
	}
	for _, path := range files {
		found, err := uvFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	out := map[string]Credential{}
	for _, ix := range list {
		u, err := url.Parse(ix.URL)
		if err != nil || u.Host == "" {
			continue // uv says so itself
		}
		c := uvCredential(env, ix.Name, u)
		if _, twice := out[origin(u)]; c.kind != None && !twice {
			out[origin(u)] = c
		}
	}
	return out, nil
}

// uvFile reads the indexes of a uv.toml or pyproject.toml; none if it is not
// there.
func uvFile(path string) ([]uvIndex, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var doc struct {
		Index []uvIndex `toml:"index"`
		Tool  struct {
			UV struct {
				Index []uvIndex `toml:"index"`
			} `toml:"uv"`
		} `toml:"tool"`
	}
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, tomlError(path, err)
	}
	return append(doc.Index, doc.Tool.UV.Index...), nil
}

// tomlError says where a file is wrong without quoting it.
func tomlError(path string, err error) error {
	line := 0
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, _ = syntax.Position()
	}
	return fmt.Errorf("%s:%d: this cannot be read as TOML", path, line)
}

func uvCredential(env func(string) string, name string, u *url.URL) Credential {
	if name != "" {
		key := "UV_INDEX_" + strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z':
				return r - 'a' + 'A'
			case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
				return r
			}
			return '_'
		}, name)
		user, password := env(key+"_USERNAME"), env(key+"_PASSWORD")
		if user != "" || password != "" {
			return NewBasic(user, password, key+"_PASSWORD")
		}
	}
	if password, ok := u.User.Password(); ok || u.User.Username() != "" {
		return NewBasic(u.User.Username(), password, "the URL of uv's index "+name)
	}
	return Credential{}
}
