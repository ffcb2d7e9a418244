"""Where a limit held a training back: outside its sessions here, within them in the profile's own
findings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.model import PS_PER_S
from powertui.data.training import training_throttling
from powertui.data.training.training import Training
from powertui.sampler.csv_format import COLUMNS, MAGIC, mark_row, reading_row
from powertui.sampler.source import Reading, Stamp
from tests.synthetic.long_training import long_training


@pytest.mark.parametrize(
    ("from_s", "to_s", "told"),
    [(0.0, 0.0, False), (0.2, -0.2, False), (0.0, 0.5, True), (-0.5, 0.0, True)],
)
def test_a_stretch_that_lies_in_a_session_is_the_sessions_affair(
    tmp_path: Path, from_s: float, to_s: float, told: bool
) -> None:
    """Also one from its first to its last moment; one that reaches out of it is told for the
    training.
    """
    folder = long_training(tmp_path)
    (entry,) = logdir.scan(folder).trainings
    training = Training(entry, ReadOptions())
    assert all(training.opened(run).profiles[0].trace for run in entry.sessions)
    seen = training.seen_from()
    island = next(one for one in seen.islands if one.start is not None and one.end is not None)
    assert island.start is not None
    assert island.end is not None
    lo, hi = ((seen.unix_ns(at) / 1e9) for at in (island.start, island.end))
    rows = [f"{MAGIC}\n{COLUMNS}\n"]
    ends = [(lo + from_s, "begin"), (hi + to_s, "end")]
    for number in range(-10, round(hi - lo) + 30):
        while ends and ends[0][0] <= lo + number:
            at, kind = ends.pop(0)
            rows.append(mark_row(kind, Stamp(at, at - lo + 100), "throttled: board (power cap)"))
        rows.append(
            reading_row(
                Reading(lo + number, number + 100.0, 250.0 + number % 3, 0.0, "bmc", "board", "ok")
            )
        )
    log = tmp_path / "throttled.csv"
    log.write_text("".join(rows))
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    assert all(training.opened(run).profiles[0].trace for run in entry.sessions)
    seen = training.seen_from()
    back = training_throttling.throttled_in_training(training, seen, seen.power)
    assert bool(back) is told, [(one.start_ps / PS_PER_S, one.end_ps / PS_PER_S) for one in back]
