"""The native IPMI source against a BMC on loopback: what it finds, what it says when refused, how
it comes back.
"""

from __future__ import annotations

import socket
import time

import pytest

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.sampler import ipmi as ipmi_module
from powertui.sampler import ipmi_client, ipmi_interface
from powertui.sampler.bmc_sensors import pick_sensors
from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options, Source, open_source, reason_of
from tests.bmc.commands import ADMINISTRATOR, DCMI_POWER, OPERATOR, Machine
from tests.bmc.fixtures import impatient
from tests.bmc.rmcpplus import Bmc
from tests.waiting import until


@pytest.mark.parametrize(("offered", "taken"), [((17,), "17"), ((3,), "3"), ((3, 17), "17")])
def test_takes_suite_17_and_3_only_when_17_is_refused(ipmi, offered, taken):
    with Bmc(suites=offered) as bmc:
        bmc.machine.watts = 1234
        source = ipmi(bmc.port)
        info = source.open()
        assert info.facts["cipher suite"] == taken
        assert info.source == "ipmi DCMI"
        assert [r.watts for r in source.read()] == [1234.0]


@pytest.mark.parametrize("suite", [1, 2, 15, 16])
def test_other_suites_when_they_are_named(ipmi, suite):
    with Bmc(suites=(suite,)) as bmc:
        source = ipmi(bmc.port, query=f"?suite={suite}")
        source.open()
        assert source.read()[0].watts == 245


def test_says_when_no_suite_is_shared(ipmi):
    with (
        Bmc(suites=(1,)) as bmc,
        pytest.raises(NotSupported, match="neither cipher suite 17 nor 3"),
    ):
        ipmi(bmc.port).open()


def test_algorithms_that_nobody_asked_for_are_not_taken(ipmi):
    """A BMC, or somebody between, that answers with weaker algorithms than were asked for gets no
    session.
    """

    class Weaker(Bmc):
        def _open_session(self, body: bytes) -> bytes:
            answer = bytearray(super()._open_session(body))
            answer[28 + 4] &= 0xC0  # no encryption
            return bytes(answer)

    with Weaker() as bmc:
        with pytest.raises(SensorError):
            ipmi(bmc.port, timeout=0.3).open()
        assert bmc.logins == 0


def test_a_request_that_is_lost_is_sent_again_ever_more_rarely(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    assert source.read()[0].watts == 245
    impatient(source, 1.0)
    bmc.drop, before = True, bmc.packets
    source._link._rtt = 0.001  # however slow this machine is just now
    with pytest.raises(ipmi_client.Transient):
        source._exchange(0x2C, 0x02, b"\xdc\x01\x00\x00", 0)
    assert 1 <= bmc.packets - before <= 6, "twice as long each time: 0.05 s, 0.1 s, 0.2 s …"


def test_no_answer_to_suite_17_is_not_taken_for_a_refusal(ipmi, bmc):
    """A silent host must not be asked again with a weaker suite."""
    bmc.drop = True
    with pytest.raises(SensorError, match="does not answer"):
        ipmi(bmc.port, timeout=0.1).open()
    assert bmc.logins == 0


@pytest.mark.parametrize(
    ("user", "password", "level", "said"),
    [
        ("viewer", "wrong", "user", "refuses the password of 'viewer'"),
        ("nobody", "pw", "user", "does not know the user 'nobody'"),
        (
            "viewer",
            None,
            "administrator",
            "does not give 'viewer' the privilege level ADMINISTRATOR",
        ),
        ("viewer", "x" * 21, "user", "longer than the 20 bytes"),
        ("u" * 17, "pw", "user", "longer than the 16 bytes"),
    ],
)
def test_refusals_are_one_plain_sentence(ipmi, bmc, user, password, level, said):
    with pytest.raises(AuthenticationFailed, match=said) as caught:
        ipmi(bmc.port, user, password=password, level=level).open()
    assert "pw-" not in str(caught.value)


def test_user_level_is_asked_for_unless_told(ipmi, bmc):
    """python-ipmi and ipmitool want to be administrator and fail for read-only accounts."""
    assert ipmi(bmc.port).open().facts["privilege"] == "USER"
    assert next(iter(bmc.sessions.values())).level == 2


def test_a_higher_level_when_the_bmc_wants_it(ipmi):
    with Bmc(machine=Machine(dcmi_level=OPERATOR, sensors=())) as bmc:
        with pytest.raises(NotSupported, match="privilege level too low"):
            ipmi(bmc.port, "admin").open()
        source = ipmi(bmc.port, "admin", level="operator")
        assert source.open().source == "ipmi DCMI"


def test_k_g(ipmi):
    with Bmc(kg=b"a-bmc-key") as bmc:
        with pytest.raises(
            AuthenticationFailed, match="accepted the password of 'viewer', but not the BMC key K_G"
        ):
            ipmi(bmc.port).open()
        source = ipmi(bmc.port, kg=Secret("a-bmc-key"))
        source.open()
        assert source.read()[0].watts == 245


def test_no_answer_to_a_ping_is_needed(ipmi, bmc):
    assert not bmc.answers_ping
    ipmi(bmc.port).open()


def test_ipv6(ipmi):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 in this Python")
    try:
        bmc = Bmc(host="::1").start()
    except OSError:
        pytest.skip("no IPv6 loopback here")
    try:
        source = ipmi(bmc.port, host="::1")
        source.open()
        assert source.read()[0].watts == 245
        assert source.name == f"[::1]:{bmc.port}"
    finally:
        bmc.stop()


def test_dcmi_refused_falls_back_to_the_sensor_and_says_so_with_its_step(ipmi, bmc):
    bmc.machine.refuse[DCMI_POWER] = 0xC1
    bmc.machine.watts = 250
    source = ipmi(bmc.port)
    info = source.open()
    assert info.source == "ipmi sensor"
    assert [(c.name, c.quantum_w, c.scope) for c in info.channels] == [("Total Power", 7.0, "node")]
    assert "command unknown" in info.notes[0]
    assert "Total Power" in info.notes[0]
    assert source.read()[0].watts == 245  # 35 steps of 7 W


def test_not_active_with_watts_is_a_value_and_without_is_none(ipmi, bmc):
    """OpenBMC builds of years answer right watts with the "active" bit clear."""
    bmc.machine.dcmi_active = False
    source = ipmi(bmc.port)
    assert source.open().source == "ipmi DCMI"
    assert source.read()[0].watts == 245
    bmc.machine.watts = 0
    reading = source.read()[0]
    assert reading.watts is None
    assert "not active" in reason_of(reading.quality)


def test_dcmi_not_active_and_no_sensor_is_read_later(ipmi):
    with Bmc(machine=Machine(watts=0, dcmi_active=False, sensors=())) as bmc:
        source = ipmi(bmc.port)
        info = source.open()
        assert "not active" in info.notes[0]
        bmc.machine.watts, bmc.machine.dcmi_active = 300, True
        assert source.read()[0].watts == 300


def test_several_sensors_as_channels(ipmi, bmc):
    source = ipmi(bmc.port, sensors=("power", "Total Power", "p0*"))
    info = source.open()
    assert [c.name for c in info.channels] == ["power", "Total Power", "p0_power"]
    assert info.source == "ipmi DCMI and sensors"
    assert [r.watts for r in source.read()] == [245, 245, 244]


def test_an_unknown_sensor_names_those_that_exist(ipmi, bmc):
    with pytest.raises(NotSupported, match="no power sensor 'psu9'") as caught:
        ipmi(bmc.port, sensors=("psu9",)).open()
    assert "Total Power, p0_power" in caught.value.hint


def test_sensors_that_are_off_have_no_value(ipmi, bmc):
    source = ipmi(bmc.port, sensors=("Total Power",))
    source.open()
    bmc.machine.scanning = False
    reading = source.read()[0]
    assert reading.watts is None
    assert "host on" in reason_of(reading.quality)


def test_pick_sensors_prefers_the_whole_machine():
    assert pick_sensors(["p0_power", "System Power", "fan"], []) == ["System Power"]
    assert pick_sensors(["PSU1 PWR", "total_power"], []) == ["total_power"]
    assert pick_sensors(["only one"], []) == ["only one"]
    assert pick_sensors(["a", "b"], []) == []


@pytest.mark.parametrize("code", [0xC0, 0xCB, 0xD2, 0xFF])
def test_a_completion_code_is_a_gap_with_its_reason_and_keeps_the_session(ipmi, bmc, code):
    source = ipmi(bmc.port)
    source.open()
    bmc.machine.refuse[DCMI_POWER] = code
    reading = source.read()[0]
    assert reading.watts is None
    assert f"code {code:02x}" in reason_of(reading.quality)
    bmc.machine.refuse.clear()
    assert source.read()[0].watts == 245
    assert (bmc.logins, source.reconnects) == (1, 0)


def test_comes_back_by_itself_after_a_restart_with_one_login(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    assert source.read()[0].watts == 245
    bmc.restart(down=0.1)
    bmc.machine.watts = 301
    impatient(source, 0.5)
    values = [source.read()[0].watts]  # nobody knows the session any more
    impatient(source, 60.0)
    until(lambda: values.append(source.read()[0].watts) or values[-1] is not None)
    assert (values[0], values[-1]) == (None, 301)
    assert 245 not in values  # never an old value
    assert (bmc.logins, source.reconnects) == (2, 1)


def test_a_closed_port_and_a_silent_bmc_are_told_apart(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    impatient(source, 0.2)
    bmc.drop = True
    assert reason_of(source.read()[0].quality) == "no answer within 0.2 s"
    bmc.drop = False
    bmc.stop()
    until(lambda: "nothing listens" in reason_of(source.read()[0].quality))
    bmc.start()


def test_every_third_packet_lost_costs_no_reading(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    bmc.lose_every = 3
    assert [source.read()[0].watts for _ in range(7)] == [245] * 7


def first_watts(source: Source) -> float:
    """The first value that is one."""
    values: list[float | None] = []
    until(lambda: values.append(source.read()[0].watts) or values[-1] is not None)
    return values[-1]


def test_a_late_answer_is_not_taken_for_a_new_one(ipmi, bmc):
    """Answers that come after their time belong to an older request."""
    source = ipmi(bmc.port)
    source.open()
    impatient(source, 0.2)
    bmc.machine.watts = 100
    bmc.delay = 0.15  # beyond half the timeout, so both tries pass before the first answer is here
    source.read()
    bmc.delay = 0.0
    time.sleep(0.5)
    bmc.machine.watts = 700
    impatient(source, 60.0)
    assert first_watts(source) == 700


def test_forged_or_damaged_answers_are_never_values(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    impatient(source, 0.2)
    bmc.garble = True
    assert source.read()[0].watts is None
    bmc.garble = False
    time.sleep(0.3)
    impatient(source, 60.0)
    assert first_watts(source) == 245


def test_a_bmc_without_free_sessions_says_so_and_is_tried_again(ipmi):
    with Bmc(max_sessions=1) as bmc:
        first = ipmi(bmc.port)
        first.open()
        with pytest.raises(SensorError, match="no free session"):
            ipmi(bmc.port).open()
        first.close()
        ipmi(bmc.port).open()


def test_closing_gives_the_session_back(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    assert len(bmc.sessions) == 1
    source.close()
    assert len(bmc.sessions) == 0


def test_a_password_changed_while_recording_is_tried_three_times_and_not_more(
    ipmi, bmc, monkeypatch
):
    """Accounts lock after some refusals."""
    from powertui.sampler import ipmi as module

    monkeypatch.setattr(module, "_LOGIN_PAUSE_S", 0.0)
    source = ipmi(bmc.port, timeout=2.0)
    source.open()
    bmc.users["viewer"] = ("another", 2)
    bmc.restart(down=0.05)
    reasons = [reason_of(source.read()[0].quality) for _ in range(12)]
    assert "given up after three refusals" in reasons[-1]
    packets = bmc.packets
    source.read()
    assert bmc.packets == packets


@pytest.mark.parametrize("offset", [-5 * 3600, 3 * 3600])
def test_the_bmcs_clock_is_reported_and_never_used(ipmi, offset):
    with Bmc(machine=Machine(clock_offset=offset)) as bmc:
        source = ipmi(bmc.port)
        assert (
            "h behind" in source.open().facts["BMC clock"]
            if offset < 0
            else "h ahead" in source.open().facts["BMC clock"]
        )
        before = time.time()
        reading = source.read()[0]
        assert before <= reading.t <= time.time()
        assert reading.rtt >= 0


def test_each_shortcoming_of_python_ipmi_is_mended_only_while_it_is_there(ipmi, bmc, monkeypatch):
    """With the key derivation left as it is, suite 17 fails on a real BMC: the patch is needed and
    does it.
    """
    assert ipmi_interface._fixed_socket() in (True, False)
    if not ipmi_interface._long_key_constants():
        pytest.skip("this python-ipmi derives K1 and K2 as BMCs do")
    monkeypatch.setattr(ipmi_interface, "_long_key_constants", lambda: False)
    with pytest.raises(SensorError):
        ipmi(bmc.port, timeout=0.2, query="?suite=17").open()


def test_debug_logging_shows_no_message(ipmi, bmc, caplog):
    caplog.set_level("DEBUG")
    source = ipmi(bmc.port)
    source.open()
    source.read()
    assert not [r for r in caplog.records if r.name.startswith("pyipmi.interfaces")]


def test_a_level_that_does_not_exist_is_wrong_usage():
    with pytest.raises(UsageError, match="privilege level"):
        open_source("ipmi://bmc", Options(level="root"))


def test_an_unknown_host_name(ipmi):
    with pytest.raises(SensorError, match="cannot be resolved"):
        open_source("ipmi://no-such-host.invalid", Options()).open()


def test_administrators_can_be_asked_for(ipmi, bmc):
    assert (
        ipmi(bmc.port, "admin", level="administrator").open().facts["privilege"] == "ADMINISTRATOR"
    )
    assert next(iter(bmc.sessions.values())).level == ADMINISTRATOR


@pytest.mark.parametrize(
    ("flags", "there"),
    [
        (0xC0, True),
        (0x40, True),
        (0x80, False),
        (0x00, False),
        (0xE0, False),
        (0x60, False),
        (0x20, False),
    ],
)
def test_a_sensor_that_is_not_scanned_or_not_available_has_no_value(flags, there):
    """Bit 6 says that the sensor is scanned, bit 5 that its reading is unavailable: the byte before
    them is old then.
    """

    class Record:
        def convert(self, raw):
            return raw * 2

    watts, quality = ipmi_module._sensor_value(Record(), bytes([120, flags, 0xC0]))
    assert watts == (240.0 if there else None)
    assert bool(reason_of(quality)) is not there


def test_a_bmc_that_falls_silent_while_one_logs_in_is_asked_until_the_deadline(monkeypatch):
    """It computes something else for seconds, and then answers."""
    monkeypatch.setattr("powertui.sampler.ipmi_interface._MIN_RESEND_S", 0.002)
    with Bmc() as bmc:
        answer, asked = bmc._packet, []

        def busy(packet):
            asked.append(packet)
            return None if 4 < len(asked) <= 40 else answer(packet)

        monkeypatch.setattr(bmc, "_packet", busy)
        source = open_source(
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            Options(password=Secret("pw-viewer"), timeout=60.0),
        )
        assert source.open().source == "ipmi DCMI"
        source.close()
    assert len(asked) > 40


def test_a_bmc_that_stays_silent_is_left_alone_after_the_deadline_that_is_told():
    with Bmc(drop=True) as bmc:
        source = open_source(
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            Options(password=Secret("pw-viewer"), timeout=0.2),
        )
        with pytest.raises(SensorError, match=r"no answer within 0\.4 s"):
            source.open()
        assert bmc.packets <= 17
