"""Alignment by hand and the file that keeps it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui import cli, demo
from powertui.data.asked import Pins
from powertui.data.energy import pins
from powertui.errors import UnreadableFile, UsageError


def test_one_pin_is_an_offset_and_more_are_a_mean() -> None:
    assert pins.fit(Pins()) is None
    one = pins.fit(Pins().add(10.0, 12.5))
    assert one is not None
    assert one.offset_s == pytest.approx(2.5)
    assert one.half_s > 0
    two = pins.fit(Pins().add(10.0, 12.5).add(20.0, 22.7))
    assert two is not None
    assert two.offset_s == pytest.approx(2.6)
    assert two.worst_s == pytest.approx(0.1)
    assert two.ppm == 0


def test_drift_needs_three_pins_far_apart() -> None:
    log = np.array([0.0, 1000.0, 3000.0])
    side = Pins()
    for t in log.tolist():
        side = side.add(t, 5 + t * (1 + 80e-6))
    found = pins.fit(side)
    assert found is not None
    assert found.ppm == pytest.approx(80, abs=1)
    assert found.offset_s == pytest.approx(5, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5), st.text(max_size=20)), max_size=6
    ),
    st.floats(-100, 100),
)
def test_what_is_written_is_read_again(tmp_path_factory, rows, nudge: float) -> None:
    path = tmp_path_factory.mktemp("pins") / "a.pins"
    side = Pins(path=str(path))
    for log, trace, note in rows:
        side = side.add(log, trace, note)
    pins.write(side.nudged(nudge))
    again = pins.read(str(path))
    assert [p.log_s for p in again.pins] == pytest.approx([r[0] for r in rows], rel=1e-8, abs=1e-6)
    assert [p.trace_s for p in again.pins] == pytest.approx(
        [r[1] for r in rows], rel=1e-8, abs=1e-6
    )
    assert again.nudge_s == pytest.approx(nudge, rel=1e-8, abs=1e-9)


def test_a_file_that_is_not_there_yet_holds_no_pins(tmp_path) -> None:
    side = pins.read(str(tmp_path / "new.pins"))
    assert side.pins == ()
    pins.write(side.add(1.0, 2.0, "burst"))
    assert pins.read(str(tmp_path / "new.pins")).pins[0].note == "burst"
    assert [p.name for p in tmp_path.iterdir()] == ["new.pins"]


@pytest.mark.parametrize("text", ["1.0\n", "a b\n", "nudge\n", "nan 1\n", "1 inf\n"])
def test_a_line_that_is_no_pin_is_named(tmp_path, text: str) -> None:
    path = tmp_path / "bad.pins"
    path.write_text("# fine\n1 2\n" + text)
    with pytest.raises(UnreadableFile, match="line 3"):
        pins.read(str(path))


def test_what_is_no_pins_file_gets_a_sentence(tmp_path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableFile):
        pins.read(str(tmp_path / "x"))
    with pytest.raises(UnreadableFile):
        pins.read(str(tmp_path))
    with pytest.raises(UsageError, match="cannot be written"):
        pins.write(Pins(path=str(tmp_path / "no" / "such" / "x")))
    with pytest.raises(UsageError, match="There is no file"):
        pins.write(Pins())


def test_a_shift_moves_the_power_of_a_training_whether_it_was_profiled_or_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The epochs of the demo, with its profile and without."""
    (tmp_path / "pins.txt").write_text("nudge 2\n")
    bare = tmp_path / "runs"
    shutil.copytree(demo.folder(), bare)
    for profile in bare.rglob("*.xplane.pb.gz"):
        profile.unlink()

    def joules(where: Path, *flags: str) -> list[float]:
        assert cli.main(["energy", str(where), "--json", *flags]) == 0
        (training,) = json.loads(capsys.readouterr().out)["trainings"]
        return [epoch["joules"] for epoch in training["epochs"]]

    shifted = ("--pins", str(tmp_path / "pins.txt"))
    assert joules(bare, *shifted) == pytest.approx(joules(demo.folder(), *shifted), abs=1)
    assert joules(bare, *shifted) != pytest.approx(joules(bare), abs=5)
    assert cli.main(["energy", str(bare), *shifted]) == 0
    assert "clock: placed by hand, ± 2 s" in capsys.readouterr().out
