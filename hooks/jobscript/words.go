package jobscript

import (
	"path"
	"slices"
	"strings"
)

// command is one simple command of a script: its words without quotes.
type command struct {
	line  int
	words []string
}

// maxNesting bounds command substitutions in one another.
const maxNesting = 10

// commands finds the simple commands of a shell script, those in command
// substitutions included. Here-documents, comments and functions' names are
// passed over. A script of another language gives nothing, or nonsense that no
// advice fits.
func commands(text string) []command {
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "#!") && !isShell(first[2:]) {
		return nil
	}
	s := &scanner{text: text, line: 1}
	s.scan(0, 0)
	slices.SortStableFunc(s.out, func(a, b command) int { return a.line - b.line })
	return s.out
}

// isShell tells whether what stands behind #! is a shell: a program whose name
// ends in sh, also behind env and its options.
func isShell(line string) bool {
	for _, word := range strings.Fields(line) {
		name := path.Base(word)
		if name != "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return strings.HasSuffix(name, "sh")
		}
	}
	return false
}

type scanner struct {
	text string
	pos  int
	line int
	out  []command
	// the command being read
	words []string
	word  strings.Builder
	open  bool // a word has begun
	begin int  // line of the command
	// ends of here-documents that follow this line
	heredocs []heredoc
}

type heredoc struct {
	end  string
	tabs bool
}

func (s *scanner) peek(n int) string {
	return s.text[s.pos:min(len(s.text), s.pos+n)]
}

// endWord and endCommand finish what is being read.
func (s *scanner) endWord() {
	if s.open {
		if len(s.words) == 0 {
			s.begin = s.line
		}
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.open = false
}

func (s *scanner) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.out = append(s.out, command{s.begin, s.words})
	}
	s.words = nil
}

// scan reads commands up to a closing ) or ` (0 = up to the end of the text).
func (s *scanner) scan(depth int, closing byte) {
	level := 0 // of subshells
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case c == closing && level == 0:
			s.pos++
			s.endCommand()
			return
		case c == '\n':
			s.endCommand()
			s.newline()
		case c == '#' && !s.open:
			s.toLineEnd()
		case c == '\\':
			s.escape()
		case c == '\'':
			s.single()
		case s.peek(2) == "$'":
			s.ansi()
		case s.peek(2) == "((" && !s.open && s.arithmetic():
		case c == '"':
			s.double(depth)
		case c == '`' || s.peek(2) == "$(":
			s.open = true
			s.substitution(depth)
		case strings.HasPrefix(s.text[s.pos:], "<<<"):
			s.endWord()
			s.pos += 3
		case s.peek(2) == "<<":
			s.endWord()
			s.heredoc()
		case strings.IndexByte(";&|(){}", c) >= 0 && !(c == '{' && s.open) && !(c == '}' && s.open):
			s.endCommand()
			s.pos++
			if c == '(' {
				level++
			} else if c == ')' && level > 0 {
				level--
			}
		case c == ' ' || c == '\t' || c == '\r':
			s.endWord()
			s.pos++
		case c == '<' || c == '>':
			s.endWord()
			s.pos++
		default:
			s.open = true
			s.word.WriteByte(c)
			s.pos++
		}
	}
	s.endCommand()
}

func (s *scanner) toLineEnd() {
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		s.pos++
	}
}

// newline passes the end of a line, and the here-documents that begin after it.
func (s *scanner) newline() {
	s.pos++
	s.line++
	for _, h := range s.heredocs {
		for s.pos < len(s.text) {
			line, _, _ := strings.Cut(s.text[s.pos:], "\n")
			s.pos = min(len(s.text), s.pos+len(line)+1)
			s.line++
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if strings.TrimRight(line, "\r") == h.end {
				break
			}
		}
	}
	s.heredocs = nil
}

func (s *scanner) escape() {
	if s.peek(2) == "\\\n" {
		s.pos += 2
		s.line++
		return
	}
	s.open = true
	if s.pos+1 < len(s.text) {
		s.word.WriteByte(s.text[s.pos+1])
	}
	s.pos += 2
}

func (s *scanner) single() {
	s.open = true
	body, _, _ := strings.Cut(s.text[s.pos+1:], "'")
	if len(s.words) == 0 && s.word.Len() == 0 {
		s.begin = s.line
	}
	s.word.WriteString(body)
	s.line += strings.Count(body, "\n")
	s.pos = min(len(s.text), s.pos+len(body)+2)
}

// ansi reads $'…', in which a backslash protects the quote.
func (s *scanner) ansi() {
	s.open = true
	for s.pos += 2; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; c {
		case '\'':
			s.pos++
			return
		case '\\':
			if s.pos++; s.peek(1) == "\n" {
				s.line++
			}
			s.word.WriteString(s.peek(1))
		default:
			if c == '\n' {
				s.line++
			}
			s.word.WriteByte(c)
		}
	}
}

// arithmetic passes ((…)), in which << begins no here-document, if that is what
// it is: two subshells may begin so, too.
func (s *scanner) arithmetic() bool {
	level := 0
	for i := s.pos; i < len(s.text); i++ {
		switch s.text[i] {
		case '(':
			level++
		case ')':
			level--
		case '\n':
			return false
		}
		if level == 0 {
			if s.text[i-1] != ')' {
				return false
			}
			s.pos = i + 1
			return true
		}
	}
	return false
}

func (s *scanner) double(depth int) {
	s.open = true
	s.pos++
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return
		case c == '\\':
			s.escape()
		case c == '`' || s.peek(2) == "$(":
			s.substitution(depth)
		default:
			if c == '\n' {
				s.line++
			}
			s.word.WriteByte(c)
			s.pos++
		}
	}
}

// substitution reads the commands of $(…) or `…` apart; in the word itself it
// leaves a mark that no advice knows.
func (s *scanner) substitution(depth int) {
	closing := byte(')')
	if s.text[s.pos] == '`' {
		closing = '`'
		s.pos++
	} else {
		s.pos += 2
	}
	s.word.WriteString("$()")
	if depth == maxNesting {
		return
	}
	inner := &scanner{text: s.text, pos: s.pos, line: s.line}
	inner.scan(depth+1, closing)
	s.pos, s.line = inner.pos, inner.line
	s.out = append(s.out, inner.out...)
}

func (s *scanner) heredoc() {
	s.pos += 2
	var h heredoc
	if s.peek(1) == "-" {
		h.tabs = true
		s.pos++
	}
	for s.peek(1) == " " || s.peek(1) == "\t" {
		s.pos++
	}
	var end strings.Builder
	quote, read := byte(0), false
	for ; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos]
		if c == '\n' || quote == 0 && strings.IndexByte(" \t\r;|&()<>", c) >= 0 {
			break
		}
		read = true
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '\\':
		default:
			end.WriteByte(c)
		}
	}
	h.end = end.String()
	if read {
		s.heredocs = append(s.heredocs, h)
	}
}
