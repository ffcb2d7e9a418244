"""The live screen: the present power, its history, the sensor's health, and the training.

The screen only looks. Readings come from a feed, which samples and writes elsewhere; this page
takes what has come a few times a second and draws the rows that changed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
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
from powertui.sampler.recorder_events import Event
from powertui.sampler.source import Stamp
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.capturing import LiveCapture
from powertui.screens.live_map import LiveMap
from powertui.screens.status import Hint
from powertui.terminal import glyphs as glyph_sets
from powertui.view import live_rows, live_summary
from powertui.view.live_chart import AXIS_WIDTH, LiveSpan, chart, fitting_span_s
from powertui.view.live_texts import RoleLine
from powertui.widgets.live_pane import LivePane

_TICK_S = 0.5  # a person reads no faster, and a slow line carries no more
_STILL_TICKS = 10  # after so many without news a map is drawn again, as its bars move on
_WATCH_S = 2.0  # between two looks at the logdir
_SUM = ChannelKey("", "sum")
_MAX_GROWN_S = 600  # the chart grows with the history up to here; a person zooms out further
_MAX_LOG_LINES = 200  # events that are kept; only the last few are in sight
_USEFUL_WITHOUT_MAP = (
    *("live-zoom-in", "live-zoom-out", "live-back", "live-forward"),
    *("live-pause", "live-now", "live-whole", "live-up"),
)


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
        self.view = LiveSpan()
        self.selected: ChannelKey | None = None
        self.log_lines: list[Event] = []
        self.epochs: list[tuple[FinishedEpoch, WindowEnergy | None]] = []
        self.profile: RunEntry | None = None  # the last one that appeared
        self.sum_history: History | None = None
        self._watch: Watch | None = None
        self._stop_watching = threading.Event()
        self._marked = 0
        self._asked_to_leave = False
        self._over = False
        self._still_ticks = 0  # without any news, since the map was drawn
        self._first_row = 0
        self.capture = LiveCapture(self)
        self.map = LiveMap(self)
        self.is_zoomed = False  # until the person zooms, the chart grows with the history

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
        news = feed.events()
        for event in news:
            self.log_event(event)
        if came:
            self._add_sum(feed)
        if feed.failure is not None:
            self.shell.exit(return_code=1)  # it is said on the terminal
            return
        if feed.over and not self._over:
            self._over = True
            if feed.file is not None:
                sentence = (
                    "Sampling has stopped because the recorder ended. What it had written is "
                    "in the file."
                )
                self.say(sentence, warn=True)
        # A map of many hosts costs more than a page of rows, and shows no age that counts up.
        is_still = self.map.is_shown and not (came or news or self.map.is_behind)
        self._still_ticks = self._still_ticks + 1 if is_still else 0
        if self.is_current and self._still_ticks % _STILL_TICKS == 0:
            self.draw()

    def _add_sum(self, feed: Feed) -> None:
        """Keep the sum over all rows as a channel of its own.

        A sum that is short of a row is a gap.
        """
        if len(feed.board) < 2:
            return
        if len(feed.board.addable()[0]) < 2:
            return
        if self.sum_history is None:
            self.sum_history = History(_SUM, host="sum", scope=Scope.UNKNOWN)
        feed.board.add_sums(self.sum_history, int(feed.interval_s * NS))

    def draw(self) -> None:
        """Lay the page out and fill it."""
        feed = self.feed
        if not self.is_mounted or not self.size.width:
            return
        if feed is None:
            nothing = [("Nothing is being sampled. ", "title")]
            advice = [("Watch a server's power with: powertui live --host BMC", "text")]
            self.fill("head", [nothing, advice])
            return
        columns, height = self.size.width, self.size.height - 2  # the top line, and the bottom line
        self.fill("head", [live_summary.head(feed, columns)])
        channels = len(feed.board)
        if not channels:
            waiting_rows = max(1, height - 2 * live_rows.MAX_LOG_ROWS)
            self.fill("summary", [[], [("  waiting for the first reading …", "dim")], []])
            self.fill("table", live_rows.waiting(feed.away, waiting_rows, columns))
            self.fill("log", live_rows.log_rows(self.log_lines, live_rows.MAX_LOG_ROWS))
            return
        if not self.is_zoomed and self.view.follows:
            span_s = fitting_span_s(self._history_s(feed), longest=_MAX_GROWN_S)
            self.view = LiveSpan(span_s)
        epoch_count = len(self.epochs) if self._watch is not None else None
        space = live_rows.page_rows(height, channels, len(feed.away), epoch_count)
        epochs: list[RoleLine] = []
        if self._watch is not None and space["run"]:
            epochs = live_rows.run_rows(self.epochs, space["run"])
        self.fill("run", epochs)
        is_map = self.map.draw(feed, channels, columns, space)  # which leaves the log one row
        self.fill("log", live_rows.log_rows(self.log_lines, space["log"]))
        if not is_map:
            keys = live_rows.ordered_channels(feed.board)
            self._draw_table(feed, keys, columns, space)
            self._draw_channel(feed, keys, columns, space["chart"])

    def sideways(self, by: int) -> None:
        """The host beside the chosen one; without a map a part of the history."""
        if not self.map.step(by):
            self.pan(by / 4)

    def on_click(self, event: events.Click) -> None:
        """A click on a tile of the map."""
        offset = event.get_content_offset(self.query_one("#chart", LivePane))
        if offset is not None:
            self.map.click(offset.x, offset.y)

    def useful(self) -> Iterable[str | tuple[str, str] | Hint]:
        """Of the map, where one is shown."""
        return self.map.useful() or _USEFUL_WITHOUT_MAP

    def closes(self) -> str:
        return "the host" if self.map.is_left else ""

    def host_names(self) -> Sequence[str]:
        return self.map.host_names

    def choose_host(self, name: str) -> None:
        self.map.choose(name)

    def back(self) -> bool:
        """From a host to the map."""
        return self.map.back()

    def fill(self, name: str, lines: Sequence[RoleLine]) -> None:
        """Show these lines in one of the panes."""
        self.query_one(f"#{name}", LivePane).show(lines)

    def _draw_channel(
        self, feed: Feed, keys: list[ChannelKey], columns: int, chart_rows: int
    ) -> None:
        """The channel that is drawn large: its present value and its chart."""
        history, total = self.shown(feed, keys)
        glyphs = glyph_sets.get(self.shell.capabilities.glyphs)
        first, last, _ = self.view.bounds(feed.now_ns(), max(8, columns - AXIS_WIDTH))
        summary = live_summary.summary(feed, history, total, (first, last), columns, glyphs)
        self.fill("summary", summary)
        rows = self.query_one("#chart", LivePane).size.height
        if rows:
            # A pane below that has just grown takes its rows from the chart at the next layout.
            below = [self.query_one(f"#{name}", LivePane) for name in ("table", "run", "log")]
            rows -= sum(len(pane.lines) - pane.size.height for pane in below)
        size = columns, max(1, rows or chart_rows)
        self.fill("chart", self.chart_lines(feed, history, size))

    def chart_lines(self, feed: Feed, history: History, size: tuple[int, int]) -> list[RoleLine]:
        """The chart of a channel in so many columns and rows."""
        glyphs = glyph_sets.get(self.shell.capabilities.glyphs)
        now = feed.now_ns()
        is_sum = history.key == _SUM
        if is_sum:
            hold_ns = live_rows.sum_held_ns(feed)
        else:
            hold_ns = live_rows.held_ns(feed, history.key)
        moments = self._moments(feed, now)
        return chart(history, self.view, now, hold_ns, size, glyphs, moments)

    def _moments(self, feed: Feed, now: int) -> list[tuple[int, str]]:
        """Moments (ns) that are named on the chart: marks, their ends, and ends of epochs."""
        starts = []
        ends = []
        for mark in feed.marks:
            starts.append((mark.start_ns, mark.name))
            if mark.end_ns is not None and mark.end_ns <= now:
                ends.append((mark.end_ns, f"{mark.name} ends"))
        for epoch, _ in self.epochs:
            ends.append((epoch.end_ns, f"epoch {epoch.number} ends"))
        return starts + ends

    def _draw_table(
        self, feed: Feed, keys: list[ChannelKey], columns: int, space: dict[str, int]
    ) -> None:
        """All channels as rows, where there are several, and sources that have not answered."""
        glyphs = glyph_sets.get(self.shell.capabilities.glyphs)
        lines: list[RoleLine] = []
        if len(keys) > 1:
            shown = self._scrolled(keys, space["table"] - 1)
            outliers = feed.board.outliers()
            lines += live_rows.table(
                feed, shown, self.selected, outliers, self.view, columns, glyphs
            )
        lines += live_rows.waiting(feed.away, space["waiting"], columns)
        self.fill("table", lines)

    def shown(self, feed: Feed, keys: list[ChannelKey]) -> tuple[History, Total | None]:
        """The channel that is drawn large: the chosen one, else the sum, else the only one."""
        if self.selected in feed.board.histories:
            return feed.board.histories[self.selected], None
        if self.sum_history is not None:
            return self.sum_history, feed.board.total()
        return feed.board.histories[keys[0]], None

    def _scrolled(self, keys: list[ChannelKey], room: int) -> list[ChannelKey]:
        """The part of the table around the selected row."""
        row = keys.index(self.selected) if self.selected in keys else 0
        self._first_row = max(0, min(self._first_row, row, len(keys) - room))
        if row >= self._first_row + room:
            self._first_row = row - room + 1
        return keys[self._first_row : self._first_row + room]

    # ── what happens ─────────────────────────────────────────────────────────────────────────────

    def log_event(self, event: Event) -> None:
        """Add a line to the log, and to the messages, which show it in full."""
        text = f"{event.source}: {event.text}" if event.source else event.text
        self.shell.messages.add(plain(text), warn=event.level != "info", at=event.stamp.t)
        self.log_lines.append(event)
        del self.log_lines[:-_MAX_LOG_LINES]

    def note(self, text: str, level: str = "info") -> None:
        """Add what this screen itself reports to the log."""
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
        for text in message.news.notes:
            self.note(text)
        for epoch in message.news.epochs:
            self._add_epoch(epoch)
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
        """Whether the program may end now. Asks once when the readings would be lost."""
        feed = self.feed
        if feed is None or feed.file is not None or feed.over or not self._samples(feed):
            return True
        if self._asked_to_leave:
            return True
        self._asked_to_leave = True
        self.say("Nothing here is being recorded. Press q again to quit anyway.", warn=True)
        return False

    @staticmethod
    def _samples(feed: Feed) -> bool:
        """Whether readings are taken that a file could have kept: a replay has its file already."""
        return bool(getattr(feed, "recorder", None))

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def _first_ns(self, feed: Feed) -> int:
        starts = [history.first_ns for history in feed.board if len(history)]
        return min(starts, default=feed.now_ns())

    def _history_s(self, feed: Feed) -> float:
        """How long ago the first reading was."""
        return (feed.now_ns() - self._first_ns(feed)) / NS

    def _look(self, view: LiveSpan) -> None:
        self.view = view
        self.draw()

    def zoom(self, by: int) -> None:
        """A shorter or (below zero) a longer history."""
        self.is_zoomed = True
        self._look(self.view.zoomed(by))

    def _add_epoch(self, epoch: FinishedEpoch) -> None:
        """An epoch with its energy, in place of what was known of it before."""
        feed = self.feed
        energy = None
        if feed is not None and epoch.begin_ns is not None:
            energy = feed.board.energy(epoch.begin_ns, epoch.end_ns)
        others = [pair for pair in self.epochs if pair[0].number != epoch.number]
        self.epochs = [*others, (epoch, energy)]

    def pan(self, by: float) -> None:
        """So many widths of the chart to later times."""
        feed = self.feed
        if feed is not None:
            self._look(self.view.panned(by, feed.now_ns(), self._first_ns(feed)))

    def action_live_pause(self) -> None:
        """Hold the chart still, or follow the present again. Sampling goes on either way."""
        if self.feed is None:
            return
        if self.view.follows:
            self._look(LiveSpan(self.view.span_s, self.feed.now_ns()))
            self.say("The chart is paused; sampling goes on. Press Space to follow again.")
        else:
            self._look(LiveSpan(self.view.span_s, None))
            self.say("")

    def action_live_now(self) -> None:
        self._look(LiveSpan(self.view.span_s, None))

    def action_live_whole(self) -> None:
        """Everything since the first reading."""
        if self.feed is not None:
            self.is_zoomed = True
            self._look(LiveSpan(fitting_span_s(self._history_s(self.feed))))

    def select(self, by: int) -> None:
        """So many channels down; on the map of hosts so many rows."""
        feed = self.feed
        if self.map.step(by, rows=True):
            return
        if feed is None or len(feed.board) < 2:
            return
        choices: list[ChannelKey | None] = list(live_rows.ordered_channels(feed.board))
        if self.sum_history is not None:
            choices.insert(0, None)  # None is the sum
        position = 0
        if self.selected in choices:
            position = choices.index(self.selected)
        self.selected = choices[max(0, min(len(choices) - 1, position + by))]
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
        """Show the chosen host of the map, or open the profile that appeared, with the power
        recorded so far.
        """
        if self.map.enter():
            return
        if self.profile is None:
            if self._watch is not None:
                self.say("No profile has appeared yet.")
            else:
                self.say("Start with --logdir DIR to see profiles as they appear.")
            return
        self.shell.runs.open(self.profile)
