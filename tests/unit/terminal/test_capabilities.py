"""What a terminal can show is told by its environment: a table of real ones."""

from __future__ import annotations

import pytest

from powertui.terminal.capabilities import (
    Capabilities,
    Wishes,
    detect,
    first_of,
    locale_encoding,
    refusal,
    wishes_from_env,
)

UTF8 = {"LANG": "C.UTF-8"}


@pytest.mark.parametrize(
    ("environ", "color", "glyphs", "mouse"),
    [
        ({"TERM": "xterm-256color", **UTF8}, "256", "unicode", True),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", **UTF8}, "true", "unicode", True),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit", **UTF8}, "true", "unicode", True),
        ({"TERM": "xterm-kitty", **UTF8}, "true", "unicode", True),
        ({"TERM": "xterm-direct", **UTF8}, "true", "unicode", True),
        ({"TERM": "screen", **UTF8}, "16", "unicode", True),
        ({"TERM": "screen-256color", **UTF8}, "256", "unicode", True),
        ({"TERM": "tmux-256color", **UTF8}, "256", "unicode", True),
        ({"TERM": "xterm", **UTF8}, "16", "unicode", True),  # PuTTY
        ({"TERM": "putty", **UTF8}, "16", "unicode", True),
        ({"TERM": "linux", **UTF8}, "16", "console", True),
        ({"TERM": "vt100", **UTF8}, "none", "ascii", False),
        ({"TERM": "vt220", **UTF8}, "none", "ascii", False),
        ({"TERM": "ansi", **UTF8}, "16", "ascii", False),
        ({"TERM": "xterm-256color", "LANG": "C"}, "256", "unicode", True),
        ({"TERM": "xterm-256color", "LANG": "en_US.ISO-8859-1"}, "256", "ascii", True),
        ({"TERM": "xterm-256color", "LC_ALL": "POSIX"}, "256", "unicode", True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", **UTF8}, "none", "unicode", True),
        ({"TERM": "xterm-256color", "NO_COLOR": "", **UTF8}, "256", "unicode", True),
    ],
)
def test_real_terminals(environ: dict[str, str], color: str, glyphs: str, mouse: bool) -> None:
    found = detect(environ, "utf-8")
    assert (found.color, found.glyphs, found.mouse) == (color, glyphs, mouse)


@pytest.mark.parametrize(
    ("term", "clears"),
    [
        ("xterm-256color", True),
        ("linux", True),
        ("alacritty", True),
        ("screen-256color", False),
        ("tmux-256color", False),
        ("vt100", False),
        ("sun", False),
    ],
)
def test_only_terminals_that_say_so_are_cleared_in_a_color(term: str, clears: bool) -> None:
    assert detect({"TERM": term, **UTF8}, "utf-8").clears_in_color is clears


def test_an_encoding_that_is_not_utf8_wins_over_every_wish() -> None:
    found = detect({"TERM": "xterm-256color"}, "latin-1", Wishes(glyphs="unicode"))
    assert found.glyphs == "ascii"


def test_wishes_win_over_the_terminal() -> None:
    found = detect({"TERM": "linux"}, "utf-8", Wishes("true", "unicode", False, 5))
    assert (found.color, found.glyphs, found.mouse, found.fps) == ("true", "unicode", False, 5)


def test_the_first_wish_that_says_something_wins() -> None:
    flag, env, file = (
        Wishes(color="16"),
        Wishes(color="256", fps=9),
        Wishes(glyphs="ascii", fps=3, mouse=False),
    )
    assert first_of(flag, env, file) == Wishes("16", "ascii", False, 9)
    assert first_of(Wishes(mouse=True), file).mouse is True


def test_environment_wishes_pass_over_nonsense() -> None:
    assert (
        wishes_from_env({"POWERTUI_COLOR": "pink", "POWERTUI_FPS": "-3", "POWERTUI_MOUSE": "maybe"})
        == Wishes()
    )
    assert wishes_from_env(
        {"POWERTUI_COLOR": "16", "POWERTUI_FPS": "12", "POWERTUI_MOUSE": "0"}
    ) == Wishes("16", None, False, 12)


@pytest.mark.parametrize(
    ("environ", "stdin", "stdout", "part"),
    [
        ({"TERM": "xterm"}, True, True, ""),
        ({"TERM": "dumb"}, True, True, "TERM=dumb"),
        ({"TERM": ""}, True, True, "not set"),
        ({}, True, True, "not set"),
        ({"TERM": "xterm"}, False, True, "standard input is not a terminal"),
        ({"TERM": "xterm"}, True, False, "standard output is not a terminal"),
        ({"TERM": "xterm"}, False, False, "standard input and output"),
    ],
)
def test_refusals_say_why(environ: dict[str, str], stdin: bool, stdout: bool, part: str) -> None:
    why = refusal(environ, stdin, stdout)
    assert (part in why) if part else why == ""


def test_ssh_means_fewer_frames() -> None:
    here = detect({"TERM": "xterm"}, "utf-8")
    there = detect({"TERM": "xterm", "SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, "utf-8")
    assert there.remote
    assert not here.remote
    assert there.fps < here.fps


def test_a_vt100_has_neither_shifts_nor_keyboard_protocols() -> None:
    found = detect({"TERM": "vt100"}, "utf-8")
    assert not found.shift
    assert not found.keyboard
    assert detect({"TERM": "linux"}, "utf-8").shift


def test_at_most_never_adds_colours() -> None:
    assert Capabilities(color="16").at_most("256").color == "16"
    assert Capabilities(color="true").at_most("256").color == "256"
    assert Capabilities(color="none").at_most("16").color == "none"


def test_the_locale_that_counts() -> None:
    assert locale_encoding({"LC_ALL": "de_DE.ISO-8859-15@euro", "LANG": "C.UTF-8"}) == "ISO-8859-15"
    assert locale_encoding({"LANG": "C"}) == ""
    # Python has put its own LC_CTYPE beside a locale that is not installed.
    assert locale_encoding({"LC_CTYPE": "C.UTF-8", "LANG": "de_DE.ISO-8859-1"}) == "ISO-8859-1"
    assert locale_encoding({"LC_CTYPE": "C.UTF-8", "LANG": "C"}) == "UTF-8"
