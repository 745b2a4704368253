//go:build linux

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/channelservers"
)

// TestRemotes: `prepare` fetches channels from real servers that check signatures
// and tokens.
func TestRemotes(t *testing.T) {
	files := archives()(t)
	s3, oci := channelservers.StartS3(t, files), channelservers.StartOCI(t, files)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "remote"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			if err := setup(t, env); err != nil {
				return err
			}
			home := env.Getenv("HOME")
			for k, v := range map[string]string{
				"S3_ENDPOINT": s3.Endpoint, "S3_ID": s3.ID, "S3_KEY": s3.Key, "S3_REGION": s3.Region, "S3_BUCKET": s3.Bucket,
				"OCI": oci.Host, "OCI_USER": oci.User, "OCI_PASSWORD": oci.Password, "SSL_CERT_FILE": oci.Certificate,
			} {
				env.Setenv(k, v)
			}
			for name, text := range map[string]string{
				".rattler/credentials.json": fmt.Sprintf(`{"s3://%s": {"S3Credentials": {"access_key_id": %q, "secret_access_key": %q, "session_token": null}}}`, s3.Bucket, s3.ID, s3.Key),
				".netrc":                    "machine 127.0.0.1 login " + oci.User + " password " + oci.Password + "\n",
				".pixi/config.toml":         fmt.Sprintf("[s3-options.%s]\nendpoint-url = %q\nregion = %q\nforce-path-style = true\n", s3.Bucket, s3.Endpoint, s3.Region),
			} {
				at := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"lock": lockCmd, "channel": channelCmd, "exits": exitsCmd, "until": untilCmd, "hits": hitsCmd,
		},
	})
}
