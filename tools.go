//go:build tools

package hpcenv

import (
	_ "github.com/coreos/go-systemd/v22/daemon"
	_ "github.com/go-co-op/gocron/v2"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hanwen/go-fuse/v2/fs"
	_ "github.com/hashicorp/go-retryablehttp"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/viper"
	_ "github.com/vbauerster/mpb/v8"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
)
