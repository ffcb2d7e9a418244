"""Textual's private names: all that are used are listed, and this Textual has each of them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from powertui.terminal import textual_private

ROOT = Path(__file__).parents[3]
FOLDERS = ("terminal", "screens", "widgets")
MODULES = (
    "textual.app", "textual.screen", "textual.widget", "textual.dom", "textual.message_pump",
    "textual.driver", "textual.drivers.linux_driver",
)  # fmt: skip


def class_of(place: str) -> type:
    module, _, name = place.partition(":")
    found: type = getattr(importlib.import_module(module), name)
    return found


METHODS = [
    (place, name, parameters)
    for place, methods in textual_private.METHODS.items()
    for name, parameters in methods.items()
]


@pytest.mark.parametrize(("place", "name", "parameters"), METHODS)
def test_methods_are_there_with_these_parameters(
    place: str, name: str, parameters: tuple[str, ...]
) -> None:
    method = getattr(class_of(place), name)
    assert tuple(inspect.signature(method).parameters)[1:] == parameters


@pytest.mark.parametrize("place", textual_private.STATE)
def test_state_is_set_by_its_class(place: str) -> None:
    found = class_of(place)
    source = "\n".join(inspect.getsource(cls) for cls in found.__mro__[:-1])
    for name in textual_private.STATE[place]:
        assert re.search(rf"\bself\.{name}\b|^    {name}\b|def {name}\(", source, re.MULTILINE), (
            name
        )


def test_no_other_private_name_of_textual_is_used() -> None:
    """Neither read nor overridden: a helper of ours that is called like one of Textual's replaces
    it.
    """
    listed = {name for methods in textual_private.METHODS.values() for name in methods}
    listed |= {name for names in textual_private.STATE.values() for name in names}
    sources = "".join(inspect.getsource(importlib.import_module(name)) for name in MODULES)
    theirs = set(re.findall(r"\b(?:def |self\.)(_[a-z]\w*)", sources))
    used = set()
    for folder in FOLDERS:
        for path in (ROOT / "powertui" / folder).rglob("*.py"):
            for class_node in ast.walk(ast.parse(path.read_text())):
                if isinstance(class_node, ast.ClassDef) and is_textual(class_node):
                    used |= {f"{path.name}: {name}" for name in private_names(class_node)}
    unknown = {name for name in used if name.split(": ")[1] in theirs - listed}
    assert unknown == set()


def is_textual(node: ast.ClassDef) -> bool:
    """Whether a class of ours stands on one of Textual's."""
    bases = " ".join(ast.unparse(base) for base in node.bases)
    return bool(re.search(r"App|Screen|Dialog|Widget|Driver|Static|Input|Paced|Lines|View", bases))


def private_names(node: ast.ClassDef) -> set[str]:
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(part.name)
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_only_one_file_imports_from_private_modules() -> None:
    importing = [
        path.name
        for path in (ROOT / "powertui").rglob("*.py")
        if re.search(r"^\s*(?:from|import) textual\._", path.read_text(), re.MULTILINE)
    ]
    assert importing == ["textual_private.py"]
