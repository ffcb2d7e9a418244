"""Nobody is told to call another framework than the one that wrote the profile."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from powertui import cli
from tests.unit.formats import test_rocprof

SPAN = {"ph": "X", "name": "aten::mm", "cat": "cpu_op", "ts": 1.0, "dur": 2.0, "pid": 1, "tid": 1}


def _rocprof(folder: Path) -> None:
    test_rocprof.capture(folder)


def _pytorch(folder: Path) -> None:
    told = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": [SPAN] * 5}
    (folder / "w.pt.trace.json").write_text(json.dumps(told))


def _chrome(folder: Path) -> None:
    (folder / "mine.json").write_text(
        json.dumps({"traceEvents": [{**SPAN, "name": "a", "cat": "x"}] * 5})
    )


def _tensorflow(folder: Path) -> None:
    with gzip.open(folder / "vm.trace.json.gz", "wt") as out:
        json.dump(
            {
                "metadata": {"highres-ticks": True},
                "traceEvents": [{**SPAN, "name": "a", "cat": "x"}] * 5 + [{}],
            },
            out,
        )


@pytest.mark.parametrize(
    ("make", "said", "never"),
    [
        (
            _rocprof,
            "roctxRangePush",
            ("tf.profiler", "jax.profiler", "TensorBoard", "tfevents", "torch"),
        ),
        (
            _pytorch,
            "prof.step()",
            ("tf.profiler", "jax.profiler", "TensorBoard", "tfevents", "roctx"),
        ),
        (
            _chrome,
            "step_num",
            ("tf.profiler", "jax.profiler", "TensorBoard", "tfevents", "torch", "roctx"),
        ),
        (_tensorflow, "tf.profiler.experimental.Trace", ("torch", "roctx")),
    ],
)
def test_the_way_on_fits_its_maker(
    make: object,
    said: str,
    never: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    make(folder)  # type: ignore[operator]
    assert cli.main(["doctor", str(folder)]) == 0
    told = capsys.readouterr().out
    assert said in told
    assert not [word for word in never if word in told]
    shutil.rmtree(folder)
