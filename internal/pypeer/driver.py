# Reads projects with a uv.lock, exports every selection of it with uv, and lets
# the library `packaging` choose the files for every target.
import json, os, pathlib, subprocess, sys, tempfile, tomllib

from packaging import _manylinux, tags
from packaging.pylock import Pylock, PylockSelectError, PylockValidationError

UV = str(pathlib.Path(sys.executable).parent / "uv")


def uv(home, folder, *args):
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
    return subprocess.run(
        [UV, "--offline", "--no-config" if args[0] != "lock" else "--quiet", "--cache-dir", home + "/cache", *args],
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


question = json.load(sys.stdin)
for t in question["targets"]:
    t["tags"] = target_tags(t)
answers = []
with tempfile.TemporaryDirectory() as home:
    for n, project in enumerate(question["projects"]):
        folder = pathlib.Path(home) / f"p{n}"
        for name, text in project["files"].items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
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
            answer["exports"].append(export)
json.dump(answers, sys.stdout)
