"""The examples of docs/library.md are run as they stand there."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

from powertui.sampler.health import Health
from tests.waiting import text_of, until

DOCS = Path(__file__).resolve().parents[3] / "docs"


def example(name: str) -> str:
    text = (DOCS / "library.md").read_text()
    found = re.search(rf"<!-- tested: {name} -->\n```python\n(.*?)```", text, re.DOTALL)
    assert found, name
    return found[1]


@pytest.fixture
def sensor(bmc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return {
        "source": f"ipmi://viewer@127.0.0.1:{bmc.port}",
        "password": "pw-viewer",
        "interval": 0.1,
        "timeout": 60,
    }


@pytest.fixture(autouse=True)
def _no_holes(monkeypatch):
    """What a busy machine leaves out between two readings is no hole here."""
    monkeypatch.setattr(Health, "longest_bridge", 600.0)


def one_more_reading() -> None:
    """A step of a training: until the recording has grown."""
    path = Path("power.csv")
    before = text_of(path).count(",ok,")
    until(lambda: text_of(path).count(",ok,") > before)


def known() -> list[float]:
    """Seconds of each window, from the first reading on: how soon that comes is the machine's
    affair.
    """
    frame = pd.read_csv("power.csv", comment="#")
    times = frame[[q in ("begin", "end") for q in frame.quality]].mono_s.to_numpy()
    first = frame[frame.quality == "ok"].mono_s.min()
    return (times[1::2] - times[::2].clip(min=first)).tolist()


def marks() -> list[tuple[str, str]]:
    frame = pd.read_csv("power.csv", comment="#")
    rows = frame[[q in ("begin", "end") for q in frame.quality]]
    return list(zip(rows.quality, rows["mark"], strict=True))


def test_plain_loop(sensor):
    scope: dict = {}
    exec(example("loop"), scope)
    energy = scope["train"](4, 2, one_more_reading, **sensor)
    assert energy == pytest.approx([245 * seconds for seconds in known()], rel=0.01)
    assert marks() == [
        ("begin", "epoch 0"),
        ("end", "epoch 0"),
        ("begin", "epoch 1"),
        ("end", "epoch 1"),
    ]


def test_keras_callback(sensor, monkeypatch):
    """In the order in which model.fit calls it.

    Keras itself, where it is installed; else the one class it takes from it.
    """
    try:
        import keras  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("keras")
        stand_in.callbacks = types.SimpleNamespace(Callback=type("Callback", (), {}))
        monkeypatch.setitem(sys.modules, "keras", stand_in)
    scope: dict = {}
    exec(example("keras"), scope)
    callback = scope["Power"](**sensor)
    logs: dict = {"loss": 1.0}
    callback.on_train_begin()
    for epoch in range(2):
        callback.on_epoch_begin(epoch)
        for _ in range(4):
            one_more_reading()
        callback.on_epoch_end(epoch, logs)
    callback.on_train_end()
    assert logs["joules"] == pytest.approx(245 * known()[1], rel=0.01)
    assert marks() == [
        ("begin", "epoch 0"),
        ("end", "epoch 0"),
        ("begin", "epoch 1"),
        ("end", "epoch 1"),
    ]
    assert "# ended:" in Path("power.csv").read_text()
