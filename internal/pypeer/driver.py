# Reads projects with a uv.lock, exports every selection of it with uv, and lets
# the library `packaging` choose the files for every target.
import collections, hashlib, http.server, io, json, pathlib, re, subprocess, sys, tempfile, threading, tomllib, zipfile

from packaging import _manylinux, tags
from packaging.pylock import Pylock, PylockSelectError, PylockValidationError

UV = str(pathlib.Path(sys.executable).parent / "uv")


def uv(home, folder, *args):
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
    return subprocess.run(
        [UV, "--quiet", "--cache-dir", home + "/cache", *args],
        cwd=folder, env=env, capture_output=True, text=True,
    )


def target_tags(t):
    _manylinux._get_glibc_version = lambda: _manylinux._GLibCVersion(*t["glibc"])
    _manylinux._is_compatible = lambda arch, version: _manylinux._get_glibc_version() >= version
    platforms = [*_manylinux.platform_tags([t["machine"]]), "linux_" + t["machine"]]
    version = tuple(int(n) for n in t["python"].split(".")[:2])
    name = "cp%d%d" % version
    abi = name + ("t" if t["free"] else "")
    return [*tags.cpython_tags(version, [abi], platforms), *tags.compatible_tags(version, name, platforms)]


def environment(t):
    return {
        "implementation_name": "cpython", "implementation_version": t["python"], "os_name": "posix",
        "platform_machine": t["machine"], "platform_python_implementation": "CPython", "platform_release": "",
        "platform_system": "Linux", "platform_version": "", "python_full_version": t["python"],
        "python_version": ".".join(t["python"].split(".")[:2]), "sys_platform": "linux",
    }


def choose(text, t, extras, groups):
    try:
        lock = Pylock.from_dict(tomllib.loads(text))
        chosen = []
        for package, source in lock.select(environment=environment(t), tags=t["tags"], extras=extras, dependency_groups=groups):
            where = getattr(source, "path", None) or getattr(source, "url", None)
            kind = {"PackageVcs": "git", "PackageDirectory": "directory", "PackageWheel": "wheel", "PackageSdist": "sdist"}.get(type(source).__name__)
            if kind is None:
                kind = "wheel" if where.split("#")[0].endswith(".whl") else "sdist"
            hashes = dict(getattr(source, "hashes", None) or {})
            chosen.append([package.name, str(package.version or ""), kind, where, hashes.get("sha256", "")])
        return {"chosen": sorted(chosen)}
    except (PylockSelectError, PylockValidationError, tomllib.TOMLDecodeError) as e:
        return {"refused": f"{type(e).__name__}: {e}"}


def wheel(w):
    """An empty wheel; its WHEEL tells by the tag which file it is."""
    stem = w["file"].removesuffix(".whl").split("-")
    info = f"{stem[0]}-{stem[1]}.dist-info/"
    metadata = f"Metadata-Version: 2.3\nName: {w['name']}\nVersion: {w['version']}\n"
    metadata += "".join(f"Provides-Extra: {x}\n" for x in w["extras"] or []) + "".join(f"Requires-Dist: {r}\n" for r in w["requires"] or [])
    files = {"METADATA": metadata, "WHEEL": f"Wheel-Version: 1.0\nGenerator: {w['file']}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{info}{name},,\n" for name in [*files, "RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, text in {**files, "RECORD": record}.items():
            z.writestr(zipfile.ZipInfo(info + name, (2020, 1, 1, 0, 0, 0)), text)
    return out.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    """A simple index per project: /pN/simple/NAME/ and /pN/files/FILE."""

    protocol_version = "HTTP/1.1"
    pages, files = collections.defaultdict(list), {}

    def do_GET(self):
        body, kind = self.files.get(self.path), "application/octet-stream"
        if body is None and self.path in self.pages:
            body, kind = "".join(self.pages[self.path]).encode(), "text/html"
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body or b"")

    do_HEAD = do_GET

    def log_message(self, *args):
        pass

    @classmethod
    def add(cls, project, w):
        body = wheel(w)
        digest = hashlib.sha256(body).hexdigest()
        path = f"/{project}/files/{w['file']}"
        cls.files[path] = body
        with zipfile.ZipFile(io.BytesIO(body)) as z:
            cls.files[path + ".metadata"] = z.read(z.namelist()[0])
        link = f'<a href="{path}#sha256={digest}" data-core-metadata="true">{w["file"]}</a>\n'
        cls.pages[f"/{project}/simple/{w['name']}/"].append(link)


def installed(folder):
    """The files that an installed folder came from, by what their WHEEL says."""
    return sorted(re.search("^Generator: (.*)$", p.read_text(), re.M)[1] for p in pathlib.Path(folder).glob("*.dist-info/WHEEL"))


def without_trees(folder, text):
    """The lock without source trees, which neither installer would take for another platform."""
    lock = folder / "pylock.peer.toml"
    lock.write_text(re.sub(r'\[\[packages\]\]\nname = "[^"]*"\n(version = .*\n)?(marker = .*\n)?directory = .*\n', "", text))
    return lock


def uv_installs(home, folder, text, t):
    """What `uv pip install` takes for a target."""
    lock = without_trees(folder, text)
    with tempfile.TemporaryDirectory() as into:
        platform = f"{t['machine']}-manylinux_2_{t['glibc'][1]}"
        done = uv(home, folder, "pip", "install", "--target", into, "--python-platform", platform, "--python-version", t["python"], "--no-build", "-r", lock.name)
        return {"refused": done.stderr[-2000:]} if done.returncode else {"files": installed(into)}


def pip_chooses(home, folder, text, t):
    """The files that `pip install --dry-run --report` takes from the index for what the lock pins."""
    chosen = choose(text, t, None, None)
    pins = [f"{name}=={version}" for name, version, kind, *_ in chosen.get("chosen", []) if kind == "wheel"]
    if not pins:
        return chosen if "refused" in chosen else {"files": []}
    platforms = [x for tag in dict.fromkeys(str(tag.platform) for tag in t["tags"]) if tag != "any" for x in ("--platform", tag)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed",
         "--report", "-", "--target", home + "/nowhere", "--only-binary", ":all:", *platforms, "--python-version", t["python"], "--implementation", "cp",
         "--abi", "cp" + "".join(t["python"].split(".")[:2]), "--index-url", f"http://127.0.0.1:{server.server_port}/{folder.name}/simple", *pins],
        cwd=folder, env={"HOME": home, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    if done.returncode:
        return {"refused": done.stderr[-2000:]}
    return {"files": sorted(i["download_info"]["url"].rsplit("/", 1)[1] for i in json.loads(done.stdout)["install"])}


question = json.load(sys.stdin)
for t in question["targets"]:
    t["tags"] = target_tags(t)
answers, exported = [], 0
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as home:
    for n, project in enumerate(question["projects"]):
        folder = pathlib.Path(home) / f"p{n}"
        for name, text in (project["files"] or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("@INDEX@", f"http://127.0.0.1:{server.server_port}/p{n}/simple"))
        for w in project.get("wheels") or []:
            Index.add(f"p{n}", w)
        answer = {"exports": [], "lock": "", "refused": ""}
        answers.append(answer)
        if project.get("lock"):
            done = uv(home, folder, "lock")
            if done.returncode:
                answer["refused"] = done.stderr[-2000:]
                continue
            answer["lock"] = (folder / "uv.lock").read_text()
        for selection in project["selections"]:
            if "pylock" in project:
                export = {"text": "", "chosen": [choose(project["pylock"], t, selection["extras"], selection["groups"]) for t in question["targets"]]}
            else:
                done = uv(home, folder, "export", "--frozen", "--format", "pylock.toml", "--no-header", *selection["flags"])
                if done.returncode:
                    export = {"refused": done.stderr[-2000:]}
                else:
                    export = {"text": done.stdout, "chosen": [choose(done.stdout, t, None, None) for t in question["targets"]]}
                    # The installers themselves, which are slow, for some.
                    for key, every, ask in (("uv", question["uv_every"], uv_installs), ("pip", question["pip_every"], pip_chooses)):
                        if every and project.get("wheels") and exported % every == 0:
                            n_target = exported // every % len(question["targets"])
                            export[key] = {"target": n_target, **ask(home, folder, done.stdout, question["targets"][n_target])}
                    exported += 1
            answer["exports"].append(export)
json.dump(answers, sys.stdout)
