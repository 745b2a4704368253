"""Compile sources to byte-code.

Runs in a sandbox, under the Python that compiles, and uses built-in modules
only. Reads requests from stdin: one letter, the length of a source (4 bytes,
little end first), the source. Answers each on stdout: one letter, a length, as
many bytes. First of all it says what it is: its name, the file tag, the magic
number, the hash of a known source.

  request c: compile         answer k: the whole file, x: why it cannot be
  request h: only a header   answer k: the 16 bytes of an unchecked hash
                             answer m: no memory; nothing is known of the source
  request t: compile for any environment; before the source: two stand-ins for the
             id of an environment, and the id of one (32 bytes each). The source
             has the first stand-in where the id belongs.
                             answer k, x: the same with another id in its place
                             answer e, f: k, x for this id; others need to ask again
"""

import gc
import marshal
import sys

import _imp
from _frozen_importlib_external import MAGIC_NUMBER

# The name in every code object; import puts the real one in its place, so that
# the file depends on no path.
NAME = "hpcenv"
# Bit 0: validated by hash; bit 1 (not set): the hash is not looked at.
UNCHECKED_HASH = (1).to_bytes(4, "little")
# Up to 3.11 later versions of the format note which objects are shared, which
# depends on what was compiled before.
MARSHAL = 2 if sys.version_info < (3, 12) else marshal.version

# A flag of compile: the syntax tree, before anything is computed.
TREE = 0x400
# How long the id of an environment is.
ID = 32

stdin = sys.stdin.buffer
stdout = sys.stdout.buffer


def answer(kind, data):
    stdout.write(kind + len(data).to_bytes(4, "little") + data)
    stdout.flush()


def header(source):
    key = int.from_bytes(MAGIC_NUMBER, "little")
    return MAGIC_NUMBER + UNCHECKED_HASH + _imp.source_hash(key, source)


def has_set(code):
    for const in code.co_consts:
        if isinstance(const, frozenset) or hasattr(const, "co_consts") and has_set(const):
            return True
    return False


def compiled(source):
    code = compile(source, NAME, "exec", dont_inherit=True, optimize=0)
    if MARSHAL > 2 and has_set(code):
        # A set of names is shared among functions only if its names were known
        # before. While the first code lives, they are.
        again = compile(source, NAME, "exec", dont_inherit=True, optimize=0)
        del code
        return again
    return code


def roomy():
    """Tell whether nearly all that this process may have is free: then it was not
    memory that the parser lacked. No page of it is touched."""
    try:
        bytes(5 << 29)
    except MemoryError:
        return False
    return True


def serve(kind, source):
    if kind == b"h":
        return b"k", header(source)
    try:
        return b"k", header(source) + marshal.dumps(compiled(source), MARSHAL)
    except MemoryError:
        if not roomy():
            return b"m", b""
        text = "MemoryError: its expressions are nested too deeply"
    except SyntaxError as e:
        text = "%s: %s (line %s)" % (type(e).__name__, e.msg, e.lineno)
    except Exception as e:
        text = "%s: %s" % (type(e).__name__, e)
    return b"x", text[:300].encode("utf-8", "backslashreplace")


def whole(source, mark):
    """Tell whether constants with the mark reach the code as they are: none is
    subscripted, which the compiler may compute, and none is in a set, whose order
    depends on what is in it."""
    try:
        todo = [(compile(source, NAME, "exec", TREE, dont_inherit=True), False)]
        while todo:
            node, risk = todo.pop()
            if isinstance(node, list):
                todo.extend((part, risk) for part in node)
            elif isinstance(node, str):
                if risk and mark.decode() in node:
                    return False
            elif isinstance(node, bytes):
                if risk and mark in node:
                    return False
            else:
                name = type(node).__name__
                risk = name in ("Subscript", "Set") or risk and name != "Call"
                todo.extend((getattr(node, part, None), risk) for part in getattr(node, "_fields", ()))
    except Exception:
        return False
    return True


def template(one, other, own, source):
    kind, body = serve(b"c", source)
    if kind == b"m":
        return kind, body
    head = 16 if kind == b"k" else 0
    again, expected = serve(b"c", source.replace(one, other))
    if again == kind and body[head:].replace(one, other) == expected[head:] and (kind == b"x" or whole(source, one)):
        return kind, body
    kind, body = serve(b"c", source.replace(one, own))
    return {b"k": b"e", b"x": b"f"}.get(kind, kind), body


def main():
    gc.disable()
    tag = sys.implementation.cache_tag or ""
    answer(b"v", b"\n".join([sys.implementation.name.encode(), tag.encode(), MAGIC_NUMBER.hex().encode(), header(b"hpcenv")[8:].hex().encode()]))
    while True:
        kind = stdin.read(1)
        if not kind:
            return
        data = stdin.read(int.from_bytes(stdin.read(4), "little"))
        if kind == b"t":
            answer(*template(data[:ID], data[ID:2 * ID], data[2 * ID:3 * ID], data[3 * ID:]))
        else:
            answer(*serve(kind, data))


main()
