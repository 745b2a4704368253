"""Takes jobs from standard input, one JSON object a line, and answers each with
one line on standard output: {"error": null} or {"error": "text"}.

  {"op": "install", "lock": FILE, "environment": NAME, "platform": SUBDIR,
   "prefix": DIR, "cache": DIR}
      installs an environment of a lock with rattler.
  {"op": "build", "recipe": FILE, "out": DIR, "platform": SUBDIR}
      builds a recipe with rattler-build, without any channel.
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


for line in sys.stdin:
    job = json.loads(line)
    try:
        {"install": install, "build": build}[job["op"]](job)
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
