//go:build linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/metrics"
)

// Prepares since the daemon started.
func (h *health) Prepares() metrics.Prepares { return metrics.Prepares(h.srv.Counts()) }

// serveMetrics answers Prometheus, if the configuration says where. stop ends it.
func serveMetrics(c config.Metrics, state *health, log *slog.Logger, served chan<- error) (stop func(context.Context) error, err error) {
	if c.Listen == "" {
		return func(context.Context) error { return nil }, nil
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("metrics.listen: %w", err)
	}
	srv := &http.Server{Handler: metrics.Handler(state), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			served <- about("metrics.listen "+c.Listen, err)
		}
	}()
	log.Info("hpcenvd tells Prometheus", "address", l.Addr())
	return srv.Shutdown, nil
}
