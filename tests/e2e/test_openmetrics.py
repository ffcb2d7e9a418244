"""What `powertui export --what openmetrics` writes, in a real Prometheus."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from powertui import demo
from tests.bmc import prometheus as prometheus_parts

pytestmark = pytest.mark.e2e


@pytest.fixture
def prometheus(tmp_path: Path):
    if reason := prometheus_parts.why_not():
        pytest.skip(reason)
    (tmp_path / "prometheus").mkdir()
    running = prometheus_parts.Prometheus(tmp_path / "prometheus")
    yield running
    running.stop()


def asked(prometheus, query: str, time: float) -> list[dict]:
    """The answer of Prometheus at a moment."""
    words = urllib.parse.urlencode({"query": query, "time": time})
    url = f"http://127.0.0.1:{prometheus.port}/api/v1/query?{words}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)["data"]["result"]


def test_promtool_takes_every_sample_and_prometheus_answers_with_them(prometheus, tmp_path) -> None:
    path = tmp_path / "run.om"
    command = [sys.executable, "-m", "powertui", "export", str(demo.folder())]
    done = subprocess.run(
        [*command, "--what", "openmetrics", "-o", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    count = int(re.search(r"Wrote (\d+) samples", done.stderr)[1])
    blocks = subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(path), "data"],
        cwd=prometheus.folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()[1:]
    # After the id come two times, a duration, and the number of samples.
    assert sum(int(block.split()[4]) for block in blocks) == count
    prometheus.start()

    lines = path.read_text().splitlines()
    watts = [line.split("} ")[1].split(" ") for line in lines if line.startswith("powertui_power")]
    first, last = float(watts[0][1]), float(watts[-1][1])
    (stored,) = asked(prometheus, "powertui_power_watts[1h]", last + 1)
    assert [(time, float(value)) for time, value in stored["values"][:-1]] == [
        (float(time), float(value)) for value, time in watts[:-1]
    ]
    assert stored["metric"]["quality"] == "simulated"
    # Behind the end of the window nothing is known: Prometheus shows no old value.
    (behind,) = asked(prometheus, "powertui_power_watts", last + 30)
    assert math.isnan(float(behind["value"][1]))
    about = json.loads(Path(f"{path}.about.json").read_text())
    (energy,) = asked(prometheus, "max_over_time(powertui_energy_joules_total[1h])", last + 1)
    assert float(energy["value"][1]) == pytest.approx(about["energy"][0]["joules"])
    (step,) = asked(prometheus, "powertui_step", (first + last) / 2)
    assert float(step["value"][1]) > 0
