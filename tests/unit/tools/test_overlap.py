"""What runs at the same time as an event, and the run environment in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powertui import demo
from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from tests.answers import rows
from tests.synthetic.xplane import Event, Line, Plane, encode

MS = 10**9


def ask(path: Path, tool: str, **asked: Any) -> Result:
    (run, *_) = logdir.scan(path).runs
    return registry.get(tool).answer(Question(Opened(run), **asked))


def test_what_overlaps_is_told_by_line_and_name(tmp_path: Path) -> None:
    """The window is an event from 10 to 30 ms."""
    python = [Event("step", 10 * MS, 20 * MS, {}), Event("load", 40 * MS, 5 * MS, {})]
    other = [Event("copy", 5 * MS, 10 * MS, {}), Event("copy", 28 * MS, 10 * MS, {})]
    kernels = [Event("sgemm", 12 * MS, 3 * MS, {}), Event("sgemm", 30 * MS, 3 * MS, {})]
    host = Plane("/host:CPU", [Line("python", python, 1), Line("loader", other, 2)])
    device = Plane("/device:GPU:0", [Line("Stream #13", kernels, 13)])
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(encode([host, device]))
    result = ask(file, "overlap", lo=10 * MS, hi=30 * MS)
    told = [
        (row["line"], row["name"], row["count"], row["shared_s"], row["share"])
        for row in rows(result["overlap"])
    ]
    assert told == [
        ("python", "step", 1, 0.020, 1.0),
        ("loader", "copy", 2, 0.007, 0.35),
        ("Stream #13", "sgemm", 1, 0.003, 0.15),
    ]
    place = result["overlap"].place(1)
    assert place is not None
    assert place.lo == 5 * MS  # the copy that shares 5 ms, and not the one that shares 2


def test_the_overlap_of_a_recorded_window_is_a_plain_recount() -> None:
    (run, *_) = logdir.scan(demo.folder()).runs
    opened = Opened(run)
    trace = opened.profiles[0].trace
    lo, hi = trace.span[0] + 10 * MS, trace.span[0] + 25 * MS
    result = registry.get("overlap").answer(Question(opened, lo=lo, hi=hi))
    counted = shared = 0
    for _, track in trace.tracks():
        if track.derived:
            continue
        start, end = track.events.start, track.events.start + track.events.duration
        inside = (start < hi) & ((end > lo) | (start >= lo))
        counted += int(inside.sum())
        for name in set(track.events.name[inside].tolist()):
            of_name = inside & (track.events.name == name)
            covered_until = lo
            for begins, ends in sorted(zip(start[of_name], end[of_name], strict=True)):
                shared += max(0, int(min(ends, hi)) - int(max(begins, covered_until)))
                covered_until = max(covered_until, int(min(ends, hi)))
    table = result["overlap"]
    assert counted > 30
    assert int(table["count"].values.sum()) == counted
    assert int(table["shared_s"].values.sum()) == shared


def test_the_environment_says_what_a_file_does_not_hold(tmp_path: Path) -> None:
    secret = "hf_" + "a" * 30
    stats = {"command_line": f"train.py --token={secret}", "jax_version": "0.10.2"}
    plane = Plane("/host:CPU", [Line("python", [Event("step", 0, MS, {})], 1)], stats)
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(encode([plane]))
    result = ask(file, "run_environment")
    facts = {fact.id: fact.text() for fact in result.facts}
    assert facts["software"] == "jax 0.10.2"
    assert facts["command_line"].startswith("train.py --token=")
    assert facts["device_memory"] == facts["batch_size"] == "not in this file"
    told = {row["name"]: row["value"] for row in rows(result["stated"])}
    assert told["jax_version"] == "0.10.2"
    assert secret not in str(facts) + str(told)


def test_a_name_inside_itself_shares_no_more_than_the_window(tmp_path: Path) -> None:
    """A function that calls itself: each moment counts once, whatever the depth."""
    calls = [Event("walk", at * MS, (30 - 2 * at) * MS, {}) for at in range(10)]
    calls += [Event("walk", 40 * MS, 5 * MS, {}), Event("walk", 44 * MS, 6 * MS, {})]
    calls += [Event("read", 60 * MS, 5 * MS, {}), Event("read", 70 * MS, 5 * MS, {})]
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(encode([Plane("/host:CPU", [Line("python", calls, 1)])]))
    result = ask(file, "overlap", lo=10 * MS, hi=20 * MS)
    (row,) = rows(result["overlap"])
    assert (row["count"], row["shared_s"], row["share"]) == (10, 0.010, 1.0)
    shares = {
        row["name"]: (row["count"], row["shared_s"])
        for row in rows(ask(file, "overlap")["overlap"])
    }
    assert shares == {"walk": (12, 0.040), "read": (2, 0.010)}
