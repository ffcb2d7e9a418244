"""One grammar for places: what is written is read back as it was, whatever names are in it."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui import cli, demo, units
from powertui.data import logdir
from powertui.data.model import Epoch
from powertui.data.opened import Opened
from powertui.errors import UsageError
from powertui.place_words import (
    host_named,
    host_word,
    name_words,
    parse_place,
    shell_word,
    times_words,
)
from powertui.plain import plain
from powertui.screens.place_check import host_of_place
from powertui.screens.session import Session
from powertui.view.navigation import Navigator
from powertui.view.place_line import place_line
from powertui.view.places import place_in_sight
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import hosts as made_hosts
from tests.synthetic import traces
from tests.synthetic.traces import MS

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

TIMES = st.integers(-(2**62), 2**62)
NAMES = st.text(min_size=1, max_size=20)


def two_epochs() -> TimelineModel:
    """Steps 0 to 3 in each of two epochs, and pauses between them."""
    bounds = [(10 * MS * n, 9 * MS) for n in range(4)]
    bounds += [(100 * MS + 20 * MS * n, 20 * MS) for n in range(4)]
    marks = traces.steps(*bounds, epoch=[0] * 4 + [1] * 4)
    marks.number[:] = [0, 1, 2, 3] * 2
    epochs = [Epoch(0, 0, 50 * MS, "made"), Epoch(1, 100 * MS, 190 * MS, "made")]
    made = traces.trace({("/host:CPU", "python"): [(0, 190 * MS, "op")]})
    return TimelineModel.from_run(traces.run(made, marks, epochs))


MODEL = two_epochs()
BEGIN, END = MODEL.span
EDGES = [*MODEL.steps.start.tolist(), *MODEL.steps.ends().tolist(), 50 * MS, 190 * MS]


@given(TIMES, TIMES)
def test_times_are_read_back_to_the_picosecond(one: int, other: int) -> None:
    lo, hi = sorted((one, other))
    place = parse_place(times_words(lo, hi))
    assert place.stretch is not None
    assert place.stretch.times == (lo, hi)


@given(NAMES, NAMES)
def test_names_are_read_back_whatever_is_in_them(host: str, page: str) -> None:
    place = parse_place(f"1s-2s, page {name_words(page)}, host {name_words(host)}")
    assert (place.host, place.page) == (host, page)


@given(st.text(max_size=60))
def test_any_words_are_a_place_or_a_sentence(text: str) -> None:
    sentence = ""
    try:
        parse_place(text)
    except UsageError as error:
        sentence = str(error)
    assert len(sentence.splitlines()) <= 2
    assert plain(sentence.replace("\n", "")) == sentence.replace("\n", "")


@settings(max_examples=300)
@given(
    st.one_of(st.integers(BEGIN, END - 2), st.sampled_from(EDGES)),
    st.one_of(st.integers(BEGIN, END), st.sampled_from(EDGES)),
)
def test_the_line_of_a_window_leads_to_exactly_that_window(one: int, other: int) -> None:
    lo, hi = min(one, other), max(one, other)
    navigator = Navigator(MODEL, 100, 30)
    navigator.resize(100, 30)
    navigator.set_window(lo, hi)
    state = navigator.state
    place = place_in_sight(MODEL, parse_place(place_line(MODEL, state)), None)
    if state.window is not None:
        assert place.stretch is not None
        assert (place.stretch.lo, place.stretch.hi) == state.window


@settings(max_examples=300)
@given(
    st.integers(BEGIN, END - 2),
    st.integers(1, END),
    st.integers(BEGIN, END),
    st.integers(2, 400),
)
def test_the_line_of_a_view_leads_to_exactly_that_view(
    lo: int, length: int, cursor: int, width: int
) -> None:
    navigator = Navigator(MODEL, width, 30)
    navigator.resize(width, 30)
    navigator.show_window(lo, min(lo + length, END))
    navigator.goto(cursor)
    before = navigator.state
    place = place_in_sight(MODEL, parse_place(place_line(MODEL, before)), None)
    again = Navigator(MODEL, width, 30)
    again.resize(width, 30)
    assert place.view is not None
    assert place.cursor is not None
    again.show_window(place.view.lo, place.view.hi)
    again.goto(place.cursor)
    assert again.viewport == before.viewport
    assert again.state.cursor_ps == before.cursor_ps


def test_steps_and_epochs_are_named_where_the_window_is_exactly_them() -> None:
    navigator = Navigator(MODEL, 100, 30)
    starts, ends = MODEL.steps.start, MODEL.steps.ends()
    for lo, hi, words in (
        (starts[4], ends[5], "epoch 1 step 0-1"),
        (starts[2], ends[2], "epoch 0 step 2"),
        (0, 50 * MS, "epoch 0"),
        (starts[4], int(ends[5]) - 1, "0.1s-0.139999999999s"),
        (starts[2], ends[5], "0.02s-0.14s"),
    ):
        navigator.set_window(int(lo), int(hi))
        assert place_line(MODEL, navigator.state) == words


def test_hosts_of_one_name_are_told_apart_by_number() -> None:
    hosts = ["a", "b", "b", ""]
    words = [host_word(hosts, index) for index in range(4)]
    assert words == ["a", "#2", "#3", "#4"]
    assert [host_named(hosts, word) for word in words] == [0, 1, 2, 3]
    assert host_named(hosts, "c") is None
    assert host_named(hosts, "#5") is None
    assert host_named(hosts, "#" + "9" * 5000) is None


def test_zeros_in_front_of_a_number_need_not_be_typed() -> None:
    assert host_named(["node004", "node040", "node400"], "node40") == 1
    assert host_named(["n1", "n01"], "n01") == 1
    assert host_named(["n01", "n001"], "n1") is None, "either could be meant"
    assert host_named(["node100", "node10"], "node1") is None


def test_a_host_that_is_not_read_yet_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (entry,) = logdir.scan(str(made_hosts.two(tmp_path).logdir)).runs
    run = Opened(entry).run
    session = Session(opened=Opened(entry))
    assert session.opened is not None
    session.opened.adopt(replace(run, traces=run.traces[:1]), complete=False)
    with pytest.raises(UsageError, match="'host-b' is not among the 1 host that is read") as raised:
        host_of_place(session, parse_place("host host-b"))
    assert raised.value.hint == "1 more is being read."
    session.opened.adopt(run)
    assert host_of_place(session, parse_place("host host-b")) == 1
    with pytest.raises(UsageError, match="There is no host 'host-c'"):
        host_of_place(session, parse_place("host host-c"))


@pytest.mark.parametrize(
    "name", ["a b", "it's", "$(touch x)", "`id`", "-rf", "a;b", "é", 'q"q', "!x", "*"]
)
def test_a_shell_reads_a_name_as_one_word_and_runs_nothing(name: str, tmp_path: Path) -> None:
    word = shell_word(name)
    assert word is not None
    assert shlex.split(word) == [name]
    done = subprocess.run(
        ["sh", "-c", f"printf %s {word}"], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout.decode() == name
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a\nb", "\x1b[201~id\n", "a\u202eb", "\udcff", "\x03"])
def test_what_a_terminal_obeys_is_no_word_of_a_command(name: str) -> None:
    assert shell_word(name) is None


def test_the_verbs_take_a_place_as_they_take_its_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(demo.folder())
    steps = ["--epoch", "1", "--steps", "45-71"]
    place = ["--at", "epoch 1 step 45-71, page ops"]
    for verb in (["export", "--what", "steps"], ["energy", "--csv"]):
        assert cli.main([verb[0], folder, *verb[1:], *steps]) == 0
        by_options = capsys.readouterr().out
        assert cli.main([verb[0], folder, *verb[1:], *place]) == 0
        assert capsys.readouterr().out == by_options != ""
    tool = ["report", folder, "--tool", "op_stats", "--csv"]
    assert cli.main([*tool, "--from", "10.1s", "--to", "12s"]) == 0
    by_options = capsys.readouterr().out
    assert cli.main([*tool, "--at", "10.1s-12s"]) == 0
    assert capsys.readouterr().out == by_options
    assert cli.main([*tool, "--at", "epoch 1 step 45-71"]) == 0
    assert capsys.readouterr().out != by_options


def test_energy_and_export_mean_the_same_times(capsys: pytest.CaptureFixture[str]) -> None:
    """A time counts from the profile's zero, whatever the training counts from."""
    import json

    folder = str(demo.folder())
    assert cli.main(["energy", folder, "--at", "10.1s-12s", "--json"]) == 0
    window = json.loads(capsys.readouterr().out)["windows"][0]
    assert (window["start_s"], window["end_s"], window["name"]) == (10.1, 12.0, "10.1s to 12s")
    assert cli.main(["export", folder, "--at", "10.1s-12s", "-o", "-"]) == 0
    joules = units.energy_interval(window["joules"], window["lo"], window["hi"])
    assert f"The window: {joules}, simulated." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("12s", "12s is a moment; a window has two ends."),
        ("epoch 9", "There is no epoch 9."),
        ("epoch 1 step 900", "This profile has no such step."),
        ("nowhere", "This is not a time or a place: nowhere."),
        ("1s-2s, host x\x1b", r"There is no host 'x\\x1b'."),
        ("page ops", "This place names no stretch of time."),
    ],
)
def test_a_place_that_is_none_is_one_sentence(
    place: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", str(demo.folder()), "--at", place, "-o", "-"]) == 2
    first, hint = capsys.readouterr().err.splitlines()[-2:]
    assert first == f"powertui: {sentence}"
    assert hint.startswith("  ")


def test_two_windows_are_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(demo.folder())
    for words in (
        ["export", folder, "--at", "1s-2s", "--marked"],
        ["energy", folder, "--at", "1s-2s", "--epoch", "0"],
        ["report", folder, "--tool", "op_stats", "--at", "1s-2s", "--to", "3s"],
        ["compare", folder, "--at", "epoch 0", "--at", "epoch 1", "--steps", "1-2"],
    ):
        assert cli.main(words) == 2
        assert "The window is given twice." in capsys.readouterr().err


def test_a_number_that_no_step_has_fits_all_the_same() -> None:
    with pytest.raises(UsageError):
        parse_place("step " + "9" * 40)
    with pytest.raises(UsageError):
        parse_place("1" * 2000)
    assert np.int64(10**18 - 1) == parse_place("step " + "9" * 18).stretch.steps[0]  # type: ignore[union-attr,index]
