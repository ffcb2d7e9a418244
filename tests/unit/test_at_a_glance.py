"""What everybody asks of a run first: the same figures as every other page has."""

from __future__ import annotations

from pathlib import Path

import pytest

import powertui
from powertui import demo
from powertui.data.asked import Aligning
from powertui.data.model import Badge
from powertui.data.overview import overview_facts
from powertui.data.overview.at_a_glance import Glance, at_a_glance
from powertui.data.table import Fact
from powertui.data.tools.registry import Question
from powertui.screens.timeline_footer import glance_rows
from powertui.view.glance_lines import (
    glance_section,
    packed_lines,
    short_facts,
)


def glance_of(path: Path) -> Glance:
    opened = powertui.open(path)[0].opened
    glance = at_a_glance(opened, Aligning())
    assert glance is not None
    return glance


def test_the_demo_says_what_its_sentences_and_its_first_page_say() -> None:
    run = powertui.open(demo.folder())[0]
    glance = at_a_glance(run.opened, Aligning())
    assert glance is not None
    sentences = " ".join(run.conclusions["sentence"])
    assert glance.input == "0.3 % of the time"
    assert "waiting for input 0.3 %" in sentences
    assert glance.drew_more == ("+59 W, +149 J: epoch 1, steps 46-71",)
    assert "Epoch 1, steps 46-71: +59 W for 2.52 s, +149 J" in sentences
    account = run.opened.profiles[0]
    question = Question(run.opened, aligning=Aligning())
    from powertui.data.energy.account import energy_account

    assert glance.energy == tuple(
        overview_facts.energy(question, energy_account(account, Aligning()))
    )
    lines = {line.name: line.value for line in glance_section(glance).facts}
    assert lines == {
        "input wait": "0.3 % of the time",
        "drew more": "+59 W, +149 J: epoch 1, steps 46-71",
        "epoch 0": "2,617 J ± 16",
        "epoch 1": "2,748 J ± 22",
        "profile": "5,164 J ± 16",
        "a step": "23.08 J ± 0.11",
    }
    # Two lines of what drew more, and a title: as many as were kept for them.
    assert len(lines) + 2 == glance_rows(1, 2)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tf_input_bound", "of the time"),
        ("torch_slowdl", "of the time"),
        ("jax_nomark", "none recorded"),
    ],
)
def test_without_power_it_says_so_and_input_is_what_the_sentence_says(
    shared_data: Path, name: str, said: str
) -> None:
    path = shared_data / "own" / "sentences" / name
    run = powertui.open(path)[0]
    glance = glance_of(path)
    assert glance.drew_more == ("no power log",)
    assert glance.energy == ()
    assert said in glance.input
    share = glance.input.partition(" of ")[0]
    if said == "of the time":
        assert any(share in sentence for sentence in run.conclusions["sentence"])
    assert len(glance_section(glance).facts) + 1 == glance_rows(0, 0)


def test_a_log_whose_place_is_not_known_says_why_nothing_can_be_told(
    tmp_path: Path, shared_data: Path
) -> None:
    path = shared_data / "own" / "sentences" / "jax_capture"
    log = tmp_path / "power.csv"
    log.write_text("time,watts\n" + "".join(f"{i / 10},{200 + i % 3}\n" for i in range(9)))
    opened = powertui.open(path, power=(str(log),))[0].opened
    glance = at_a_glance(opened, Aligning())
    assert glance is not None
    assert all(line.startswith("cannot tell") for line in glance.drew_more)


def _fact(id: str, label: str, value: float | None, why: str = "") -> Fact:
    lo = None if value is None else value - 1
    hi = None if value is None else value + 1
    return Fact(id, label, value, "number", "J", Badge.MEASURED, lo, hi, why=why)


def test_of_many_epochs_the_first_two_and_the_last_are_shown() -> None:
    epochs = tuple(_fact(f"epoch_{n}_joules", f"epoch {n}", 100.0 + n) for n in range(9))
    glance = Glance("none recorded", ("nothing unexplained",), epochs)
    names = [line.name for line in glance_section(glance).facts]
    assert names == ["input wait", "drew more", "epoch 0", "epoch 1", "epoch 8"]
    assert all(line.badge is None for line in glance_section(glance).facts), "measured goes unsaid"


def test_an_epoch_without_joules_is_named_where_another_has_some() -> None:
    why = "not resolved: 4.6 s is too short"
    epochs = (
        _fact("epoch_0_joules", "epoch 0", 90.0),
        _fact("epoch_1_joules", "epoch 1", None, why),
    )
    both = Glance("none recorded", ("cannot tell",), epochs)
    assert [line.value for line in glance_section(both).facts][2:] == [
        "90.0 J ± 1.0",
        "not resolved",
    ]
    assert short_facts(both) == ["input wait none recorded", "epoch 0 90.0 J ± 1.0"]
    none = Glance("none recorded", ("cannot tell",), epochs[1:])
    assert len(glance_section(none).facts) == 2


def test_several_stretches_are_counted() -> None:
    glance = Glance("none recorded", ("+5 W: a", "+4 W: b", "+3 W: c"), ())
    assert glance_section(glance).facts[1].value == "+5 W: a (and 2 more)"


def test_parts_fill_lines_and_none_is_cut() -> None:
    parts = [("a" * 10,), ("b" * 30, "b" * 12), ("c" * 5,), ("d" * 30,), ()]
    assert packed_lines(parts, 20, 2) == ["aaaaaaaaaa · ccccc", "bbbbbbbbbbbb"]
    assert packed_lines([], 20, 2) == ["", ""]
