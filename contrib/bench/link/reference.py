"""Install the packages of a list with py-rattler and print the seconds that took.

reference.py LIST PREFIX CACHE: LIST is JSON, as contenders.go writes it. Start-up
and reading the list are not counted.
"""
import asyncio
import json
import os
import sys
import time

from rattler import BuildString, PackageRecord, RepoDataRecord, Subdir, install


def record(p):
    return RepoDataRecord(
        PackageRecord(
            name=p["name"], version=p["version"], build=BuildString(p["build"]), build_number=0, subdir=p["subdir"],
            noarch="python" if p["noarch"] else None, depends=p["depends"],
            sha256=bytes.fromhex(p["sha256"]), md5=bytes.fromhex(p["md5"]), size=p["size"],
        ),
        p["file"], p["url"], p["channel"],
    )


async def main():
    packages, prefix, cache = sys.argv[1:]
    with open(packages) as f:
        records = [record(p) for p in json.load(f)]
    start = time.monotonic()
    await install(records, target_prefix=prefix, cache_dir=cache, platform=Subdir("linux-64"), show_progress=False)
    print(time.monotonic() - start, flush=True)
    # Its threads may outlive the interpreter and then crash.
    os._exit(0)


asyncio.run(main())
