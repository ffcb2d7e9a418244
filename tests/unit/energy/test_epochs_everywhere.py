"""A burst of two epochs is found wherever the clock of its log puts it."""

from __future__ import annotations

from pathlib import Path

import powertui


def test_a_log_of_a_clock_that_is_off_tells_of_its_burst_alone(
    shared_data: Path, tmp_path: Path
) -> None:
    """At the place of its clock the pause between the epochs lies over the second one's first
    steps.
    """
    folder = shared_data / "own" / "two_epochs_with_burst"
    head, *rows = (folder / "power.csv").read_text().splitlines()
    late = [f"{float(at) + 0.7:.6f},{watts}" for at, watts in (row.split(",") for row in rows)]
    (tmp_path / "power.csv").write_text("\n".join([head, *late]) + "\n")
    run = powertui.open(folder / "logs", power=tmp_path / "power.csv")[0]
    told = run.findings
    assert [round(one) for one in told["delta_watts"]] == [59]
