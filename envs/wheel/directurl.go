package wheel

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// DirectURL is the direct_url.json (PEP 610) of a wheel that a user named by url,
// which must hold no credentials. Wheels from an index have none.
func DirectURL(url string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		URL     string   `json:"url"`
		Archive struct{} `json:"archive_info"`
	}{URL: url}); err != nil {
		panic(fmt.Sprintf("direct_url.json: %v", err)) // a text always has a JSON form
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
