"""Rules that are asked once for all names that differ in numbers alone, against asking each name."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.make_big import make
from powertui import cli
from powertui.data import category, name_shapes
from powertui.data.asked import COMPAT
from powertui.data.conclusions.makers import late_starts, purposes, writing
from powertui.data.name_shapes import READ_CHARACTERS
from powertui.data.tools import event_types, launched_functions, name_classes, op_names
from tests.synthetic.traces import PlainNames

# What the rules look for, what separates numbers, and numbers.
_PIECES = (
    *("aten::", "mm", "view", "item", "MmBackward", "Iterator::", "MEMCPYHtoD", "MatMul", "a"),
    *("EagerLocalExecute: ", "__inference_", "profiler.py:", "(", "): start", "sleep", "nccl"),
    *("PyFunc", "fusion", "_fusion", "ResourceApplyAdam", "SaveV", "dataloader", "Compile"),
    *("KernelAndDeviceFunc::Run", "Executable::ExecuteHelper", ":_Mkl", "[", "]", "gloo:"),
    *("0", "7", "12", "305", ".", "_", "-", "/", ":", "#", " ", "\n", "é", "x" * 150),
)
_names = st.lists(st.lists(st.sampled_from(_PIECES), max_size=7).map("".join), max_size=25)


@settings(max_examples=300, deadline=None)
@given(_names)
def test_every_name_gets_what_its_rule_says_of_it(made: list[str]) -> None:
    shapes = name_shapes.name_shapes(PlainNames(made))
    for rule in (
        name_classes.name_class,
        category.work_category,
        event_types.type_by_time,
        event_types._may_speak,
        lambda name: category.op_type(name) != "",
        lambda name: launched_functions._function_match(name) is not None,
    ):
        answers = shapes.answers(rule)
        assert [answers[shape] for shape in shapes.of_name.tolist()] == list(map(rule, made))
    for pattern in (
        name_classes._OP_OF_HOST,
        name_classes._VIEW,
        name_classes._READ,
        launched_functions._GRADIENT_OP,
        late_starts._HANDS_OVER,
        writing._UPDATE,
        *(pattern for _, pattern in purposes.DECISIVE),
    ):
        assert shapes.found(pattern).tolist() == [
            pattern.search(name[:READ_CHARACTERS]) is not None for name in made
        ]


@settings(max_examples=300, deadline=None)
@given(_names, st.sampled_from(COMPAT))
def test_ops_are_those_that_each_name_stands_for(made: list[str], compat: Any) -> None:
    expected = op_names.OpTable()
    numbers = []
    for name in made:
        op = op_names.parsed(name, compat)
        numbers.append(expected.index(op) if op.form else -1)
    table = op_names.OpTable()
    used = np.ones(len(made), np.bool_)
    assert op_names.op_numbers(PlainNames(made), used, table, compat).tolist() == numbers
    assert list(table) == list(expected)


def test_names_that_differ_in_numbers_alone_share_a_shape() -> None:
    names = PlainNames(["a.1", "a.25", "a25", "a.1/b_2:C", "a.3/b_4444:C", "a.1", "é.1", "é.2"])
    shapes = name_shapes.name_shapes(names)
    assert shapes.of_name.tolist() == [0, 0, 1, 2, 2, 0, 3, 4]
    assert shapes.examples == ("a.1", "a25", "a.1/b_2:C", "é.1", "é.2")
    long = "x" * (READ_CHARACTERS - 2)
    shapes = name_shapes.name_shapes(PlainNames([f"{long}.1", f"{long}.2", f"{long}.11"]))
    assert shapes.of_name.tolist() == [0, 0, 1]


def test_names_that_are_added_get_shapes() -> None:
    names = PlainNames(["a.1"])
    assert len(name_shapes.name_shapes(names).of_name) == 1
    names._names.append("b.1")
    assert name_shapes.name_shapes(names).of_name.tolist() == [0, 1]


def test_beginnings_are_those_of_python() -> None:
    words = ["Iterator::A", "Iterator::", "Iterator:", "", "Iter", "Iterator::Ä", "FunctionRun"]
    names = PlainNames(words)
    for prefix in ("Iterator::", "", "FunctionRun", "Ä"):
        begins = name_shapes.beginning(names, prefix, "$")
        assert begins.tolist() == [word.startswith(prefix) for word in words]
        is_one = name_shapes.beginning(names, prefix, "$", whole=True)
        assert is_one.tolist() == [word == prefix for word in words]


def test_a_report_asks_no_pattern_for_every_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.make_big.GENERATED", tmp_path)
    questions = []
    for names in (1_000, 6_000):
        logdir = make(30_000, names).parents[3]
        _count_questions(logdir)  # modules and patterns are loaded
        questions.append(_count_questions(logdir))
    few, many = questions
    capsys.readouterr()
    # Asking each name by itself took 18 questions a name.
    assert many - few < 6_000 - 1_000


def _count_questions(logdir: Path) -> int:
    """How often a report asks a pattern something."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and type(getattr(called, "__self__", None)).__name__ == "Pattern":
            calls[called.__name__] += 1

    sys.setprofile(count)
    try:
        assert cli.main(["report", str(logdir)]) == 0
    finally:
        sys.setprofile(None)
    return calls.total()
