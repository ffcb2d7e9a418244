"""The native IPMI client on a line that damages packets and on which somebody else sends."""

from __future__ import annotations

import pytest

from powertui.errors import AuthenticationFailed, SensorError
from powertui.sampler.source import reason_of
from tests.bmc.fixtures import impatient
from tests.bmc.line import Line
from tests.bmc.rmcpplus import Bmc

PATIENT = (
    120.0  # s: what is lost is asked for again long before, and a busy machine is given its time
)
ALONE = {"noise", "short", "ping", "truncated", "old", "session", "unsealed", "empty"}


@pytest.mark.parametrize("suite", [3, 17])
def test_a_stray_packet_before_each_answer_costs_nothing(ipmi, suite):
    with Bmc(suites=(suite,), line=Line(seed=1, stray=1.0)) as bmc:
        source = ipmi(bmc.port, timeout=PATIENT)
        source.open()
        assert [source.read()[0].watts for _ in range(200)] == [245] * 200
        assert set(bmc.line.done) == set(Line.KINDS)
        assert (bmc.logins, source.reconnects) == (1, 0)


@pytest.mark.parametrize("kind", Line.KINDS)
def test_each_kind_of_stray_packet_alone(ipmi, kind):
    with Bmc(line=Line(seed=2, stray=1.0, kinds=(kind,))) as bmc:
        source = ipmi(bmc.port, timeout=PATIENT)
        source.open()
        assert [source.read()[0].watts for _ in range(80)] == [
            245
        ] * 80  # more than the 64 sequence numbers of a request
        assert bmc.line.done[kind] >= 80


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_cost_time_and_are_never_a_value_or_a_refusal(ipmi, seed):
    with Bmc(line=Line(seed=seed, flip=0.2)) as bmc:
        source = ipmi(bmc.port, timeout=PATIENT)
        source.open()
        readings = [source.read()[0] for _ in range(20)]
        assert [r.watts for r in readings] == [245] * 20
        assert bmc.line.done["answer damaged"] > 0
        assert bmc.line.done["request damaged"] > 0


class FlipOne(Line):
    """Damages one answer of the login, at one place, and then no more."""

    def __init__(self, kind: int, at: int) -> None:
        super().__init__(seed=0)
        self._kind, self._at, self.hit = kind, at, False

    def outgoing(self, answer: bytes) -> list[bytes]:
        if not self.hit and answer[5] == self._kind and len(answer) > 16 + self._at:
            self.hit = True
            answer = (
                answer[: 16 + self._at]
                + bytes([answer[16 + self._at] ^ 4])
                + answer[17 + self._at :]
            )
        return [answer]


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        (0x11, 1),
        (0x11, 9),
        (0x11, 16),
        (0x13, 1),
        (0x13, 10),
        (0x13, 30),
        (0x13, 45),
        (0x15, 1),
        (0x15, 12),
    ],
    ids=["status", "session", "suite", "status 2", "random", "guid", "code", "status 4", "check"],
)
def test_one_flipped_bit_in_a_login_is_no_refusal(ipmi, kind, at):
    with Bmc(line=FlipOne(kind, at)) as bmc:
        source = ipmi(bmc.port, timeout=PATIENT)
        source.open()
        assert bmc.line.hit
        assert source.read()[0].watts == 245


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        ({"kg": b"a-bmc-key"}, {}, "not the BMC key K_G"),
        ({}, {"password": "wrong"}, "refuses the password"),
        ({}, {"user": "nobody"}, "does not know the user"),
        ({}, {"level": "administrator"}, "privilege level ADMINISTRATOR"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_true_refusal_is_told_all_the_same(ipmi, made, given, said, seed):
    with Bmc(line=Line(seed=seed, flip=0.1, stray=0.5, kinds=sorted(ALONE)), **made) as bmc:
        with pytest.raises(AuthenticationFailed, match=said):
            ipmi(bmc.port, timeout=PATIENT, **given).open()
        assert bmc.line.done


def test_a_wrong_password_is_one_failed_login_to_the_bmc(ipmi):
    """Accounts lock."""
    told = []

    class Counting(Bmc):
        def _rakp3(self, body: bytes) -> bytes | None:
            told.append(body[1])
            return super()._rakp3(body)

    with Counting() as bmc, pytest.raises(AuthenticationFailed, match="refuses the password"):
        ipmi(bmc.port, password="wrong").open()
    assert told == [0x0F]


def test_packets_that_never_fit_are_told_from_silence(ipmi, bmc):
    source = ipmi(bmc.port)
    source.open()
    impatient(source, 0.3)
    bmc.garble = True
    assert (
        reason_of(source.read()[0].quality)
        == "no answer within 0.3 s, only packets that do not match"
    )


@pytest.mark.parametrize("kind", Line.KINDS)
def test_a_flood_does_not_hold_a_reading_beyond_its_deadline(ipmi, bmc, kind):
    """Whoever sends without end costs the reading and not the recording."""

    class Flood(Line):
        def outgoing(self, answer: bytes) -> list[bytes]:
            return [self._foreign(kind, answer) for _ in range(200)]

    source = ipmi(bmc.port)
    source.open()
    impatient(source, 0.3)
    bmc.line = Flood(seed=3, stray=1.0)
    reading = source.read()[0]
    assert reading.watts is None or (kind == "old" and reading.watts == 245)
    bmc.line = None
    bmc.line = Flood(seed=4, stray=1.0)
    with pytest.raises(SensorError):
        ipmi(bmc.port, timeout=0.3).open()
