"""Ten runs that others recorded, each with its power: what their first screen answers of the ten
tasks of docs/tasks.md, in the figures that every other page has.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui import cli, units
from powertui.config import Config
from powertui.data import logdir
from powertui.data.category import Category
from powertui.screens import frame, runs
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from powertui.verbs import common
from powertui.view.overview_lines import figure_and_error
from tests.foreign_runs import RUNS, ForeignRun, options
from tests.waiting import until_then

from .conftest import loaded, settled, timeline_screen

# Answers of eight (two tasks are actions): what cannot be told, with the reason, counts apart.
ANSWERED = {
    "tf-t4": 7,
    "tf-v100": 7,
    "tf-json-5-epochs": 7,
    "tf-json-real-power": 6,
    "jax-mi300": 6,
    "torch-dataloader": 6,
    "torch-six-steps": 6,
    "torch-two-ranks": 6,
    "torch-h100": 6,
    "torch-mi300": 6,
}
CANNOT_TELL = "cannot tell"


def _shown(shell: Shell) -> str:
    strips = shell.screen._compositor.render_strips()
    return " ".join("".join(piece.text for strip in strips for piece in strip).split())


def _answers(shell: Shell, shown: str) -> Iterator[tuple[str, bool]]:
    """Each task with whether its answer is there, and whether it is the one that was worked out."""
    content = timeline_screen(shell).view.sight.seen
    glance = frame.known_glance(shell.session)
    assert content is not None
    assert glance is not None
    amount = glance.drew_more[0].partition(":")[0]
    yield "drew-more", amount in shown and amount != CANNOT_TELL
    op = content.ops[0]
    mean = units.duration(op.average_ps, 3, padded=True)
    yield "top-op", f"{units.percent(op.share, 1)} {mean}" in shown
    longest = content.steps[0]
    length = units.duration(longest.length, 3, padded=True)
    is_explained = content.step_count == 1 or units.duration(longest.cause_ps, 3) in shown
    yield "longest-step", f"{longest.name} {length}" in shown and is_explained
    known = [fact for fact in glance.energy if fact.value is not None]
    epochs = [fact for fact in known if fact.id.startswith("epoch_")][:2]
    figures = ["".join(figure_and_error(fact)) for fact in epochs or known]
    yield "epochs", bool(figures) and all(figure in shown for figure in figures)
    yield "input-bound", f"input wait {glance.input}" in shown
    product = next((op for op in content.ops if op.kind is Category.MATMUL), None)
    if product is not None:
        mean = units.duration(product.average_ps, 3, padded=True)
        yield "matmul", f"{units.percent(product.share, 1)} {mean}" in shown
    causes = [step.cause_ps for step in content.steps if step.cause]
    is_only_step = content.step_count == 1
    yield "stall", is_only_step or any(units.duration(ps, 3) in shown for ps in causes)


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
async def test_the_first_screen_answers_six_or_seven_tasks_of_a_run_of_others(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: ForeignRun
) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    public = shared_data / "public"
    if not (public / run.path).exists():
        pytest.skip("this recording is not there")
    where = public / run.path
    flags = options(run, public, tmp_path)
    args = cli.build_parser("open").parse_args(["open", str(where), *flags])
    display = Display(Capabilities(color="true"), theme.get("dark", "true"), Config())
    session = Session(common.reading_of(args), common.aligning_of(args), logdir=logdir.scan(where))
    shell = Shell(session, display)
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await until_then(lambda: frame.known_glance(shell.session) is not None)
        await settled(pilot)
        shown = _shown(shell)
        answers = dict(_answers(shell, shown))
        glance = frame.known_glance(shell.session)
    assert glance is not None
    missing = {task for task, is_there in answers.items() if not is_there}
    assert missing <= {"drew-more"}, shown
    if missing:
        assert CANNOT_TELL in shown, shown
    assert sum(answers.values()) >= ANSWERED[run.id], answers
