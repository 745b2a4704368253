// Package metrics tells Prometheus how the daemon is.
//
// Enters: the daemon's status, which is asked at each scrape. Leaves: metrics in
// Prometheus's text form. There are numbers only: who uses what is not told to whoever
// can reach the address.
package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Source is asked at each scrape.
type Source interface {
	AdminStatus(ctx context.Context) (*api.AdminStatus, error)
	// Prepares since the daemon started.
	Prepares() Prepares
}

// Prepares counts answers to prepare since the daemon started.
type Prepares struct {
	// Done and Failed; Joined of both waited for work that another had asked for.
	Done, Failed, Joined int
	// Seconds that all took together.
	Seconds float64
	// PackagesNew and Bytes were fetched.
	PackagesNew, Bytes int64
}

// scrapeWithin bounds one scrape.
const scrapeWithin = 8 * time.Second

// metric is one of hpcenv's, with its values from a status.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	values     func(*api.AdminStatus, Prepares, func(value float64, labels ...string))
}

const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue

// metrics are all there are, in the order of the administrators' guide.
var metrics = []metric{
	{"hpcenv_up_since_seconds", "When the daemon started, in seconds of the epoch.", gauge, nil, one(func(s *api.AdminStatus) float64 { return at(s.Since) })},
	{"hpcenv_warnings", "What hpcenv admin status warns of.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(len(s.Warnings)) })},
	{"hpcenv_environments", "Published environments, one for each platform.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.Index.Environments) })},
	{"hpcenv_environments_broken", "Environments whose description cannot be read.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(len(s.Index.Broken)) })},
	{"hpcenv_store_environment_bytes", "Bytes that all environments take of the store.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.Index.Bytes) })},
	{"hpcenv_store_environment_inodes", "Inodes that all environments take of the store.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.Index.Inodes) })},
	{"hpcenv_store_budget_bytes", "The budget in bytes; 0 = none.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.GC.MaxBytes) })},
	{"hpcenv_store_budget_inodes", "The budget in inodes; 0 = none.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.GC.MaxInodes) })},
	{"hpcenv_store_free_bytes", "Free bytes of the store's file system, for its account.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.FreeBytes) })},
	{"hpcenv_store_free_inodes", "Free inodes of the store's file system.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.FreeInodes) })},
	{"hpcenv_index_reconciled_seconds", "When the index was last compared with the store, in seconds of the epoch; 0 = never.", gauge, nil, one(func(s *api.AdminStatus) float64 { return at(s.Index.Reconciled) })},
	{"hpcenv_leases", "Submissions whose environments are held, by whether their job was seen.", gauge, []string{"bound"}, func(s *api.AdminStatus, _ Prepares, put func(float64, ...string)) {
		put(float64(s.Leases.Bound), "yes")
		put(float64(s.Leases.Holding-s.Leases.Bound), "no")
	}},
	{"hpcenv_names", "Names that keep environments.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.Leases.Names) })},
	{"hpcenv_jobs_known_seconds", "When Slurm last told of all jobs, in seconds of the epoch; 0 = never. Nothing is collected without.", gauge, nil, one(func(s *api.AdminStatus) float64 { return at(s.Leases.Asked) })},
	{"hpcenv_handovers_refused_total", "Handovers of submissions that were not as they should be.", counter, nil, one(func(s *api.AdminStatus) float64 { return float64(s.Leases.Refused) })},
	{"hpcenv_gc_over_budget", "1 if what is needed exceeds the budget.", gauge, nil, one(func(s *api.AdminStatus) float64 { return truth(s.GC.Over != "") })},
	{"hpcenv_gc_last_removed", "Environments that the last collection removed.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.GC.Removed) })},
	{"hpcenv_gc_trash", "Removed environments that can be brought back.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(s.GC.Trash) })},
	{"hpcenv_gc_restored_total", "Environments that were brought back.", counter, nil, one(func(s *api.AdminStatus) float64 { return float64(s.GC.Restored) })},
	{"hpcenv_prepares_running", "Prepares that run or wait.", gauge, nil, one(func(s *api.AdminStatus) float64 { return float64(len(s.Work)) })},
	{"hpcenv_prepares_total", "Answers to prepare.", counter, []string{"outcome"}, func(_ *api.AdminStatus, p Prepares, put func(float64, ...string)) {
		put(float64(p.Done), "done")
		put(float64(p.Failed), "failed")
	}},
	{"hpcenv_prepares_joined_total", "Answers to prepare that waited for work which another had asked for.", counter, nil, of(func(p Prepares) float64 { return float64(p.Joined) })},
	{"hpcenv_prepare_seconds_total", "Seconds that all answers to prepare took together.", counter, nil, of(func(p Prepares) float64 { return p.Seconds })},
	{"hpcenv_fetched_packages_total", "Packages that were fetched.", counter, nil, of(func(p Prepares) float64 { return float64(p.PackagesNew) })},
	{"hpcenv_fetched_bytes_total", "Bytes that were fetched.", counter, nil, of(func(p Prepares) float64 { return float64(p.Bytes) })},
	{"hpcenv_schedule_success_seconds", "When a schedule last succeeded, in seconds of the epoch; 0 = never.", gauge, []string{"schedule"}, each(func(s *api.ScheduleStatus) float64 { return at(s.Good) })},
	{"hpcenv_schedule_interval_seconds", "The time between two runs of a schedule.", gauge, []string{"schedule"}, each(func(s *api.ScheduleStatus) float64 { return s.EverySeconds })},
	{"hpcenv_schedule_duration_seconds", "What the last run of a schedule took.", gauge, []string{"schedule"}, each(func(s *api.ScheduleStatus) float64 { return s.Seconds })},
	{"hpcenv_schedule_failing", "1 if the last run of a schedule failed.", gauge, []string{"schedule"}, each(func(s *api.ScheduleStatus) float64 { return truth(s.Problem != "") })},
	{"hpcenv_schedule_failures_total", "Runs of a schedule that failed.", counter, []string{"schedule"}, each(func(s *api.ScheduleStatus) float64 { return float64(s.Failures) })},
}

func one(f func(*api.AdminStatus) float64) func(*api.AdminStatus, Prepares, func(float64, ...string)) {
	return func(s *api.AdminStatus, _ Prepares, put func(float64, ...string)) { put(f(s)) }
}

func of(f func(Prepares) float64) func(*api.AdminStatus, Prepares, func(float64, ...string)) {
	return func(_ *api.AdminStatus, p Prepares, put func(float64, ...string)) { put(f(p)) }
}

func each(f func(*api.ScheduleStatus) float64) func(*api.AdminStatus, Prepares, func(float64, ...string)) {
	return func(s *api.AdminStatus, _ Prepares, put func(float64, ...string)) {
		for i := range s.Schedules {
			put(f(&s.Schedules[i]), s.Schedules[i].Name)
		}
	}
}

// at is a time of the API in seconds of the epoch; 0 = never.
func at(stamp string) float64 {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return 0
	}
	return float64(t.Unix())
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collector asks the source at each scrape.
type collector struct {
	source Source
	descs  []*prometheus.Desc
	info   *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
	ch <- c.info
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeWithin)
	defer cancel()
	st, err := c.source.AdminStatus(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.info, err)
		return
	}
	p := c.source.Prepares()
	ch <- prometheus.MustNewConstMetric(c.info, prometheus.GaugeValue, 1, st.Version)
	for i := range metrics {
		m := &metrics[i]
		m.values(st, p, func(value float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(c.descs[i], m.kind, value, labels...)
		})
	}
}

// Handler answers Prometheus.
func Handler(source Source) http.Handler {
	c := &collector{source: source, info: prometheus.NewDesc("hpcenv_build_info", "The daemon's release.", []string{"version"}, nil)}
	for i := range metrics {
		c.descs = append(c.descs, prometheus.NewDesc(metrics[i].name, metrics[i].help, metrics[i].labels, nil))
	}
	r := prometheus.NewRegistry()
	r.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 2 * scrapeWithin}))
	return mux
}

// Names of hpcenv's own metrics, in their order, with what they mean.
func Names() (out [][2]string) {
	out = append(out, [2]string{"hpcenv_build_info", "The daemon's release."})
	for i := range metrics {
		out = append(out, [2]string{metrics[i].name, metrics[i].help})
	}
	return out
}
