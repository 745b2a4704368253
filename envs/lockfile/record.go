package lockfile

import (
	"bytes"
	"encoding/json"
)

// Record is the package's repodata record as the lock has it: JSON with sorted
// keys and without insignificant space, so that equal records are equal bytes.
// Environment ids are made of it, and conda-meta shows it: its form never
// changes for a lock that is read today.
//
// What the lock neither says nor implies is left out; depends and constrains
// are always there. url is the location without credentials; for a path it is
// the path as written, wherever the lock lies.
func (c *CondaPackage) Record() json.RawMessage {
	record := map[string]any{
		"name":         c.Name,
		"version":      c.Version,
		"build":        c.Build,
		"build_number": c.BuildNumber,
		"subdir":       c.Subdir,
		"fn":           c.FileName,
		"url":          RedactURL(c.Location),
		"depends":      emptyNotNull(c.Depends),
		"constrains":   emptyNotNull(c.Constrains),
	}
	for key, text := range map[string]string{
		"arch":                      c.Arch,
		"channel":                   c.Channel,
		"features":                  c.Features,
		"legacy_bz2_md5":            c.LegacyBz2MD5,
		"license":                   c.License,
		"license_family":            c.LicenseFamily,
		"md5":                       c.MD5,
		"noarch":                    c.Noarch,
		"platform":                  c.OS,
		"python_site_packages_path": c.PythonSitePackagesPath,
		"sha256":                    c.SHA256,
	} {
		if text != "" {
			record[key] = text
		}
	}
	for key, n := range map[string]int64{"size": c.Size, "timestamp": c.Timestamp, "legacy_bz2_size": c.LegacyBz2Size} {
		if n != 0 {
			record[key] = n
		}
	}
	if len(c.TrackFeatures) > 0 {
		record["track_features"] = c.TrackFeatures
	}
	if len(c.Flags) > 0 {
		record["flags"] = c.Flags
	}
	if len(c.ExtraDepends) > 0 {
		record["extra_depends"] = c.ExtraDepends
	}
	if c.RunExports != nil {
		record["run_exports"] = c.RunExports
	}
	if c.HasPurls {
		record["purls"] = emptyNotNull(c.Purls)
	}
	return canonical(record)
}

func emptyNotNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// canonical is JSON with sorted keys, no insignificant space and no escapes
// that JSON does not ask for. It takes texts, numbers, lists and maps only,
// which always have a JSON form.
func canonical(v any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("lockfile: a record without JSON form: " + err.Error())
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}
