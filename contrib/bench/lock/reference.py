"""Read the locks whose paths come on standard input, and answer each with the
nanoseconds that took."""
import pathlib
import sys
import time

from rattler import LockFile

for line in sys.stdin:
    path = pathlib.Path(line.rstrip("\n"))
    start = time.monotonic_ns()
    lock = LockFile.from_path(path)
    took = time.monotonic_ns() - start
    del lock
    print(took, flush=True)
