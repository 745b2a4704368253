"""Prints as JSON what this Python knows of the distributions named in argv[1],
and of the modules named in the others."""
import importlib
import importlib.metadata as md
import json
import re
import sys


def canonical(key, value):
    if key == "requires-dist":
        from packaging.requirements import Requirement
        req = Requirement(value)
        marker, req.marker = str(req.marker or ""), None
        return str(req) + "; " + " and ".join(sorted(marker.split(" and ")))
    if key == "keywords":
        return ",".join(sorted(re.split(r"\s*,\s*", value)))
    if key == "requires-python":
        from packaging.specifiers import SpecifierSet
        return str(SpecifierSet(value))
    return value


dist = md.distribution(sys.argv[1])
fields = {}
for key, value in dist.metadata.items():
    fields.setdefault(key.lower(), []).append(canonical(key.lower(), value))
body = dist.metadata.get_payload()
out = {
    "metadata": {k: sorted(v) for k, v in fields.items()},
    "description": (body or "").strip(),
    "version": md.version(sys.argv[1]),
    "entry_points": sorted([e.group, e.name, e.value] for e in dist.entry_points),
    "loaded": sorted(e.name for e in dist.entry_points if callable(e.load())),
    "direct_url": json.loads(dist.read_text("direct_url.json")),
    "top_level": (dist.read_text("top_level.txt") or "").split(),
    "files": sorted(str(f) for f in dist.files),
    "path": sys.path,
    "modules": {},
}
for name in sys.argv[2:]:
    try:
        m = importlib.import_module(name)
        out["modules"][name] = m.__file__ or sorted(m.__path__)
    except ImportError:
        out["modules"][name] = None
print(json.dumps(out))
