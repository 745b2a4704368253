package config

import (
	"reflect"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Value is one key as it holds.
type Value struct {
	Key string `json:"key"`
	// Value as the file would have it; of lists of mappings as JSON has them. URLs are
	// without credentials.
	Value any `json:"value"`
	// Text of the value, on one line.
	Text string `json:"text"`
	Place
	// Live: a reload takes it.
	Live bool `json:"live,omitempty"`
}

// Values of all keys, in the order of the documented file, and where each was said.
func (c *Config) Values() []Value {
	out := make([]Value, 0, len(table))
	for i := range table {
		k := &table[i]
		value := redacted(c.value(k.Name))
		at, said := c.places[k.Name]
		if !said {
			at = Place{From: FromDefault}
		}
		text := Text(value)
		if d, ok := value.(interface{ String() string }); ok {
			value = d.String()
		}
		out = append(out, Value{Key: k.Name, Value: value, Text: text, Place: at, Live: k.Live})
	}
	return out
}

// value of a key.
func (c *Config) value(name string) any {
	field := c.field(name)
	if field == nil {
		return nil // the test of the table sees it
	}
	return reflect.ValueOf(field).Elem().Interface()
}

// field is a pointer to the field that mapstructure fills for a key; nil = there is none.
func (c *Config) field(name string) any {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(name, ".") {
		found := reflect.Value{}
		for i := range v.NumField() {
			if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("mapstructure"), ","); tag == part {
				found = v.Field(i)
			}
		}
		if !found.IsValid() {
			return nil
		}
		v = found
	}
	return v.Addr().Interface()
}

// redacted is a value without credentials in URLs.
func redacted(value any) any {
	switch v := value.(type) {
	case string:
		return lockfile.RedactURL(v)
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = lockfile.RedactURL(v[i])
		}
		return out
	case []MirrorRule:
		out := make([]MirrorRule, len(v))
		for i, m := range v {
			out[i] = MirrorRule{Prefix: lockfile.RedactURL(m.Prefix)}
			for _, u := range m.URLs {
				out[i].URLs = append(out[i].URLs, lockfile.RedactURL(u))
			}
		}
		return out
	case []Bucket:
		out := make([]Bucket, len(v))
		for i, b := range v {
			b.Endpoint = lockfile.RedactURL(b.Endpoint)
			out[i] = b
		}
		return out
	}
	return value
}

// Changed are the keys whose values differ, those that a reload takes and those that need
// a restart, by name.
func Changed(old, next *Config) (live, restart []string) {
	for i := range table {
		k := &table[i]
		if reflect.DeepEqual(old.value(k.Name), next.value(k.Name)) {
			continue
		}
		if k.Live {
			live = append(live, k.Name)
		} else {
			restart = append(restart, k.Name)
		}
	}
	return live, restart
}

// With is c with the values that next has of some keys.
func (c *Config) With(next *Config, keys []string) *Config {
	out := *c
	out.places = places{}
	for key, at := range c.places {
		out.places[key] = at
	}
	for _, key := range keys {
		reflect.ValueOf(out.field(key)).Elem().Set(reflect.ValueOf(next.field(key)).Elem())
		delete(out.places, key)
		if at, said := next.places[key]; said {
			out.places[key] = at
		}
	}
	return &out
}

// Bad is an error of class ErrConfig about a key, with where it was said.
func (c *Config) Bad(key, format string, args ...any) error {
	return c.places.bad(key, format, args...)
}
