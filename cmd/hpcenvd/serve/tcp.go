//go:build linux

package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/server"
	"github.com/hpcenv/hpcenv/internal/munge"
)

// serveTCP serves other hosts of the cluster, if the configuration says where. stop
// ends it.
func serveTCP(c config.Nodes, srv *server.Server, log *slog.Logger, served chan<- error) (stop func(context.Context) error, err error) {
	if c.Listen == "" {
		return func(context.Context) error { return nil }, nil
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("nodes.listen: %w", err)
	}
	r := server.NewTCP(srv, munge.Munge{Socket: c.MungeSocket})
	go func() { served <- about("nodes.listen "+c.Listen, r.Serve(l)) }()
	log.Info("hpcenvd listens to other hosts", "address", l.Addr())
	return r.Close, nil
}
