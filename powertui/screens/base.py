"""What every screen has: bindings from the keymap, a message line, the shared session, a word for
windows that are too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize, ScreenResume
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from powertui.plain import plain
from powertui.screens import frame
from powertui.screens.session import Session
from powertui.screens.status import Hint, StatusLine, WayBack, hint
from powertui.screens.top_line import TopLine
from powertui.terminal import keymap
from powertui.terminal.capabilities import SMALLEST
from powertui.terminal.keymap import Action
from powertui.terminal.theme import Theme

if TYPE_CHECKING:
    from powertui.screens.shell import Shell


_MAX_HINTS = 8  # that a footer takes of a page that names none itself


def bindings_for(screen: str) -> list[BindingType]:
    """Textual bindings for the actions that exist on this screen alone."""
    return [_binding(action) for action in keymap.ACTIONS if screen in action.screens]


def global_bindings() -> list[BindingType]:
    """Textual bindings for the actions that exist everywhere."""
    return [_binding(action, "app.") for action in keymap.ACTIONS if "*" in action.screens]


def _binding(action: Action, owner: str = "") -> Binding:
    if action.do is not None:
        what = f"{owner}act('{action.id}')"
    else:
        what = owner + action.method
    return Binding(
        ",".join(action.keys),
        what,
        action.title,
        show=False,
        priority=action.priority,
        id=action.id,
    )


class _Paced(Screen[Any]):
    """Renders only when the result can leave: what changes meanwhile is rendered once."""

    is_there = False  # in front with all its widgets: keys and other screens wait for that
    _owes_render = False  # a layout was not rendered, as its frame could not leave

    def _on_timer_update(self) -> None:
        # Textual's own update method: while the gate is closed, or a page has no widgets yet, the
        # timer asks again.
        if self.is_mounted and not cast("Shell", self.app).holds_frames:
            self._dirty_widgets.update(self.before_frame())
            if self._owes_render:
                # Not by `_repaint_required`: that stands for all widgets, and forgets those that
                # changed since.
                self._owes_render = False
                self._dirty_widgets.add(self)
            super()._on_timer_update()

    def _compositor_refresh(self) -> None:
        # Textual renders after each layout, too, and a page that comes up is laid out several
        # times.
        if cast("Shell", self.app).holds_frames:
            self._owes_render = True
            self._update_timer.resume()
        else:
            super()._compositor_refresh()

    def before_frame(self) -> Iterable[Widget]:
        """A frame is about to be rendered: the moment to work out what is only looked at, not when
        every key comes in.

        Answers with the widgets that changed by it, so that they are part of this frame and not of
        the next.
        """
        return ()


class BaseScreen(_Paced):
    """A page of powertui. Subclasses set NAME, BINDINGS = bindings_for(NAME), and write `body`.

    An action of the keymap is what it carries in `do`, else the page's own `action_<id>`.
    """

    NAME: ClassVar[str] = ""
    AUTO_FOCUS: ClassVar[str | None] = "*"
    BINDINGS: ClassVar[
        list[BindingType]
    ] = [  # Textual's own screens have these keys, nearer than the application's
        Binding("tab", "next_pane(1)", show=False),
        Binding("shift+tab", "next_pane(-1)", show=False),
    ]
    page_name = (
        ""  # its name in the table of screens: NAME, but for pages that several entries share
    )
    _drawn_with: Theme | None = None
    _is_styled = False  # its widgets have their styles since it was shown first

    @property
    def shell(self) -> Shell:
        """The application."""
        return cast("Shell", self.app)

    @property
    def shows_all(self) -> bool:
        """Whether nothing is being read any more that this page alone will show."""
        return True

    @property
    def session(self) -> Session:
        """What is open now."""
        return self.shell.session

    def compose(self) -> ComposeResult:
        self._drawn_with = self.shell.look
        yield TopLine(theme=self.shell.look, show=self.shell.show, id="top")
        yield from self.body()
        yield StatusLine(theme=self.shell.look, id="status")
        yield Static(
            (
                f"This window is too small.\npowertui needs {SMALLEST[0]} columns and "
                f"{SMALLEST[1]} rows.\nq quits."
            ),
            id="too-small",
            markup=False,
        )

    def body(self) -> ComposeResult:
        """The widgets of this page."""
        yield from ()

    def on_resize(self, event: Resize) -> None:
        """Below the smallest size there is only a message."""
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.set_class(small, "-too-small")

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Shown (again): catch up with what changed meanwhile."""
        if not self._is_styled:
            # Every widget found its styles when it was mounted, just before. Textual would work all
            # of them out once more: 15 ms of the first picture.
            event.refresh_styles = False
            self._is_styled = True
        self.adapt()
        self.catch_up()
        self.shell.arrived(self)

    def catch_up(self) -> None:
        """The session changed, or this page came to the front: the page, and what stands
        around it.
        """
        self.session_changed()
        self.top_line()
        self.footer()

    # ── what stands around the page ──────────────────────────────────────────────────────────────

    def top_line(self) -> None:
        """What is open, and the pages."""
        if self.is_mounted:
            self.query_one(TopLine).tell(
                frame.head(self.session), frame.tabs(self.session, self.page_name or self.NAME)
            )

    def footer(self) -> None:
        """What can be done now. A page calls this when its selection changed."""
        if self.is_mounted:
            useful = [
                item
                if isinstance(item, Hint)
                else hint(item)
                if isinstance(item, str)
                else hint(*item)
                for item in self.useful()
            ]
            count = len(self.session.together)
            if count > 1:
                useful.insert(
                    1, hint("run-next", "other run" if count == 2 else f"next of {count:,} runs")
                )
            self.query_one("#status", StatusLine).can(useful, self._way_back())

    def useful(self) -> Iterable[str | tuple[str, str] | Hint]:
        """What this page and this selection can do, most useful first: ids of actions, or (id,
        words); "a+b" is a pair. A page that is worth going to is a hint of its own.
        """
        return [action.id for action in keymap.ACTIONS if self.NAME in action.screens][:_MAX_HINTS]

    def closes(self) -> str:
        """What Esc would close on this page; "" when it would leave it."""
        return ""

    def _way_back(self) -> WayBack:
        return WayBack(self.closes(), self.shell.way_back(self))

    def action_next_pane(self, by: int) -> None:
        """Tab."""
        self.next_pane(by)

    def next_pane(self, by: int) -> None:
        """Tab: the focus goes round the panes."""
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def action_act(self, id: str) -> None:
        """What an action of the keymap carries."""
        action = keymap.get(id)
        if action.do is not None:
            action.do(self)

    def session_changed(self) -> None:
        """The session changed (run, profile, power, place to go to, tool), or this page came to the
        front.

        There is one kind of change: a page compares what is there now with what it shows.
        """

    def news_came(self) -> None:
        """What is to be concluded from the run in front is known now."""

    def show_progress(self, progress: str) -> None:
        """How far reading has come; "" when it has ended."""
        self.query_one("#status", StatusLine).set_right(progress)

    def adapt(self) -> None:
        """The line carries more or less than when this page was drawn last: other colors, more or
        fewer runs.
        """
        if self._drawn_with is not self.shell.look:
            self._drawn_with = self.shell.look
            self.restyle(self.shell.look)
            self.query_one("#status", StatusLine).restyle(self.shell.look)
            self.query_one(TopLine).restyle(self.shell.look)

    def restyle(self, look: Theme) -> None:
        """Draw with these styles from now on."""

    def say(self, message: str, *shorter: str, warn: bool = False) -> None:
        """One sentence on the bottom line, until the next key; where it has no room the first of
        the `shorter` ones that has. It is kept in the list of messages.
        """
        message, *fewer = (plain(text.replace("\n", "  ")) for text in (message, *shorter))
        self.shell.messages.add(message, warn=warn)
        self.query_one("#status", StatusLine).say(message, *fewer, warn=warn)

    def export_page(self) -> None:
        """Write what this page shows to a file."""
        self.ask_export(None)

    def ask_export(self, window: tuple[int, int] | None) -> None:
        """Ask what to write of this window (None: the page alone), and where."""
        self.shell.ask_export(self, window)

    def goto(self, lo: int, hi: int, *, mark: bool = False) -> None:
        """Show a stretch of time (ps) in the timeline; `mark` makes it the window."""
        self.shell.goto(lo, hi, mark=mark)

    def awaits(self, action: str) -> str:
        """What an action of this page has to wait for, in words: an answer that is under way. ""
        where it can be done now.

        The action is named by its id; Enter in a box is "submit"; a key that the focused widget
        binds itself is "".
        """
        return ""

    def leaving(self) -> bool:
        """Whether the program may end now. A page that says False has asked the person first."""
        return True

    def undo(self) -> bool:
        """Take back what was changed on this page last. False: `u` is about the power here."""
        return False

    def back(self) -> bool:
        """Close what is open on this page. False when there was nothing to close."""
        return False

    def host_names(self) -> Sequence[str]:
        """Hosts on this page that `:` finds, beside those of the run."""
        return ()

    def choose_host(self, name: str) -> None:
        """Put the cursor on one of them."""


class Dialog(ModalScreen[Any], _Paced):
    """Something in front of a page. Esc closes it; the keys that work everywhere work here too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss_dialog", show=False),
        *(_binding(action, "app.") for action in keymap.ACTIONS if action.priority),
    ]

    _answered = False

    def awaits(self, action: str) -> str:
        """As of a page: what this key has to wait for, in words."""
        return ""

    def on_screen_resume(self) -> None:
        """In front: keys that came in meanwhile are for this dialog."""
        cast("Shell", self.app).arrived(self)

    def answer(self, result: Any) -> bool:
        """Close with an answer; False when it is closed already (two Enters, an answer that came
        after Esc).
        """
        if self._answered or not self.is_current:
            return False
        self._answered = True
        self.dismiss(result)
        return True

    def action_dismiss_dialog(self) -> None:
        """Leave without an answer."""
        self.answer(None)
