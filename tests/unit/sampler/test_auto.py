"""A host of which only the name is known."""

from __future__ import annotations

import pytest

from powertui.errors import AuthenticationFailed, SensorError
from powertui.sampler import auto
from powertui.sampler.credentials import Secret
from powertui.sampler.inventory import look_there
from powertui.sampler.source import Options, open_source
from powertui.sampler.targets import Target
from tests.bmc.rmcpplus import Bmc


def test_the_first_protocol_that_answers_is_kept(bmc):
    source = open_source(
        f"auto://viewer@127.0.0.1:{bmc.port}", Options(password=Secret("pw-viewer"), name="bmc1")
    )
    info = source.open()
    assert info.source == "ipmi DCMI"
    assert info.url.startswith("ipmi://")
    assert (source.name, source.read()[0].source, source.read()[0].watts) == ("bmc1", "bmc1", 245)
    source.close()


def test_a_refused_login_ends_the_search(bmc, monkeypatch):
    """Three protocols with a wrong password are three steps towards a locked account."""
    tried = []
    real = auto.open_source
    monkeypatch.setattr(
        auto, "open_source", lambda url, options: tried.append(url) or real(url, options)
    )
    with pytest.raises(AuthenticationFailed, match="refuses the password") as caught:
        open_source(f"auto://viewer@127.0.0.1:{bmc.port}", Options(password=Secret("x"))).open()
    assert "account from being locked" in caught.value.hint
    assert [url.partition(":")[0] for url in tried] == ["ipmi"]


def test_nothing_there_names_all_three_reasons():
    with pytest.raises(SensorError) as caught:
        open_source("auto://viewer@127.0.0.1:9", Options(password=Secret("x"), timeout=0.3)).open()
    text = str(caught.value)
    assert all(name in text for name in auto.CHAIN)


def test_a_slow_bmc_gets_the_time_that_it_was_given(bmc, monkeypatch):
    monkeypatch.setattr(auto, "_MIN_BUDGET_S", 1e-6)
    address = f"auto://viewer@127.0.0.1:{bmc.port}"
    source = open_source(address, Options(password=Secret("pw-viewer"), timeout=60.0))
    assert source.open().source == "ipmi DCMI"
    source.close()
    (ipmi, *_) = look_there([Target(address, Options(password=Secret("pw-viewer"), timeout=60.0))])
    assert ipmi.ok


def test_ipmi_without_power_goes_on_to_the_next(monkeypatch):
    from tests.bmc.commands import DCMI_POWER, Machine

    monkeypatch.setattr(auto, "CHAIN", ("ipmi", "redfish"))
    with (
        Bmc(machine=Machine(sensors=(), refuse={DCMI_POWER: 0xC1})) as bmc,
        pytest.raises(SensorError) as caught,
    ):
        open_source(
            f"auto://viewer@127.0.0.1:{bmc.port}",
            Options(password=Secret("pw-viewer"), timeout=0.3),
        ).open()
    assert "no DCMI power reading" in str(caught.value)
    assert "redfish:" in str(caught.value)


def test_the_inventory_of_a_host_stops_at_a_refused_login(bmc):
    target = Target(f"auto://viewer@127.0.0.1:{bmc.port}", Options(password=Secret("x")))
    found = look_there([target])
    assert [f.ok for f in found] == [False] * 3
    assert "not tried" in found[1].why_not
