package scope

import (
	"errors"
	"strconv"
	"strings"
)

var errCount = errors.New("it is no number of nodes")

// nodeCount reads --nodes: N, MIN-MAX, or sizes joined by commas. max = 0: none is
// given.
func nodeCount(text string) (least, most int, err error) {
	if strings.ContainsAny(text, ",:") {
		for i, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",:-", r) }) {
			n, err := nodeNumber(word)
			if err != nil {
				return 0, 0, err
			}
			if i == 0 || n < least {
				least = n
			}
			most = max(most, n)
		}
		if most == 0 {
			return 0, 0, errCount
		}
		return least, most, nil
	}
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	if low == "" && isRange {
		low = "1"
	}
	if least, err = nodeNumber(low); err != nil {
		return 0, 0, err
	}
	if most, err = nodeNumber(high); err != nil {
		return 0, 0, err
	}
	return least, most, nil
}

func nodeNumber(s string) (int, error) {
	s = strings.Trim(s, space)
	factor := 1
	switch {
	case strings.HasSuffix(strings.ToLower(s), "k"):
		factor, s = 1024, s[:len(s)-1]
	case strings.HasSuffix(strings.ToLower(s), "m"):
		factor, s = 1024*1024, s[:len(s)-1]
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || n > 1<<30 {
		return 0, errCount
	}
	return int(n) * factor, nil
}

// size is how many nodes a request can get.
type size struct {
	// least nodes that --nodes asks for; most nodes, 0 = no bound is known.
	least, most int
	// tasks, at least one for each node that must be.
	tasks int
	// given: --ntasks says how many. Then there are never more nodes than tasks if
	// --nodes or a list of nodes is given too.
	given bool
	// spreads: something else than tasks and --nodes may ask for more nodes.
	spreads bool
}

// spreading options make tasks, or ask for more nodes, in ways that are not followed
// here.
var spreading = []string{
	"gpus", "ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-node", "sockets-per-node", "cores-per-socket", "threads-per-core", "extra-node-info",
	"spread-job", "tres-per-task",
}

func (r request) size() size {
	s := size{tasks: 1}
	for _, name := range spreading {
		if text, ok := r.values[name]; ok && !(name == "gpus" && oneGPU(text)) {
			s.spreads = true
		}
	}
	if text, ok := r.values["ntasks"]; ok {
		n, err := strconv.Atoi(strings.Trim(text, space))
		if s.given = err == nil && n > 0; s.given {
			s.tasks = n
		} else {
			s.spreads = true
		}
	}
	if text, ok := r.values["nodes"]; ok {
		least, most, err := nodeCount(text)
		if err != nil {
			s.spreads = true
		} else {
			s.least, s.most = least, most
			// As many nodes as tasks, also where --nodes says more.
			if s.given && most > 0 {
				s.least, s.most = min(least, s.tasks), min(most, s.tasks)
			} else {
				s.tasks = max(s.tasks, least)
			}
		}
	}
	if r.unread != "" {
		s.spreads = true
	}
	return s
}

// oneGPU tells whether a total of GPUs is one: every node of a job with --gpus has one
// at least, so that one task then has one node.
func oneGPU(text string) bool {
	demands, err := parseGres(text, "gpu")
	return err == nil && len(demands) == 1 && demands[0].count == 1
}

// within tells whether a job that requires n nodes by name gets no others.
func (s size) within(n int) bool {
	if s.most > 0 || s.given && s.tasks < n {
		return s.most <= n
	}
	return !s.spreads && s.tasks <= n
}
