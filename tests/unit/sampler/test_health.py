"""Energy: exact on what can be computed by hand, never across a hole, and the same in parts as in
one.
"""

from __future__ import annotations

import math
import threading
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.sampler.health import Health
from powertui.sampler.source import OK, Channel, Reading, none


def health(kind="sampled", interval=1.0):
    return Health("s", Channel("power", kind=kind), interval)


def feed(h, *pairs, joules=None):
    for index, (mono, watts) in enumerate(pairs):
        quality = none("why") if watts is None else OK
        h.add(
            Reading(
                1e9 + mono,
                mono,
                watts,
                0.01,
                "s",
                "power",
                quality,
                None if joules is None else joules[index],
            )
        )
    return h


def test_trapezoids():
    total = feed(health(), (0, 100.0), (1, 200.0), (2, 200.0)).total()
    assert (total.joules, total.covered_s, total.span_s, total.samples) == (350.0, 2.0, 2.0, 3)
    assert total.watts == 175.0


def test_readings_inside_a_stretch_are_counted_from_the_first_on():
    h = feed(health(), (0, 100.0), (1, 200.0), (2, 200.0))
    assert [h._ledger.inside(lo, hi) for lo, hi in ((-5, 9), (0, 2), (1, 2), (1.5, 9), (3, 9))] == [
        3,
        3,
        2,
        1,
        0,
    ]


def test_energy_that_is_asked_for_while_a_reading_comes_has_it_whole_or_not_at_all(monkeypatch):
    h = feed(health(), (0, 100.0), (1, 100.0))
    append, answers = h._ledger.append, []
    asking = threading.Thread(target=lambda: answers.append(h.between(0, 2.5, hold=True)))

    def asked_meanwhile(*entry):
        asking.start()
        asking.join(0.3)
        append(*entry)

    monkeypatch.setattr(h._ledger, "append", asked_meanwhile)
    feed(h, (2, 100.0))
    asking.join()
    assert answers[0][:2] == pytest.approx((250.0, 2.5))


def test_nothing_is_bridged_over_a_failed_reading_or_a_long_hole():
    h = feed(
        health(),
        (0, 100.0),
        (1, 100.0),
        (2, None),
        (3, 100.0),
        (4, 100.0),
        (30, 100.0),
        (31, 100.0),
    )
    total = h.total()
    assert (total.joules, total.covered_s, total.span_s) == (300.0, 3.0, 31.0)
    assert h.gaps == 1


def test_counters_give_their_energy_themselves():
    h = feed(health("interval"), (0, 5.0), (1, 7.0), (2, 9.0), joules=[10.0, 17.0, 26.0])
    assert h.total().joules == 16.0


def test_a_counter_that_fell_back_is_taken_by_its_watts():
    h = feed(health("interval"), (0, 5.0), (1, 7.0), joules=[100.0, 1.0])
    assert h.total().joules == 7.0


def test_a_window_is_cut_from_its_samples():
    h = feed(health(), *((n, 100.0) for n in range(11)))
    part = h.between(2.5, 4.5)
    assert part.joules == pytest.approx(200.0)
    assert part.coverage == pytest.approx(1.0)
    assert part.samples == 2
    assert h.between(20, 30).covered_s == 0
    assert h.between(20, 30).watts is None


def test_the_last_value_stands_until_the_next_is_due_and_no_longer():
    h = feed(health(), *((n, 100.0) for n in range(4)))
    assert h.between(0, 3.5).covered_s == pytest.approx(3.0)
    assert h.between(0, 3.5, hold=True)[:2] == pytest.approx((350.0, 3.5))
    assert h.between(3.2, 3.7, hold=True)[:2] == pytest.approx((50.0, 0.5))
    assert h.between(0, 60, hold=True)[:2] == pytest.approx((600.0, 6.0))
    assert h.between(0, 2.5, hold=True)[:2] == pytest.approx((250.0, 2.5)), (
        "where the next one is here, it counts"
    )
    assert feed(h, (4, None)).between(0, 4.5, hold=True).covered_s == pytest.approx(3.0), (
        "not across a failed reading"
    )


def test_a_long_recording_keeps_its_energy_in_little_memory():
    """200,000 readings at 1 Hz whose power rises and falls: any window, however old, to within a
    thousandth.
    """
    h, count = health(), 200_000
    power = [300.0 + 100.0 * ((n // 1800) % 2) for n in range(count)]
    for n in range(count):
        h.add(Reading(1e9 + n, float(n), power[n], 0.01, "s", "power", OK))
    sums = [0.0]
    for a, b in pairwise(power):
        sums.append(sums[-1] + (a + b) / 2)
    assert h.total().joules == pytest.approx(sums[-1])
    for age in (100, 1_000, 5_000, 20_000, 100_000, 199_999):
        lo = count - 1 - age
        part = h.between(lo, count - 1)
        assert part.joules == pytest.approx(sums[-1] - sums[lo], rel=1e-3)
        assert part.samples == pytest.approx(age + 1, rel=0.01, abs=0)
    assert h.between(count - 301, count - 1)[:2] == pytest.approx(
        (sums[-1] - sums[count - 301], 300.0)
    ), "recent: exact"
    assert h.between(count - 301, count - 1).samples == 301
    assert len(h._ledger) < 6 * 2 * 512


def test_a_day_more_costs_no_more_memory_than_a_day_less():
    """Memory of a channel grows with the logarithm of its length: four times as long, one level
    more.
    """
    h, n = health(), 0
    for length in (4_000, 16_000, 64_000, 256_000):
        while n < length:
            h.add(Reading(1e9 + n, float(n), 200.0 + n % 7, 0.01, "s", "power", OK))
            n += 1
        size = sum(len(level) * level.itemsize for level in h._ledger._levels)
        assert size <= 2 * 512 * 32 * (2 + math.log(length / 512, 4))


@given(
    st.lists(
        st.tuples(st.floats(0.1, 5.0), st.none() | st.floats(0, 2000)), min_size=2, max_size=40
    ),
    st.floats(0, 1),
)
@settings(max_examples=150)
def test_two_parts_are_the_whole(steps, cut):
    mono, pairs = 0.0, []
    for step, watts in steps:
        mono += step
        pairs.append((mono, watts))
    h = feed(health(), *pairs)
    lo, hi = pairs[0][0], pairs[-1][0]
    at = lo + cut * (hi - lo)
    whole, left, right = h.between(lo, hi), h.between(lo, at), h.between(at, hi)
    assert left.joules + right.joules == pytest.approx(whole.joules, abs=1e-6)
    assert left.covered_s + right.covered_s == pytest.approx(whole.covered_s, abs=1e-9)
    assert whole.joules == pytest.approx(h.total().joules)
    assert whole.covered_s <= hi - lo + 1e-9


def test_when_the_value_last_changed_and_how_often_it_does():
    h = health()
    for n in range(20):
        feed(h, (n, float(n // 4)))
    assert h.changed_mono == 16
    assert h.age(19.5) == 3.5
    assert h.refresh == 4
    assert (h.minimum, h.maximum) == (0.0, 4.0)


def test_nothing_yet():
    h = health()
    assert (h.rtt, h.refresh, h.age(1.0), h.total().watts) == (None, None, None, None)
    assert h.total().coverage == 0.0


def test_a_source_with_a_slow_rhythm_of_its_own_is_bridged_from_its_first_values_on():
    """A log with a row every 30 s, looked at every second: a pause of 30 s is its rhythm, one of
    100 s a hole.
    """
    slow = Health("s", Channel("power", period_s=30.0), 1.0)
    assert slow.longest_bridge == 90.0
    total = feed(slow, (0, 100.0), (30, 100.0), (130, 100.0)).total()
    assert (total.joules, total.covered_s) == (3000.0, 30.0)
    assert feed(health(), (0, 100.0), (30, 100.0)).total().covered_s == 0
