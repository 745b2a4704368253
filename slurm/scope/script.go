package scope

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxScript bounds the bytes of a script that are read: #SBATCH lines end at its
// first command.
const maxScript = 1 << 20

// directives are the words of a script's #SBATCH lines for one component of a
// heterogeneous job, as sbatch reads them. foreign tells that there are lines of
// another batch system, which sbatch translates for all components; more, that there
// are further components.
func directives(script string, component int) (words []string, foreign, more bool, err error) {
	at := 0
	var found error
	for line := range strings.SplitSeq(script, "\n") {
		line, _, _ = strings.Cut(line, "\x00")
		rest, ours := strings.CutPrefix(line, "#SBATCH")
		if !ours {
			rest, ours = strings.CutPrefix(line, "#SLURM")
		}
		if !ours {
			foreign = foreign || strings.HasPrefix(line, "#PBS") || strings.HasPrefix(line, "#BSUB")
			if text := strings.TrimLeft(line, space); text != "" && text[0] != '#' {
				break // the first command
			}
			continue
		}
		rest = strings.TrimLeft(rest, space)
		if tail, separates := separator(rest); separates {
			rest = tail
			at++
		}
		if at != component {
			continue
		}
		inLine, err := split(rest)
		if err != nil && found == nil {
			found = err
		}
		words = append(words, inLine...)
	}
	return words, foreign, at > component, found
}

// space is what C calls so.
const space = " \t\r\v\f\n"

// separator of components: the word hetjob, or the older packjob.
func separator(text string) (rest string, ok bool) {
	for _, word := range []string{"packjob", "hetjob"} {
		if len(text) >= len(word) && strings.EqualFold(text[:len(word)], word) {
			rest = text[len(word):]
			if rest == "" || strings.IndexByte(space, rest[0]) >= 0 {
				return rest, true
			}
		}
	}
	return text, false
}

// split cuts a line into words: quotes group, a backslash protects the next
// character also within quotes, an unprotected # begins a comment.
func split(line string) ([]string, error) {
	var words []string
	for i := 0; ; {
		for i < len(line) && strings.IndexByte(space, line[i]) >= 0 {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		var word strings.Builder
		quote := byte(0)
	scan:
		for ; i < len(line) && (quote != 0 || strings.IndexByte(space, line[i]) < 0); i++ {
			switch c := line[i]; {
			case c == '\\':
				if i++; i == len(line) {
					break scan
				}
				word.WriteByte(line[i])
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote == 0 && c == '#':
				if word.Len() > 0 {
					words = append(words, word.String())
				}
				return words, nil
			default:
				word.WriteByte(c)
			}
		}
		if quote != 0 {
			return words, errors.New("a quote is not closed")
		}
		if word.Len() == 0 {
			// An empty word ends the line for sbatch.
			return words, nil
		}
		words = append(words, word.String())
	}
}

// errNotRegular: what can be read only once, and sbatch has.
var errNotRegular = errors.New("no regular file")

// readScript finds a script as sbatch does, in dir and then in PATH, and reads what
// counts of it.
func readScript(name, dir, path string) (string, error) {
	candidates := []string{name}
	if !filepath.IsAbs(name) {
		candidates[0] = filepath.Join(dir, name)
		if name[0] != '.' {
			for _, p := range filepath.SplitList(path) {
				if !filepath.IsAbs(p) {
					p = filepath.Join(dir, p)
				}
				candidates = append(candidates, filepath.Join(p, name))
			}
		}
	}
	var file string
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && !info.IsDir() {
			if !info.Mode().IsRegular() {
				return "", errNotRegular
			}
			file = c
			break
		}
	}
	if file == "" {
		return "", os.ErrNotExist
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxScript {
		return "", errors.New("it is too long to be read at submit")
	}
	return string(data), nil
}
