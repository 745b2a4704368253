package tomltree

import "bytes"

// deepest returns how deep arrays and inline tables lie in one another. The
// parser recurses for each level, so files that would exhaust its stack are
// found before it sees them.
func deepest(data []byte) int {
	depth, most := 0, 0
	for i := 0; i < len(data); {
		switch data[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth = max(0, depth-1)
		case '#':
			i += lineEnd(data[i:])
			continue
		case '"', '\'':
			i += textEnd(data[i:])
			continue
		}
		i++
	}
	return most
}

func lineEnd(data []byte) int {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n
	}
	return len(data)
}

// textEnd is the length of the text that data begins with; of one that is not
// closed, that of its first quote: the parser will refuse it.
func textEnd(data []byte) int {
	quote := data[:1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(data, triple) {
		quote = triple
	}
	for i := len(quote); i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\' && quote[0] == '"':
			i++
		case c == '\n' && len(quote) == 1:
			return 1
		case c == quote[0] && (len(quote) == 1 || bytes.HasPrefix(data[i:], quote)):
			return i + len(quote)
		}
	}
	return 1
}
