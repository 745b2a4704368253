package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hpcenv/hpcenv/contrib/demo/channelserver"
)

func runServe(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	dir := fs.String("dir", "", "folder to serve (required)")
	addr := fs.String("addr", "127.0.0.1:0", "address; port 0 = a free one")
	urlFile := fs.String("url-file", "", "write the server's URL there once it listens")
	var faults []channelserver.Fault
	fs.Func("fault", "misbehave: KIND[:KEY=VALUE]…, e.g. status:match=numpy*:status=500:times=2 (may be repeated)", func(s string) error {
		f, err := channelserver.ParseFault(s)
		faults = append(faults, f)
		return err
	})
	if err := parse(fs, args, dir); err != nil {
		return err
	}
	handler, err := channelserver.New(*dir)
	if err != nil {
		return err
	}
	defer handler.Close() // a folder opened for reading
	if err := handler.SetFaults(faults...); err != nil {
		return err
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	if *urlFile != "" {
		// Renamed, so that who waits for the file never reads half of it.
		if err := os.WriteFile(*urlFile+".new", []byte(url+"\n"), 0o644); err != nil {
			return errors.Join(err, l.Close())
		}
		if err := os.Rename(*urlFile+".new", *urlFile); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	fmt.Println(url)
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(l) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		// Requests that hang on purpose must not keep it.
		return srv.Close()
	}
}
