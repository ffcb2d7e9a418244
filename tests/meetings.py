"""Every power fixture beside every kind of run: which logs meet which runs, and what each verb
makes of a pair.

    python -m tests.meetings [--every N]      all pairs with all verbs, or every Nth of them; one
                                              line for each that went wrong

A pair goes wrong by a traceback, by a warning, or by the word "aligned" for a log that does not
meet its run. Whether it does is worked out here from the clocks alone, apart from the program's own
rule.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import powertui
from powertui import cli, demo
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import align
from powertui.data.model import NS_PER_S, PowerSeries
from powertui.data.opened import Profile
from powertui.data.power import registry, times
from powertui.data.training.training import Training, Trainings
from powertui.data.training.training_energy import training_energy
from powertui.errors import PowertuiError
from powertui.screens import loader
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import gpus, hosts, long_training, tfevents

_DATA = Path(__file__).resolve().parent / "data"
_SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
VERBS = ("report", "energy", "doctor", "export", "open")
_SPARE_NS = (
    130 * NS_PER_S
    # BMC clocks are believed to two minutes, and two programs on one machine do not write at one
    # moment
)
_ZONES_NS = [quarter * 900 * NS_PER_S for quarter in range(-14 * 4, 14 * 4 + 1)]


class Wrong(NamedTuple):
    """A pair that went wrong with one verb."""

    run: str
    log: str
    verb: str
    why: str


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


def _copied(*sources: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for source in sources:
            place = _DATA / source
            if place.is_dir():
                shutil.copytree(place, folder, dirs_exist_ok=True)
            else:
                shutil.copy(place, folder)

    return make


def _demo_with(wanted: Callable[[Path], bool]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for file in (demo.folder() / "logs").rglob("*"):
            if file.is_file() and wanted(file):
                place = folder / file.relative_to(demo.folder())
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)

    return make


def _long(folder: Path) -> None:
    long_training.long_training(folder)
    for log in folder.rglob("*.csv"):
        log.unlink()


def _one_record(folder: Path) -> None:
    place = folder / "train"
    place.mkdir()
    tfevents.write_scalars(
        place / "events.out.tfevents.1763726400.vm.77.0.v2",
        [(1_763_726_460.0, 0, "epoch_loss", 1.0)],
        1_763_726_400.0,
    )


RUNS: dict[str, Callable[[Path], None]] = {
    "Keras with scalars": _demo_with(lambda file: True),
    "scalars alone": _demo_with(lambda file: "tfevents" in file.name),
    "profile without scalars": _demo_with(lambda file: "tfevents" not in file.name),
    "JAX without epochs": _copied("logdirs/jax_cpu"),
    "custom loop": _copied("logdirs/trace_export"),
    "PyTorch": _copied("foreign/torch_1_8.pt.trace.json"),
    "old PyTorch": _copied("foreign/torch_1_6.json"),
    "JAX as JSON": _copied("foreign/jax_perfetto_trace.json"),
    "TensorFlow timeline": _copied("foreign/tf_timeline.json"),
    "trace of a build": _copied("foreign/bazel.profile.json"),
    "several hosts": lambda folder: void(hosts.two(folder)),
    "several GPUs": lambda folder: void(gpus.make(2, (0, 1)).write(folder)),
    "long training": _long,
    "one record": _one_record,
    "two runs": _copied("logdirs/jax_cpu", "foreign/torch_1_8.pt.trace.json"),
}
_SHARED_RUNS = (
    "own/long_training",
    "own/keras_cifar",
    "own/custom_loop",
    "own/bursts/jax_no_epochs_100ms",
    "own/sentences/torch_slowdl",
    "public/kineto_two_ranks",
    "public/e4040_hd2551",
    "public/powerboard_tf22_run183023_5epochs",
)


def void(_: object) -> None:
    """What a maker gives back is not asked for."""


def _shared_run(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        shutil.copytree(_SHARED / name, folder, dirs_exist_ok=True)
        for file in folder.rglob("*"):
            if file.suffix in (".csv", ".db"):
                file.unlink()

    return make


def runs() -> dict[str, Callable[[Path], None]]:
    """By name, what writes it into a folder."""
    shared = {name: _shared_run(name) for name in _SHARED_RUNS if (_SHARED / name).is_dir()}
    return {**RUNS, **shared}


def logs() -> list[Path]:
    """Files of every dialect; with the shared data, recordings too."""
    own = [
        path
        for folder in ("power", "power_tools")
        for path in sorted((_DATA / folder).iterdir())
        if path.name != "README.md"
    ]
    shared = [
        path
        for top in ("public", "own")
        for end in ("csv", "db")
        for path in sorted((_SHARED / top).rglob(f"*.{end}"))
    ]
    return own + [
        path for path in shared if "tracelens" not in path.parts and "truth" not in path.name
    ]


# ── which meet ───────────────────────────────────────────────────────────────────────────────────


def _extents(folder: Path) -> list[tuple[int, int]]:
    """From when to when each training below a folder ran (Unix ns), and each profile whose clock
    its scalars contradict.
    """
    out = []
    for training in Trainings(logdir.scan(str(folder)), ReadOptions(find_power=False)).all:
        bounds = list(training.scalar_span or ())
        for entry in training.entry.sessions:
            opened = training.opened(entry)
            try:
                profiles = opened.profiles
            except PowertuiError:
                continue
            for profile in profiles:
                if profile.clock.known:
                    span = [profile.clock.mid_ns + ps // 1000 for ps in profile.trace.span]
                    half = profile.clock.half_ns
                    out.append((span[0] - half, span[1] + half))
        bounds += [
            ns
            for one in training.islands
            if one.start and one.end
            for ns in (one.start.ns, one.end.ns)
        ]
        if bounds:
            out.append((min(bounds), max(bounds)))
    return out


def may_meet(series: PowerSeries, extents: list[tuple[int, int]]) -> bool:
    """Whether a channel may overlap one of them: by its clock, in any zone where it tells none;
    relative times always may.
    """
    clock = series.clock
    if clock.lo_ns is None or clock.hi_ns is None or not len(series):
        return True
    local = times.is_local(clock)
    shifts = _ZONES_NS if local else [0]
    zeros = (clock.mid_ns, clock.mid_ns) if local else (clock.lo_ns, clock.hi_ns)
    first, last = (
        zeros[0] + int(series.times[0]) - _SPARE_NS,
        zeros[1] + int(series.times[-1]) + _SPARE_NS,
    )
    return any(first + by < hi and last + by > lo for by in shifts for lo, hi in extents)


class Log(NamedTuple):
    """A log as read once."""

    path: Path
    series: tuple[PowerSeries, ...]

    def may_meet(self, extents: list[tuple[int, int]]) -> bool:
        return not extents or not self.series or any(may_meet(one, extents) for one in self.series)


def read(path: Path) -> Log:
    """Its channels; none where no reader takes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Log(path, tuple(registry.load(str(path)).series))
        except PowertuiError:
            return Log(path, ())


# ── what the verbs say ───────────────────────────────────────────────────────────────────────────


def _said(argv: list[str]) -> str:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        cli.main(argv)
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return out.buffer.getvalue().decode("utf-8", "replace") + err.getvalue()


def _aligned(shown: Any) -> Iterator[str]:
    """The file of everything in some JSON that is called aligned; "" where it has none."""
    if isinstance(shown, dict):
        if shown.get("status") in ("aligned", "ambiguous"):
            yield str(shown.get("source"))
        for part in shown.values():
            yield from _aligned(part)
    elif isinstance(shown, list):
        for part in shown:
            yield from _aligned(part)


def _open(folder: Path) -> list[str]:
    """What the screens show, worked out as they do and not drawn; on what the power of each run
    lies, where it lies.
    """
    lies = []
    trainings = Trainings(logdir.scan(str(folder)))
    for training in trainings.all:
        for entry in training.entry.sessions:
            opened = training.opened(entry)
            try:
                model = TimelineModel.from_run(opened.run, 0) if opened.run.traces else None
            except PowertuiError:
                continue
            part = loader.training_model(opened, 0, model, Aligning())
            loader.further(part, opened, Aligning())
            lies += [one.source for one in part.power if one.status != "none"]
            lies += _ways(training, opened.profiles[0]) if opened.profiles else []
        seen = training.seen_from()
        lies += [one.source for one in seen.power]
        _ = training_energy(seen).findings
        assert seen.end >= seen.start
    return lies


def _ways(training: Training, profile: Profile) -> list[str]:
    """What the page of alignment lists, but for the way that sets clocks aside."""
    run, lies = profile.opened.run, []
    for mode in ("auto", "clock", "none"):
        around = getattr(training, "around_ns", None)
        extra = (around(profile),) if around else ()
        for one in align.place_all(
            run, profile.index, profile.opened.entry, Aligning(mode), *extra
        ):
            lies += [one.alignment.source] if one.power.status != "none" else []
    return lies


def _placed(folder: Path, verb: str) -> list[str]:
    """On what evidence a verb took the power to lie on a run; the sources of all that it calls
    aligned.
    """
    path = str(folder)
    if verb == "open":
        return _open(folder)
    if verb == "energy":
        said = _said(["energy", path, "--json"])
        _said(["energy", path])
        return list(_aligned(json.loads(said))) if said.startswith("{") else []
    if verb == "report":
        said = _said(["report", path])
        _said(["report", path, "--json"])
        return [
            line
            for line in said.splitlines()
            if line.strip().startswith("power ") and ": aligned" in line
        ]
    if verb == "doctor":
        return [
            line for line in _said(["doctor", path]).splitlines() if ", at the time of the" in line
        ]
    for what in ("samples", "steps"):
        _said(["export", path, "--what", what])
    return []


def check(
    name: str, folder: Path, extents: list[tuple[int, int]], log: Log, verb: str
) -> Wrong | None:
    """One pair with one verb. The log is put into the folder of the run, and taken out again."""
    place = folder / log.path.name
    shutil.copy(log.path, place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sources = _placed(folder, verb)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return Wrong(
            name,
            log.path.name,
            verb,
            f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}: {error}",
        )
    finally:
        place.unlink()
    if sources and not log.may_meet(extents):
        return Wrong(name, log.path.name, verb, f"aligned: {sources[0]}")
    return None


def sweep(folder: Path, every: int = 1, first: int = 0) -> Iterator[tuple[int, Wrong | None]]:
    """All pairs with all verbs, or every Nth: (its number, what went wrong)."""
    known = [read(path) for path in logs()]
    number = 0
    for name, make in runs().items():
        place = folder / str(number)
        place.mkdir()
        make(place)
        extents = _extents(place)
        for log in known:
            for verb in VERBS:
                number += 1
                if number % every == first:
                    yield number, check(name, place, extents, log, verb)
        shutil.rmtree(place)


def main() -> int:
    """Everything, with the worst last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    wrong: list[Wrong] = []
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for _, found in sweep(Path(folder), every):
            count += 1
            if found is not None:
                wrong.append(found)
                print(" | ".join(found), file=sys.stderr, flush=True)
    print(
        f"powertui {powertui.__version__}: {len(runs())} runs x {len(logs())} logs x "
        f"{len(VERBS)} verbs, {count} of them tried"
    )
    print(f"{len(wrong)} went wrong")
    for why, times_seen in Counter(one.why.split(":")[0] for one in wrong).most_common():
        print(f"{times_seen:6}  {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
