"""What FreeIPMI's own `ipmi-sensors` prints of a simulated BMC, gathered below `date` as a loop in
a shell does it, and read as a power log.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from powertui.data.asked import LogColumns
from powertui.data.power import registry
from tests.bmc.sim import SimulatedBmc
from tests.e2e.sampler.test_independent import need

pytestmark = pytest.mark.e2e
WATTS = (210, 252, 217)  # the simulated sensor has steps of 7 W
START = 1_795_000_000  # Unix s
MAX_ASKED = 100  # times until the simulated sensor has its new reading, which it polls for


def answer(bmc: SimulatedBmc, folder: Path, *options: str) -> str:
    """All sensors once."""
    config = folder / "freeipmi.conf"
    config.write_text("username admin\npassword pw-admin\nworkaround-flags opensesspriv\n")
    config.chmod(0o600)
    command = [need("ipmi-sensors"), "--config-file", str(config), "-D", "LAN_2_0", "-l", "ADMIN"]
    command += ["-h", f"127.0.0.1:{bmc.port}", "--sdr-cache-directory", str(folder), *options]
    env = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Total Power" in done.stdout, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--no-header-output",),
        ("--comma-separated-output", "--no-header-output", "--output-sensor-state"),
        ("--legacy-output",),
    ],
    ids=" ".join,
)
def test_sensors_are_read_as_freeipmi_prints_them(
    ipmi_sim: SimulatedBmc, tmp_path: Path, options: tuple[str, ...]
) -> None:
    text = ""
    for second, watts in enumerate(WATTS):
        ipmi_sim.set_watts(watts)
        answers = (answer(ipmi_sim, tmp_path, *options) for _ in range(MAX_ASKED))
        text += f"{START + second}\n" + next(one for one in answers if f"{watts}.00" in one)
    log = tmp_path / "power.txt"
    log.write_text(text)
    total, *others = registry.load(str(log), LogColumns()).series
    assert total.sensor.name == "Total Power"
    assert total.watts.tolist() == pytest.approx(WATTS)
    assert total.clock.lo_ns == START * 10**9
    assert [channel.sensor.name for channel in others] == ["p0_power", "gpu0_power"]
