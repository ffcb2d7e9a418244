"""Every recording beside this checkout: all surfaces say what the one list says, and nothing else."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from powertui.api import RunView
from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.conclusions.conclusion import Conclusions, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.framework import Framework, framework_of
from powertui.data.tools.registry import Question
from powertui.data.training.training import Trainings
from powertui.errors import PowertuiError
from powertui.report import brief, facts, run_page, runs, summary
from powertui.view import overview_lines
from powertui.view.conclusion_line import conclusion_lines

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
_FOLDERS = sorted(path for side in ("own", "public") for path in (_SHARED / side).glob("*"))
_MAX_SENTENCE = 330  # characters: three lines of 110
_PAGES = {tool.name for tool in registry.TOOLS} | {"timeline"}


def _opened(folder: Path) -> Iterator[Opened]:
    """The runs of a folder that can be read."""
    scan = logdir.scan(str(folder))
    for opened in Trainings(scan).each(scan.runs):
        try:
            opened.run  # noqa: B018
        except PowertuiError:
            continue
        yield opened


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda path: path.name)
def test_every_surface_says_what_the_list_says(folder: Path) -> None:
    for opened in _opened(folder):
        conclusions = run_conclusions(opened)
        _check_sentences(opened, conclusions)
        _check_json_and_text(opened, conclusions)
        _check_brief(opened, conclusions)
        _check_api(opened, conclusions)
        _check_list_of_runs(opened, conclusions)
        _check_foot(conclusions)
        _check_power_findings(opened, conclusions)
        if opened.profiles:
            _check_overview(opened, conclusions)
            _check_advice(opened)


def _check_sentences(opened: Opened, conclusions: Conclusions) -> None:
    """Each can be read alone, names a place that exists, and costs no more than there is."""
    assert conclusions.looked_at.endswith(".")
    sentences = [conclusion.sentence for conclusion in conclusions]
    assert len(set(sentences)) == len(sentences)
    for conclusion in conclusions:
        sentence = conclusion.sentence
        assert sentence[0].isupper() or not sentence[0].isalpha() or "." in sentence.split()[0]
        assert sentence.endswith(".")
        assert ".." not in sentence
        assert len(sentence) <= _MAX_SENTENCE, sentence
        assert not re.search(r"\d{5}", re.sub(r"\S*[A-Za-z_/-]\S*", "", sentence)), sentence
        assert not any(unicodedata.category(char).startswith("C") for char in sentence)
        assert 0 < len(conclusion.short.split()) <= 4, conclusion.short
        assert conclusion.evidence.tool in _PAGES
        assert conclusion.next.endswith((".", ".)")), conclusion.next
        share = conclusion.cost.share
        if share is not None and conclusion.stretch is None:
            assert 0 <= share <= 1.001, conclusion
        if conclusion.stretch is not None:
            assert conclusion.stretch.start_ps <= conclusion.stretch.end_ps
            assert conclusion.stretch.host < max(1, len(opened.profiles))


def _check_power_findings(opened: Opened, conclusions: Conclusions) -> None:
    """No stretch of unexplained power is found that no conclusion tells of."""
    told = [one.stretch for one in conclusions if one.stretch is not None]
    told += [stretch for one in conclusions for stretch in one.repeats]
    for host, profile in enumerate(opened.profiles):
        for finding in account.findings(profile, Aligning()).findings:
            if finding.delta_watts is None:
                continue
            assert any(
                stretch.host == host
                and stretch.start_ps < finding.end_ps
                and finding.start_ps < stretch.end_ps
                for stretch in told
            ), finding.text


def _check_json_and_text(opened: Opened, conclusions: Conclusions) -> None:
    run = facts.of_run(opened.entry, opened.run, "", opened.profiles)
    run |= summary._conclusions(opened, Aligning())
    listed: Any = json.loads(json.dumps(run["conclusions"]))
    assert [one["sentence"] for one in listed] == [one.sentence for one in conclusions]
    for one, conclusion in zip(listed, conclusions, strict=True):
        assert one["kind"] == conclusion.kind.value
        assert one["confidence"] in ("sure", "likely", "unsure")
        assert (one["start_s"] is None) == (one["end_s"] is None) == (conclusion.stretch is None)
    lines = run_page.describe(run)
    assert lines[1].split(None, 1) == ["findings", conclusions.headline]
    text = "\n".join(lines)
    for conclusion in conclusions.items[:5]:
        assert conclusion.sentence in text
    assert "found  " not in text


def _check_brief(opened: Opened, conclusions: Conclusions) -> None:
    if not opened.profiles:
        return
    told = brief._conclusions(opened, Aligning())
    sentences = [one["sentence"] for one in told["conclusions"]]
    assert sentences == [one.sentence[:300] for one in conclusions.items[: len(sentences)]]
    assert sentences or told["looked_at"] == conclusions.looked_at


def _check_api(opened: Opened, conclusions: Conclusions) -> None:
    frame = RunView(opened).conclusions
    assert list(frame["sentence"]) == [one.sentence for one in conclusions]
    assert list(frame["confidence"]) == [one.confidence.value for one in conclusions]
    assert frame.attrs["looked_at"] == conclusions.looked_at


def _check_list_of_runs(opened: Opened, conclusions: Conclusions) -> None:
    known = runs.concluded(opened, runs.first(opened.entry))
    assert known.found == len(conclusions)
    first = conclusions.first
    if first is None:
        assert known.conclusion == ""
    else:
        assert known.conclusion.removeprefix("! ") == first.short
        assert known.conclusion.startswith("! ") == (first.kind is not Kind.COMPUTE)


def _check_foot(conclusions: Conclusions) -> None:
    for cells in (80, 120, 600):
        lines = conclusion_lines(conclusions, "3", cells, rows=2)
        sentences = [conclusion.sentence for conclusion in conclusions] or [conclusions.looked_at]
        is_wrapped = len(sentences) == 1 and len(lines) == 2
        assert len(lines) == min(2, len(sentences)) or is_wrapped
        for pieces, sentence in zip(lines, sentences, strict=False):
            shown = pieces[1][0].removesuffix(" …")
            assert len("".join(piece for piece, _ in pieces)) <= cells
            assert shown
            assert sentence.startswith(shown)
            assert cells < 600 or shown == sentence


def _check_overview(opened: Opened, conclusions: Conclusions) -> None:
    for host in range(len(opened.profiles)):
        result = registry.get("overview_page").answer(Question(opened, host))
        told = [
            str(fact.value)
            for fact in result.facts
            if fact.id == "limit" or fact.id.startswith(("finding_", "straggler_", "conclusion_"))
        ]
        expected = [one.sentence for one in conclusions.items[:5]]
        assert [text for text in told if text in expected] == expected
        assert [text for text in told if text not in expected] in ([], [conclusions.looked_at])
        _check_verdict(result, conclusions)
        first = "".join(text for text, _ in overview_lines.lines(result, 400, 60)[0]).strip()
        assert first.removesuffix("estimated").removesuffix("assumed").strip() == told[0]


def _check_verdict(result: Result, conclusions: Conclusions) -> None:
    """TensorBoard's own word on the input does not contradict the list."""
    facts = {fact.id: fact.value for fact in result.facts}
    shares = {one.kind: one.cost.share or 0.0 for one in conclusions if one.stretch is None}
    if Kind.INPUT in shares:
        assert facts["bottleneck"] in ("host", "both")
    if facts["bottleneck"] == "host":
        assert any(one.kind is Kind.INPUT for one in conclusions)


def _check_advice(opened: Opened) -> None:
    """No page sends a program to another framework's tools."""
    framework = framework_of(opened.profiles[0].trace)
    question = Question(opened)
    texts = [one.next for one in run_conclusions(opened)]
    overview = registry.get("overview_page").answer(question)["recommendations"]
    for row in range(len(overview)):
        texts += [str(overview[id].value(row)) for id in ("do", "page")]
    pipeline = registry.get("input_pipeline_analyzer").answer(question)
    texts += [str(fact.value) for fact in pipeline.facts if fact.id == "summary_nextstep"]
    todo = pipeline["breakdown"]
    texts += [str(todo["do"].value(row)) for row in range(len(todo))]
    advice = " ".join(texts)
    if framework is not Framework.TENSORFLOW:
        assert not re.search(r"\btf[._]|TF_|keras", advice), advice
    if framework is not Framework.PYTORCH:
        assert not re.search(r"torch|DataLoader", advice), advice
    epochs = max(len(profile.epochs) for profile in opened.profiles)
    findings = registry.get("findings").answer(question)
    assert epochs < 2 or not any("only one epoch" in note for note in findings.notes)
