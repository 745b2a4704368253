package api

import "context"

// ConfigValue is one key of the daemon's configuration, as it holds.
type ConfigValue struct {
	Key string `json:"key"`
	// Value as JSON has it, Text on one line.
	Value any    `json:"value"`
	Text  string `json:"text"`
	// From is default, file, variable or flag; Where is FILE:LINE, the variable or the
	// flag ("" = the default).
	From  string `json:"from"`
	Where string `json:"where,omitempty"`
	// Live: a reload takes a change of it.
	Live bool `json:"live,omitempty"`
}

// Config returns what configuration the daemon goes by.
func (c *Client) Config(ctx context.Context) ([]ConfigValue, error) {
	var out []ConfigValue
	return out, c.get(ctx, "/v1/config", &out)
}
