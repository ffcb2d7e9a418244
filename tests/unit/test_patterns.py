"""Patterns that are compiled when they are first asked something."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

import powertui
from powertui.patterns import late_pattern

PACKAGE = Path(powertui.__file__).parent


def test_a_pattern_answers_as_a_compiled_one() -> None:
    late = late_pattern(r"(?P<word>[a-z]+)-(\d+)", re.IGNORECASE)
    compiled = re.compile(r"(?P<word>[a-z]+)-(\d+)", re.IGNORECASE)
    text = "GPU-0, cpu-17; none"
    assert late.findall(text) == compiled.findall(text) == [("GPU", "0"), ("cpu", "17")]
    assert [match.span() for match in late.finditer(text)] == [(0, 5), (7, 13)]
    assert late.sub(r"\2", text) == compiled.sub(r"\2", text) == "0, 17; none"
    assert late.subn("x", text, count=1) == compiled.subn("x", text, count=1)
    assert late.split(text) == compiled.split(text)
    for method in ("search", "match", "fullmatch"):
        for given in (text, "cpu-1", "-"):
            found, expected = getattr(late, method)(given), getattr(compiled, method)(given)
            assert (found and found.groupdict()) == (expected and expected.groupdict())
    assert (late.pattern, late.flags, late.groups) == (
        compiled.pattern,
        compiled.flags,
        compiled.groups,
    )
    assert late.groupindex == compiled.groupindex


def test_bytes_are_searched_as_well() -> None:
    assert late_pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_nothing_is_compiled_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_now = re.compile

    def counting_compile(text: str, flags: int) -> re.Pattern[str]:
        compiled.append(text)
        return compile_now(text, flags)

    monkeypatch.setattr(re, "compile", counting_compile)
    late = late_pattern("a+")
    assert not compiled
    assert late.search("caat")
    assert late.search("aa")
    assert compiled == ["a+"]  # and only once


def test_another_process_gets_the_same_pattern() -> None:
    late = late_pattern("A+", re.IGNORECASE)
    asked = late_pattern("b")
    assert asked.search("b")
    for given, text in ((late, "caat"), (asked, "bb")):
        copied = pickle.loads(pickle.dumps(given))
        assert copied.search(text).span() == given.search(text).span()  # type: ignore[union-attr]
        assert copied.flags == given.flags


def test_a_name_that_no_pattern_has_is_an_error() -> None:
    with pytest.raises(AttributeError):
        late_pattern("a").found  # type: ignore[attr-defined]  # noqa: B018


def late_modules() -> list[str]:
    """The modules that make patterns so."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "import late_pattern" in path.read_text("utf-8"):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found.append(".".join(parts).removesuffix(".__init__"))
    return found


def test_every_pattern_of_the_package_can_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = late_modules()
    assert len(modules) > 30
    late_kind = type(late_pattern(""))
    count = 0
    for name in modules:
        for value in vars(importlib.import_module(name)).values():
            for pattern in patterns_in(value, late_kind):
                assert re.compile(pattern.pattern, 0)
                count += 1
    assert count > 150


def patterns_in(value: object, kind: type) -> Iterator[re.Pattern[str]]:
    """The patterns that a value of a module holds."""
    if isinstance(value, kind):
        yield value  # type: ignore[misc]
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from patterns_in(key, kind)
            yield from patterns_in(held, kind)
    elif isinstance(value, (tuple, list)):
        for held in value:
            yield from patterns_in(held, kind)


def test_no_function_of_re_is_given_a_pattern_that_is_compiled_late() -> None:
    # `re.search(PATTERN, text)` takes a compiled pattern, and none of these.
    asked_wrongly: list[str] = []
    looked_into = 0
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if "late_pattern" not in text or "re." not in text:
            continue  # a file that lacks one of the two words can do nothing wrong
        looked_into += 1
        tree = ast.parse(text)
        names = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and is_call_of(node.value, "late_pattern")
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not is_function_of_re(node) or not isinstance(node.args[0], ast.Name):
                continue
            if node.args[0].id in names:
                asked_wrongly.append(f"{path.name}:{node.lineno}")
    assert looked_into > 5
    assert asked_wrongly == []


def is_function_of_re(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a node calls a function of `re`, with something."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    module = node.func.value
    return bool(node.args) and isinstance(module, ast.Name) and module.id == "re"


def is_call_of(node: ast.AST, name: str) -> bool:
    """Whether a node of Python's text calls a function of this name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
