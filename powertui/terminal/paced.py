"""The application's link to its terminal: Textual renders, the painter finds what differs, the gate
says when it may leave.

`PacedApp` overrides the one method through which Textual shows a rendered screen. Screens,
dialogs and toasts are paced and reduced without knowing it. In tests that run without a terminal
Textual's own path is untouched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.screen import Screen
from textual.strip import Strip

from powertui.terminal import theme as themes
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.driver import ASK_POSITION, TerminalDriver
from powertui.terminal.pacing import PaintGate, Quality
from powertui.terminal.painter import Painter
from powertui.terminal.signals import HANGUP, PATIENCE_S, leave, no_later_than
from powertui.terminal.textual_private import ChopsUpdate, LayoutUpdate, rendered_rows
from powertui.terminal.theme import hex_of

ReturnType = TypeVar("ReturnType")


class _PageColors(LineFilter):
    """Gives text and background of the theme to what has none of its own: for pictures, which have
    no terminal behind them.
    """

    def __init__(self, page: Style) -> None:
        super().__init__()
        self._page = page

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text on the page."""
        return [
            Segment(text, self._page + style if style else self._page, control)
            for text, style, control in segments
        ]


class PacedApp(App[ReturnType], Generic[ReturnType]):
    """A Textual application with one frame in flight."""

    def __init__(self, capabilities: Capabilities, theme: themes.Theme) -> None:
        self.capabilities = capabilities
        self.look = theme
        self.gate = PaintGate(fps=float(capabilities.fps))
        self.painter = Painter(
            capabilities.color,
            capabilities.glyphs,
            encoding=capabilities.encoding,
            shift=capabilities.shift,
            clears_in_color=capabilities.clears_in_color,
            page=ColorTriplet(*themes.rgb(theme.background)),
            ink=ColorTriplet(*themes.rgb(theme.foreground)),
        )
        self._page = _PageColors(
            Style(color=hex_of(theme.foreground), bgcolor=hex_of(theme.background))
            if theme.depth != "none"
            else Style()
        )
        self._frame_timer: asyncio.TimerHandle | None = None
        self._level = 0
        self._standing = False
        self.ended_with: int | None = (
            None  # the exit code, when a signal or the end of the terminal decided it
        )
        super().__init__(driver_class=TerminalDriver)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The painter reduces colors itself, once for each style; Textual's filters would touch
        every run of every frame.
        """
        if isinstance(self._driver, TerminalDriver):
            return ()
        return (*super().get_line_filters(), self._page)

    # ── from the driver ──────────────────────────────────────────────────────────────────────────

    def terminal_taken(self) -> None:
        """The terminal is ours, at the start or again: whatever it shows is not what was sent."""
        self.painter.invalidate()
        self.gate.forget()
        if self._driver is not None and isinstance(self._driver, TerminalDriver):
            self._driver.write(ASK_POSITION)
            self.gate.sent(time.monotonic(), 0, frame=False)
        self._send_frame()

    def frame_acknowledged(self) -> None:
        """The terminal has shown everything that was sent before the last question."""
        if self.gate.answered(time.monotonic()):
            if self.gate.level != self._level:
                self._level = self.gate.level
                self.painter.set_color(self.capabilities.at_most(self.gate.quality.color).color)  # type: ignore[arg-type]
                self.quality_changed(self.gate.quality)
            if isinstance(self._driver, TerminalDriver):
                self._driver.report_motion(self.gate.allows_motion)
            self._send_frame()

    def window_changed(self, size: tuple[int, int]) -> None:
        """The terminal has had other sizes, and this is the last of them: what it shows may have
        been cut in between.

        Textual draws anew for a new size alone, and a busy program may have missed all but the old
        one.
        """
        self.painter.invalidate()
        if size == self.painter.size:
            self._send_frame()

    def hang_up(self) -> None:
        """The terminal is gone."""
        self.end_with(HANGUP)

    def end_with(self, code: int) -> None:
        """A signal, or the end of the terminal (called between any two steps of the program). The
        first decides on the exit code.

        While the screens stand they are taken down in order, within a time. Before that Textual is
        half built, and would answer with a traceback; after that nothing is left to do. Who asks a
        second time wants it at once; only a hang-up is told twice, by a signal and by the end of
        the input.
        """
        if self.ended_with == code == HANGUP:
            return
        first = self.ended_with is None
        self.ended_with = self.ended_with or code
        if first and self._standing and self._loop is not None and not self._loop.is_closed():
            no_later_than(PATIENCE_S, self._drop)
            self._loop.call_soon_threadsafe(self.exit, None, code)
        else:
            self._drop()

    def _drop(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.give_back()
        leave(self.ended_with or 1)

    def on_ready(self) -> None:
        """Textual has built everything."""
        self._standing = True

    def quality_changed(self, quality: Quality) -> None:
        """The link carries more or less than before. For subclasses."""

    # ── frames ───────────────────────────────────────────────────────────────────────────────────

    @property
    def holds_frames(self) -> bool:
        """Whether rendering now would be in vain, because the result could not leave yet."""
        return isinstance(self._driver, TerminalDriver) and not self.gate.is_open(time.monotonic())

    def drawn_rows(self, screen: Screen[Any]) -> list[Strip]:
        """What a screen shows, row by row; also of one that another one is in front of."""
        return rendered_rows(screen)

    def svg_of(self, screen: Screen[Any]) -> str:
        """What a screen shows, as SVG."""
        from powertui.terminal.svg_picture import svg_picture  # only for a picture

        look = self.look
        ink = hex_of(look.foreground)
        paper = hex_of(look.background)
        return svg_picture(self.drawn_rows(screen), self.size.width, ink, paper)

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if not isinstance(self._driver, TerminalDriver) or not isinstance(
            renderable, LayoutUpdate | ChopsUpdate
        ):
            super()._display(screen, renderable)
            return
        try:
            if not self._batch_count and self._running and not self._closed:
                self.painter.resize(*self.size)
                try:
                    _paint(self.painter, renderable)
                except Exception as error:
                    self._handle_exception(error)
                self._send_frame()
        finally:
            self.post_display_hook()

    def redraw(self) -> None:
        """Send the whole screen again."""
        self.painter.invalidate()
        self._send_frame()

    def _send_frame(self) -> None:
        """Send a frame if there is something to send and it may leave now; otherwise come back when
        it may.
        """
        driver = self._driver
        if not isinstance(driver, TerminalDriver) or self._exit or not self.painter.dirty:
            return
        now = time.monotonic()
        wait = self.gate.opens_at() - now
        if wait > 0:
            if (
                self._frame_timer is None
                or self._frame_timer.when() > asyncio.get_running_loop().time() + wait
            ):
                self._cancel_later()
                self._frame_timer = asyncio.get_running_loop().call_later(wait, self._send_later)
            return
        self._cancel_later()
        self.gate.lost(now)
        frame = self.painter.frame(self.gate.slice_bytes)
        cursor = self.screen.outer_size.clamp_offset(self.cursor_position)
        self._begin_update()
        frame += f"\x1b[{cursor.y + 1};{cursor.x + 1}H"
        driver.write(frame)
        self._end_update()
        driver.write(ASK_POSITION)
        self.gate.sent(now, len(frame.encode(self.capabilities.encoding, "replace")))
        if self.painter.dirty:
            self._send_frame()

    def _send_later(self) -> None:
        self._frame_timer = None
        self._send_frame()

    def _cancel_later(self) -> None:
        if self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None


def _paint(painter: Painter, update: LayoutUpdate | ChopsUpdate) -> None:
    """Draw what Textual wants to show into the painter's picture."""
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in line:
                painter.put(y, x, strip)
                x += strip.cell_length
        return
    for y, left, right in update.spans:
        for end, (start, chop) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if chop is not None and start <= right and end > left:
                painter.put(y, start, chop)
