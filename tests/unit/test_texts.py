"""Many texts as bytes, against Python's own texts one by one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui import demo
from powertui.data import loading, logdir, name_shapes, texts
from powertui.data.texts import Texts
from powertui.errors import Cancelled
from tests.synthetic.traces import PlainNames

some = st.lists(st.text(st.sampled_from("abAB01.:/_-é\0Ω "), max_size=20), max_size=30)


@settings(max_examples=200, deadline=None)
@given(some, st.text(st.sampled_from("abAB0.é"), max_size=4))
def test_what_holds_a_text_is_what_python_finds(made: list[str], part: str) -> None:
    held = Texts.from_strings(made)
    assert held.strings() == made
    assert held.contain(part.encode()).tolist() == [part in text for text in made]
    assert texts.holding(part, fold=True)(held).tolist() == [
        part.lower() in text.lower() for text in made
    ]
    assert texts.holding(part, fold=False)(held).tolist() == [part in text for text in made]
    assert held.match(re.compile("a.?b|^0")).tolist() == [
        re.search("a.?b|^0", text) is not None for text in made
    ]
    assert held.cut(3).data.tobytes() == b"".join(text.encode()[:3] for text in made)


@settings(max_examples=200, deadline=None)
@given(some)
def test_ranks_are_those_of_sorting(made: list[str]) -> None:
    made = [text.replace("\0", "") for text in made]  # zeros fill up behind the end
    groups = np.array([len(text) % 3 for text in made], np.int64)
    for given_groups, keys in (
        (None, made),
        (groups, list(zip(groups.tolist(), made, strict=True))),
    ):
        order = sorted(set(keys))
        assert Texts.from_strings(made).ranks(given_groups).tolist() == [
            order.index(key) for key in keys
        ]


@given(some)
def test_equal_texts_share_a_mark(made: list[str]) -> None:
    marks = Texts.from_strings([*made, *made]).marks()
    assert marks[: len(made)].tolist() == marks[len(made) :].tolist()


def test_other_texts_nearly_never_share_a_mark() -> None:
    made = [f"{a}/layer_{b}/MatMul.{a * b}:MatMul" for a in range(100) for b in range(100)]
    assert len(set(Texts.from_strings(made).marks().tolist())) == len(set(made))


@settings(max_examples=200, deadline=None)
@given(some)
def test_numbers_of_instances_are_taken_out_as_by_the_expression(made: list[str]) -> None:
    expected = [re.sub(r"(?<=[._\-/:# ])\d+", "0", text) for text in made]
    assert name_shapes.without_numbers(Texts.from_strings(made)).strings() == expected
    plain = [text.encode("ascii", "ignore").decode() for text in made]
    assert name_shapes.without_numbers(Texts.from_strings(plain)).strings() == [
        re.sub(r"(?<=[._\-/:# ])\d+", "0", text) for text in plain
    ]


@pytest.mark.parametrize("recording", ["demo", "public/tf_gpu_multiworker", "own/jax_cpu"])
def test_names_of_files_are_the_same_all_at_once(
    recording: str, request: pytest.FixtureRequest
) -> None:
    path = (
        Path(demo.folder())
        if recording == "demo"
        else request.getfixturevalue("shared_data") / recording
    )
    for trace in loading.load_run(logdir.scan(path).runs[0]).traces:
        names = trace.names
        every = np.random.default_rng(0).permutation(len(names))
        full, own = names.texts(every).strings(), names.texts(every, display=True).strings()
        assert full == [names.full(i) for i in every.tolist()]
        assert [short or long for short, long in zip(own, full, strict=True)] == [
            names.display(i) for i in every.tolist()
        ]
        assert texts.displayed(names, every).strings() == [names.display(i) for i in every.tolist()]


def test_a_person_who_gave_up_is_heard_between_batches() -> None:
    names = PlainNames([f"op{i}" for i in range(3 * texts.BATCH)])
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) > 1:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        texts.matching(names, texts.holding("op", fold=True), check=check)
    assert len(asked) == 2


def test_beginnings_are_those_of_python() -> None:
    words = [
        "Iterator::A",
        "Iterator::",
        "Iterator:",
        "",
        "Iter",
        "xIterator::",
        "Iterator::Ä",
        "FunctionRun",
    ]
    found = Texts.from_strings(words)
    for prefix in ("Iterator::", "", "FunctionRun", "Ä"):
        assert found.begin(prefix.encode()).tolist() == [word.startswith(prefix) for word in words]


def test_whether_any_begins() -> None:
    words = ["GpuRun", "xcuLaunchKernel", "cu", "LaunchKernel", ""]
    gathered = Texts.from_strings(words)
    assert gathered.any_begins([b"hip", b"Gpu"])
    # The bytes hold it: inside one text, and from the end of one into the next.
    assert not gathered.any_begins([b"cuLaunchKernel", b"Kernelcu"])
    assert not gathered.any_begins([])
    assert not Texts.from_strings([]).any_begins([b"Gpu"])


def test_among() -> None:
    found = Texts.from_strings(["Run", "FunctionRun", "", "xFunctionRun", "Rün"])
    assert found.among({"FunctionRun", "Rün"}).tolist() == [False, True, False, False, True]
    assert not Texts.from_strings([]).among({"a"}).any()
