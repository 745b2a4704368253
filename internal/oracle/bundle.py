"""Reads an unpacked bundle as conda tools do: as a channel, without its lock.

bundle.py DIR LOCK PREFIX CACHE solves for the packages that DIR/environment.yml
names with DIR/channel as the only channel, installs what was found to PREFIX, and
prints what it found and what LOCK says, each as one JSON list of records.
"""

import asyncio
import json
import os
import pathlib
import sys

from rattler import Channel, Gateway, LockFile, MatchSpec, RepoData, Subdir, install, solve

root, lock, prefix, cache = map(pathlib.Path, sys.argv[1:])
platform = json.loads((root / "pixi-pack.json").read_text())["platform"]

specs, order, lines = [], [], (root / "environment.yml").read_text().splitlines()
if lines[:4] != ["channels:", "  - ./channel", "  - nodefaults", "dependencies:"]:
    raise ValueError("environment.yml begins with %s" % lines[:4])
for line in lines[4:]:
    specs.append(MatchSpec(line.removeprefix("  - ")))
    order.append(line.removeprefix("  - ").split("=")[0])


def told(file, record):
    return {
        "file": file,
        "sha256": record.sha256.hex(),
        "size": record.size,
        "subdir": record.subdir,
        "name": record.name.source,
        "version": str(record.version),
        "build": str(record.build),
        "build_number": record.build_number,
        "depends": record.depends,
        "constrains": record.constrains,
        "noarch": str(record.noarch),
        "license": record.license,
        "timestamp": str(record.timestamp),
        "site": record.python_site_packages_path,
    }


async def main():
    for index in sorted((root / "channel").glob("*/repodata.json")):
        RepoData.from_path(index)  # as a whole: fails for what it does not take
    records = await solve(
        sources=[Channel((root / "channel").as_uri())],
        specs=specs,
        gateway=Gateway(cache_dir=cache / "repodata"),
        platforms=[Subdir(platform), Subdir("noarch")],
    )
    # What wins where two packages have one path depends on the order.
    records.sort(key=lambda r: order.index(r.name.source))
    await install(
        records, target_prefix=prefix, cache_dir=cache / "packages", installed_packages=[], platform=Subdir(platform),
        execute_link_scripts=False, show_progress=False,
    )
    environment = LockFile.from_path(lock).environment("default")
    (of,) = [p for p in environment.platforms() if str(p) == platform]
    locked = [(pathlib.Path(p.location).name, p.package_record) for p in environment.packages(of)]
    for found in ([(r.file_name, r) for r in records], locked):
        print(json.dumps(sorted((told(*r) for r in found), key=lambda r: r["file"])))


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # before rattler's threads can crash
