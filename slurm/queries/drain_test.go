package queries

import (
	"strings"
	"testing"
)

const nodeLine = "NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n" +
	"   CPUAlloc=0 CPUTot=64 AvailableFeatures=x86_64 ActiveFeatures=x86_64 Gres=gpu:8 NodeAddr=n1 NodeHostName=n1 Version=22.05.8 OS=Linux 6.1 RealMemory=65536 State=STATE Partitions=main,all CfgTRES=cpu=64"

func TestAvailability(t *testing.T) {
	for _, c := range []struct {
		state, tail, reason string
		drained, because    bool
	}{
		{"IDLE", "", "hpcenv: x", false, false},
		{"IDLE+DRAIN", " Reason=hpcenv: GPU 3 is lost (NVML 15) [root@2026-11-30T23:00:00]", "hpcenv: GPU 3 is lost (NVML 15)", true, true},
		{"MIXED+DRAIN", " Reason=hpcenv: GPU 3 is lost (NVML 15) RMA 12 [root@2026-11-30T23:00:00]", "hpcenv: GPU 3 is lost (NVML 15)", true, false},
		{"DOWN*+DRAIN", " Reason=disks [root@2026-11-30T23:00:00]", "hpcenv: GPU 3 is lost (NVML 15)", true, false},
		{"IDLE+DRAIN", " Reason=hpcenv: a", "hpcenv: a", true, true},
		{"IDLE+DRAIN", " Comment=Reason of all", "of all", true, false},
	} {
		text := strings.ReplaceAll(strings.Replace(nodeLine, "STATE", c.state, 1)+c.tail, "\n", " ")
		a, err := ParseAvailability([]byte(text+"\n"), "n1")
		if err != nil {
			t.Fatal(err)
		}
		if a.Drained() != c.drained || a.Because(c.reason) != c.because {
			t.Errorf("%s%s: drained %v because %v", c.state, c.tail, a.Drained(), a.Because(c.reason))
		}
	}
	for _, bad := range []string{"", "NodeName=n2 State=IDLE", "NodeName=n1 Arch=x86_64"} {
		if _, err := ParseAvailability([]byte(bad), "n1"); err == nil {
			t.Errorf("%q tells of n1", bad)
		}
	}
}
