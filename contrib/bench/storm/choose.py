"""Chooses what the recorded process imports: NumPy, and then so many further
modules of the prefix, taken evenly from all that there are. It writes a program
that imports them: choose.py COUNT FILE"""

import importlib
import io
import pkgutil
import sys
import warnings

# Tests, what needs a display, what does something when it is imported.
SKIP = {"test", "tests", "testing", "idlelib", "lib2to3", "tkinter", "turtle", "turtledemo", "antigravity", "this", "distutils", "conftest"}


def loaded():
    """The modules of the prefix that are loaded from files."""
    return {name for name, m in list(sys.modules.items()) if (getattr(m, "__file__", None) or "").startswith(sys.prefix)}


def candidates():
    """All modules by name, without importing any: packages are walked as folders."""
    todo = [("", sys.path[1:])]
    while todo:
        before, path = todo.pop()
        for m in pkgutil.iter_modules(path):
            if m.name in SKIP or m.name.startswith("_"):
                continue
            yield before + m.name
            if m.ispkg:
                todo.append((before + m.name + ".", [f"{m.module_finder.path}/{m.name}"]))


def main():
    count, file = int(sys.argv[1]), sys.argv[2]
    warnings.simplefilter("ignore")
    sys.stdout = sys.stderr = io.StringIO()  # some modules talk
    importlib.import_module("numpy")
    base = len(loaded())
    names = sorted(candidates())
    # An odd step visits all of them, and neighbours late.
    step = 97 if len(names) % 97 else 101
    taken = ["numpy"]
    for i in range(len(names)):
        left = count - (len(loaded()) - base)
        if left <= 0:
            break
        name = names[i * step % len(names)]
        before = loaded()
        if name in before:
            continue
        try:
            importlib.import_module(name)
        except BaseException:  # other systems' modules, missing extras
            continue
        taken.append(name)
    with open(file, "w") as f:
        f.write("import warnings\nwarnings.simplefilter('ignore')\n")
        f.writelines(f"import {name}\n" for name in taken)
    sys.stdout = sys.__stdout__
    print(len(loaded()) - base)


main()
