"""`powertui check` against a baseline: how often an unchanged program is red, how often a slower one
is green, and how large a baseline gets.

Runs are simulated (`tests/synthetic/step_world.py`, described before any recording was looked at)
and judged by the rule that ships, with its usual quantities. Some jobs go the whole way: files on
the disk, `powertui baseline save`, `powertui check`, and its exit code.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.bench_compare_held_out import (
    LEVEL,
    LONG_PAUSE,
    sides_in_order,
    starts_in_order,
)
from benchmarks.harness import Amount, Table, grid, in_processes
from powertui import cli
from powertui.data.gate.baseline_file import baseline_text
from powertui.data.gate.gate import held_against
from powertui.data.gate.limits_asked import tolerances
from powertui.data.gate.run_values import BaselineRuns, GatedRun, GateValue
from tests.synthetic.drifting_runs import DRIFTING_KINDS, drifting_values
from tests.synthetic.held_out_runs import HELD_OUT_KINDS, ORDERS, held_out_values
from tests.synthetic.step_world import KINDS, LOG_START_S, Floats, step_series, write_run

JOBS = Amount(30, 100, "jobs")
OLDER_JOBS = Amount(50, 200, "jobs")
WHOLE_JOBS = Amount(20, 100, "jobs")  # that write and read files: 1 to 2 s each
RUNS = 5  # of a baseline
STEPS = 200
RUN_SIGMA = 0.005  # by which whole runs of the simulation differ, in time and in power
DAY_SIGMA = 0.01  # by which days differ in the table of days
TOLERANCE = "3%"
USUAL = ("step_s", "step_median_s", "W", "J/step")
OPS = {"aten::mm": 0.6, "aten::add": 0.2, "aten::copy_": 0.1}


def main() -> None:
    """The tables."""
    _by_kind()
    _by_count()
    _older_baseline()
    _a_day_later()
    _whole_jobs()
    _sizes()


def _run(
    kind: str,
    rng: np.random.Generator,
    *,
    slower: float = 1.0,
    hotter: float = 1.0,
    day: float = 1.0,
) -> GatedRun:
    seconds = slower * day * rng.normal(1, RUN_SIGMA) * step_series(kind, STEPS, rng)
    watts = 200 * hotter * rng.normal(1, RUN_SIGMA)
    mean = float(seconds.mean())
    values = {
        "step_s": GateValue(mean),
        "step_median_s": GateValue(float(np.median(seconds))),
        "W": GateValue(watts),
        "J/step": GateValue(watts * mean),
    }
    return GatedRun("run", STEPS, values)


def _answer(base: list[GatedRun], new: list[GatedRun]) -> int:
    """The exit code."""
    asked = tolerances([TOLERANCE], USUAL)
    return held_against(new, [], asked, BaselineRuns("main", tuple(base))).exit_code


def _cell(codes: Counter[int]) -> str:
    return f"{codes[1]} / {codes[0]} / {codes[3]}"


_CHANGES = (  # name, × as long, × as much power
    ("nothing changed", 1.0, 1.0),
    ("3 % slower", 1.03, 1.0),
    ("5 % slower", 1.05, 1.0),
    ("5 % more power", 1.0, 1.05),
)


def _by_kind() -> None:
    table = Table(
        f"Of {JOBS} ({RUNS} runs against {RUNS}, --tolerance {TOLERANCE}): red / green / "
        "cannot say (target: red ≤ 5 % unchanged, green ≤ 10 % changed)",
        ["what the machine does", *(name for name, _, _ in _CHANGES)],
    )
    for kind, cells in grid(_kind_cell, KINDS, range(len(_CHANGES))):
        table.row(kind, *cells)
    table.print()


def _kind_cell(case: tuple[str, int]) -> str:
    kind, place = case
    _, slower, hotter = _CHANGES[place]
    rng = np.random.default_rng([KINDS.index(kind), place, 7])
    codes: Counter[int] = Counter()
    for _ in range(JOBS.count):
        base = [_run(kind, rng) for _ in range(RUNS)]
        new = [_run(kind, rng, slower=slower, hotter=hotter) for _ in range(RUNS)]
        codes[_answer(base, new)] += 1
    return _cell(codes)


def _by_count() -> None:
    table = Table(
        f"The same by how many runs there are, all kinds together ({JOBS} a kind)",
        ["baseline, to check", "nothing changed", "5 % slower", "unchanged, days differ by 1 %"],
    )
    groups = ((3, 3), (5, 1), (5, 5), (10, 1), (10, 3), (10, 10))
    for (count, to_check), cells in grid(_count_cell, groups, range(3)):
        table.row(f"{count}, {to_check}", *cells)
    table.print()


def _count_cell(case: tuple[tuple[int, int], int]) -> str:
    (count, to_check), place = case
    slower, day_sigma = ((1.0, 0.0), (1.05, 0.0), (1.0, DAY_SIGMA))[place]
    codes: Counter[int] = Counter()
    for kind in KINDS:
        rng = np.random.default_rng([count, to_check, place, KINDS.index(kind)])
        for _ in range(JOBS.count):
            days = 1 + day_sigma * rng.standard_normal(2)
            base = [_run(kind, rng, day=days[0]) for _ in range(count)]
            new = [_run(kind, rng, slower=slower, day=days[1]) for _ in range(to_check)]
            codes[_answer(base, new)] += 1
    return _shares(codes)


def _older_baseline() -> None:
    """By when the runs of both sides were recorded, on machines that nobody tuned for."""
    groups = ((3, 3), (5, 5), (10, 10), (5, 2), (10, 2), (10, 1))
    for change, target in ((0.0, "red ≤ 5"), (5.0, "green ≤ 10")):
        table = Table(
            f"Of {OLDER_JOBS} {change:g} % slower: red / green / cannot say, in % (target: "
            f"{target})",
            ["what runs do, order", *(f"{base}, {new}" for base, new in groups)],
        )
        lines = [(kind, order, change) for kind in HELD_OUT_KINDS for order in ORDERS]
        for (kind, order, _), cells in grid(_order_cell, lines, groups):
            table.row(f"{kind}, {order}", *cells)
        table.print()


def _a_day_later() -> None:
    """A baseline of yesterday, on machines that drift."""
    groups = ((5, 5), (10, 10), (10, 2))
    table = Table(
        f"Of {OLDER_JOBS}, the baseline a day older: red / green / cannot say (target: red ≤ 5 "
        "unchanged, green ≤ 10 slower)",
        ["how the machine drifts, change", *(f"{base}, {new}" for base, new in groups)],
    )
    lines = [(kind, change) for kind in DRIFTING_KINDS for change in (0.0, 5.0)]
    for (kind, change), cells in grid(_later_cell, lines, groups):
        table.row(f"{kind}, {change:g} %", *cells)
    table.print()


def _later_cell(case: tuple[tuple[str, float], tuple[int, int]]) -> str:
    (kind, change), sides = case
    rng = np.random.default_rng([DRIFTING_KINDS.index(kind), *sides, 13])
    of_new = np.repeat([0.0, 1.0], sides)
    starts = np.arange(len(of_new)) + (LONG_PAUSE - 1) * of_new
    codes: Counter[int] = Counter()
    for _ in range(OLDER_JOBS.count):
        seconds = LEVEL + drifting_values(kind, starts, rng) + change * of_new
        codes[_answer_by_start(of_new, seconds, starts)] += 1
    return _shares(codes)


def _answer_by_start(of_new: Floats, seconds: Floats, starts: Floats | None) -> int:
    """The exit code of runs with one quantity; `starts` are None where nobody knows them."""
    groups: tuple[list[GatedRun], list[GatedRun]] = ([], [])
    for at, (side, value) in enumerate(zip(of_new.tolist(), seconds.tolist(), strict=True)):
        start = None if starts is None else int(starts[at])
        run = GatedRun("run", STEPS, {"step_s": GateValue(value)}, start_ns=start)
        groups[int(side)].append(run)
    base, new = groups
    asked = tolerances([f"step_s={TOLERANCE}"], USUAL)
    return held_against(new, [], asked, BaselineRuns("main", tuple(base))).exit_code


def _shares(codes: Counter[int]) -> str:
    return " / ".join(f"{codes[code] / codes.total():.1%}" for code in (1, 0, 3))


def _order_cell(case: tuple[tuple[str, str, float], tuple[int, int]]) -> str:
    (kind, order, change), sides = case
    rng = np.random.default_rng([HELD_OUT_KINDS.index(kind), *sides, 12])
    codes: Counter[int] = Counter()
    for _ in range(OLDER_JOBS.count):
        of_new = sides_in_order(order, *sides, rng)
        seconds = LEVEL + held_out_values(kind, of_new, 1, rng)[:, 0] + change * of_new
        codes[_answer_by_start(of_new, seconds, starts_in_order(order, len(of_new)))] += 1
    return _shares(codes)


def _whole_jobs() -> None:
    table = Table(
        f"Of {WHOLE_JOBS} through files and the command line (kinds in turn)",
        ["change", "red / green / cannot say"],
    )
    for name, slower in (("nothing changed", 1.0), ("5 % slower", 1.05)):
        jobs = [(number, slower) for number in range(WHOLE_JOBS.count)]
        table.row(name, _cell(Counter(in_processes(_whole_job, jobs))))
    table.print()


def _whole_job(job: tuple[int, float]) -> int:
    """The exit code of `check`, on runs that were written, saved and read."""
    number, slower = job
    rng = np.random.default_rng([number, 11])
    kind = KINDS[number % len(KINDS)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for side, factor in (("base", 1.0), ("new", slower)):
            for place in range(RUNS):
                steps = 0.05 * factor * rng.normal(1, RUN_SIGMA) * step_series(kind, STEPS, rng)
                watts = 200 * rng.normal(1, RUN_SIGMA)
                write_run(folder / side / f"run{place}", steps, OPS, watts=watts)
        store = ["--dir", str(folder / "saved"), f"--offset={LOG_START_S:g}s"]
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(["baseline", "save", "main", str(folder / "base"), *store]) == 0
            words = ["check", str(folder / "new"), "--against", "main", "--tolerance", TOLERANCE]
            return cli.main([*words, *store])


def _sizes() -> None:
    table = Table(
        "Bytes of a baseline (target: at most 64,000), and ops that had no room",
        ["ops of a run", "1 run", "5 runs", "100 runs"],
    )
    for ops, cells in grid(_size, (0, 100, 1000, 10_000), (1, 5, 100)):
        table.row(f"{ops:,}", *cells)
    table.print()


def _size(case: tuple[int, int]) -> str:
    ops, count = case
    runs = [_with_ops(number, ops) for number in range(count)]
    content = baseline_text("main", runs, 0)
    left_out = content.partition('"left_out": ')[2].partition(",")[0]
    return f"{len(content):,} ({int(left_out):,})"


def _with_ops(number: int, ops: int) -> GatedRun:
    rng = np.random.default_rng(number)
    run = _run("white", rng)
    named = {
        f"op:model/block_{op}/dense/MatMul": GateValue(float(rng.exponential(1e-4)))
        for op in range(ops)
    }
    return GatedRun(f"run{number}", STEPS, {**run.values, **named})


if __name__ == "__main__":
    main()
