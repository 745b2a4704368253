"""Compile every file of a folder to hash-based byte-code in another folder.

Files are named by their content, so the compiled file depends on nothing but
the source and this Python: import puts the real path into the code object.
Sources that are no Python 3 (test data of old tools) are left out.
"""

import importlib.util
import marshal
import os
import sys

UNCHECKED_HASH = (1).to_bytes(4, "little")


def main(sources, out):
    for name in sorted(os.listdir(sources)):
        with open(os.path.join(sources, name), "rb") as f:
            source = f.read()
        try:
            code = compile(source, "hpcenv-demo", "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError):
            continue
        # Up to 3.11, later marshal versions note which objects are shared, which
        # depends on what was compiled before.
        body = marshal.dumps(code, 2 if sys.version_info < (3, 12) else marshal.version)
        with open(os.path.join(out, name), "wb") as f:
            f.write(importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(source) + body)


main(*sys.argv[1:])
