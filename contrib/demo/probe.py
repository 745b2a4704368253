"""Print, as one line of JSON, which Python runs this, from where, on what.

A job of the demo runs it in every task; the lines are compared with what the
lock's packages say. Without NumPy in the environment its two fields are null.
With --all, the environment and the search paths too. The short form stays below
1 kB, so that Slurm passes the lines of many tasks on unbroken.
"""

import hashlib
import json
import os
import platform
import struct
import sys

MACHINES = {62: "x86_64", 183: "aarch64"}


def elf_machine(path):
    """The machine that an ELF file is for, by name."""
    with open(path, "rb") as f:
        head = f.read(20)
    if head[:4] != b"\x7fELF":
        raise SystemExit(f"{path}: not an ELF file")
    number = struct.unpack("<H" if head[5] == 1 else ">H", head[18:20])[0]
    return MACHINES.get(number, str(number))


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    numpy_file = numpy_version = None
    try:
        import numpy
    except ModuleNotFoundError as e:
        if e.name != "numpy":
            raise
    else:
        numpy_file, numpy_version = numpy.__file__, numpy.__version__
        product = numpy.linalg.inv(numpy.eye(3) * 2) @ (numpy.eye(3) * 2)
        if not numpy.allclose(product, numpy.eye(3)):
            raise SystemExit("NumPy computes wrongly")
    interpreter = os.path.realpath(sys.executable)
    facts = {
        "host": os.environ.get("SLURMD_NODENAME", platform.node()),
        "task": os.environ.get("SLURM_PROCID"),
        "step": os.environ.get("SLURM_STEP_ID"),
        "sys.prefix": sys.prefix,
        "sys.executable": sys.executable,
        "interpreter": interpreter,
        "interpreter.sha256": sha256(interpreter),
        "machine": elf_machine(interpreter),
        "uname": platform.machine(),
        "python": platform.python_version(),
        "numpy.__file__": numpy_file,
        "numpy.__version__": numpy_version,
    }
    if "--all" in sys.argv[1:]:
        facts["environment"] = {
            k: v
            for k, v in sorted(os.environ.items())
            if k.startswith(("CONDA_", "PIXI_", "HPCENV_DEMO_")) or k in ("SSL_CERT_FILE", "PYTHONNOUSERSITE")
        }
        facts["path"] = os.environ.get("PATH", "").split(":")
        facts["sys.path"] = sys.path
    # One write, so that lines of many tasks do not mix.
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
