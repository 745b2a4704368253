package metrics_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/metrics"
)

type source struct{ err error }

func (s source) AdminStatus(context.Context) (*api.AdminStatus, error) {
	return &api.AdminStatus{
		Version: "1.2", Since: "2026-11-30T12:00:00Z", Index: api.IndexStatus{Environments: 3, Bytes: 7, Reconciled: "1970-01-01T00:01:00Z"},
		Leases: api.LeaseStatus{Holding: 5, Bound: 2}, Warnings: []string{"a secret of a user"},
		Work:      []api.WorkStatus{{UID: 1000, Lock: "feedface"}},
		Schedules: []api.ScheduleStatus{{Name: "leases", EverySeconds: 300, Problem: "no answer", Failures: 4}},
	}, s.err
}

func (source) Prepares() metrics.Prepares { return metrics.Prepares{Done: 9, Failed: 1, Joined: 3} }

func scrape(t *testing.T, s source) (int, string) {
	t.Helper()
	srv := httptest.NewServer(metrics.Handler(s))
	defer srv.Close()
	resp, err := http.Get(srv.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestMetrics(t *testing.T) {
	code, text := scrape(t, source{})
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	for _, want := range []string{
		`hpcenv_build_info{version="1.2"} 1`, `hpcenv_environments 3`, `hpcenv_index_reconciled_seconds 60`, `hpcenv_leases{bound="no"} 3`,
		`hpcenv_prepares_total{outcome="done"} 9`, `hpcenv_schedule_failing{schedule="leases"} 1`, `hpcenv_schedule_failures_total{schedule="leases"} 4`,
		`hpcenv_warnings 1`, `process_open_fds`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not told: %s", want)
		}
	}
	for _, secret := range []string{"feedface", "secret of a user", "uid"} {
		if strings.Contains(text, secret) {
			t.Errorf("told: %s", secret)
		}
	}
	if code, _ := scrape(t, source{errors.New("no answer")}); code != http.StatusInternalServerError {
		t.Errorf("a daemon that does not know how it is answers %d", code)
	}
	if promtool, err := exec.LookPath("promtool"); err != nil {
		t.Log("PROMTOOL IS NOT INSTALLED: the form of the metrics was not checked")
	} else {
		cmd := exec.Command(promtool, "check", "metrics")
		// promtool finds fault with Go's own metrics, too.
		cmd.Stdin = strings.NewReader(regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?(go|process)_.*\n`).ReplaceAllString(text, ""))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v: %s", err, out)
		}
	}
}

// TestAlerts: the rules fire when they should, speak of metrics that there are, and the
// guide names all of those.
func TestAlerts(t *testing.T) {
	rules, err := os.ReadFile("../../contrib/prometheus/hpcenv.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../contrib/administrators.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range metrics.Names() {
		known[m[0]] = true
		if !strings.Contains(string(guide), "`"+m[0]+"`") {
			t.Errorf("the administrators' guide does not tell of %s", m[0])
		}
	}
	for _, name := range regexp.MustCompile(`hpcenv_[a-z_]+`).FindAllString(string(rules), -1) {
		if !known[name] {
			t.Errorf("the rules speak of %s, which there is not", name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("PROMTOOL IS NOT INSTALLED: the alert rules were not tried")
	}
	cmd := exec.Command(promtool, "test", "rules", "hpcenv.rules.test.yml")
	cmd.Dir = "../../contrib/prometheus"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
