"""Our BMC against clients by others, and our client against a BMC by others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import replace

import pytest

from powertui.errors import AuthenticationFailed, NotSupported, SensorError
from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options, Source, open_source, reason_of
from tests.bmc.commands import DCMI_POWER
from tests.bmc.fixtures import impatient
from tests.bmc.rmcpplus import Bmc

pytestmark = pytest.mark.e2e


def need(program: str) -> str:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin")
    if not found:
        pytest.skip(f"{program} is not installed")
    return found


def ipmitool(
    bmc: Bmc, *words: str, user: str = "viewer", **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [
        need("ipmitool"),
        "-I",
        "lanplus",
        "-H",
        "127.0.0.1",
        "-p",
        str(bmc.port),
        "-U",
        user,
        "-E",
        "-L",
        "USER",
        "-N",
        "5",
        "-R",
        "3",
    ]
    env = {**os.environ, "IPMI_PASSWORD": "pw-viewer", **environment}
    return subprocess.run(
        [*command, *words], env=env, capture_output=True, text=True, timeout=120, check=False
    )


def value_of(source: Source, wanted: float | None = None) -> float:
    """The next value (or the first that is `wanted`): on a busy machine an answer may come too
    late, which is a gap.
    """
    end = time.monotonic() + 120
    while time.monotonic() < end:
        watts = source.read()[0].watts
        if watts is not None and wanted in (None, watts):
            return watts
        time.sleep(0.05)
    raise TimeoutError(f"no value {wanted or ''}")


# our BMC, asked by others


@pytest.mark.parametrize("suite", [3, 17])
def test_ipmitool_reads_our_bmcs_dcmi_power(bmc, suite):
    bmc.machine.watts = 1234
    done = ipmitool(bmc, "-C", str(suite), "dcmi", "power", "reading")
    assert "Instantaneous power reading:                  1234 Watts" in done.stdout


def test_ipmitool_reads_our_bmcs_sensors(bmc):
    done = ipmitool(bmc, "-C", "17", "sensor", "get", "Total Power")
    assert "Sensor Reading        : 245 (+/- 0) Watts" in done.stdout
    assert "Upper Critical        : 1785.000" in done.stdout


def test_ipmitool_is_refused_where_we_are(bmc):
    assert (
        "RAKP 2 HMAC is invalid"
        in ipmitool(bmc, "-v", "-C", "17", "mc", "info", IPMI_PASSWORD="x").stderr
    )
    bmc.suites = (17,)
    assert "invalid authentication algorithm" in ipmitool(bmc, "-C", "3", "mc", "info").stderr


def test_ipmitool_with_k_g():
    with Bmc(kg=b"a-bmc-key") as bmc:
        assert ipmitool(bmc, "-C", "17", "-k", "a-bmc-key", "mc", "info").returncode == 0
        assert ipmitool(bmc, "-C", "17", "-k", "other", "mc", "info").returncode != 0


def test_freeipmi_reads_our_bmcs_dcmi_power(bmc, tmp_path):
    config = tmp_path / "freeipmi.conf"
    config.write_text(
        "username viewer\npassword pw-viewer\nprivilege-level user\ncipher-suite-id 17\n"
    )
    config.chmod(0o600)
    command = [
        need("ipmi-dcmi"),
        "--config-file",
        str(config),
        "-D",
        "LAN_2_0",
        "-h",
        f"127.0.0.1:{bmc.port}",
        "--get-system-power-statistics",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "Current Power                        : 245 Watts" in done.stdout, done.stderr


# BMCs by others, asked by us


def test_our_client_reads_ipmi_sim_and_falls_back_to_suite_3(ipmi, ipmi_sim):
    """ipmi_sim knows no SHA-256: it refuses suite 17 in words."""
    source = ipmi(ipmi_sim.port, "admin", level="administrator")
    info = source.open()
    assert (info.source, info.facts["cipher suite"]) == ("ipmi DCMI", "3")
    ipmi_sim.set_dcmi(777, 1, 2, 3)
    assert value_of(source) == 777


def test_our_client_reads_ipmi_sims_sensors(ipmi, ipmi_sim):
    ipmi_sim.set_dcmi(0, code=0xC1)
    source = ipmi(ipmi_sim.port, "admin", level="administrator")
    info = source.open()
    assert [(c.name, c.quantum_w) for c in info.channels] == [("Total Power", 7.0)]
    ipmi_sim.set_watts(700)
    assert value_of(source, 700) == 700  # it is polled every 50 ms


def test_ipmi_sim_refuses_a_wrong_password(ipmi, ipmi_sim):
    with pytest.raises(AuthenticationFailed, match="refuses the password of 'admin'"):
        ipmi(ipmi_sim.port, "admin", password="wrong").open()


def test_a_frozen_bmc_gives_gaps_and_then_true_values(ipmi, ipmi_sim):
    source = ipmi(ipmi_sim.port, "admin", level="administrator")
    source.open()
    ipmi_sim.freeze()
    impatient(source, 0.4)
    first = source.read()[0]
    impatient(source, 20.0)
    assert first.watts is None
    assert "no answer" in reason_of(first.quality)
    ipmi_sim.set_dcmi(500)
    ipmi_sim.thaw()
    assert value_of(source) == 500


def test_a_killed_bmc_that_comes_back(ipmi, ipmi_sim):
    source = ipmi(ipmi_sim.port, "admin", level="administrator")
    source.open()
    ipmi_sim.kill()
    impatient(source, 0.4)
    assert source.read()[0].watts is None
    impatient(source, 20.0)
    ipmi_sim.set_dcmi(333)
    ipmi_sim.start()
    assert value_of(source) == 333
    assert source.reconnects >= 1


# the ipmitool source


def tool(bmc: Bmc, user: str = "viewer", password: str = "pw-viewer", **options: object):
    need("ipmitool")
    options.setdefault("timeout", 60.0)
    return open_source(
        f"ipmitool://{user}@127.0.0.1:{bmc.port}", Options(password=Secret(password), **options)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(("offered", "taken"), [((17,), "17"), ((3,), "3")])
def test_ipmitool_source(offered, taken):
    with Bmc(suites=offered) as bmc:
        source = tool(bmc)
        info = source.open()
        assert (info.source, info.facts["cipher suite"]) == ("ipmitool DCMI", taken)
        bmc.machine.watts = 999
        assert value_of(source) == 999
        bmc.machine.refuse[DCMI_POWER] = 0xCB
        assert "code cb" in reason_of(source.read()[0].quality)


def test_ipmitool_source_without_dcmi_and_with_named_sensors(bmc):
    bmc.machine.refuse[DCMI_POWER] = 0xC1
    source = tool(bmc)
    info = source.open()
    assert [c.name for c in info.channels] == ["Total Power"]
    assert "command unknown" in info.notes[0]
    assert value_of(source) == 245
    source = tool(bmc, sensors=("p0_power",))
    source.open()
    assert value_of(source) == 244


@pytest.mark.parametrize(
    ("user", "password", "level", "said"),
    [
        ("viewer", "wrong", "user", "refuses the password"),
        ("nobody", "x", "user", "does not know the user 'nobody'"),
        ("viewer", "pw-viewer", "administrator", "privilege level ADMINISTRATOR"),
    ],
)
def test_ipmitool_source_tells_refusals_from_silence(bmc, user, password, level, said):
    with pytest.raises(AuthenticationFailed, match=said):
        tool(bmc, user, password, level=level).open()


def test_ipmitool_source_and_a_silent_host(bmc):
    bmc.drop = True
    with pytest.raises(SensorError, match="does not answer as a BMC"):
        tool(bmc, timeout=1.0).open()


def test_ipmitool_source_while_the_bmc_is_away(bmc):
    source = tool(bmc)
    source.open()
    bmc.drop = True
    patient, source._options = source._options, replace(source._options, timeout=1.0)
    reading = source.read()[0]
    assert reading.watts is None
    assert re.search("no (session|answer) within", reason_of(reading.quality))
    bmc.drop = False
    source._options = patient
    assert value_of(source) == 245


def test_ipmitool_in_band_without_a_bmc(tmp_path):
    need("ipmitool")
    with pytest.raises(NotSupported, match="no BMC device"):
        open_source("ipmitool:open", Options(root=str(tmp_path))).open()


def test_ipmitool_over_ipv6():
    try:
        bmc = Bmc(host="::1").start()
    except OSError:
        pytest.skip("no IPv6 loopback here")
    try:
        need("ipmitool")
        source = open_source(
            f"ipmitool://viewer@[::1]:{bmc.port}",
            Options(password=Secret("pw-viewer"), timeout=60.0),
        )
        source.open()
        assert value_of(source) == 245
    finally:
        bmc.stop()
