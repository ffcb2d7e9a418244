"""docs/energy.md names every key of `powertui energy --json`, and no other."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import cli
from tests.synthetic import Burst, Plan, build, gpus, hosts
from tests.synthetic.long_training import long_training
from tests.unit.energy.test_marks import recording, trace_file

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

MANUAL = Path(__file__).parents[3] / "docs" / "energy.md"
ENERGY = "an energy"
# Keys that are names of what was logged, and none of ours.
NAMES = ("trainings[].epochs[].scalars", "an alignment.fit.watts")
# Objects of the same keys, wherever they are: by the end of their path.
SHARED = {
    r"(runs|trainings)\[\]\.(smaller_)?findings\[\]": "a finding",
    r"(runs|trainings)\[\]\.parts\[\]": "a row of parts",
    r"(runs|trainings)\[\]\.owners\[\]": "an owner",
    r"(runs|trainings)\[\](\.sensors\[\])?\.alignment": "an alignment",
    r"(runs|trainings)\[\]\.could_find(_smaller)?\[\]": "a limit",
    r"trainings\[\]\.(training|whole|phases\[\]|hours\[\])": "a window",
    r"(runs|trainings)\[\]\.could_find_except\[\]": "a stretch",
    r".*warnings\[\]": "a warning",
    r".*joules_per_step": "joules of a step",
}


def documented() -> dict[str, set[str]]:
    """The keys of each object in the manual's table."""
    _, _, section = MANUAL.read_text("utf-8").partition("\n## JSON\n")
    section, _, _ = section.partition("\n## ")
    keys: dict[str, set[str]] = defaultdict(set)
    for line in section.splitlines():
        cells = re.match(r"\| ([^|]+) \| ([^|]+) \|", line)
        if cells and cells[1] != "object" and "---" not in cells[1]:
            keys[cells[1].replace("`", "")] |= set(re.findall(r"`(\w+)`", cells[2]))
            if ENERGY in cells[2]:
                keys[cells[1].replace("`", "")].add(ENERGY)
    return keys


def place_of(path: str) -> str:
    """What the manual calls the object at a path."""
    for pattern, name in SHARED.items():
        if re.fullmatch(pattern, path):
            return name
    return path or "the answer"


def objects(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object of an answer, with the manual's name of it."""
    if isinstance(value, list):
        for element in value:
            yield from objects(element, f"{path}[]")
    elif isinstance(value, dict) and path not in NAMES:
        place = place_of(path)
        yield place, value
        for key, part in value.items():
            # Shared objects have the same parts, wherever they are.
            at = place if place in SHARED.values() else path
            yield from objects(part, f"{at}.{key}".lstrip("."))


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert cli.main(["energy", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """Runs with findings, marks, GPUs, several hosts, power of others, and logs alone."""
    run = folder / "run"
    work = build(3, Plan(seconds=24, step_s=0.2, bursts=(Burst(1, 20, 40, 80.0),)))
    profile = run / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    times = np.arange(-7.0, work.edges[-1], 0.25)
    watts = [float(work.energy(at - 0.25, at)) / 0.25 for at in times]
    for unit, zero_s in (("time_unix_s", 1_700_000_000), ("time_s", 0)):
        rows = (f"{zero_s + at:.3f},{w:.2f}\n" for at, w in zip(times, watts, strict=True))
        (run / "power.csv").write_text(f"{unit},watts\n" + "".join(rows))
        yield answer(capsys, str(run))
    yield answer(capsys, str(run / "power.csv"))
    marked = folder / "marked"
    marked.mkdir()
    trace_file(marked / "vm.trace.json.gz")
    recording(marked / "power.csv", [("load", 12.0, 28.0), ("moment", 29.5, None)])
    yield answer(capsys, str(marked))
    machine = gpus.make(2, (0, 1), steps=4, step_s=4.0)
    (folder / "gpus").mkdir()
    logs = machine.smi(folder / "smi.csv")
    yield answer(capsys, str(machine.write(folder / "gpus")), "--power", str(logs))
    (folder / "two").mkdir()
    two = hosts.two(folder / "two")
    labels = {"host-a": "host-a", "stranger": "host-b"}
    logs = two.long_csv(folder / "all.csv", labels)
    yield answer(capsys, str(two.logdir), "--power", str(logs))
    yield answer(capsys, str(long_training(folder / "training")))


def test_the_manual_names_every_key_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manual = documented()
    seen: dict[str, set[str]] = defaultdict(set)
    for one in answers(tmp_path, capsys):
        for place, value in objects(one):
            keys = set(value)
            if {"joules", "mean_watts"} <= keys:
                seen["an energy"] |= keys & manual["an energy"]
                keys = keys - manual["an energy"] | {ENERGY}
            seen[place] |= keys
    assert {place: sorted(keys) for place, keys in seen.items() if place != "an energy"} == {
        place: sorted(keys) for place, keys in manual.items() if place != "an energy"
    }
    assert seen["an energy"] == manual["an energy"]
