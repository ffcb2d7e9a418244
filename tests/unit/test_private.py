"""`_private` where it is private: a function that no other file asks for begins with "_", and one that does stays at home."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASKING = ("powertui", "tests", "benchmarks", "scripts")

# Asked for by these names in every module of a table: readers, tools, sources, verbs; a program's start.
OF_A_TABLE = {"sniff", "load", "answer", "make", "arguments", "run", "main"}

_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from ([\w.]+) )?import (\([^)]*\)|.+)$", re.MULTILINE)
_NAMED = re.compile(r""":(\w+)["']|["'], ["'](\w+)["']\),$""", re.MULTILINE)  # "module:function", ("module", "function")


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def asked_for(source: str) -> set[tuple[str, str]]:
    """(module, name) of whatever a file takes from a module, by `from m import n`, as `m.n` or import_module("m").n."""
    bound: dict[str, set[str]] = defaultdict(set)
    found = set(re.findall(r'import_module\("([\w.]+)"\)\.(\w+)', source))
    for origin, names in _IMPORT.findall(re.sub(r" *#.*", "", source)):
        for name, _, alias in (part.strip().partition(" as ") for part in names.strip("() ").split(",")):
            found.add((origin, name))
            bound[alias or name].add(f"{origin}.{name}" if origin else name)
    for start, name in re.findall(r"\b(\w+(?:\.\w+)*)\.(\w+)", source):
        found |= {(full, name) for full in bound.get(start, ())}
    return found


def test_what_a_file_asks_for() -> None:
    source = "import a.b\nfrom c import d as e, f\nfrom g import (\n    h,\n)\nx = e.one(a.b.two), y.z\n"
    assert asked_for(source) == {("", "a.b"), ("c", "d"), ("c", "f"), ("g", "h"), ("g", ""), ("c.d", "one"), ("a.b", "two")}


def test_functions_of_one_file_are_private_and_private_ones_stay_at_home() -> None:
    sources = {path: path.read_text("utf-8") for folder in ASKING for path in sorted((ROOT / folder).rglob("*.py"))}
    asked = {path: asked_for(source) for path, source in sources.items()}
    ours = {module(path): path for path in sources if path.is_relative_to(ROOT / "powertui")}
    defined = {(where, name) for where, path in ours.items() for name in _FUNCTION.findall(sources[path])}
    assert len(defined) > 2000  # it reads them
    tables = "".join([*(sources[path] for path in ours.values()), (ROOT / "pyproject.toml").read_text("utf-8")])
    by_name = OF_A_TABLE | {name for names in _NAMED.findall(tables) for name in names}
    taken = set().union(*asked.values())
    alone = {f"{where}.{name}" for where, name in defined - taken if name[0] != "_" and name not in by_name}
    assert sorted(alone) == [], "Only their own file asks for these: begin their names with an underscore, or take them out."
    borrowed = {one for path in ours.values() for one in asked[path] if one[1].startswith("_")}
    assert {f"{where}.{name}" for where, name in borrowed & defined} == set(), "These are another file's own."
