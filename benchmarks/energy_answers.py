"""What powertui says of a world's power, held against the world's truth. Only public answers are
asked: those of `energy --json` and of `powertui.open(…).energy()`, so that this judges whatever
stands behind them.

Every function yields rows (kind, sensor, what, value, seed): tables are made of them elsewhere.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import powertui
from benchmarks.power_world import (
    FORGETFUL,
    SENSORS,
    Fault,
    Model,
    Taken,
    World,
    make,
    plan,
    record,
    recorded,
    write,
    write_log,
)
from powertui.data.asked import Aligning
from powertui.data.energy import account
from powertui.data.model import PS_PER_S
from powertui.report import energy as energy_report
from powertui.report import energy_json

NEAR = 0.3  # s: a place is right within this, or half a refresh of a slow sensor
SLOW = (
    "mean 10 s (PDU)",
)  # needs minutes: it gets worlds of its own, and is asked for no burst of seconds
CLAIMED_GAIN = {"nvidia instant": 0.05, "nvidia average": 0.05}  # as docs/energy.md has it
WINDOWS = 3  # of any length, for every recording


class Row(NamedTuple):
    kind: str  # which table
    sensor: str
    what: str
    value: float
    seed: int


class Asked(NamedTuple):
    """One log laid on one world."""

    view: Any
    run: dict[
        str, Any
    ]  # an element of `runs` of `energy --json`; of it the alignment alone where no findings were asked for


def ask(logs: Path, log: Path, *, findings: bool = True) -> Asked:
    """Open a run with a power log and ask all there is, or what costs less."""
    view = powertui.open(logs, power=log, tz="UTC")[0]
    if findings:
        return Asked(
            view,
            energy_json.as_json(str(logs), energy_report.of_run(view.opened, Aligning()))["runs"][
                0
            ],
        )
    alignment = account.energy_account(view.opened.profiles[0], Aligning()).alignment
    return Asked(
        view,
        {
            "alignment": alignment.as_dict()
            if alignment is not None
            else {"status": "none", "offset_s": None}
        },
    )


# ── findings ─────────────────────────────────────────────────────────────────────────────────────


def findings(world: World, taken: Taken, asked: Asked, seed: int) -> Iterator[Row]:
    """Are bursts found, is what the told limit promises found, is anything else said, and
    how much.
    """
    name, kind = taken.model.name, "findings"
    told = [
        f
        for f in asked.run["findings"]
        if f.get("delta_watts") is not None and not f.get("explained")
    ]
    small = [
        f
        for f in asked.run["smaller_findings"]
        if f.get("delta_watts") is not None and not f.get("explained")
    ]
    reach = 2.0 + taken.model.window_s + taken.model.refresh_s
    true = [(b.start, b.end) for b in world.bursts] + [(lo, hi) for lo, hi in world.odd]
    false = [
        f
        for f in told
        if not any(f["end_s"] > lo - reach and f["start_s"] < hi + reach for lo, hi in true)
    ]
    yield Row(kind, name, "quiet false" if not world.bursts else "other", float(bool(false)), seed)
    less = [
        f
        for f in small
        if not any(f["end_s"] > lo - reach and f["start_s"] < hi + reach for lo, hi in true)
    ]
    yield Row(
        kind,
        name,
        "quiet smaller" if not world.bursts else "other smaller",
        float(bool(less)),
        seed,
    )
    length = world.span[1] - world.span[0]
    trivia = [
        f
        for f in asked.run["findings"]
        if f.get("delta_watts") is None and abs(f["delta_seconds"]) < 0.005 * length
    ]
    yield Row(kind, name, "trivia", float(len(trivia)), seed)
    for burst in world.bursts:
        over = [
            f
            for f in told
            if f["delta_watts"] > 0 and min(f["end_s"], burst.end) > max(f["start_s"], burst.start)
        ]
        covered = sum(min(f["end_s"], burst.end) - max(f["start_s"], burst.start) for f in over)
        found = covered > 0.5 * burst.seconds
        few = [
            f
            for f in (*told, *small)
            if f["delta_watts"] > 0 and min(f["end_s"], burst.end) > max(f["start_s"], burst.start)
        ]
        seen = (
            sum(min(f["end_s"], burst.end) - max(f["start_s"], burst.start) for f in few)
            > 0.5 * burst.seconds
        )
        yield Row(kind, name, "found", float(found), seed)
        yield Row(kind, name, "seen", float(seen), seed)
        yield Row(kind, name, f"seen {burst.watts:.0f} W {burst.seconds:g} s", float(seen), seed)
        yield Row(kind, name, f"found {burst.watts:.0f} W", float(found), seed)
        if not world.span[0] <= burst.start <= burst.end <= world.span[1]:
            continue  # nothing is promised of what is not profiled
        apart = sum(
            max(min(f["end_s"], burst.end) - max(f["start_s"], burst.start), 0)
            for f in asked.run.get("could_find_except", [])
        )
        if apart > burst.seconds / 3:
            yield Row(kind, name, "spared", 1.0, seed)
            continue  # nor of stretches that are named as such
        yield Row(kind, name, "spared", 0.0, seed)
        least = limit(asked.run, burst.watts)
        sees = limit(asked.run, burst.watts, "could_find_smaller")
        if sees is not None:
            yield Row(kind, name, "sight promised", float(burst.seconds >= sees), seed)
            yield Row(
                kind,
                name,
                "promised seen" if burst.seconds >= sees else "not promised seen",
                float(seen),
                seed,
            )
        if seen and sees is not None:
            yield Row(kind, name, "seen promised", float(burst.seconds >= sees), seed)
        yield Row(kind, name, "limit told", float(least is not None), seed)
        if least is not None:
            yield Row(kind, name, "promised", float(burst.seconds >= least), seed)
            if found:
                yield Row(kind, name, "found promised", float(burst.seconds >= least), seed)
            yield Row(
                kind,
                name,
                "promised found" if burst.seconds >= least else "not promised found",
                float(found),
                seed,
            )
    for f in told:
        here = [b for b in world.bursts if f["end_s"] > b.start and f["start_s"] < b.end]
        if not here or f["delta_watts"] <= 0:
            continue
        foreign = (
            taken.gain
            * float(world.joules(f["start_s"], f["end_s"], foreign=True))
            / (f["end_s"] - f["start_s"])
        )
        yield Row(kind, name, "watts told", f["delta_watts"], seed)
        yield Row(kind, name, "watts true", foreign, seed)
        if f.get("lo_watts") is not None:
            yield Row(
                kind, name, "watts hold", float(f["lo_watts"] <= foreign <= f["hi_watts"]), seed
            )
        if f.get("delta_joules") is not None:
            whole = taken.gain * sum(b.watts * b.seconds for b in here)
            yield Row(kind, name, "joules told", f["delta_joules"], seed)
            yield Row(kind, name, "joules true", whole, seed)


def limit(run: dict[str, Any], watts: float, which: str = "could_find") -> float | None:
    """The shortest burst of so many watts that the answer says it would show (s); inf for none,
    None where nothing is told.

    Between the watts that are told it is read on a straight line of logarithms; beyond them nothing
    is promised.
    """
    told = run.get(which)
    if not told:
        return math.inf if run.get("could_find_text") else None  # it says that it would show none
    known = sorted(
        (float(t["watts"]), float(t["seconds"])) for t in told if t.get("seconds") is not None
    )
    if not known or watts < known[0][0] * 0.999:
        return math.inf
    w, s = np.log([k[0] for k in known]), np.log([k[1] for k in known])
    return float(np.exp(np.interp(np.log(watts), w, s)))


def injected(folder: Path, seed: int, sensors: Sequence[str]) -> Iterator[Row]:
    """The same of a real recording with a burst laid into its true power, and of the recording as
    it was.
    """
    logs = folder / "logs"
    profile = powertui.open(logs, power=folder / "power.csv")[0].opened.profiles[0]
    span = (profile.trace.span[0] / PS_PER_S, profile.trace.span[1] / PS_PER_S)
    one = recorded.read(folder, profile.clock.mid_ns / 1e9, span)
    with tempfile.TemporaryDirectory() as place:
        for quiet in (False, True):
            world = recorded.world(one, seed, quiet=quiet)
            for name in sensors:
                taken = record(world, SENSORS[name], seed + 200_000 * quiet)
                asked = ask(logs, write_log(taken, Path(place) / "power.csv", "wall"))
                yield from (
                    row._replace(kind="injected") for row in findings(world, taken, asked, seed)
                )


# ── places ───────────────────────────────────────────────────────────────────────────────────────


def places(world: World, taken: Taken, asked: Asked, seed: int) -> Iterator[Row]:
    """Where a log without wall time is laid.

    What a sensor publishes late cannot be told from a log that began earlier.
    """
    name, kind, model = taken.model.name, "places", taken.model
    found = asked.run["alignment"]
    placed = found["offset_s"] is not None
    yield Row(kind, name, "placed", float(placed), seed)
    yield Row(kind, name, "sure", float(found["status"] == "aligned"), seed)
    if not placed:
        yield Row(kind, name, "near", 0.0, seed)
        return
    low, high = taken.offset_s - taken.delay_s, taken.offset_s
    error = max(found["offset_s"] - high, low - found["offset_s"], 0.0)
    near = max(NEAR, model.refresh_s / 2)
    holds = found["lo_s"] <= high + 1e-3 and found["hi_s"] >= low - 1e-3
    sure = found["status"] == "aligned"
    yield Row(kind, name, "error", error, seed)
    yield Row(kind, name, "near", float(error <= near), seed)
    yield Row(kind, name, "sure holds" if sure else "unsure holds", float(holds), seed)
    yield Row(kind, name, "sure and wrong", float(sure and error > near), seed)
    for part in asked.view.energy().to_dict("records"):
        if part["window"].startswith("epoch"):
            yield from _one(
                world, taken, part, f"{'sure' if sure else 'unsure'} joules", kind, seed
            )


CUTS = {
    "whole": (None, None),
    "ends early": (None, 0.35),
    "ends later": (None, 0.7),
    "begins late": (0.3, None),
}  # of the profile


def cut(
    folder: Path, seed: int, sensors: Sequence[str], cuts: Sequence[str] = tuple(CUTS)
) -> Iterator[Row]:
    """The true power of a real recording, read by these sensors from before the profile or from its
    middle on, laid by signal.
    """
    logs = folder / "logs"
    profile = powertui.open(logs, power=folder / "power.csv")[0].opened.profiles[0]
    span = (profile.trace.span[0] / PS_PER_S, profile.trace.span[1] / PS_PER_S)
    world = recorded.world(
        recorded.read(folder, profile.clock.mid_ns / 1e9, span), seed, quiet=True
    )
    with tempfile.TemporaryDirectory() as place:
        for name in sensors:
            for words in cuts:
                begin, end = (
                    None if share is None else span[0] + share * (span[1] - span[0])
                    for share in CUTS[words]
                )
                taken = record(
                    world, {**SENSORS, **FORGETFUL}[name], seed, Fault(begin=begin, cut=end)
                )
                if len(taken.unix) < 5:
                    continue
                asked = ask(
                    logs, write_log(taken, Path(place) / "power.csv", "relative"), findings=False
                )
                for row in places(world, taken, asked, seed):
                    if "joules" not in row.what:
                        yield row._replace(kind="cut")
                        yield row._replace(kind="cut by where", sensor=words)


# ── joules ───────────────────────────────────────────────────────────────────────────────────────


def joules(world: World, taken: Taken, view: Any, form: str, seed: int) -> Iterator[Row]:
    """Epochs and windows: does the 95 % interval hold the truth, and how wide is it against what it
    would need.
    """
    kind = f"joules {form}"
    for part in view.energy().to_dict("records"):
        what = "epochs" if part["window"].startswith("epoch") else "profile"
        yield from _one(world, taken, part, what, kind, seed)
    rng = np.random.default_rng([41, seed])
    least = max(4 * taken.model.refresh_s, 2 * taken.model.window_s, 0.5)
    for _ in range(WINDOWS):
        length = min(least * float(np.exp(rng.uniform(0, np.log(8)))), 0.9 * world.span[1])
        start = float(rng.uniform(0, world.span[1] - length))
        for part in view.energy(start=start, end=start + length).to_dict("records"):
            yield from _one(world, taken, part, "windows", kind, seed)


def _one(
    world: World, taken: Taken, part: dict[str, Any], what: str, kind: str, seed: int
) -> Iterator[Row]:
    name = taken.model.name
    told, lo, hi = part.get("joules"), part.get("lo"), part.get("hi")
    resolved = all(v is not None and np.isfinite(v) for v in (told, lo, hi))
    yield Row(kind, name, f"{what} resolved", float(resolved), seed)
    if not resolved:
        return
    start, end = part["start_s"], part["end_s"]
    number = part["window"].removeprefix("epoch ")
    if number != part["window"] and number.isdigit() and int(number) < len(world.epochs):
        # As it was, from the end of the one before: how well its bounds are known is in its
        # interval, too.
        start, end = world.epochs[int(number)]
        start = world.epochs[int(number) - 1][1] if int(number) else start
    true = taken.gain * float(world.joules(start, end))
    # The gain of this very sensor is in the truth: the interval is judged without its part of it.
    half = max(hi - told, told - lo)
    gain = CLAIMED_GAIN.get(taken.model.label, 0.0) if kind == "joules labelled" else 0.0
    half = max(math.sqrt(max(half**2 - (gain * told) ** 2, 0.0)), 1e-12)
    lo, hi = told - half, told + half
    # a counter is exact to its last digit: its interval may be narrower than the truth is known
    exact = abs(told / true - 1) < 1e-5
    yield Row(kind, name, f"{what} hold", float(exact or lo <= true <= hi), seed)
    yield Row(kind, name, f"{what} error", (told - true) / true, seed)
    yield Row(kind, name, f"{what} of half", 0.0 if exact else abs(told - true) / half, seed)
    yield Row(kind, name, f"{what} half", half / true, seed)


# ── faults ───────────────────────────────────────────────────────────────────────────────────────


def faults(world: World, seed: int, folder: Path, logs: Path) -> Iterator[Row]:
    """A log in which something goes wrong: joules still hold, nothing is called a finding, and it
    is said.
    """
    rng = np.random.default_rng([43, seed])
    at = float(rng.uniform(0.3, 0.7)) * world.span[1]
    bmc, counter, moment = (
        SENSORS[name] for name in ("mean 0.5 s, 1 W", "counter 0.1 s", "moment 0.04 s")
    )
    step = Fault(clock_step=(at, 0.4))
    known = {
        "0 W for 3 s": (bmc, Fault(restart=(at, 3.0))),
        "clock set by 0.4 s": (bmc, step),
        "clock set by 0.4 s (counter)": (counter, step),
        "clock set by 0.4 s (0.04 s)": (moment, step),
        "clock set back by 0.4 s (0.04 s)": (moment, Fault(clock_step=(at, -0.4))),
        "1.1 s pause every 11 rows": (replace(bmc, poll_s=0.2), Fault(pause=(11, 1.1))),
        "answers repeated": (bmc, Fault(repeated=0.1, missed=0.05)),
        "ends in the middle": (bmc, Fault(cut=at)),
    }
    usual: dict[Model, set[str]] = {}  # what is said of the same recording when nothing goes wrong
    for what, (model, fault) in known.items():
        if model not in usual:
            usual[model] = _words(
                ask(logs, write_log(record(world, model, seed), folder / "usual.csv", "wall")).run
            )
        taken = record(world, model, seed, fault)
        asked = ask(logs, write_log(taken, folder / "fault.csv", "wall"))
        for row in joules(world, taken, asked.view, what, seed):
            if row.what.split()[0] in ("epochs", "windows"):
                yield row._replace(kind="faults", sensor=what)
        yield Row("faults", what, "said", float(_words(asked.run) != usual[model]), seed)
        told = [
            f
            for f in asked.run["findings"]
            if f.get("delta_watts") is not None and not f.get("explained")
        ]
        yield Row("faults", what, "false", float(bool(told)), seed)


def _words(run: dict[str, Any]) -> set[str]:
    """All that is said of what was odd, without its figures."""
    said = [*run["notes"], *(w["cause"] for w in run["warnings"]), *run["alignment"]["evidence"]]
    said += [w["cause"] for s in run["sensors"] for w in s["warnings"]] + [
        s["text"] for s in run["sensors"]
    ]
    return {"".join(c for c in words if not c.isdigit() and c != ".") for words in said}


# ── one seed ─────────────────────────────────────────────────────────────────────────────────────

PARTS = ("findings", "places", "joules", "faults")


def one_seed(
    seed: int, parts: Sequence[str] = PARTS, sensors: Sequence[str] = tuple(SENSORS)
) -> list[Row]:
    """Everything that one seed tells."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for slow in (False, True):
            models = [SENSORS[name] for name in sensors if (name in SLOW) == slow]
            if models:
                rows += _worlds(seed, models, parts, folder / ("slow" if slow else "quick"), slow)
    return rows


def _worlds(
    seed: int, models: Sequence[Model], parts: Sequence[str], folder: Path, slow: bool
) -> Iterator[Row]:
    parts = [part for part in parts if part not in ("findings", "faults")] if slow else parts
    world = make(plan(seed, long=slow))
    logs = write(world, folder / "burst")
    for model in models:
        taken = record(world, model, seed)
        if "findings" in parts or "joules" in parts:
            asked = ask(
                logs, write_log(taken, folder / "wall.csv", "wall"), findings="findings" in parts
            )
            if "findings" in parts:
                yield from findings(world, taken, asked, seed)
            if "joules" in parts:
                yield from joules(world, taken, asked.view, "unlabelled", seed)
        if "joules" in parts:
            asked = ask(logs, write_log(taken, folder / "labelled.csv", "labelled"), findings=False)
            yield from joules(world, taken, asked.view, "labelled", seed)
        if "places" in parts:
            path = write_log(taken, folder / "relative.csv", "relative")
            yield from places(world, taken, ask(logs, path, findings=False), seed)
    if "findings" in parts and seed % 2 == 0:  # half as many quiet ones
        quiet = make(plan(seed, quiet=True, long=slow))
        logs = write(quiet, folder / "quiet")
        for model in models:
            taken = record(quiet, model, seed + 100_000)
            yield from findings(
                quiet, taken, ask(logs, write_log(taken, folder / "quiet.csv", "wall")), seed
            )
        if "faults" in parts and seed % 4 == 0:
            yield from faults(quiet, seed, folder, logs)
