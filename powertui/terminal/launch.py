"""Before the first screen: may there be one, what can it show, and the settings that Textual reads
when it is imported.

Call `prepare` before anything imports textual.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import termios

from powertui import config, dependencies
from powertui.errors import NoTerminal
from powertui.terminal import capabilities as caps
from powertui.terminal import signals, theme
from powertui.value_types import dataclass


@dataclass(frozen=True)
class Display:
    """What there is to draw on and with, and what the config file says."""

    capabilities: caps.Capabilities
    look: theme.Theme
    settings: config.Config


def prepare(asked: caps.Wishes, theme_name: str | None, instead: str) -> Display:
    """Refuse where no screen can be shown, with what works `instead`; otherwise decide what to draw
    with and tell Textual.
    """
    why = caps.refusal(os.environ, _is_tty(sys.stdin), _is_tty(sys.stdout))
    if why and (_hung_up(sys.stdin) or _hung_up(sys.stdout)):  # while the program started
        signals.let_go()
        raise SystemExit(signals.HANGUP)
    if why:
        raise NoTerminal(f"No screen can be shown here: {why}.", hint=instead)
    settings = config.load()
    in_file = caps.Wishes(
        color=settings.color,  # type: ignore[arg-type]
        glyphs=settings.glyphs,  # type: ignore[arg-type]
        mouse=settings.mouse,
        fps=settings.fps,
        motion=settings.motion,
    )
    capabilities = caps.detect(
        os.environ, _encoding(), caps.first_of(asked, caps.wishes_from_env(os.environ), in_file)
    )
    name = theme_name or os.environ.get("POWERTUI_THEME") or settings.theme or "dark"
    _settle_textual(capabilities)
    hurry()
    return Display(
        capabilities=capabilities,
        look=theme.get("light" if name == "light" else "dark", capabilities.color),
        settings=settings,
    )


def hurry() -> None:
    """Until the first picture: what is imported is not searched for garbage again and again; numpy
    starts no threads.
    """
    dependencies.one_thread()
    gc.disable()


def at_ease() -> None:
    """The first picture is there: collect garbage again, but not among what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _settle_textual(capabilities: caps.Capabilities) -> None:
    """Textual reads these once, at import.

    The painter decides about colors and frames itself: Textual must not get in its way.
    """
    os.environ["TEXTUAL_FPS"] = "60"
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    os.environ["TEXTUAL_SMOOTH_SCROLL"] = "0"
    os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"
    keep_own_colors()
    if not capabilities.keyboard:
        os.environ["TEXTUAL_DISABLE_KITTY_KEY"] = "1"


def keep_own_colors() -> None:
    """Textual would turn everything gray, and cannot with styles as ours: without colors we draw
    with attributes instead.
    """
    os.environ.pop("NO_COLOR", None)


def _is_tty(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False


def _hung_up(stream: object) -> bool:
    """Whether it was a terminal that is gone: what never was one answers otherwise."""
    try:
        termios.tcgetattr(stream.fileno())  # type: ignore[attr-defined]
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    except (AttributeError, ValueError, OSError):
        pass
    return False


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "ascii"
