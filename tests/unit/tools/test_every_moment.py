"""Each moment of every recording has exactly one cause, and the causes add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import breakdown, work_by_time

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
_FOLDERS = [path for kind in ("own", "public") for path in sorted((_SHARED / kind).glob("*/"))]


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda path: path.name)
def test_each_moment_has_one_cause(folder: Path) -> None:
    for entry in logdir.scan(str(folder)).runs:
        if not entry.profiles or "corrupt" in folder.name:
            continue
        for profile in Opened(entry).profiles:
            made = breakdown.step_breakdown(profile, "corrected")
            assert (made.parts >= 0).all()
            assert made.parts.sum(axis=1).tolist() == made.length.tolist()
            lo, hi = (np.array([moment], np.int64) for moment in profile.trace.span)
            whole = work_by_time.parts_of(work_by_time.work_by_time(profile), lo, hi)
            assert (whole >= 0).all()
            assert int(whole.sum()) == int((hi - lo)[0])
