"""The live screen: what is drawn now, its history, how well the sensor answers, and the run that
trains meanwhile.

The screen only looks. Readings come from a feed, which samples and writes elsewhere; this page
takes what has come a few times a second and draws the rows that changed.
"""

from __future__ import annotations

import threading
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from powertui.data.live import ChannelKey, History, Total, WindowEnergy
from powertui.data.logdir import RunEntry
from powertui.data.model import Scope
from powertui.data.watch import FinishedEpoch, News, Watch
from powertui.feed import NS, Feed
from powertui.plain import plain
from powertui.sampler.recorder import Event
from powertui.sampler.source import Stamp
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.capturing import LiveCapture
from powertui.terminal import glyphs as glyph_sets
from powertui.view import live_rows as rows
from powertui.widgets.live_pane import LivePane

_TICK_S = 0.5  # a person reads no faster, and a slow line carries no more
_WATCH_S = 2.0
_SUM = ChannelKey("", "sum")
_LOG_ROWS = 4
_GROW_S = 600  # longer histories than this are asked for


class LiveScreen(BaseScreen):
    """One channel large, all of them as rows."""

    NAME = "live"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("live")
    DEFAULT_CSS = """
    LiveScreen { layout: vertical; }
    LiveScreen #chart { height: 1fr; }
    """

    class Watched(Message):
        """What a look at the logdir found (from its thread)."""

        def __init__(self, news: News) -> None:
            super().__init__()
            self.news = news

    def __init__(self) -> None:
        super().__init__()
        self.view = rows.LiveSpan()
        self.selected: ChannelKey | None = None
        self.log_lines: list[Event] = []
        self.epochs: list[tuple[FinishedEpoch, WindowEnergy | None]] = []
        self.profile: RunEntry | None = None  # the last one that appeared
        self._sum: History | None = None
        self._watch: Watch | None = None
        self._stop_watching = threading.Event()
        self._marked = 0
        self._asked_to_leave = False
        self._over = False
        self._first_row = 0
        self.capture = LiveCapture(self)
        self._zoomed = False  # until the person zooms, the history shown grows with what there is

    @property
    def feed(self) -> Feed | None:
        """Where readings come from; None when powertui was not started as `live`."""
        return self.session.feed

    # ── the page ─────────────────────────────────────────────────────────────────────────────────

    def body(self) -> ComposeResult:
        look = self.shell.look
        for name in ("head", "summary", "chart", "table", "run", "log"):
            yield LivePane(theme=look, glyphs=self.shell.capabilities.glyphs, id=name)

    def on_mount(self) -> None:
        """Look at the feed from now on, and at the logdir in a thread."""
        if self.feed is None:
            return
        self.set_interval(_TICK_S, self.tick)
        logdir = self.session.watched
        if logdir:
            self._watch = Watch(logdir)
            threading.Thread(target=self._follow, name="powertui-watch", daemon=True).start()
        self.tick()

    def on_unmount(self) -> None:
        self._stop_watching.set()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.draw()

    def session_changed(self) -> None:
        self.draw()

    def tick(self) -> None:
        """Take what has come and draw it. Behind another page only the taking goes on."""
        feed = self.feed
        if feed is None:
            return
        came = feed.drain()
        for event in feed.events():
            self.log_event(event)
        if came:
            self._add_sum(feed)
        if feed.failure is not None:
            self.shell.exit(return_code=1)  # it is said on the terminal
            return
        if feed.over and not self._over:
            self._over = True
            if feed.file is not None:
                self.say(
                    (
                        "Sampling has stopped because the recorder ended. What it had written is "
                        "in the file."
                    ),
                    warn=True,
                )
        if self.is_current:
            self.draw()

    def _add_sum(self, feed: Feed) -> None:
        """Keep the sum over all rows as a channel of its own.

        A sum that is short of a row is a gap.
        """
        if len(feed.board) < 2:
            return
        total = feed.board.total()
        if len(total.keys) < 2:
            return
        if self._sum is None:
            self._sum = History(_SUM, host="sum", scope=Scope.UNKNOWN)
        last = self._sum.last_ns
        newest = max(feed.board.histories[key].last_ns for key in total.keys)
        # Rows arrive one after another within a tick: one sum an interval, made of the newest of
        # each.
        if newest - last >= int(feed.interval_s * NS * 0.75):
            self._sum.append(newest, None if total.missing else total.watts)

    def order(self, feed: Feed) -> list[ChannelKey]:
        """Rows of the table: what stands out first, then by host and channel."""
        outliers = feed.board.outliers()
        names = rows.channel_names(feed.board.histories)
        return sorted(
            names, key=lambda key: (-abs(outliers.get(key, 0.0)), rows.natural_sort_key(names[key]))
        )

    def draw(self) -> None:
        """Lay the page out and fill it."""
        feed = self.feed
        if not self.is_mounted or not self.size.width:
            return
        head = self.query_one("#head", LivePane)
        if feed is None:
            head.show(
                [
                    [("Nothing is being sampled. ", "title")],
                    [("Watch a server's power with: powertui live --host BMC", "text")],
                ]
            )
            return
        columns, height = self.size.width, self.size.height - 2  # the top line, and the bottom line
        glyphs = glyph_sets.get(self.shell.capabilities.glyphs)
        now = feed.now_ns()
        head.show([rows.head(feed, columns)])
        keys = self.order(feed)
        if not keys:
            self.query_one("#summary", LivePane).show(
                [[], [("  waiting for the first reading …", "dim")], []]
            )
            self.query_one("#table", LivePane).show(
                rows.waiting(feed.away, max(1, height - 2 * _LOG_ROWS), columns)
            )
            self.query_one("#log", LivePane).show(rows.log_rows(self.log_lines, _LOG_ROWS))
            return
        if not self._zoomed and self.view.follows:
            self.view = rows.LiveSpan(
                rows.fitting_span_s((now - self._first_ns(feed)) / NS, longest=_GROW_S)
            )
        history, total = self.shown(feed, keys)
        space = self._space(height, len(keys), len(feed.away))
        first, last, _ = self.view.bounds(now, max(8, columns - rows.AXIS_WIDTH), 1)
        self.query_one("#summary", LivePane).show(
            rows.summary(feed, history, total, (first, last), columns, glyphs)
        )
        ends = [
            (m.end_ns, f"{m.name} ends")
            for m in feed.marks
            if m.end_ns is not None and m.end_ns <= now
        ]
        marks = [
            *((m.start_ns, m.name) for m in feed.marks),
            *ends,
            *((e.end_ns, f"epoch {e.number} ends") for e, _ in self.epochs),
        ]
        hold = int(max(feed.interval_s * 3, 1.0) * NS)
        chart = self.query_one("#chart", LivePane)
        chart.show(
            rows.chart(
                history,
                self.view,
                now,
                hold,
                (columns, chart.size.height or space["chart"]),
                glyphs,
                marks,
            )
        )
        table = self.query_one("#table", LivePane)
        lines: list[rows.RoleLine] = []
        if len(keys) > 1:
            shown = self._scrolled(keys, space["table"] - 1)
            lines += rows.table(
                feed, shown, self.selected, feed.board.outliers(), self.view, columns, glyphs
            )
        table.show(lines + rows.waiting(feed.away, space["waiting"], columns))
        watching = self._watch is not None
        self.query_one("#run", LivePane).show(
            rows.run_rows(self.epochs, space["run"]) if watching and space["run"] else []
        )
        self.query_one("#log", LivePane).show(rows.log_rows(self.log_lines, space["log"]))

    def shown(self, feed: Feed, keys: list[ChannelKey]) -> tuple[History, Total | None]:
        """The channel that is drawn large: the chosen one, else the sum, else the only one."""
        if self.selected in feed.board.histories:
            return feed.board.histories[self.selected], None
        if self._sum is not None:
            return self._sum, feed.board.total()
        return feed.board.histories[keys[0]], None

    def _space(self, height: int, channels: int, waiting: int) -> dict[str, int]:
        """Rows for each part. The chart gets what is left, and never less than a few."""
        log = _LOG_ROWS if height >= 28 else 2 if height >= 18 else 1
        run = 0 if self._watch is None else min(len(self.epochs) + 1, 6 if height >= 28 else 3)
        left = height - 1 - rows.BIG_ROWS - log - run
        waiting = min(waiting, max(1, left // 4))
        left -= waiting
        table = 0 if channels < 2 else min(channels + 1, max(3, left // 2))
        return {
            "log": log,
            "run": run,
            "table": table,
            "waiting": waiting,
            "chart": max(4, left - table),
        }

    def _scrolled(self, keys: list[ChannelKey], room: int) -> list[ChannelKey]:
        """The part of the table around the selected row."""
        at = keys.index(self.selected) if self.selected in keys else 0
        self._first_row = max(0, min(self._first_row, at, len(keys) - room))
        if at >= self._first_row + room:
            self._first_row = at - room + 1
        return keys[self._first_row : self._first_row + room]

    # ── what happens ─────────────────────────────────────────────────────────────────────────────

    def log_event(self, event: Event) -> None:
        """Add a line to the log."""
        self.log_lines.append(event)
        del self.log_lines[:-200]

    def note(self, text: str, level: str = "info") -> None:
        """Something that this screen has to say."""
        self.log_event(Event(Stamp.now(), level, "", text))

    def _follow(self) -> None:
        """Look at the logdir again and again (in a thread of its own)."""
        watch = self._watch
        while watch is not None and not self._stop_watching.is_set():
            news = watch.poll()
            if news:
                self.post_message(self.Watched(news))
            self._stop_watching.wait(_WATCH_S)

    def on_live_screen_watched(self, message: Watched) -> None:
        """An epoch has ended, a profile has appeared."""
        feed = self.feed
        for text in message.news.notes:
            self.note(text)
        for epoch in message.news.epochs:
            energy = None
            if feed is not None and epoch.begin_ns is not None:
                energy = feed.board.energy(epoch.begin_ns, epoch.end_ns)
            self.epochs = [pair for pair in self.epochs if pair[0].number != epoch.number] + [
                (epoch, energy)
            ]
        self.epochs.sort(key=lambda pair: pair[0].number)
        for entry in message.news.profiles:
            self.profile = entry
            self.note(f"new profile: {entry.name}")
            self.say(
                f"New profile: {plain(entry.name)}. Press Enter to open it with this power "
                "beside it."
            )
        if self.is_current:
            self.draw()

    def leaving(self) -> bool:
        """Whether the program may end now. Asks once when nothing would remain of what was seen."""
        feed = self.feed
        if (
            feed is None
            or feed.file is not None
            or feed.over
            or self._asked_to_leave
            or not self._samples(feed)
        ):
            return True
        self._asked_to_leave = True
        self.say("Nothing here is being recorded. Press q again to quit anyway.", warn=True)
        return False

    @staticmethod
    def _samples(feed: Feed) -> bool:
        """Whether readings are being made that a file could have kept (a replay has its file
        already).
        """
        return bool(getattr(feed, "recorder", None))

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def _first_ns(self, feed: Feed) -> int:
        return min((h.first_ns for h in feed.board if len(h)), default=feed.now_ns())

    def _look(self, view: rows.LiveSpan) -> None:
        self.view = view
        self.draw()

    def zoom(self, by: int) -> None:
        """A shorter or (below zero) a longer history."""
        self._zoomed = True
        self._look(self.view.zoomed(by))

    def pan(self, by: float) -> None:
        """So many widths of the chart to later times."""
        if self.feed is not None:
            self._look(self.view.panned(by, self.feed.now_ns(), self._first_ns(self.feed)))

    def action_live_pause(self) -> None:
        """Hold the chart still, or follow the present again. Sampling goes on either way."""
        if self.feed is not None:
            follows = self.view.follows
            self._look(rows.LiveSpan(self.view.span_s, self.feed.now_ns() if follows else None))
            self.say(
                "The chart is paused; sampling goes on. Press Space to follow again."
                if follows
                else ""
            )

    def action_live_now(self) -> None:
        self._look(rows.LiveSpan(self.view.span_s, None))

    def action_live_whole(self) -> None:
        """Everything since the first reading."""
        if self.feed is not None:
            self._zoomed = True
            self._look(
                rows.LiveSpan(
                    rows.fitting_span_s((self.feed.now_ns() - self._first_ns(self.feed)) / NS)
                )
            )

    def select(self, by: int) -> None:
        """So many channels down."""
        feed = self.feed
        if feed is None or len(feed.board) < 2:
            return
        choices: list[ChannelKey | None] = [
            *([None] if self._sum is not None else []),
            *self.order(feed),
        ]
        at = choices.index(self.selected) if self.selected in choices else 0
        self.selected = choices[max(0, min(len(choices) - 1, at + by))]
        self.draw()

    def action_live_mark(self) -> None:
        """Name this moment in the recording."""
        if self.feed is not None:
            self._marked += 1
            self.feed.mark(f"mark {self._marked}")
            self.say(f"Marked this moment as “mark {self._marked}”.")

    def action_live_capture(self) -> None:
        """Take a profile from the program that is watched."""
        self.capture.key()

    def action_live_open(self) -> None:
        """Open the profile that appeared, with the power recorded so far."""
        if self.profile is None:
            self.say(
                "No profile has appeared yet."
                if self._watch
                else "Start with --logdir DIR to see profiles as they appear."
            )
            return
        self.shell.runs.open(self.profile)
