package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// readPixi reads the credential file of pixi and rattler: a JSON object from
// host, *.domain or s3://bucket to one of {"BearerToken": …}, {"BasicHTTP": …},
// {"CondaToken": …}, {"S3Credentials": …}. Of another kind an entry is kept as
// unusable, so that a message can name it.
func readPixi(path string, data []byte) (map[string]Credential, error) {
	var file map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, jsonError(path, data, err)
	}
	out := make(map[string]Credential, len(file))
	for name, entry := range file {
		if len(entry) != 1 {
			return nil, fmt.Errorf("%s: the entry %q must have one kind of credential, not %d", path, name, len(entry))
		}
		for kind, value := range entry {
			c, err := pixiEntry(kind, value, path)
			if err != nil {
				// Not the error itself, which may quote what it met.
				return nil, fmt.Errorf("%s: the entry %q is not a %s; next: pixi auth login %s writes it anew", path, name, kind, name)
			}
			if !strings.Contains(name, "://") {
				name = strings.ToLower(name)
			}
			out[name] = c
		}
	}
	return out, nil
}

func pixiEntry(kind string, value []byte, path string) (Credential, error) {
	var text string
	switch kind {
	case "BearerToken":
		err := json.Unmarshal(value, &text)
		return NewBearer(text, path), err
	case "CondaToken":
		err := json.Unmarshal(value, &text)
		return NewCondaToken(text, path), err
	case "BasicHTTP":
		var v struct{ Username, Password string }
		err := json.Unmarshal(value, &v)
		return NewBasic(v.Username, v.Password, path), err
	case "S3Credentials":
		var v struct {
			ID      string `json:"access_key_id"`
			Key     string `json:"secret_access_key"`
			Session string `json:"session_token"`
		}
		err := json.Unmarshal(value, &v)
		return NewS3(v.ID, v.Key, v.Session, path), err
	}
	return Credential{kind: Unusable, user: kind, from: path}, nil
}

// jsonError says where a file is no JSON without quoting it.
func jsonError(path string, data []byte, err error) error {
	at := int64(len(data))
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	line := 1 + bytes.Count(data[:min(max(at, 0), int64(len(data)))], []byte("\n"))
	return fmt.Errorf("%s:%d: this is not the JSON of a credential file; next: mend it, or pixi auth login writes it anew", path, line)
}
