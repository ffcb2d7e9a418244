"""Power logs that do not fit the run: of another day, of one row, of nothing.

Answers, never a warning of numpy's.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui import demo
from powertui.data import export, loading, logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, align, log_alignment
from powertui.data.logdir import RunEntry
from powertui.data.model import Run
from powertui.data.opened import Opened
from powertui.data.power import registry
from powertui.errors import PowertuiError
from powertui.report import energy, energy_json, energy_page, facts, page_style, run_page

DAY = 86_400.0
Rows = list[tuple[float, str]]


@pytest.fixture(scope="module")
def recorded() -> tuple[RunEntry, Run, Rows]:
    """The demo's run, and its log as Unix seconds and watts."""
    entry = logdir.scan(demo.folder()).runs[0]
    run = loading.load_run(entry, options=ReadOptions(find_power=False))
    lines = demo.power_file().read_text().splitlines()[1:]
    rows = [(float(time), watts) for time, watts in (line.split(",") for line in lines)]
    return entry, run, rows


def told(folder: Path, recorded: tuple[RunEntry, Run, Rows], rows: Rows) -> str:
    """Everything that report, energy and export say of this log, with every warning an error."""
    entry, run, _ = recorded
    path = folder / "power.csv"
    path.write_text("time_unix_s,watts\n" + "".join(f"{t:.6f},{w}\n" for t, w in rows))
    out: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            log = registry.load(str(path))
            both = replace(run, power=log.series, warnings=(*run.warnings, *log.warnings))
            found = energy.of_run(Opened(entry, run=both), Aligning())
            for form in ("text", "markdown"):
                style = page_style.style_of(form)
                pages = energy_page.pages(found, (), (), style, energy_page.PageOptions())
                out += "\n".join(pages).split("\n")
            energy_json.as_json("x", found)
            list(energy._csv_rows(found))
            out += run_page.describe(facts.of_run(entry, both, ""))
            placed = tuple(one.power for one in align.place_all(both, 0, entry, Aligning()))
            span = both.traces[0].span
            for what in ("samples", "steps", "ops"):
                try:
                    export.write(
                        both,
                        0,
                        *span,
                        what=what,
                        path=str(folder / what),
                        format="csv",
                        force=True,
                        power=placed,
                    )
                except PowertuiError as error:
                    out.append(str(error))
        except PowertuiError as error:
            out.append(str(error))
    return "\n".join(out)


def shifted(rows: Rows, by: float) -> Rows:
    return [(t + by, w) for t, w in rows]


@pytest.mark.parametrize("by", [0.0, 30.0, 3600.0, DAY, 30 * DAY, 365 * DAY, 3000 * DAY])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_log_of_another_time_is_one_sentence(
    tmp_path: Path, recorded: tuple[RunEntry, Run, Rows], by: float, sign: int
) -> None:
    said = told(tmp_path, recorded, shifted(recorded[2], sign * by))
    apart = [
        line.strip()
        for line in said.splitlines()
        if re.search(r"power\.csv (?:begins|ends) .* this run", line)
    ]
    assert len(apart) == 3 * (abs(by) >= 3600), "by energy as text and as Markdown, and by report"
    assert ("taken for the power of" in said) is not bool(apart), "nothing is assumed of no use"
    if apart:
        assert re.search(r"power .* to .* W; .*\. power\.csv .* It is not used\.", said), (
            "report says it where its watts are"
        )
        assert (" before this run. It is not used." in apart[0]) is (sign < 0)
        assert (" after this run. It is not used." in apart[0]) is (sign > 0)
        assert "epoch 0" not in [line.split("  ")[0] for line in said.splitlines()], (
            "no table of energies that are not known"
        )


def one_sample_inside(rows: Rows) -> Rows:
    return shifted(rows, rows[0][0] - rows[-1][0] + 12.0)


def middle(rows: Rows) -> Rows:
    return rows[len(rows) // 2 :][:1]


WAYS: dict[str, Callable[[Rows], Rows]] = {
    "one row": middle,
    "two rows": lambda rows: [rows[0], rows[-1]],
    "no reading": lambda rows: [(t, "nan") for t, _ in rows],
    "no reading, another day": lambda rows: [(t + DAY, "nan") for t, _ in rows],
    "one reading": lambda rows: [
        (t, w if i == len(rows) // 2 else "nan") for i, (t, w) in enumerate(rows)
    ],
    "backwards": lambda rows: rows[::-1],
    "backwards, another day": lambda rows: shifted(rows, DAY)[::-1],
    "hardly overlapping": one_sample_inside,
    "all at once": lambda rows: [(rows[0][0], w) for _, w in rows],
    "constant": lambda rows: [(t, "200") for t, _ in rows],
    "zero": lambda rows: [(t, "0") for t, _ in rows],
    "huge": lambda rows: [(t, "1e300") for t, _ in rows],
    "endless": lambda rows: [(t, "inf") for t, _ in rows],
    "before Unix": lambda rows: [(t - 2e9, w) for t, w in rows],
    "far future": lambda rows: [(t + 6e9, w) for t, w in rows],
}


@pytest.mark.parametrize("way", WAYS)
def test_odd_logs_are_told_without_a_warning(
    tmp_path: Path, recorded: tuple[RunEntry, Run, Rows], way: str
) -> None:
    assert told(tmp_path, recorded, WAYS[way](recorded[2]))


@pytest.mark.parametrize("seed", range(25))
def test_any_part_of_a_log_anywhere(
    tmp_path: Path, recorded: tuple[RunEntry, Run, Rows], seed: int
) -> None:
    rng = random.Random(seed)
    rows = list(recorded[2])
    lo = rng.randrange(len(rows))
    rows = rows[lo : lo + rng.choice([1, 2, 3, 10, len(rows)])]
    rows = shifted(rows, rng.choice([0.0, 1.0, -1.0]) * 10 ** rng.uniform(0, 8))
    rows = [(t, rng.choice([w, w, w, "nan", "0", "-5"])) for t, w in rows]
    if rng.random() < 0.3:
        rng.shuffle(rows)
    assert told(tmp_path, recorded, rows)


def noise(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
    return 200 + 20 * rng.standard_normal(len(at))


def another_program(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
    """It works and rests as it likes."""
    return (
        150
        + 90 * (np.cumsum(rng.random(len(at)) < (at[1] - at[0]) / 4) % 2)
        + 2 * rng.standard_normal(len(at))
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("watts", "pace"), [(noise, 0.1), (noise, 0.5), (another_program, 0.1)])
def test_a_log_that_the_profile_explains_nothing_of_has_no_place(
    watts: Callable[[np.random.Generator, np.ndarray], np.ndarray],
    pace: float,
    seed: int,
    tmp_path: Path,
) -> None:
    """What lies beside the profile may be anything: where all of it did, such logs were laid
    somewhere, 0 % explained.
    """
    at = np.arange(0, 60, pace)
    log = tmp_path / "power.csv"
    rows = zip(at.tolist(), watts(np.random.default_rng([seed, 3]), at).tolist(), strict=True)
    log.write_text("time_s,watts\n" + "".join(f"{t:.3f},{w:.1f}\n" for t, w in rows))
    found = account.energy_account(
        powertui.open(demo.folder(), power=log)[0].opened.profiles[0], Aligning()
    )
    assert found.alignment is not None
    assert found.alignment.status == "none"
    said = " ".join(found.alignment.evidence)
    assert "no more than chance may" in said or "does not follow anything" in said
    assert found.alignment.offset_s is None


def test_the_same_profile_still_tells_where_its_own_log_lies(
    recorded: tuple[RunEntry, Run, Rows], tmp_path: Path
) -> None:
    log = tmp_path / "power.csv"
    rows = recorded[2]
    log.write_text("time_s,watts\n" + "".join(f"{t - rows[0][0]:.3f},{w}\n" for t, w in rows))
    found = account.energy_account(
        powertui.open(demo.folder(), power=log)[0].opened.profiles[0], Aligning()
    ).alignment
    assert found is not None
    assert found.source == log_alignment.SIGNAL
    assert found.offset_s is not None
