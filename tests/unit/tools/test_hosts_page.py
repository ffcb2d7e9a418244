"""Hosts side by side: as TensorBoard's pod viewer has them, with what the slowest costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.table import Chart, Result, Series
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.plain import width
from powertui.terminal.glyphs import ASCII, UNICODE
from powertui.view.host_bars import MAX_BARS, member_lines
from tests.answers import rows
from tests.synthetic.xplane import Event, Line, Plane, Value, encode

MS = 10**9
UNIX_NS = 1_795_000_000 * 10**9
OWN = "own/{}/plugins/profile/{}/vm.xplane.pb"
# What xprof 2.24.2 answers as its pod_viewer for two profiles as two hosts of one run.
PAIRS = {
    "jax": (
        OWN.format("jax_cpu", "2026_11_21_00_50_48"),
        OWN.format("jax_cpu", "2026_11_21_00_50_50"),
    ),
    "custom": (
        OWN.format("custom_loop", "2026_11_21_00_50_37"),
        OWN.format("sentences/tf_input_bound", "2026_11_23_03_51_07"),
    ),
}


def run_folder(folder: Path, **profiles: bytes) -> Path:
    run = folder / "plugins" / "profile" / "one"
    run.mkdir(parents=True)
    for host, data in profiles.items():
        (run / f"{host}.xplane.pb").write_bytes(data)
    return folder


def answer(folder: Path, **asked: Any) -> Result:
    (run,) = logdir.scan(folder).runs
    return registry.get("hosts").answer(Question(Opened(run), **asked))


@pytest.mark.parametrize("pair", PAIRS)
def test_two_hosts_are_as_in_the_pod_viewer(
    pair: str, shared_data: Path, data: Path, tmp_path: Path
) -> None:
    alpha, beta = ((shared_data / path).read_bytes() for path in PAIRS[pair])
    result = answer(run_folder(tmp_path, alpha=alpha, beta=beta), compat="xprof")
    ours = [list(row.values()) for row in rows(result["pod"])]
    theirs = json.loads((data / "pod_viewer" / f"{pair}.json").read_text())
    assert len(ours) == len(theirs) > 10
    for row, (_, core, *figures, bottleneck) in zip(ours, theirs, strict=True):
        assert row[1] == ("alpha" if core == 1 else "beta")
        assert row[2:-1] == pytest.approx(figures, abs=6e-4)  # xprof writes whole ns
        assert row[-1] == bottleneck


@pytest.mark.parametrize("name", ["custom_loop", "gpu_tf_t4", "jax_opt", "jax_unopt"])
def test_a_single_host_is_as_in_the_stored_pod_viewer(name: str, shared_data: Path) -> None:
    folder = {
        "custom_loop": "own/custom_loop",
        "gpu_tf_t4": "public/e4040_hd2551/logs/fit/20231107-182500",
        "jax_opt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_50",
        "jax_unopt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_48",
    }[name]
    result = answer(shared_data / folder, compat="xprof")
    stored = json.loads((shared_data / "golden" / name / "pod_viewer.json").read_text())
    ids = [str(event["id"]) for event in stored["stepBreakdownEvents"]]
    steps = stored["podStatsSequence"]["podStatsMap"]
    has_steps = any(table.id == "pod" for table in result.tables)
    ours = [list(row.values())[2:] for row in rows(result["pod"])] if has_steps else []
    assert len(ours) == len(steps)
    for row, step in zip(ours, steps, strict=True):
        (core,) = step["podStatsPerCore"].values()
        figures = [core["totalDurationUs"], *(core["stepBreakdownUs"][id] for id in ids)]
        assert row[:-1] == pytest.approx(figures, abs=6e-4)
        assert row[-1] == core["bottleneck"]


# ── made hosts ───────────────────────────────────────────────────────────────────────────────────

STEPS = 20


def host(name: str, step_ms: int, collective_ms: int) -> bytes:
    """Steps 100 ms apart, in each a kernel and then a collective, which ends with all the others'."""
    marks: list[Event] = []
    kernels: list[Event] = []
    on_device: list[Event] = []
    for step in range(STEPS):
        at = step * 100 * MS
        group: dict[str, Value] = {"group_id": step}
        named: dict[str, Value] = {"step_num": step, "step_name": f"train {step}", **group}
        marks.append(Event("train", at, step_ms * MS, named))
        on_device.append(Event(str(step), at, step_ms * MS, group))
        work_ms = step_ms - collective_ms
        launched: dict[str, Value] = {"correlation_id": 2 * step, **group}
        kernels.append(Event("sgemm", at, work_ms * MS, launched))
        launched = {"correlation_id": 2 * step + 1, **group}
        kernels.append(Event("ncclAllReduce", at + work_ms * MS, collective_ms * MS, launched))
    stats: dict[str, Value] = {"profile_start_time": UNIX_NS, "profile_stop_time": UNIX_NS + 2 * MS}
    device = Plane(
        "/device:GPU:0",
        [Line("Stream #13", kernels, 13), Line("Steps", on_device, 0xDEADBEEF)],
        {"compute_cap_major": 8, "compute_cap_minor": 0},
    )
    return encode(
        [
            Plane("/host:CPU", [Line("python", marks, 1)]),
            device,
            Plane("Task Environment", [], stats),
        ],
        (name,),
    )


def test_the_slowest_host_costs_time_and_joules_and_comes_last_to_collectives(
    tmp_path: Path,
) -> None:
    """Of three hosts c works 50 ms where the others work 30 and wait."""
    folder = run_folder(tmp_path, a=host("a", 60, 30), b=host("b", 60, 30), c=host("c", 60, 10))
    for name, watts in (("a", 200), ("b", 300), ("c", 100)):
        # Every 47 ms: readings every 50 ms would meet the same two moments of each step.
        readings = "".join(f"{UNIX_NS / 1e9 + i * 0.047},{name},{watts}\n" for i in range(-43, 107))
        (folder / f"{name}.csv").write_text(f"time_unix_s,host,watts\n{readings}")
    result = answer(folder)
    facts = {fact.id: fact.value for fact in result.facts}
    assert facts["straggler"] == f"c, slowest in {STEPS} of {STEPS} steps"
    assert facts["cost_s"] == STEPS * 20 * MS
    assert facts["cost_j"] == pytest.approx(600 * STEPS * 0.020, rel=0.02)
    assert facts["late_s"] == STEPS * 20 * MS
    late = {row["host_name"]: row for row in rows(result["late"])}
    assert [late[name]["last"] for name in "abc"] == [0, 0, STEPS]
    assert late["c"]["waited_s"] == pytest.approx(STEPS * 0.020)
    members = rows(result["members"])
    assert [row["behind_s"] for row in members] == pytest.approx([-0.010, -0.010, 0.020])
    place = result["members"].place(2)
    assert place is not None
    assert place.host == 2
    window = answer(folder, lo=5 * 100 * MS, hi=6 * 100 * MS)
    assert window["members"].title == "Step train 5, host by host"


def chart(count: int) -> Chart:
    hosts = [f"node{number}" for number in range(count)]
    computing = np.linspace(0.1, 0.2, count)
    series = (
        Series("Device compute", hosts, computing),
        Series("Input", hosts, np.full(count, 0.1)),
    )
    return Chart("hosts", "Step 1 of each host by category", series, "members")


def drawn(count: int, columns: int, lines: int, *, ascii: bool = False) -> list[str]:
    glyphs = ASCII if ascii else UNICODE
    made = member_lines(chart(count), columns, lines, glyphs)
    return ["".join(text for text, _ in line) for line in made]


BARS = [
    " Step 1 of each host by category",
    " node0                CCCCCCCCCCIIIIIIIII 200 ms",
    " node1                CCCCCCCCCCCCCCCCCCCIIIIIIIII 300 ms",
    "                      C device compute  I input  ",
]


def test_few_hosts_are_bars_and_many_are_tiles() -> None:
    assert drawn(2, 60, 18, ascii=True) == BARS
    bars = drawn(MAX_BARS, 120, 18)
    assert len(bars) == MAX_BARS + 2
    assert bars[-1].strip().startswith("■ device compute")
    tiles = drawn(64, 120, 18)
    assert tiles[0] == " Step 1 of each host"
    assert sum(line.count("node") for line in tiles[1:]) == 64
    many = drawn(1000, 80, 12)
    assert len(many) <= 12
    assert many[-1].endswith("slowest of 1000 hosts")
    assert max(map(len, many)) <= 80
    assert drawn(64, 30, 18) == []


@pytest.mark.parametrize("cells", [62, 80, 120])
def test_tiles_of_hosts_whose_names_are_wide_stay_in_their_cells(cells: int) -> None:
    """Their last characters were counted, not cells: the line went beyond the window."""
    hosts = [f"計算機室東京第{number}" for number in range(64)]
    series = (Series("Device compute", hosts, np.linspace(0.1, 0.2, 64)),)
    made = Chart("hosts", "Step 1 of each host by category", series, "members")
    _title, *tiles, _legend = member_lines(made, cells, 18, UNICODE)
    assert len(tiles) > 2
    cells_of_tiles = {width(text) for line in tiles for text, role in line if role != "text"}
    assert len(cells_of_tiles) == 1
    assert max(width("".join(text for text, _ in line)) for line in tiles) <= cells


def test_the_legend_names_what_is_drawn_most_time_first_as_far_as_there_is_room() -> None:
    hosts = ["node0", "node1"]
    seconds = {
        "Device compute": 0.2,
        "Device to device": 0.0,
        "Device collective communication": 0.3,
        "Host compute": 0.1,
    }
    series = tuple(Series(label, hosts, np.full(2, each)) for label, each in seconds.items())
    made = Chart("hosts", "Step 1 of each host by category", series, "members")

    def legend(cells: int) -> str:
        return "".join(text for text, _ in member_lines(made, cells, 10, UNICODE)[-1]).strip()

    assert legend(80) == "■ device collectives  ■ device compute  ■ host compute"
    assert legend(60) == "■ device collectives  ■ device compute  ■ host compute"
    assert legend(50) == "■ device collectives  ■ device compute  1 more"


def test_tiles_of_hosts_that_wait_for_each_other_show_the_time_without_waiting() -> None:
    hosts = [f"node{number:02}" for number in range(24)]
    work = np.full(24, 0.08)
    work[15] = 0.09
    series = (
        Series("Device compute", hosts, work),
        Series("Device collective communication", hosts, 0.1 - work),
    )
    lines = member_lines(
        Chart("hosts", "Step 1 of each host by category", series, "members"), 100, 10, UNICODE
    )
    assert lines[0][0][0] == " Step 1 of each host, without collectives"
    tiles = {text.split()[0]: role for line in lines[1:] for text, role in line if "node" in text}
    others = {role for host, role in tiles.items() if host != "node15"}
    assert len(tiles) == 24
    assert len(others) == 1
    assert tiles["node15"] not in others
