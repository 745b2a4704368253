"""Takes jobs from standard input, one JSON object a line, and answers each with
one line on standard output: {"error": null} or {"error": "text"}.

  {"op": "install", "lock": FILE, "environment": NAME, "platform": SUBDIR,
   "prefix": DIR, "cache": DIR}
      installs an environment of a lock with rattler.
  {"op": "build", "recipe": FILE, "out": DIR, "platform": SUBDIR}
      builds a recipe with rattler-build, without any channel.
  {"op": "lock", "lock": FILE, "out": FILE, "rewritten": FILE}
      reads a lock, writes what is in it as JSON, and writes it as a lock.
"""

import asyncio
import json
import os
import pathlib
import sys

# Whatever else writes to standard output must not end up among the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def install(job):
    from rattler import LockFile, Subdir, install as rattler_install

    environment = LockFile.from_path(pathlib.Path(job["lock"])).environment(job["environment"])
    if environment is None:
        raise ValueError("no environment " + job["environment"])
    (platform,) = [p for p in environment.platforms() if str(p) == job["platform"]]
    records = environment.conda_repodata_records_for_platform(platform)
    asyncio.run(
        rattler_install(
            records,
            target_prefix=job["prefix"],
            cache_dir=pathlib.Path(job["cache"]),
            installed_packages=[],
            platform=Subdir(job["platform"]),
            execute_link_scripts=False,
            show_progress=False,
        )
    )


def build(job):
    import rattler_build

    rattler_build.build_recipes(
        [job["recipe"]],
        output_dir=job["out"],
        channel=[],
        build_platform="linux-64",
        target_platform=job["platform"],
        test="skip",
        allow_symlinks_on_windows=True,
    )


def lock(job):
    from rattler import LockFile

    read = LockFile.from_path(pathlib.Path(job["lock"]))
    environments = [
        {
            "name": name,
            "channels": [str(c) for c in map(channel, environment.channels())],
            "platforms": [
                {
                    "name": p.name,
                    "subdir": str(p.subdir),
                    "virtual": list(p.virtual_packages or []),
                    "packages": [package(k) for k in environment.packages(p) or []],
                }
                for p in environment.platforms()
            ],
        }
        for name, environment in read.environments()
    ]
    with open(job["out"], "w") as out:
        json.dump({"environments": environments}, out)
    read.to_path(pathlib.Path(job["rewritten"]))


def channel(c):
    # The wrapper of the binding wraps a channel that is one already.
    return c if not hasattr(c, "_channel") else c._channel.as_str()


def package(k):
    from rattler.lock import CondaLockedBinaryPackage, PypiLockedPackage

    out = {"name": k.name, "location": k.location}
    hashes = k._package.hashes
    if hashes is not None:
        out["sha256"] = hashes.sha256.hex() if hashes.sha256 else ""
        out["md5"] = hashes.md5.hex() if hashes.md5 else ""
    if isinstance(k, PypiLockedPackage):
        out["kind"] = "pypi"
        out["version"] = k.version
        out["requires_dist"] = list(k.requires_dist)
        out["requires_python"] = k.requires_python or ""
    elif isinstance(k, CondaLockedBinaryPackage):
        out["kind"] = "conda"
        out["record"] = json.loads(k.repo_data_record().to_json())
    else:
        out["kind"] = "source"
    return out


for line in sys.stdin:
    job = json.loads(line)
    try:
        {"install": install, "build": build, "lock": lock}[job["op"]](job)
        error = None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as e:  # a panic of the library is no Exception
        causes = []
        while e is not None:
            causes.append("%s: %s" % (type(e).__name__, e))
            e = e.__cause__
        error = "; ".join(causes)
    answers.write(json.dumps({"error": error}) + "\n")
