package pylock

import (
	"encoding/hex"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// origins reads where a package comes from: a repository, a directory, an
// archive, or a source archive and wheels.
func (r *reader) origins(t *tomltree.Value, e *entry) {
	vcs, dir, archive := r.Table(t, "vcs"), r.Table(t, "directory"), r.Table(t, "archive")
	direct := 0
	for _, v := range []*tomltree.Value{vcs, dir, archive} {
		if v != nil {
			direct++
		}
	}
	wheels := r.Items(t, "wheels", tomltree.Table)
	sdist := r.Table(t, "sdist")
	switch {
	case direct > 1:
		r.Failf(t.Line, "package `%s`: only one of `vcs`, `directory` and `archive` may be there", e.name)
	case direct == 1 && (sdist != nil || len(wheels) > 0):
		r.Failf(t.Line, "package `%s`: `sdist` and `wheels` exclude `vcs`, `directory` and `archive`", e.name)
	case direct == 0 && sdist == nil && len(wheels) == 0:
		r.Failf(t.Line, "package `%s`: none of `vcs`, `directory`, `archive`, `sdist`, `wheels` says where it comes from", e.name)
	case vcs != nil:
		e.direct = r.vcs(vcs, e)
	case dir != nil:
		path := r.Required(dir, "path")
		e.direct = &lockfile.PyPIPackage{
			Kind: lockfile.PyPIDirectory, Direct: true, Local: true, Location: path, URL: path,
			Editable: r.Bool(dir, "editable"), Subdirectory: r.Text(dir, "subdirectory"),
		}
	case archive != nil:
		e.direct = &lockfile.PyPIPackage{Direct: true, Subdirectory: r.Text(archive, "subdirectory")}
		if e.archive = r.file(archive, e, false); e.archive != nil && strings.HasSuffix(e.archive.Name, ".whl") {
			r.wheel(e.archive, e)
		}
	}
	if sdist != nil {
		e.sdist = r.file(sdist, e, true)
		r.checkSdist(e)
	}
	for _, w := range wheels {
		if f := r.file(w, e, true); f != nil {
			r.wheel(f, e)
			e.wheels = append(e.wheels, f)
		}
	}
}

func (r *reader) wheel(f *pyfile.File, e *entry) {
	if err := f.SetWheel(e.name, e.version); err != nil {
		r.Failf(f.Line, "package `%s`: %w", e.name, err)
	}
}

func (r *reader) checkSdist(e *entry) {
	if e.sdist == nil {
		return
	}
	project, v, err := tag.ParseSdistName(e.sdist.Name)
	switch {
	case err != nil:
		r.Failf(e.sdist.Line, "package `%s`: `sdist`: %w", e.name, err)
	case !name.Equal(project, e.name):
		r.Failf(e.sdist.Line, "package `%s`: `sdist`: %s is not one of it", e.name, e.sdist.Name)
	case e.version != "" && !pyfile.SameVersion(v, e.version):
		r.Failf(e.sdist.Line, "package `%s`: `sdist`: %s is not of version %s", e.name, e.sdist.Name, e.version)
	}
}

func (r *reader) vcs(t *tomltree.Value, e *entry) *lockfile.PyPIPackage {
	kind := r.Required(t, "type")
	p := &lockfile.PyPIPackage{
		Kind: lockfile.PyPIGit, Direct: true, Commit: strings.ToLower(r.Required(t, "commit-id")),
		Ref: r.Text(t, "requested-revision"), Subdirectory: r.Text(t, "subdirectory"),
	}
	p.Location = r.location(t, e)
	p.URL = p.Location
	p.Local = !pyfile.IsURL(p.Location) || strings.HasPrefix(p.Location, "file:")
	if r.Err != nil {
		return nil
	}
	if kind != "git" {
		r.Failf(t.Line, "package `%s`: `vcs`: a repository of `%s` cannot be used, only git", e.name, kind)
	}
	if b, err := hex.DecodeString(p.Commit); err != nil || len(b) != 20 && len(b) != 32 {
		r.Failf(t.Line, "package `%s`: `commit-id` is not a whole commit hash: what is installed would depend on the day", e.name)
	}
	return p
}

// location is the path, or else the URL, as the standard wants it.
func (r *reader) location(t *tomltree.Value, e *entry) string {
	path, url := r.Text(t, "path"), r.Text(t, "url")
	switch {
	case path == "" && url == "":
		r.Failf(t.Line, "package `%s`: neither `path` nor `url` is there", e.name)
	case path != "":
		return path
	}
	return url
}

// file reads what archives, source archives and wheels have in common.
// named: the entry may give the file's name apart from its location.
func (r *reader) file(t *tomltree.Value, e *entry, named bool) *pyfile.File {
	f := &pyfile.File{Location: r.location(t, e), Size: r.Size(t, "size"), Line: t.Line}
	if named {
		f.Name = r.Text(t, "name")
	}
	if r.Err != nil {
		return nil
	}
	if v := t.Get("upload-time"); v != nil && v.Kind != tomltree.Date {
		r.Failf(v.Line, "package `%s`: `upload-time` must be %s, it is %s", e.name, tomltree.Date, v.Kind)
	}
	var err error
	if f.Name == "" {
		f.Name, err = pyfile.NameOf(f.Location)
	} else {
		_, err = pyfile.NameOf(f.Name)
	}
	if err != nil {
		r.Failf(t.Line, "package `%s`: %w", e.name, err)
		return nil
	}
	hashes := r.Table(t, "hashes")
	if hashes == nil || len(hashes.Entries) == 0 {
		r.Failf(t.Line, "package `%s`: `hashes` is missing: nothing could be checked", e.name)
		return nil
	}
	for _, h := range hashes.Entries {
		if err := f.SetHash(h.Key, r.Text(hashes, h.Key)); err != nil {
			r.Failf(h.Value.Line, "package `%s`: `hashes`: %w", e.name, err)
		}
	}
	return f
}
