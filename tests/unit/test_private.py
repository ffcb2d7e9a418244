"""`_private` where it is private: what no other file asks for begins with "_", and what does so
stays at home.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASKING = ("powertui", "tests", "benchmarks", "scripts")

# Asked for by these names in every module of a table: readers, tools, sources, verbs; a program's
# start. `end_all` is what a signal asks of whoever started processes, where that was imported.
OF_A_TABLE = {"sniff", "load", "answer", "make", "arguments", "run", "main", "end_all"}

# The same of constants.
OF_A_TABLE_TOO = {
    "NAME",
    "SUFFIXES",
    "CERTAIN",
    "CLOCK",
    "UNITS_WRITTEN",
    "PERIOD_S",
    "TAKES_OPTIONS",
    "HELP",
    "USAGE",
    "ABOUT",
    "EXAMPLES",
}
# Public for whoever reads the file, though nobody else asks for them: an idiom that linters know.
KEPT = {"TYPE_CHECKING"}

_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from ([\w.]+) )?import (\([^)]*\)|.+)$", re.MULTILINE)
_BY_NAME = re.compile(
    r"""(?:\w:|attr\([^"'()]*["'](?:[\w.]+\.)?)(\w+)["']"""
)  # "module:Class", getattr(it, "NAME"), setattr("a.b.NAME", …)
_NAMED = re.compile(
    r""":(\w+)["']|["'], ["'](\w+)["']\),$""", re.MULTILINE
)  # "module:function", ("module", "function")


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def asked_for(source: str) -> set[tuple[str, str]]:
    """(module, name) of whatever a file takes from a module, by `from m import n`, as `m.n` or
    import_module("m").n.
    """
    bound: dict[str, set[str]] = defaultdict(set)
    found = set(re.findall(r'import_module\(\s*"([\w.]+)"\s*\)\.(\w+)', source))
    for origin, names in _IMPORT.findall(re.sub(r" *#.*", "", source)):
        for name, _, alias in (
            part.strip().partition(" as ") for part in names.strip("() ").split(",")
        ):
            found.add((origin, name))
            bound[alias or name].add(f"{origin}.{name}" if origin else name)
    for chain in re.findall(r"\b\w+(?:\.\w+)+", source):
        parts = chain.split(".")
        for i in range(1, len(parts)):
            found |= {(full, parts[i]) for full in bound.get(".".join(parts[:i]), ())}
    return found


def assigned(tree: ast.Module) -> set[str]:
    """Constants, types and classes of a module."""
    found = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    targets = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
    targets += [[node.target] for node in tree.body if isinstance(node, ast.AnnAssign)]
    return found | {
        name.id
        for some in targets
        for target in some
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement inside a class: without the expressions, which are ten times as many."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for part in getattr(node, field, ()):
            yield part
            yield from statements(part)


def shown(tree: ast.Module) -> set[str]:
    """Names in the types of a module's public functions, methods, attributes and bases: whoever
    uses these has to do with them.
    """
    found: set[str] = set()

    def public(name: str) -> bool:
        return name[0] != "_" or name.endswith("__")

    def note(node: ast.AST | None) -> None:
        for part in ast.walk(node) if node else ():
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.update(re.findall(r"\w+", part.value))

    def look(nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and public(node.name):
                for part in ast.walk(node.args):
                    note(part.annotation if isinstance(part, ast.arg) else None)
                note(node.returns)
            elif isinstance(node, ast.ClassDef) and public(node.name):
                for base in node.bases:
                    note(base)
                look(node.body)
                for part in statements(node):
                    if (
                        isinstance(part, ast.AnnAssign)
                        and isinstance(part.target, ast.Attribute)
                        and public(part.target.attr)
                    ):
                        note(part.annotation)
            elif (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and public(node.target.id)
            ):
                note(node.annotation)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if (
                    public(name) and name != name.upper()
                ) or name == "__all__":  # what a type stands for
                    note(node.value)

    look(tree.body)
    return found


def alone(sources: dict[Path, str]) -> set[tuple[str, str]]:
    """(module, name) of the public constants, types and classes that only their own file
    asks for.
    """
    taken = set().union(*(asked_for(source) for source in sources.values()))
    everything = "".join([*sources.values(), (ROOT / "pyproject.toml").read_text("utf-8")])
    by_name = (
        OF_A_TABLE_TOO | KEPT | set(_BY_NAME.findall(everything))
    )  # also what tests set for a while
    out = set()
    for path, source in sources.items():
        if path.is_relative_to(ROOT / "powertui"):
            tree = ast.parse(source)
            names = {name for name in assigned(tree) - shown(tree) - by_name if name[0] != "_"}
            out |= {(module(path), name) for name in names} - taken
    return out


def test_what_a_file_asks_for() -> None:
    source = (
        "import a.b\nfrom c import d as e, f\nfrom g import (\n    h,\n)\nx = "
        "e.one.more(a.b.two), y.z\n"
    )
    assert asked_for(source) == {
        ("", "a.b"),
        ("c", "d"),
        ("c", "f"),
        ("g", "h"),
        ("g", ""),
        ("c.d", "one"),
        ("a.b", "two"),
    }


@functools.cache
def all_sources() -> dict[Path, str]:
    return {
        path: path.read_text("utf-8")
        for folder in ASKING
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def test_constants_and_classes_of_one_file_are_private() -> None:
    found = sorted(".".join(one) for one in alone(all_sources()))
    assert found == [], (
        "Only their own file asks for these: begin their names with an underscore, or take "
        "them out."
    )


def test_what_a_file_shows_of_its_types() -> None:
    source = """
A = B = 1
To = dict[str, "U"]
class C(D):
    e: F
    _g: H
    def i(self, j: K = L) -> "M | N": self.o: P = 1
    def _q(self, r: S): ...
def v(*w: X, **y: Z) -> _AA: ...
"""
    tree = ast.parse(source)
    assert assigned(tree) == {"A", "B", "To", "C"}
    assert shown(tree) == {"dict", "str", "U", "D", "F", "K", "M", "N", "P", "X", "Z", "_AA"}
    assert alone(
        {ROOT / "powertui" / "x.py": source, ROOT / "tests" / "y.py": "from powertui.x import B"}
    ) == {("powertui.x", name) for name in ("A", "To", "C")}


def test_functions_of_one_file_are_private_and_private_ones_stay_at_home() -> None:
    sources = all_sources()
    asked = {path: asked_for(source) for path, source in sources.items()}
    ours = {module(path): path for path in sources if path.is_relative_to(ROOT / "powertui")}
    defined = {
        (where, name) for where, path in ours.items() for name in _FUNCTION.findall(sources[path])
    }
    assert len(defined) > 2000  # it reads them
    tables = "".join(
        [*(sources[path] for path in ours.values()), (ROOT / "pyproject.toml").read_text("utf-8")]
    )
    by_name = OF_A_TABLE | {name for names in _NAMED.findall(tables) for name in names}
    taken = set().union(*asked.values())
    at_home = {
        f"{where}.{name}"
        for where, name in defined - taken
        if name[0] != "_" and name not in by_name
    }
    assert sorted(at_home) == [], (
        "Only their own file asks for these: begin their names with an underscore, or take "
        "them out."
    )
    borrowed = {one for path in ours.values() for one in asked[path] if one[1].startswith("_")}
    assert {f"{where}.{name}" for where, name in borrowed & defined} == set(), (
        "These are another file's own."
    )
