// Package shellword writes arguments so that a command line in a message can be
// copied into a shell.
package shellword

import "strings"

// plain are the characters that no POSIX shell gives a meaning inside a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:%,="

// Quote returns s as one word of a POSIX shell: unchanged where it is one, else
// in single quotes.
func Quote(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
