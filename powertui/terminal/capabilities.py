"""What this terminal can show, from the environment and the flags. Pure: nothing here touches a
terminal.

    refusal(...)   why no screen can be shown here, or ""
    detect(...)    colors, glyph set, mouse and frame rate to use

Each choice can be forced. The order is: flag, environment (POWERTUI_*), config file, then what TERM
and LANG tell.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from powertui.value_types import dataclass

Colors: TypeAlias = Literal["none", "16", "256", "true"]
GlyphSet: TypeAlias = Literal["unicode", "console", "ascii"]

_COLORS: tuple[Colors, ...] = ("none", "16", "256", "true")
_GLYPHS: tuple[GlyphSet, ...] = ("unicode", "console", "ascii")
SMALLEST = (60, 15)  # columns × rows; below it there is only a message
_FPS = 30  # key repeat is 30 a second: more frames would show nothing new
_FPS_REMOTE = 20  # over a network a frame costs bytes and time

# Terminals that cannot move a cursor: there is no screen to draw on.
_NO_SCREEN = ("", "dumb", "unknown", "emacs")
# Real consoles and emulations of old hardware: a fixed font, a few dozen drawing characters.
_CONSOLES = (
    "linux",
    "cons25",
    "vt52",
    "vt100",
    "vt102",
    "vt220",
    "vt320",
    "wyse50",
    "wyse60",
    "ansi",
    "sun",
    "hurd",
    "pcansi",
)
_WITHOUT_BLOCKS = (
    "vt52",
    "vt100",
    "vt102",
    "vt220",
    "vt320",
    "wyse50",
    "wyse60",
    "ansi",
    "sun",
    "pcansi",
)
_WITHOUT_COLOR = (
    "vt52",
    "vt100",
    "vt102",
    "vt220",
    "vt320",
    "wyse50",
    "wyse60",
    "sun",
    "xterm-mono",
)
# Terminals that can delete and insert characters within a line (ECMA-48 DCH and ICH). A VT100
# cannot.
_WITHOUT_SHIFT = ("vt52", "vt100", "wyse50", "wyse60")
# Terminals whose description (terminfo's `bce`) says that a cleared screen has the color that is
# set. Those of screen and tmux do not say it.
_CLEARING_IN_COLOR = (
    "xterm",
    "linux",
    "rxvt",
    "konsole",
    "putty",
    "alacritty",
    "kitty",
    "foot",
    "st-",
    "vte",
    "gnome",
    "mintty",
    "wezterm",
    "iterm2",
    "ms-terminal",
)
_TRUE_COLOR_TERMS = (
    "-direct",
    "kitty",
    "alacritty",
    "wezterm",
    "foot",
    "ghostty",
    "contour",
    "iterm2",
)


@dataclass(frozen=True)
class Capabilities:
    """What to draw with."""

    color: Colors = "256"
    glyphs: GlyphSet = "unicode"
    mouse: bool = True
    fps: int = _FPS
    remote: bool = False  # reached over SSH: bytes and round trips count
    shift: bool = True  # characters can be deleted and inserted within a line
    clears_in_color: bool = False  # what a cleared screen shows is known
    # extended key protocols may be asked for; false where the question itself would be printed
    keyboard: bool = True
    encoding: str = "utf-8"
    term: str = "xterm-256color"
    motion: bool = True  # the target of a jump may be outlined for a moment

    @property
    def stack_glyphs(self) -> GlyphSet:
        """The set for bars that are made of parts: without colors their letters tell the parts
        apart, and blocks would not.
        """
        return "ascii" if self.color == "none" else self.glyphs

    def at_most(self, color: Colors) -> Capabilities:
        """The same with at most these colors: what a slow link steps down to."""
        return replace(self, color=min(self.color, color, key=_COLORS.index))


@dataclass(frozen=True)
class Wishes:
    """What flags, environment and config file ask for. None leaves the choice to the terminal."""

    color: Colors | None = None
    glyphs: GlyphSet | None = None
    mouse: bool | None = None
    fps: int | None = None
    motion: bool | None = None


def refusal(environ: Mapping[str, str], stdin_tty: bool, stdout_tty: bool) -> str:
    """Why no screen can be shown here; "" when one can."""
    if not stdin_tty or not stdout_tty:
        if not (stdin_tty or stdout_tty):
            which = "standard input and output are"
        elif not stdin_tty:
            which = "standard input is"
        else:
            which = "standard output is"
        return f"{which} not a terminal"
    term = environ.get("TERM", "")
    if term.lower() in _NO_SCREEN or term.lower().startswith("dumb"):
        return f"the terminal TERM={term or '(not set)'} cannot show a screen"
    return ""


_YES_OR_NO = {"0": False, "no": False, "1": True, "yes": True}


def wishes_from_env(environ: Mapping[str, str]) -> Wishes:
    """POWERTUI_COLOR, POWERTUI_GLYPHS, POWERTUI_MOUSE, POWERTUI_FPS, POWERTUI_MOTION.

    What is not understood is passed over.
    """
    color = environ.get("POWERTUI_COLOR", "")
    glyphs = environ.get("POWERTUI_GLYPHS", "")
    mouse = environ.get("POWERTUI_MOUSE", "")
    fps = environ.get("POWERTUI_FPS", "")
    return Wishes(
        color=next((c for c in _COLORS if c == color), None),
        glyphs=next((g for g in _GLYPHS if g == glyphs), None),
        mouse=_YES_OR_NO.get(mouse),
        fps=int(fps) if fps.isascii() and fps.isdecimal() and int(fps) > 0 else None,
        motion=_YES_OR_NO.get(environ.get("POWERTUI_MOTION", "")),
    )


def first_of(*wishes: Wishes) -> Wishes:
    """Merge, the first that says something wins."""
    out = Wishes()
    for wish in reversed(wishes):
        out = Wishes(
            color=wish.color or out.color,
            glyphs=wish.glyphs or out.glyphs,
            mouse=out.mouse if wish.mouse is None else wish.mouse,
            fps=wish.fps or out.fps,
            motion=out.motion if wish.motion is None else wish.motion,
        )
    return out


def is_utf8(encoding: str) -> bool:
    """Whether every character can be written."""
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        return False


# What Python itself puts into LC_CTYPE where the locale that is asked for is not installed (PEP
# 538).
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


def locale_encoding(environ: Mapping[str, str]) -> str:
    """The encoding that LC_ALL, LC_CTYPE or LANG name ("" when they name none)."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = environ.get(name, "")
        if name == "LC_CTYPE" and value in _COERCED and "." in environ.get("LANG", ""):
            continue
        if value:
            return value.partition("@")[0].partition(".")[2]
    return ""


def _colors(environ: Mapping[str, str], term: str) -> Colors:
    # https://no-color.org: any value that is not empty.
    if environ.get("NO_COLOR"):
        return "none"
    if term.startswith(_WITHOUT_COLOR):
        return "none"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "true"
    if any(word in term for word in _TRUE_COLOR_TERMS):
        return "true"
    if "256color" in term or environ.get("TERM_PROGRAM") in ("Apple_Terminal", "vscode"):
        return "256"
    return "16"


def _glyphs(environ: Mapping[str, str], term: str, encoding: str) -> GlyphSet:
    if not is_utf8(encoding):
        return "ascii"
    # An old locale over SSH: Python writes UTF-8 all the same, but the terminal was set up for
    # something else.
    named = locale_encoding(environ)
    if named and not is_utf8(named):
        return "ascii"
    if term.startswith(_WITHOUT_BLOCKS):
        return "ascii"
    if term.startswith(_CONSOLES):
        return "console"
    return "unicode"


def detect(environ: Mapping[str, str], encoding: str, wishes: Wishes | None = None) -> Capabilities:
    """What to draw with: wishes first, the terminal's own description for the rest."""
    wishes = wishes or Wishes()
    term = environ.get("TERM", "").lower()
    remote = bool(
        environ.get("SSH_CONNECTION") or environ.get("SSH_TTY") or environ.get("SSH_CLIENT")
    )
    old = term.startswith(_CONSOLES)
    glyphs = wishes.glyphs or _glyphs(environ, term, encoding)
    if not is_utf8(encoding):
        glyphs = "ascii"  # even against a wish: other characters cannot leave this process
    return Capabilities(
        color=wishes.color or _colors(environ, term),
        glyphs=glyphs,
        mouse=(not old or term.startswith("linux")) if wishes.mouse is None else wishes.mouse,
        fps=min(max(wishes.fps or (_FPS_REMOTE if remote else _FPS), 1), 120),
        remote=remote,
        shift=not term.startswith(_WITHOUT_SHIFT),
        clears_in_color=term.startswith(_CLEARING_IN_COLOR),
        keyboard=not old and not term.startswith(("screen", "putty")),
        encoding=encoding,
        term=term,
        motion=wishes.motion is not False,
    )
