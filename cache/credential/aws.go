package credential

import (
	"os"
	"path/filepath"
	"strings"
)

// AWS is what AWS's own variables and files say of every bucket.
type AWS struct {
	// Region and Endpoint; "" = not said.
	Region, Endpoint string
}

// readAWS reads an access key from AWS_ACCESS_KEY_ID and its companions or, for
// AWS_PROFILE (or default), from ~/.aws/credentials; region and endpoint from
// their variables or ~/.aws/config. Files that cannot be read say nothing.
func readAWS(env func(string) string) (Credential, AWS) {
	profile := first(env("AWS_PROFILE"), "default")
	keyFile := first(env("AWS_SHARED_CREDENTIALS_FILE"), inHome(env, ".aws", "credentials"))
	keys, conf := iniSection(keyFile, profile), iniSection(first(env("AWS_CONFIG_FILE"), inHome(env, ".aws", "config")), profile, "profile "+profile)
	a := AWS{
		Region:   first(env("AWS_REGION"), env("AWS_DEFAULT_REGION"), conf["region"], keys["region"]),
		Endpoint: first(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"), conf["endpoint_url"], keys["endpoint_url"]),
	}
	if id := env("AWS_ACCESS_KEY_ID"); id != "" {
		return NewS3(id, env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN"), "AWS_SECRET_ACCESS_KEY"), a
	}
	if id := keys["aws_access_key_id"]; id != "" {
		return NewS3(id, keys["aws_secret_access_key"], keys["aws_session_token"], keyFile), a
	}
	return Credential{}, a
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func inHome(env func(string) string, names ...string) string {
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(append([]string{home}, names...)...)
}

// configHome is the user's folder of configuration; "" = none.
func configHome(env func(string) string) string {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return inHome(env, ".config")
}

// iniSection returns `key = value` of the sections with one of these names.
func iniSection(path string, names ...string) map[string]string {
	out := map[string]string{}
	if path == "" {
		return out
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return out
	}
	in := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name := strings.TrimSpace(strings.Trim(line, "[]"))
			in = false
			for _, n := range names {
				in = in || n == name
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if in && ok && line[0] != '#' && line[0] != ';' {
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return out
}
