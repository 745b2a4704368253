//go:build linux

// Package serve is the program hpcenvd.
//
// Enters: arguments, HPCENVD_* and the configuration file. Leaves: an exit code
// when it was stopped or could not start.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// Main runs the daemon until it is told to stop and returns the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := Command()
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		misconfigured := errors.Is(err, config.ErrConfig)
		if misconfigured && !strings.Contains(err.Error(), "next: ") {
			err = fmt.Errorf("%w\nnext: correct it in %s (or where --config says), and start hpcenvd again", err, config.Path)
		}
		e := service.Classify(err)
		if misconfigured {
			e.Code = api.ExitUsage
		}
		fmt.Fprintf(os.Stderr, "hpcenvd: error: %s\n", e.Message)
		return e.Code
	}
	return api.ExitDone
}

// Command is the command line of hpcenvd; manual pages are made of it, too.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "hpcenvd",
		Short:         "The hpcenv service of a cluster",
		Version:       service.Version(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			load := func() (*config.Config, error) { return config.Load(cmd.Flags(), os.Environ()) }
			conf, err := load()
			if err != nil {
				return err
			}
			if os.Geteuid() == 0 && !conf.AllowRoot {
				return fmt.Errorf("%w: hpcenvd runs as root, which it need not: it reads what packages from elsewhere hold\nnext: run it as an account of its own (User= in hpcenvd.service), or set allow_root", config.ErrConfig)
			}
			level := new(slog.LevelVar)
			level.Set(levels[conf.LogLevel])
			return run(cmd.Context(), &living{load: load, level: level, log: logger(level)}, conf)
		},
	}
	config.Flags(cmd.Flags())
	cmd.AddCommand(configCommand())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return api.Errorf(api.ExitUsage, "%v\nnext: hpcenvd --help", err)
	})
	return cmd
}

// levels of log_level.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// logger writes to stderr, which the journal keeps and stamps with its own time.
func logger(level *slog.LevelVar) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if os.Getenv("JOURNAL_STREAM") != "" {
		opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}
