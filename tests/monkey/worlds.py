"""What the monkey opens: recordings of every kind, whole and broken, and live feeds.

Each is made in the monkey's folder.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from powertui import cli, demo
from powertui.config import Config
from powertui.data import logdir
from powertui.data.power import registry
from powertui.feed import RecorderFeed, ReplayFeed
from powertui.sampler.process import RecorderProcess
from powertui.sampler.source import Options
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from powertui.verbs import common

from ..synthetic.long_training import long_training
from ..synthetic.workload import Burst, Plan, build
from ..synthetic.xplane import Event, Line, Plane, encode

DATA = Path(__file__).resolve().parents[1] / "data"
PROFILE = "plugins/profile"


@dataclass(frozen=True)
class World:
    """A command line, and how it is opened in this process."""

    name: str
    arguments: tuple[str, ...]
    open: Callable[[Capabilities], Shell]


def _display(capabilities: Capabilities) -> Display:
    return Display(capabilities, theme.get("dark", capabilities.color), Config())


def _opened(path: Path, *flags: str) -> Callable[[Capabilities], Shell]:
    def shell(capabilities: Capabilities) -> Shell:
        args = cli.build_parser("open").parse_args(["open", str(path), *flags])
        session = Session(
            common.reading_of(args), common.aligning_of(args), logdir=logdir.scan(path)
        )
        return Shell(session, _display(capabilities))

    return shell


def _replayed(
    path: Path, speed: float, watched: str | None = None
) -> Callable[[Capabilities], Shell]:
    def shell(capabilities: Capabilities) -> Shell:
        feed = ReplayFeed(registry.load(str(path)).series, "replay", speed=speed)
        feed.start()
        return Shell(Session(feed=feed, watched=watched), _display(capabilities), first="live")

    return shell


def _recorded(path: Path) -> Callable[[Capabilities], Shell]:
    def shell(capabilities: Capabilities) -> Shell:
        feed = RecorderFeed(
            RecorderProcess([(f"csv:{path}", Options())], interval=0.05), "a growing file"
        )
        feed.start()
        return Shell(Session(feed=feed), _display(capabilities), first="live")

    return shell


def _profile(folder: Path, data: bytes, host: str = "vm", run: str = "2026_01_01_00_00_00") -> Path:
    path = folder / PROFILE / run / f"{host}.xplane.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return folder


def _bare() -> bytes:
    """Events, but no steps, no epochs, no power; one of no length, one before zero, one with a name
    of escape sequences.
    """
    ms = 1_000_000_000
    events = [Event(f"op {i % 7}", i * 3 * ms, 2 * ms) for i in range(200)]
    odd = [Event("\x1b[31m[red]\x1b]0;owned\x07", 5 * ms, 0), Event("界" * 50, 9 * ms, 400 * ms)]
    return encode([Plane("/host:CPU", [Line("thread", events, 1), Line("", odd, 2)])])


def worlds(folder: Path) -> dict[str, World]:
    """All of them; what they open is made below `folder` when it is not there yet."""
    made = folder / "worlds"
    if not (made / ".ready").exists():
        shutil.rmtree(made, ignore_errors=True)
        _make(made)
    power = demo.power_file()
    paths: dict[str, tuple[str, ...]] = {
        "demo": (str(demo.folder()),),
        "runs": (str(DATA / "logdirs"),),
        "many": (str(made / "many"),),
        "bare": (str(made / "bare"),),
        "one-event": (str(made / "one-event"),),
        "hosts": (str(made / "hosts"),),
        "training": (str(made / "training"),),
        "power-only": (str(made / "power-only"),),
        "power-alone": (str(made / "power-only" / "powerboard.csv"),),
        "sessions": (str(made / "sessions"),),
        "scalars": (str(made / "scalars"),),
        "broken": (str(made / "broken"),),
        "empty": (str(made / "empty"),),
        "trace": (str(made / "trace.json"),),
    }
    out = {
        name: World(name, ("open", *paths[name]), _opened(Path(paths[name][0]))) for name in paths
    }
    logs = ("--logdir", str(DATA / "logdirs"))
    out["live"] = World(
        "live", ("live", "--replay", str(power), "--speed", "50"), _replayed(power, 50.0)
    )
    out["live-logdir"] = World(
        "live-logdir", ("live", "--replay", str(power), *logs), _replayed(power, 5.0, logs[-1])
    )
    grows = made / "growing.csv"
    out["live-records"] = World(
        "live-records", ("live", "--source", f"csv:{grows}", "--no-record"), _recorded(grows)
    )
    return out


def _make(made: Path) -> None:
    one = next((DATA / "logdirs" / "jax_cpu").rglob("*.xplane.pb")).read_bytes()
    other = next((DATA / "logdirs" / "trace_export").rglob("*.xplane.pb")).read_bytes()
    for number in range(60):
        _profile(
            made / "many",
            other,
            run=f"run_{number:03}_of_many_with_a_name_as_long_as_people_give_them",
        )
    _profile(made / "bare", _bare())
    _profile(made / "one-event", encode([Plane("/host:CPU", [Line("t", [Event("x", 0, 0)])])]))
    for host in ("alpha", "beta", "gamma"):
        _profile(made / "hosts", one if host != "beta" else other, host=host)
    plan = Plan(seconds=20.0, bursts=(Burst(1, 10, 20, 80.0),))
    _profile(made / "training", build(3, plan).xplane())
    long_training(made / "sessions")
    long_training(made / "scalars", sessions=())
    (made / "power-only").mkdir(parents=True)
    for name in ("recording.csv", "powerboard.csv", "nvidia_smi_two_gpus.csv"):
        shutil.copy(DATA / "power" / name, made / "power-only" / name)
    _profile(made / "broken", one[: len(one) // 3], run="cut")
    _profile(made / "broken", bytes(random.Random(1).randbytes(5000)), run="noise")
    _profile(made / "broken", b"", run="nothing")
    _profile(made / "broken", other, run="whole")
    (made / "empty").mkdir()
    rows = ",".join(
        f'{{"ph":"X","pid":1,"tid":{i % 3},"ts":{i * 10},"dur":7,"name":"k{i % 5}"}}'
        for i in range(300)
    )
    (made / "trace.json").write_text(f'{{"traceEvents":[{rows}]}}')
    shutil.copy(DATA / "power" / "growing.csv", made / "growing.csv")
    (made / ".ready").touch()


if __name__ == "__main__":
    for name, world in worlds(Path(sys.argv[1])).items():
        print(name, *world.arguments)
