package cuda_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/cuda"
)

func version(t *testing.T, s string) cuda.Version {
	t.Helper()
	v, ok := cuda.ParseVersion(s)
	if !ok {
		t.Fatalf("%q is no version", s)
	}
	return v
}

// What the program's table answers, row by row from NVIDIA's pages.
func TestDefault(t *testing.T) {
	table := cuda.Default()
	for driver, want := range map[string]string{
		"450.80.02": "11.0", "520.61.05": "11.8", "525.60.13": "12.0", "535.104.05": "12.2", "565.57.01": "12.7", "580.65.06": "13.0",
		"595.71.05": "13.2", "610.43.02": "13.3", "999.1": "13.3", "500.10": "11.5", "390.157": "", "": "", "535": "", "abc.1": "",
	} {
		got, ok := table.Serves(driver)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s serves %v %v, want %q", driver, got, ok, want)
		}
	}
	for major, want := range map[int]string{11: "450.80.02", 12: "525.60.13", 13: "580.65.06", 10: "", 14: ""} {
		if d, ok := table.Floor(major); ok != (want != "") || d.String() != want {
			t.Errorf("the floor of %d is %s, want %q", major, d, want)
		}
	}
	for major, want := range map[int]string{11: "3.5", 12: "5.0", 13: "7.5", 14: ""} {
		if v, ok := table.MinCompute(major); ok != (want != "") || ok && v.String() != want {
			t.Errorf("CUDA %d has code from %s, want %q", major, v, want)
		}
	}
	if d, _ := table.Native(version(t, "12.9.1")); d.String() != "575.51.03" {
		t.Errorf("12.9 is native to %s", d)
	}
	if g, ok := table.Of(version(t, "7.0")); !ok || g.Architecture != "Volta" || g.LastBranch != 580 || g.LastFamily != 12 {
		t.Errorf("7.0: %+v", g)
	}
	if len(table.Sources()) < 3 || table.Digest == "" || !strings.HasPrefix(table.Name(), "cuda.txt ") {
		t.Errorf("%q has %d sources", table.Name(), len(table.Sources()))
	}
}

func TestForward(t *testing.T) {
	table := cuda.Default()
	dc, desk, odd := []string{"NVIDIA H100 80GB HBM3"}, []string{"NVIDIA GeForce RTX 4090"}, []string{"NVIDIA X1"}
	for _, c := range []struct {
		compat, driver string
		gpus           []string
		want           cuda.Answer
	}{
		{"13.0", "535.104.05", dc, cuda.Yes},
		{"13.0", "535.104.05", []string{"H100", "A100"}, cuda.Yes},
		{"13.0", "535.104.05", desk, cuda.No},
		{"13.0", "535.104.05", append([]string{"H100"}, desk...), cuda.No},
		{"13.0", "535.104.05", []string{"NVIDIA GeForce GTX 9000"}, cuda.No},
		{"13.0", "535.104.05", odd, cuda.Unknown},
		{"13.0", "535.104.05", nil, cuda.Unknown},
		{"13.0", "545.23.06", dc, cuda.No}, // a branch that it is not made for
		{"12.3", "535.104.05", dc, cuda.Unknown},
		{"12.3", "535.104.05", desk, cuda.No},
		{"13.0", "none", dc, cuda.Unknown},
	} {
		if got := table.Forward(version(t, c.compat), c.driver, c.gpus); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestDrivers(t *testing.T) {
	order := []string{"450.36.06", "450.80.02", "535.54.03", "535.86.09", "535.104.05", "570.26", "570.124.06", "610.43.02"}
	for i, a := range order {
		for j, b := range order {
			da, okA := cuda.ParseDriver(a)
			db, okB := cuda.ParseDriver(b)
			if c := da.Compare(db); !okA || !okB || (c < 0) != (i < j) || (c == 0) != (i == j) {
				t.Errorf("%s and %s: %d", a, b, c)
			}
		}
	}
	for _, s := range []string{"", "535", "53.1", "5351.1", "535.1.2.3", "535.-1", "535.12345", "535.1x"} {
		if _, ok := cuda.ParseDriver(s); ok {
			t.Errorf("%q is a driver", s)
		}
	}
}

// base is a table that can be read; the tests of mistakes add a line.
const base = `source s 2026-01-02 a page
toolkit 12.0 525.60.13 s
family 12 525.60.13 s
compute 5.0 Maxwell 6.5 12 580 s
`

func TestMistakesHaveLines(t *testing.T) {
	if _, err := cuda.Parse("t", []byte(base)); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"toolkit 12.1 530.30.02":             `line 5: it is not of the form "toolkit X.Y DRIVER KEY"`,
		"toolkit 12.1 530.30.02 s more":      "line 5: it is not of the form",
		"toolkit 12.1 530.30.02 r":           `line 5: no source row before it has the key "r"`,
		"toolkit 12 530.30.02 s":             `line 5: "12" is no version like 12.9`,
		"toolkit 12.1 530 s":                 `line 5: "530" is no version of a driver`,
		"toolkit 12.0 530.30.02 s":           "line 5: 12.0 is there twice",
		"toolkit 12.1 520.61.05 s":           "line 5: 520.61.05 comes after a newer one",
		"toolkit 11.8 530.30.02 s":           "line 5: 11.8 comes after a newer one",
		"toolkit 13.0 580.65.06 s":           "the toolkit 13.0 has no family",
		"family 13 580.65.06 s":              "the family 13 has no toolkit",
		"family twelve 580.65.06 s":          `line 5: "twelve" is no number`,
		"compute 7.0 Volta 9.0 11 470 s":     "line 5: 7.0 is dropped before the older 5.0",
		"compat 13.0 535,x s":                `line 5: "x" is no number`,
		"model 9.0 maybe s H100":             `line 5: "maybe" is none of dc, no, -`,
		"model 9.0 dc s A\nmodel 9.0 dc s A": "line 6: the model A is there twice",
		"source s 2026-01-02 again":          `line 5: the source "s" is there twice`,
		"source q yesterday a page":          `line 5: "yesterday" is no date`,
		"source q 2026-01-02":                "line 5: it is not of the form",
		"driver 535":                         `line 5: "driver" is no kind of row`,
	} {
		_, err := cuda.Parse("t", []byte(base+line+"\n"))
		if !errors.Is(err, cuda.ErrTable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", line, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", strings.Repeat("x\n", cuda.MaxSize/2+1)} {
		if _, err := cuda.Parse("t", []byte(text)); !errors.Is(err, cuda.ErrTable) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	_, err := cuda.Parse("t", []byte(strings.Repeat("nothing\n", 30)))
	if err == nil || !strings.Contains(err.Error(), "and 21 more") {
		t.Errorf("30 mistakes: %v", err)
	}
}

// FuzzParse: whatever is read answers without falling over, and a newer driver never
// serves less.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("cuda.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), "535.104.05", "12.9")
	f.Add(base, "525.60.13", "12.0")
	f.Fuzz(func(t *testing.T, text, driver, wants string) {
		table, err := cuda.Parse("t", []byte(text))
		if err != nil {
			if !errors.Is(err, cuda.ErrTable) {
				t.Fatal(err)
			}
			return
		}
		again, err := cuda.Parse("t", []byte(table.Text))
		if err != nil || again.Digest != table.Digest {
			t.Fatalf("its own text: %v", err)
		}
		v, _ := cuda.ParseVersion(wants)
		table.Forward(v, driver, []string{wants})
		table.Of(v)
		if least, ok := table.MinCompute(v.Major); ok && least.Major == 0 && least.Minor < 0 {
			t.Fatal(least)
		}
		d, ok := cuda.ParseDriver(driver)
		if !ok {
			return
		}
		was, had := table.Serves(driver)
		for _, newer := range []string{"800.1", "999.9999.9999"} {
			n, _ := cuda.ParseDriver(newer)
			if now, has := table.Serves(newer); n.Compare(d) >= 0 && (had && !has || had && now.Compare(was) < 0) {
				t.Fatalf("%s serves %s, %s serves %s", driver, was, newer, now)
			}
		}
	})
}
