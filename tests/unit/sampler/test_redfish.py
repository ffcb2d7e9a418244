"""The Redfish source against a service over TLS."""

from __future__ import annotations

import time

import pytest

from powertui.errors import AuthenticationFailed, NotSupported, SensorError
from powertui.sampler.credentials import Secret
from powertui.sampler.http import link, number
from powertui.sampler.source import Options, open_source, reason_of
from tests.waiting import until


@pytest.fixture
def source(redfish, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(redfish.certificate))
    opened = []

    def make(user="admin", password="pw", host="127.0.0.1", **options):
        options = {"timeout": 60.0, **options}
        made = open_source(
            f"redfish://{user}@{host}:{redfish.port}", Options(password=Secret(password), **options)
        )
        opened.append(made)
        return made

    yield make
    for made in opened:
        made.close()


@pytest.mark.parametrize(
    ("metrics", "power", "how"),
    [(True, True, "EnvironmentMetrics"), (False, True, "Power"), (False, False, "Sensor")],
)
def test_the_order_of_places(redfish, source, metrics, power, how):
    redfish.metrics, redfish.power = metrics, power
    made = source()
    info = made.open()
    assert info.source == f"redfish {how}"
    redfish.watts = 512.5
    assert [r.watts for r in made.read()] == [512.5]


def test_the_session_is_ended_at_the_end(redfish, source):
    made = source()
    made.open()
    assert len(redfish.tokens) == 1
    made.close()
    assert len(redfish.tokens) == 0


def test_a_host_that_is_off_has_no_value(redfish, source):
    made = source()
    made.open()
    redfish.watts = None
    assert made.read()[0].watts is None
    assert "host on" in reason_of(made.read()[0].quality)
    redfish.gone = True
    assert made.read()[0].watts is None
    redfish.gone, redfish.watts = False, 0.0
    assert made.read()[0].watts == 0.0  # zero is a value when the service says so


def test_a_wrong_password(redfish, source):
    with pytest.raises(
        AuthenticationFailed, match="refuses the user 'admin' or the password"
    ) as caught:
        source(password="hunter2").open()
    assert "hunter2" not in str(caught.value)


def test_the_certificate_is_checked_unless_told_not_to(redfish, source, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    with pytest.raises(
        SensorError, match=r"certificate of 127\.0\.0\.1:\d+ is not trusted"
    ) as caught:
        source().open()
    assert "--insecure" in caught.value.hint
    info = source(insecure=True).open()
    assert info.facts["TLS"] == "not checked"


def test_all_sessions_taken(redfish, source):
    redfish.max_sessions = 0
    with pytest.raises(SensorError, match="status 503") as caught:
        source().open()
    assert "session slots" in caught.value.hint


def test_a_session_that_ended_is_opened_again(redfish, source):
    made = source()
    made.open()
    redfish.tokens.clear()
    assert made.read()[0].watts is None
    assert made.read()[0].watts == 245.0
    assert made.reconnects == 1


def test_it_is_asked_again_at_once_and_then_ever_more_rarely(redfish, source):
    made = source()
    made.open()
    redfish.stop()
    made._http.close()
    assert made.read()[0].watts is None
    assert made._retry_at <= time.monotonic(), "the first time there is nothing to wait for"
    made.read()
    assert made._backoff == 0.5
    redfish.start()


def test_comes_back_after_a_restart(redfish, source):
    made = source()
    made.open()
    redfish.stop()
    made._http.close()
    assert made.read()[0].watts is None
    redfish.start()
    redfish.watts = 300.0
    values = []
    until(lambda: values.append(made.read()[0].watts) or values[-1] is not None)
    assert values[-1] == 300.0
    assert 245.0 not in values


def test_named_sensors(redfish, source):
    made = source(sensors=("p0*", "total power"))
    info = made.open()
    assert sorted((c.name, c.scope) for c in info.channels) == [
        ("p0 power", "unknown"),
        ("total power", "node"),
    ]
    assert {r.channel: r.watts for r in made.read()} == {"p0 power": 122.5, "total power": 245.0}
    with pytest.raises(NotSupported, match="called psu9"):
        source(sensors=("psu9",)).open()


def test_nothing_there(source, redfish):
    redfish.stop()
    with pytest.raises(
        SensorError, match="does not answer as a Redfish service: the connection is refused"
    ):
        source().open()


@pytest.mark.parametrize(
    "value", ["//evil.example/x", "http://evil.example/x", "x", "", None, "/a b", "/a\r\nX: y", 5]
)
def test_only_paths_on_the_same_server_are_followed(value):
    assert link({"@odata.id": value}) == ""


def test_numbers():
    assert [number(v) for v in (5, 5.5, "245", None, True, "nan", float("inf"), [], "x")] == [
        5,
        5.5,
        245,
        None,
        None,
        None,
        None,
        None,
        None,
    ]
