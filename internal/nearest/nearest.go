// Package nearest guesses what somebody meant who wrote a name that is not there.
//
// Enters: what was written, and the names there are. Leaves: one of them.
package nearest

// Of returns the one of known that takes the fewest edits to become name, of
// several the first in order of text; "" = there are none.
func Of(name string, known []string) string {
	best, least := "", -1
	for _, k := range known {
		if d := edits(name, k); least < 0 || d < least || d == least && k < best {
			best, least = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance of two texts.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
