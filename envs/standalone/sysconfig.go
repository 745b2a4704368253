package standalone

import (
	"bytes"
	"fmt"
	"strings"
)

// sysconfigEdits change a _sysconfigdata module: `build_time_vars = {…}`, whose
// values are numbers and texts, a long text in several pieces. The error wraps
// errForm.
func sysconfigEdits(data []byte) ([]Edit, error) {
	const head = "build_time_vars = {"
	start := bytes.Index(data, []byte(head))
	if start < 0 || start > 0 && data[start-1] != '\n' {
		return nil, fmt.Errorf("%w: there is no %q", errForm, head)
	}
	s := &scanner{data: data, pos: start + len(head)}
	var out []Edit
	marked := false
	for {
		switch c := s.next(); c {
		case '}':
			if !marked {
				out = append(out, Edit{At: int64(start + len(head)), Text: "'" + markKey + "': 1,\n "})
			}
			return out, nil
		case ',':
			s.pos++
			continue
		case '\'', '"':
		default:
			return nil, fmt.Errorf("%w: a key is expected at offset %d", errForm, s.pos)
		}
		key, ok := s.text()
		if !ok || s.next() != ':' {
			return nil, fmt.Errorf("%w: a key with its value is expected at offset %d", errForm, s.pos)
		}
		s.pos++
		marked = marked || string(key.bytes) == markKey
		if c := s.next(); c != '\'' && c != '"' {
			if !s.number() {
				return nil, fmt.Errorf("%w: a value is expected at offset %d", errForm, s.pos)
			}
			continue
		}
		value, ok := s.text()
		if !ok {
			return nil, fmt.Errorf("%w: a text that began before offset %d does not end", errForm, s.pos)
		}
		out = append(out, value.edits(string(key.bytes))...)
	}
}

// markKey tells programs what kind of Python it is.
const markKey = "PYTHON_BUILD_STANDALONE"

// scanner reads a dictionary.
type scanner struct {
	data []byte
	pos  int
}

// next skips blanks and tells the byte that follows; 0 = the end.
func (s *scanner) next() byte {
	for s.pos < len(s.data) && strings.IndexByte(" \t\r\n", s.data[s.pos]) >= 0 {
		s.pos++
	}
	if s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// number passes over a number, or a name such as None.
func (s *scanner) number() bool {
	from := s.pos
	for s.pos < len(s.data) && (isWord(s.data[s.pos:s.pos+1]) || strings.IndexByte("0123456789.+-", s.data[s.pos]) >= 0) {
		s.pos++
	}
	return s.pos > from
}

// text is a text with the place of each of its bytes. Escapes stay as they are.
type text struct {
	bytes []byte
	at    []int
}

// text reads one or several literals that follow one another.
func (s *scanner) text() (text, bool) {
	var t text
	for {
		quote := s.next()
		if quote != '\'' && quote != '"' {
			return t, true
		}
		s.pos++
		for ; ; s.pos++ {
			if s.pos >= len(s.data) || s.data[s.pos] == '\n' {
				return t, false
			}
			c := s.data[s.pos]
			if c == quote {
				s.pos++
				break
			}
			t.bytes, t.at = append(t.bytes, c), append(t.at, s.pos)
			if c == '\\' && s.pos+1 < len(s.data) {
				s.pos++
				t.bytes, t.at = append(t.bytes, s.data[s.pos]), append(t.at, s.pos)
			}
		}
	}
}

// whole is the edit that replaces bytes from…to of the text, if they lie together.
func (t text) whole(from, to int, e Edit) []Edit {
	if from == to || t.at[to-1]-t.at[from] != to-1-from {
		return nil
	}
	e.At, e.Len = int64(t.at[from]), int64(to-from)
	return []Edit{e}
}

// compilers are what stands for a compiler, by key.
var compilers = map[string]string{
	"CC": "cc", "LDSHARED": "cc", "BLDSHARED": "cc", "LINKCC": "cc", "CXX": "c++", "LDCXXSHARED": "c++",
}

// edits of a value.
func (t text) edits(key string) (out []Edit) {
	if key == "AR" {
		return t.whole(0, len(t.bytes), Edit{Text: "ar"})
	}
	for from := 0; from < len(t.bytes); {
		if strings.IndexByte(" \t", t.bytes[from]) >= 0 {
			from++
			continue
		}
		to := from
		for to < len(t.bytes) && strings.IndexByte(" \t", t.bytes[to]) < 0 {
			to++
		}
		word := string(t.bytes[from:to])
		if word == built || strings.HasPrefix(word, built+"/") {
			out = append(out, t.whole(from, from+len(built), Edit{Prefix: true})...)
		} else if plain := compilers[key]; plain != "" && isCompiler(word, plain) {
			out = append(out, t.whole(from, to, Edit{Text: plain})...)
		}
		from = to
	}
	return out
}

// isCompiler: the word is a compiler of the place of the build, of the kind cc or
// c++.
func isCompiler(word, kind string) bool {
	if kind == "c++" {
		return word == "clang++" || strings.HasPrefix(word, "/usr/bin/") && strings.HasSuffix(word, "-g++")
	}
	return word == "clang" || word == "musl-clang" || strings.HasPrefix(word, "/usr/bin/") && strings.HasSuffix(word, "-gcc")
}
