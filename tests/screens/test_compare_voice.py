"""Two runs are compared in one voice: the page `=`, the verb and all that it writes say the same."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from powertui import cli, demo
from powertui.screens.compare import CompareScreen
from tests.synthetic.step_world import LOG_START_S, step_series, write_run
from tests.unit.html.pages import PageReader

from .conftest import Maker, loaded, settled
from .test_tasks import shown

pytestmark = pytest.mark.usefixtures("read_once")

WIDE = (160, 50)
HOSTILE = "a|b*c_<i>&`d` @e"
FORMS = ("text", "json", "md", "brief", "html")


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs a side: in `new` an op of a hostile name takes 20 % of a step longer."""
    root = tmp_path_factory.mktemp("voices")
    rng = np.random.default_rng(33)
    for number in range(3):
        for side, slower in (("base", 0.0), ("new", 0.2)):
            steps = 0.05 * rng.normal(1, 0.005) * step_series("white", 60, rng)
            shares = {HOSTILE: (0.6 + slower) / (1 + slower), "aten::add": 0.2 / (1 + slower)}
            write_run(root / side / f"run{number}", steps * (1 + slower), shares, watts=200.0)
    return root


def said(form: str, words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the verb writes in this form."""
    target = folder / "page.html"
    flag = {"text": [], "html": ["--html", str(target)]}.get(form, [f"--{form}"])
    assert cli.main(["compare", *words, *flag]) == 0
    out = capsys.readouterr().out
    return target.read_text("utf-8") if form == "html" else out


def sentence_in(form: str, output: str) -> str:
    """The first sentence, as it is read."""
    if form in ("json", "brief"):
        return str(json.loads(output)["sentence"])
    if form == "html":
        return PageReader(output).of_class("answer")
    lines = [line for line in output.splitlines() if line]
    if form == "text":
        return lines[0]
    item = html.unescape(lines[1].removeprefix("- "))
    return re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", item)


def words_of(text: str) -> str:
    """Without blanks, as they depend on where a line was broken."""
    return re.sub(r"[\s\u200b\u2060]+", "", text)


def verdicts_of(document: dict[str, Any]) -> list[tuple[str, str]]:
    families = ("time", "energy", "steps by category")
    rows = [row for row in document["figures"] if row["family"] in families]
    rows = [row for row in rows if row["a"] or row["b"]]  # what neither side has is not listed
    return [(row["name"], row["verdict"]) for row in rows]


@pytest.mark.parametrize("case", ["groups", "two recordings"])
def test_the_verb_says_the_same_in_every_form(
    case: str, groups: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logdirs = data / "logdirs"
    words = {
        "groups": [str(groups / "base"), str(groups / "new"), f"--offset={LOG_START_S}"],
        "two recordings": [str(logdirs / "trace_export"), str(logdirs / "jax_cpu")],
    }[case]
    outputs = {form: said(form, words, tmp_path, capsys) for form in FORMS}
    document = json.loads(outputs["json"])
    assert len(document["sentence"]) > 80
    for form, output in outputs.items():
        assert words_of(sentence_in(form, output)) == words_of(document["sentence"]), form
    for form in ("text", "md"):
        rows = re.sub(r"[\\|]", " ", html.unescape(outputs[form])).splitlines()
        for name, verdict in verdicts_of(document):
            assert any(name in row and verdict in row for row in rows), (form, name, verdict)
    badges = PageReader(outputs["html"]).of_class("badge")
    assert all(verdict in badges for _, verdict in verdicts_of(document))


async def test_the_page_says_the_sentence_and_the_verdicts_of_the_verb(make: Maker) -> None:
    said_by_call = powertui.compare(demo.folder(), epoch=(0, 1)).json
    shell = make()
    async with shell.run_test(size=WIDE) as pilot:
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        assert words_of(said_by_call["sentence"]) in words_of(shown(shell))
        page = shell.current()
        assert isinstance(page, CompareScreen)
        assert page.result is not None
        figures = next(table for table in page.result.tables if table.id == "figures")
        columns = {column.id: column.values for column in figures.columns}
        rows = zip(columns["figure"], columns["verdict"], strict=True)
        assert [(str(name), str(verdict)) for name, verdict in rows] == [
            (row["name"], row["verdict"])
            for row in said_by_call["figures"]
            if row["family"] not in ("ops", "kernels")
        ]


async def test_two_open_runs_say_what_the_verb_says_of_them(make: Maker, data: Path) -> None:
    logdirs = data / "logdirs"
    sentence = powertui.compare(logdirs / "trace_export", logdirs / "jax_cpu").sentence
    shell = make("logdirs")
    async with shell.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("space", "space", "enter")
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        assert words_of(sentence) in words_of(shown(shell))
