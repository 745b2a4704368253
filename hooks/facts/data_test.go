package facts

import (
	"strings"
	"testing"
)

// TestDataFiles reads every line of the tables that are part of the program: their
// readers skip what they do not understand.
func TestDataFiles(t *testing.T) {
	m := archspec()
	var targets, vendors int
	for line := range strings.Lines(archspecText) {
		switch w := strings.Fields(line); {
		case w[0] == "#":
		case w[0] == "vendor" && len(w) >= 3:
			vendors++
		case w[0] == "target" && len(w) == 6:
			targets++
		default:
			t.Errorf("archspec.txt: %q", line)
		}
	}
	if targets != len(m.targets) || targets < 50 || vendors != len(m.vendors) || vendors < 15 {
		t.Errorf("%d of %d targets, %d of %d vendors", len(m.targets), targets, len(m.vendors), vendors)
	}
	if !strings.Contains(archspecText, "archspec-json ") || !strings.Contains(archspecText, "Apache-2.0 OR MIT") {
		t.Error("archspec.txt names neither its source nor its licence")
	}
	for _, target := range m.targets {
		for _, a := range target.ancestors {
			if m.byName[a] == nil {
				t.Errorf("%s descends from %s, which is not there", target.name, a)
			}
		}
		if f := target.family(); f != "x86_64" && f != "aarch64" {
			t.Errorf("%s is of the family %s", target.name, f)
		}
	}
}

func TestComputeOf(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "9.0", "NVIDIA A100-SXM4-40GB": "8.0", "Tesla V100-SXM2-32GB": "7.0", "NVIDIA GH200 480GB": "9.0",
		"NVIDIA RTX 6000 Ada Generation": "8.9", "Quadro RTX 6000": "7.5", "NVIDIA A10G": "8.6", "NVIDIA GB200": "10.0",
		"NVIDIA X1000": "", "": "",
	} {
		if got := computeOf(model); got != want {
			t.Errorf("%q: %q, want %q", model, got, want)
		}
	}
	if got := lowestCompute([]Model{{"NVIDIA H100", 4}, {"Tesla T4", 1}}); got != "7.5" {
		t.Errorf("the lowest of H100 and T4 is %q", got)
	}
	if got := lowestCompute([]Model{{"NVIDIA H100", 4}, {"NVIDIA X1000", 1}}); got != "" {
		t.Errorf("with one that is not known: %q", got)
	}
}

func TestCUDAOf(t *testing.T) {
	for driver, want := range map[string]string{
		"450.80.02": "11.0", "470.82.01": "11.4", "520.61.05": "11.8", "535.104.05": "12.2", "580.65.06": "13.0",
		"500.10":  "11.5", // between branches: the older one's
		"999.1":   "13.3", // newer than the table
		"390.157": "", "": "", "535": "", "abc.1": "", "53.1": "", "5351.1": "",
	} {
		if got := CUDAOf(driver); got != want {
			t.Errorf("%q: %q, want %q", driver, got, want)
		}
	}
}

func TestNvidiaVersion(t *testing.T) {
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 11.4.1":      "535.104.05",
		"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.86.15  Release Build  (dvs@build)  Thu Jan 23 00:00:00 UTC 2025\n": "570.86.15",
		"GCC version:  gcc version 535.104.05": "",
		"":                                     "",
	} {
		if got := nvidiaVersion(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
