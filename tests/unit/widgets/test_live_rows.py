"""What the live screen says, for every width, character set and state of its sensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.live import ChannelKey, WindowEnergy
from powertui.data.model import Badge, Clock, PowerCap, PowerSeries, Scope, Sensor
from powertui.data.watch import FinishedEpoch
from powertui.feed import NS, ReplayFeed
from powertui.plain import width
from powertui.sampler.recorder_events import Event
from powertui.sampler.source import Stamp
from powertui.terminal.glyphs import ASCII, CONSOLE, UNICODE, Glyphs
from powertui.view import live_chart, live_rows, live_summary
from powertui.view.live_texts import RoleLine

ZERO = 1_795_224_813 * NS
SIZES = [(60, 8), (80, 14), (120, 20), (200, 36)]
SETS = [UNICODE, CONSOLE, ASCII]


def series(
    name: str, watts: list[float], host: str = "bmc", scope: Scope = Scope.NODE
) -> PowerSeries:
    times = (np.arange(len(watts)) * NS).astype(np.int64)
    return PowerSeries(
        Sensor(name, "test", scope, host),
        times,
        np.array(watts),
        clock=Clock(ZERO, ZERO, "absolute timestamps"),
    )


def played(*channels: PowerSeries, seconds: float = 1e6) -> ReplayFeed:
    now = [0.0]
    feed = ReplayFeed(channels, "a log", clock=lambda: now[0])
    feed.start()
    now[0] = seconds
    feed.drain()
    return feed


def text(line: RoleLine) -> str:
    return "".join(part for part, _ in line)


def test_the_grid_of_the_chart_stands_still_while_time_passes() -> None:
    view = live_chart.LiveSpan(60)
    before = view.bounds(ZERO, 92)
    after = view.bounds(ZERO + 300_000_000, 92)
    assert (after[0] - before[0]) % before[2] == 0, (
        "a later picture is the former one moved by whole cells"
    )
    assert after[1] >= ZERO + 300_000_000
    assert before[1] - before[0] >= 60 * NS


def test_panning_back_holds_still_and_forward_follows_again() -> None:
    view = live_chart.LiveSpan(60)
    back = view.panned(-0.5, ZERO, ZERO - 3600 * NS)
    assert back.end_ns == ZERO - 30 * NS
    assert back.panned(0.25, ZERO + 5 * NS, 0).end_ns == ZERO - 15 * NS
    assert back.panned(2, ZERO + 5 * NS, 0).follows
    assert view.panned(-1e6, ZERO, ZERO - 100 * NS).end_ns is not None


def test_zoom_stays_on_its_rungs() -> None:
    view = live_chart.LiveSpan(300)
    assert view.zoomed(1).span_s < 300 < view.zoomed(-1).span_s
    for _ in range(50):
        view = view.zoomed(-1)
    assert view.span_s == live_chart.SPANS_S[-1]
    assert live_chart.fitting_span_s(45) == 60
    assert live_chart.fitting_span_s(1e9) == live_chart.SPANS_S[-1]
    assert live_chart.fitting_span_s(5000, longest=600) == 600


@pytest.mark.parametrize("glyphs", SETS, ids=lambda g: g.name)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_line_fits(glyphs: Glyphs, size: tuple[int, int]) -> None:
    columns, height = size
    feed = played(
        series("power", [100.0 + i % 50 for i in range(400)]),
        series("power", [90.0] * 400, host="other"),
    )
    history = feed.board.histories[ChannelKey("bmc", "power")]
    view = live_chart.LiveSpan(300)
    bounds = view.bounds(feed.now_ns(), columns)[:2]
    lines = [
        live_summary.head(feed, columns),
        *live_summary.summary(feed, history, None, bounds, columns, glyphs),
        *live_chart.chart(
            history,
            view,
            feed.now_ns(),
            3 * NS,
            (columns, height),
            glyphs,
            [(ZERO + 200 * NS, "epoch 1")],
        ),
        *live_rows.table(feed, list(feed.board.histories), None, {}, view, columns, glyphs),
    ]
    for line in lines[:1] + lines[4:]:
        assert width(text(line)) <= columns, text(line)
    if glyphs is ASCII:
        drawn = "".join(
            text(line)
            for line in live_chart.chart(history, view, feed.now_ns(), NS, size, glyphs, [])
        )
        assert drawn.isascii()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_what_a_person_looks_for_is_there_in_every_width(columns: int) -> None:
    feed = played(series("power", [1400.0 + i // 2 % 50 for i in range(401)]), seconds=399.5)
    history = next(iter(feed.board))
    lines = [
        text(line)
        for line in live_summary.summary(
            feed, history, None, (ZERO, ZERO + 60 * NS), columns, UNICODE
        )
    ]
    assert all(width(line) <= columns and "…" not in line for line in lines), lines
    assert "1,400" in lines[0]
    assert "kJ" in lines[1]
    assert "1 min: " in lines[1]
    assert "changed" in lines[2]


def test_a_sum_without_a_row_says_what_the_others_draw() -> None:
    feed = played(
        *(
            series("power", [200.0, 200.0, 200.0 if i else float("nan")], host=f"n{i}")
            for i in range(3)
        )
    )
    total = feed.board.total()
    assert (total.watts, total.missing) == (400.0, 1)
    lines = [
        text(line)
        for line in live_summary.summary(
            feed, next(iter(feed.board)), total, (ZERO, ZERO + 3 * NS), 100, UNICODE
        )
    ]
    assert "2 of 3 draw 400 W, 1 without a value" in lines[1]
    assert "1 of 3 with gaps" in lines[2]
    assert "sum of 3 channels" in text(live_summary._sum_line(total._replace(missing=0), 80))


def test_an_unknown_value_is_a_dash_and_never_zero() -> None:
    feed = played(series("power", [100.0, 100.0, float("nan")]))
    history = feed.board.histories[ChannelKey("bmc", "power")]
    lines = live_summary.summary(feed, history, None, (ZERO, ZERO + 3 * NS), 80, ASCII)
    assert "- W" in text(lines[1])
    assert "no value" in text(lines[2])
    table = live_rows.table(feed, [history.key], None, {}, live_chart.LiveSpan(30), 100, ASCII)
    assert " – " in text(table[1]) or "–" in text(table[1])


def test_energy_waits_for_two_readings_and_says_measured() -> None:
    one = played(series("power", [100.0]))
    assert "not resolved" in text(
        live_summary.summary(one, next(iter(one.board)), None, (ZERO, ZERO), 120, ASCII)[1]
    )
    many = played(series("power", [100.0] * 11))
    line = text(
        live_summary.summary(many, next(iter(many.board)), None, (ZERO, ZERO), 120, ASCII)[1]
    )
    assert "1,000 J" in line
    assert "measured" in line


def test_what_comes_from_outside_cannot_move_the_cursor() -> None:
    feed = played(series("po\x1b[2Jwer", [1.0, 2.0], host="ev\nil"))
    names = live_rows.channel_names(feed.board.histories)
    event = Event(Stamp(0, 0), "info", "x\x1b]0;", "y\r\n")
    drawn = [*names.values(), text(live_rows.log_rows([event], 3)[0])]
    assert not any(char in part for part in drawn for char in "\x1b\n\r")


def test_a_channel_of_a_machine_has_its_own_name_behind_the_machines() -> None:
    feed = played(series("power", [1.0], host="a"), series("GPU 0", [2.0], host="a"))
    assert sorted(live_rows.channel_names(feed.board.histories).values()) == ["a", "a GPU 0"]


def test_same_names_are_told_apart_by_their_source() -> None:
    (history,) = played(series("power", [1.0], host="a")).board.histories.values()
    keys = [ChannelKey(source, "power") for source in ("redfish", "ipmi")]
    names = live_rows.channel_names(dict.fromkeys(keys, history))
    assert names == {keys[0]: "redfish power", keys[1]: "ipmi power"}


def test_names_too_wide_for_their_column_are_told_apart_by_what_differs() -> None:
    """Of 127.0.0.1 eight exporters were eight rows "127.0.0.1 127.0.0.1…"."""
    exporters = [f"10.20.30.40:9901 bmc{number:02}" for number in range(8)]
    assert live_rows.told_apart(exporters, 12)[3] == "…bmc03"
    assert live_rows.told_apart(exporters, 22) == exporters  # all of it where there is room
    hosts = [f"node{number:02}.cluster.example.org Total Power" for number in range(3)]
    assert live_rows.told_apart(hosts, 20) == ["node00…", "node01…", "node02…"]
    assert live_rows.told_apart(["a.b c", "a.b c d"], 4) == ["…c", "…c d"]
    assert live_rows.told_apart(["a" * 30, "a" * 30 + " gpu"], 6) == ["aaaaa…", "aaaaa…"]
    assert live_rows.told_apart(["one machine alone"], 8) == ["one mac…"]


def test_a_channel_with_the_port_of_its_machine_does_not_name_it_twice() -> None:
    feed = played(series("a:9400 bmc1", [1.0], host="a"), series("a:9400 bmc2", [2.0], host="a"))
    assert sorted(live_rows.channel_names(feed.board.histories).values()) == [
        "a:9400 bmc1",
        "a:9400 bmc2",
    ]
    lines = live_rows.table(
        feed, list(feed.board.histories), None, {}, live_chart.LiveSpan(30), 40, UNICODE
    )
    assert [text(line)[2:12].strip() for line in lines[1:]] == ["…bmc1", "…bmc2"]


def test_there_is_a_table_as_soon_as_there_are_two_channels() -> None:
    tables = [live_rows.page_rows(30, count, 0, None)["table"] for count in (1, 2, 3)]
    assert tables == [0, 3, 4]


def test_natural_order() -> None:
    assert sorted(["node10", "node9", "node9b"], key=live_rows.natural_sort_key) == [
        "node9",
        "node9b",
        "node10",
    ]


def test_epochs_show_joules_with_interval_or_the_reason() -> None:
    epochs = [
        (FinishedEpoch(0, None, ZERO, (("loss", 0.5),)), None),
        (
            FinishedEpoch(1, ZERO, ZERO + 10 * NS, (("loss", 0.25),)),
            WindowEnergy(2410.0, 2400.0, 2420.0, Badge.MEASURED),
        ),
        (
            FinishedEpoch(2, ZERO, ZERO + NS, ()),
            WindowEnergy(None, None, None, Badge.MEASURED, "the sensor refreshes every 3 s"),
        ),
    ]
    lines = [text(line) for line in live_rows.run_rows(epochs, 10)]
    assert "not resolved: the sensor refreshes" in lines[1]
    assert "2,410 J       10" in lines[2]
    assert "measured" in lines[2]
    assert "loss 0.25" in lines[2]
    assert "not resolved: its start is not known" in lines[3]
    assert len(live_rows.run_rows(epochs, 2)) == 2


def test_large_digits_have_three_rows_of_one_width() -> None:
    lines = live_summary.big_digits("1234567890 W", UNICODE)
    assert len(lines) == live_summary.BIG_ROWS
    assert len({len(line) for line in lines}) == 1
    assert live_summary.big_digits("245 W", CONSOLE) == ["", "245 W", ""]


def test_large_digits_are_drawn_from_both_halves_of_their_rows() -> None:
    assert live_summary.big_digits("72 W", UNICODE) == [
        "▀▀█ ▀▀█   █   █",
        "  █ █▀▀   █▄▀▄█",
        "  ▀ ▀▀▀   ▀   ▀",
    ]


def test_marks_stand_where_they_were_set_and_only_those_in_view() -> None:
    marks = [
        (-5, "before"),
        (20 * NS, "start"),
        (35 * NS, "x"),
        (190 * NS, "late"),
        (500 * NS, "after"),
    ]
    sign = UNICODE.cursor
    assert (
        live_chart._marks(marks, 0, 10 * NS, 20, UNICODE) == f"  {sign}{sign}x{' ' * 14}{sign}"
    ), "no name covers the next mark"
    assert live_chart._marks([(0, "abc")], 0, 10 * NS, 4, UNICODE) == UNICODE.cursor + "abc", (
        "a name that fits exactly is written"
    )
    assert live_chart._marks([(0, "abcd")], 0, 10 * NS, 4, UNICODE) == UNICODE.cursor + "   "


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_what_a_channel_is_held_to_is_a_line_above_its_curve_up_to_now(glyphs: Glyphs) -> None:
    feed = played(series("a", [200.0 + 50 * (n % 2) for n in range(120)]))
    (history,) = feed.board.histories.values()
    view, size = live_chart.LiveSpan(60), (60, 14)

    def drawn() -> list[RoleLine]:
        return list(live_chart.chart(history, view, feed.now_ns(), NS, size, glyphs, []))

    plain_chart = [text(line) for line in drawn()]
    history.limit(feed.now_ns() - 30 * NS, 325.0)
    lines = drawn()
    (held,) = [line for line in lines if any(role == "estimated" for _, role in line)]
    said = "".join(words for words, role in held if role == "estimated")
    assert said.startswith(" limit 325 W ")
    assert set(said.removeprefix(" limit 325 W ")) == {glyphs.horizontal}
    assert 20 <= len(said) <= 30, "half of the minute that is in sight"
    assert all(len(text(line)) == len(text(lines[0])) for line in lines[:-1])
    history.limit(feed.now_ns() - 29 * NS, None)
    history.limits[0] = PowerCap(0, 2000.0)
    assert [text(line) for line in drawn()] == plain_chart, (
        "one that is far away, or taken back, is not drawn"
    )


def test_readings_of_a_slow_rhythm_hold_until_the_next_and_no_longer_than_three() -> None:
    every_5_s = replace(
        series("gpu", [300.0] * 20), times=np.r_[0:50:5, 90:140:5].astype(np.int64) * NS
    )
    feed = played(every_5_s)
    feed.interval_s = 1.0  # a server is asked every second, and scraped every five
    (history,) = feed.board.histories.values()
    edges = ZERO + np.arange(136, dtype=np.int64) * NS
    known = live_rows.recent_envelope(feed, history, edges).known
    assert known[:46].all()
    assert known[90:].all()
    assert not known[61:90].any(), "a real hole stays one"
    assert live_rows.sum_held_ns(feed) == live_rows.held_ns(feed, history.key) == 15 * NS


def test_a_chart_without_room_is_not_drawn() -> None:
    feed = played(series("power", [100.0] * 30))
    history = feed.board.histories[ChannelKey("bmc", "power")]
    for size in ((live_chart.AXIS_WIDTH + 7, 20), (80, 3)):
        assert (
            live_chart.chart(history, live_chart.LiveSpan(60), feed.now_ns(), NS, size, UNICODE, [])
            == []
        )
    assert (
        len(
            live_chart.chart(
                history,
                live_chart.LiveSpan(60),
                feed.now_ns(),
                NS,
                (live_chart.AXIS_WIDTH + 8, 4),
                UNICODE,
                [],
            )
        )
        == 4
    )


def test_sources_that_did_not_answer_are_counted_where_there_is_no_room() -> None:
    away = {f"node{number}": "" for number in range(10)}
    assert len(live_rows.waiting(away, 10, 80)) == 10
    few = live_rows.waiting(away, 4, 80)
    assert [text(line).split()[0] for line in few[:-1]] == ["node0", "node1", "node2"]
    assert "7 more" in text(few[-1])


def test_the_first_row_says_whether_it_is_recorded() -> None:
    feed = played(series("power", [100.0] * 30))
    assert text(live_summary.head(feed, 80)).rstrip().endswith("not recorded")


def test_energy_and_change_are_shown_as_soon_as_they_fit() -> None:
    feed = played(series("power", [100.0 + i % 50 for i in range(400)]))
    keys = list(feed.board.histories)
    for word in ("energy", "change"):
        shown = [
            c
            for c in range(40, 121)
            if word
            in text(live_rows.table(feed, keys, None, {}, live_chart.LiveSpan(300), c, UNICODE)[0])
        ]
        assert shown == list(range(shown[0], 121))
        tight = [
            width(text(line))
            for line in live_rows.table(
                feed, keys, None, {}, live_chart.LiveSpan(300), shown[0], UNICODE
            )
        ]
        assert tight == [shown[0]] * 2, "to the last cell"


def test_after_the_end_of_a_recording_nothing_is_called_present() -> None:
    channel = series("power", [200.0, 210.0, 220.0, 230.0])
    for seconds, ended in ((2.5, False), (1e6, True)):
        feed = played(channel, seconds=seconds)
        head = text(live_summary.head(feed, 100))
        facts = live_summary.summary(
            feed, next(iter(feed.board)), None, (ZERO, ZERO + 3 * NS), 120, UNICODE
        )
        words = "".join(text(line) for line in facts)
        assert head.startswith("ended: a log") == ended
        assert ("ago" in words) != ended
