package needs

import (
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/elf"
)

// A line has the facts of one content, in fields that tabs separate: sha256; problem of a
// broken file, which then is all; machine; class; kind; marks (lineMarks); OS ABI;
// page size; interpreter; SONAME; RPATH; RUNPATH; needed libraries; needed versions, by
// library; defined versions; CUDA code; its problem. Words in a field are separated by
// blanks, a library and its versions by bars; "!" before a version says that it is weak.
//
// JSON would take ten times as long to read, which is most of what an environment costs
// whose packages are there.
const lineFields = 17

// lineMarks are the letters of what is true of a file.
func lineMarks(f *elf.Facts) [9]struct {
	letter byte
	is     *bool
} {
	return [...]struct {
		letter byte
		is     *bool
	}{{'b', &f.BigEndian}, {'f', &f.Fixed}, {'p', &f.PIE}, {'s', &f.Static}, {'d', &f.Dynamic}, {'r', &f.HasRunPath}, {'l', &f.NoDefaultLib}, {'o', &f.NoOpen}, {'v', &f.Versioned}}
}

func appendFact(b []byte, content string, one fact) []byte {
	b = append(append(append(b, content...), '\t'), one.Problem...)
	if f := one.Facts; f != nil {
		field := func(text string) { b = append(append(b, '\t'), text...) }
		field(f.Machine)
		field(strconv.Itoa(f.Class))
		field(string(f.Kind))
		b = append(b, '\t')
		for _, m := range lineMarks(f) {
			if *m.is {
				b = append(b, m.letter)
			}
		}
		field(strconv.Itoa(int(f.OSABI)))
		field(strconv.FormatUint(f.MaxPage, 10))
		field(f.Interpreter)
		field(f.SOName)
		field(f.RPath)
		field(f.RunPath)
		field(strings.Join(f.Needed, " "))
		b = append(b, '\t')
		for i, n := range f.Needs {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, n.Library...)
			for _, v := range n.Versions {
				b = append(b, '|')
				if v.Weak {
					b = append(b, '!')
				}
				b = append(b, v.Name...)
			}
		}
		field(strings.Join(f.Defines, " "))
		field(strings.Join(f.CUDA, " "))
		field(f.CUDAProblem)
	}
	return append(b, '\n')
}

// parseFact reads a line without its end.
func parseFact(line string) (one fact, ok bool) {
	var field [lineFields]string
	n := 0
	for more := true; more; n++ {
		if n == lineFields {
			return one, false
		}
		field[n], line, more = strings.Cut(line, "\t")
	}
	one.Content, one.Problem = field[0], field[1]
	if n == 2 && one.Problem != "" {
		return one, one.Content != ""
	}
	if n != lineFields || one.Content == "" || one.Problem != "" {
		return one, false
	}
	f := &elf.Facts{Machine: field[2], Kind: elf.Kind(field[4]), Interpreter: field[8], SOName: field[9], RPath: field[10], RunPath: field[11],
		Needed: words(field[12]), Defines: words(field[14]), CUDA: words(field[15]), CUDAProblem: field[16]}
	class, err := strconv.Atoi(field[3])
	abi, err1 := strconv.ParseUint(field[6], 10, 8)
	page, err2 := strconv.ParseUint(field[7], 10, 64)
	if err != nil || err1 != nil || err2 != nil {
		return one, false
	}
	f.Class, f.OSABI, f.MaxPage = class, byte(abi), page
	marks := field[5]
	for _, m := range lineMarks(f) {
		if len(marks) > 0 && marks[0] == m.letter {
			*m.is, marks = true, marks[1:]
		}
	}
	for _, w := range words(field[13]) {
		library, rest, more := strings.Cut(w, "|")
		need := elf.Need{Library: library}
		for more {
			var v elf.Version
			v.Name, rest, more = strings.Cut(rest, "|")
			v.Name, v.Weak = strings.CutPrefix(v.Name, "!")
			need.Versions = append(need.Versions, v)
		}
		f.Needs = append(f.Needs, need)
	}
	one.Facts = f
	return one, marks == ""
}

func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, " ")
}
