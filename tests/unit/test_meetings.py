"""Every power fixture beside every kind of run: no traceback, no warning, and "aligned" only where
the two overlap.

A part of all pairs, always the same one and spread over all of them; `python -m tests.meetings`
tries them all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.energy import meeting
from tests import meetings

_EVERY = 71  # no divisor of the counts of runs, logs and verbs: each verb comes to each run


def test_no_pair_of_a_run_and_a_log_goes_wrong(tmp_path: Path) -> None:
    tried = dict(meetings.sweep(tmp_path, _EVERY))
    assert len(tried) >= len(meetings.runs()) * len(meetings.VERBS)
    assert [wrong for wrong in tried.values() if wrong is not None] == []


def test_there_are_as_many_logs_and_runs_as_were_asked_for() -> None:
    assert len(meetings.logs()) >= 50
    assert len(meetings.runs()) >= 12


def test_the_check_finds_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule that lets everything meet, the pairs do go wrong: the check does not pass because
    it looks at nothing.
    """
    monkeypatch.setattr(meeting, "gap", lambda first, last, run: None)
    (tmp_path / "run").mkdir()
    meetings.RUNS["Keras with scalars"](tmp_path / "run")
    extents = [(1_795_224_800_000_000_000, 1_795_224_900_000_000_000)]
    log = meetings.read(next(path for path in meetings.logs() if path.name == "rapl_wrap.csv"))
    wrong = meetings.check("Keras with scalars", tmp_path / "run", extents, log, "energy")
    assert wrong is not None
    assert "aligned" in wrong.why or "Error" in wrong.why
