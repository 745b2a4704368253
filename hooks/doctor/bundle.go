package doctor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// maxPart bounds one file of a bundle in bytes; of a longer one the end is kept.
const maxPart = 1 << 20

// WriteBundle writes the report and what others need to help (configuration, the
// plugin's line, Slurm's settings, versions, the daemon's last log lines) as a .tar.gz
// to path, which must not be there and which only the caller can read. Passwords,
// tokens and what stands in URLs for them are left out. Errors are those of the file.
func (h *Host) WriteBundle(ctx context.Context, r *Report, path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	zip := gzip.NewWriter(f)
	out := tar.NewWriter(zip)
	report, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := put(out, "doctor.json", append(report, '\n')); err != nil {
		return err
	}
	parts := h.parts(ctx)
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := put(out, name, []byte(Redact(parts[name]))); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

func put(out *tar.Writer, name string, data []byte) error {
	if len(data) > maxPart {
		data = data[len(data)-maxPart:]
	}
	head := &tar.Header{Name: "hpcenv-doctor/" + name, Mode: 0o600, Size: int64(len(data)), ModTime: time.Now(), Typeflag: tar.TypeReg}
	if err := out.WriteHeader(head); err != nil {
		return err
	}
	_, err := out.Write(data)
	return err
}

// parts are the files of a bundle beside the report. What cannot be read is told in its
// place.
func (h *Host) parts(ctx context.Context) map[string]string {
	parts := map[string]string{}
	for name, file := range map[string]string{
		"hpcenv.conf": clientconf.Path, "hpcenvd.yaml": daemonConf, "os-release": "/etc/os-release", "mounts": "/proc/self/mountinfo",
		"facts.json": factsPath, "FORMAT": filepath.Join(h.store(), "FORMAT"),
	} {
		at := h.at(file)
		if name == "FORMAT" {
			if at = file; h.store() == "" {
				continue
			}
		}
		parts[name] = text(at)
	}
	if h.plug.file != "" {
		line := fmt.Sprintf("file %s\nline %s: %s %s\n", h.plug.file, orNone(h.plug.where), h.plug.how, h.plug.plugin)
		for key, value := range h.plug.args {
			line += key + "=" + value + "\n"
		}
		parts["plugstack"] = line
	}
	settings := ""
	for key, value := range h.settings {
		settings += key + " = " + value + "\n"
	}
	parts["slurm-settings"] = settings
	for name, args := range map[string][]string{
		"uname": {"uname", "-a"}, "daemon-unit": {"systemctl", "--no-pager", "show", "hpcenvd", "--property=ActiveState,SubState,NRestarts,Result,ExecMainStatus,MemoryCurrent"},
		"daemon-log": {"journalctl", "--no-pager", "--quiet", "-u", "hpcenvd", "-n", "500"},
	} {
		if _, err := exec.LookPath(args[0]); err != nil {
			continue
		}
		out, err := command(ctx, args[0], args[1:]...)
		if err != nil {
			out += fmt.Sprintf("\n(%v)\n", err)
		}
		parts[name] = out
	}
	return parts
}

// text of a file, or why it cannot be had.
func text(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(%v)\n", err)
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxPart))
	if err != nil {
		return fmt.Sprintf("(%v)\n", err)
	}
	return string(data)
}

var (
	// anyURL finds URLs in text.
	anyURL = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>,\]})]+`)
	// secretKey finds a setting whose value is a secret.
	secretKey = regexp.MustCompile(`(?im)^(.*(?:password|passwd|secret|token|credential|api[_-]?key|access[_-]?key)[a-z_-]*"?\s*[:=]\s*)(\S.*)$`)
	// bearer finds a credential of HTTP.
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._=-]{8,}`)
	// mungeText finds MUNGE's credentials.
	mungeText = regexp.MustCompile(`MUNGE:[A-Za-z0-9+/=:]+`)
)

// Redact takes secrets out of text that goes to others: credentials in URLs, values of
// settings whose names say password, token and the like, and credentials of HTTP and
// MUNGE. The path of a file with credentials goes too.
func Redact(s string) string {
	s = anyURL.ReplaceAllStringFunc(s, lockfile.RedactURL)
	s = secretKey.ReplaceAllString(s, "$1***")
	s = bearer.ReplaceAllString(s, "$1 ***")
	return mungeText.ReplaceAllString(strings.ToValidUTF8(s, "?"), "MUNGE:***")
}
