package version

import "strings"

// scanner reads a lower-case text from left to right.
type scanner struct {
	s string
	i int
}

func (c *scanner) done() bool { return c.i == len(c.s) }

// eat moves past b if it comes next.
func (c *scanner) eat(b byte) bool {
	if c.i < len(c.s) && c.s[c.i] == b {
		c.i++
		return true
	}
	return false
}

// word moves past the first of words that comes next and returns it.
func (c *scanner) word(words ...string) string {
	for _, w := range words {
		if strings.HasPrefix(c.s[c.i:], w) {
			c.i += len(w)
			return w
		}
	}
	return ""
}

// digits moves past the digits that come next, if any, and returns them.
func (c *scanner) digits() string {
	from := c.i
	for c.i < len(c.s) && c.s[c.i] >= '0' && c.s[c.i] <= '9' {
		c.i++
	}
	return c.s[from:c.i]
}

// separator moves past one '.', '_' or '-', if there is one.
func (c *scanner) separator() bool { return c.eat('.') || c.eat('_') || c.eat('-') }

// release reads `1.2.3`; nil if no digit comes next.
func (c *scanner) release() []number {
	d := c.digits()
	if d == "" {
		return nil
	}
	parts := []number{newNumber(d)}
	for {
		from := c.i
		if !c.eat('.') {
			return parts
		}
		if d = c.digits(); d == "" {
			c.i = from
			return parts
		}
		parts = append(parts, newNumber(d))
	}
}

// suffix reads `.word1`, with any separators before and after the word, and
// returns the word and its number; nothing is read if no word comes.
func (c *scanner) suffix(words ...string) (string, number, bool) {
	from := c.i
	c.separator()
	w := c.word(words...)
	if w == "" {
		c.i = from
		return "", "", false
	}
	c.separator()
	return w, newNumber(c.digits()), true
}

// local reads what stands after '+'; nil if that is none.
func (c *scanner) local() []string {
	var parts []string
	for {
		from := c.i
		for c.i < len(c.s) && (c.s[c.i] >= '0' && c.s[c.i] <= '9' || c.s[c.i] >= 'a' && c.s[c.i] <= 'z') {
			c.i++
		}
		if from == c.i {
			return nil
		}
		part := c.s[from:c.i]
		if numeric(part) {
			part = string(newNumber(part))
		}
		parts = append(parts, part)
		if c.done() {
			return parts
		}
		if !c.separator() {
			return nil
		}
	}
}
