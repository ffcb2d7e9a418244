"""Colors and attributes, for dark and light backgrounds and for every depth of color.

A hue is never the only code. Where a terminal has no colors, styles carry bold, reverse, dim and
underline, and the widgets add a letter. What is selected or found is marked by attributes alone, so
it stands out on any color.

All colors are named by entries of the xterm palette (its cube and its grays). With 24-bit color
many of them are tuned (`true_colors`); reduced to 256 they are the entries again, so both depths
show the same picture.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeAlias

from rich.color import Color
from rich.style import Style

from powertui.terminal.true_colors import TRUE_COLORS
from powertui.value_types import dataclass

Depth: TypeAlias = Literal["none", "16", "256", "true"]

_BLACK = 16
_WHITE = 231
_CUBE = (0, 95, 135, 175, 215, 255)


def rgb(index: int) -> tuple[int, int, int]:
    """The color of a palette entry from 16 on (the first sixteen belong to the user)."""
    return TRUE_COLORS.get(index) or rgb_of_256(index)


def rgb_of_256(index: int) -> tuple[int, int, int]:
    """The same on a terminal with 256 colors."""
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return grey, grey, grey
    red, rest = divmod(index - 16, 36)
    green, blue = divmod(rest, 6)
    return _CUBE[red], _CUBE[green], _CUBE[blue]


def hex_of(index: int) -> str:
    """The same as #rrggbb, for stylesheets."""
    return "#{:02x}{:02x}{:02x}".format(*rgb(index))


def luminance(color: tuple[int, int, int]) -> float:
    """Relative luminance as WCAG has it, 0 to 1."""
    red, green, blue = (_linear_channel(channel / 255) for channel in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear_channel(share: float) -> float:
    """A channel of sRGB as a share of light, by the same standard."""
    if share <= 0.04045:
        return share / 12.92
    return float(((share + 0.055) / 1.055) ** 2.4)


def contrast(ink: int, paper: int) -> float:
    """The contrast of two palette entries as WCAG has it, 1 to 21, where it is less: with 24-bit
    color or with 256.
    """
    ratios = []
    for color in (rgb, rgb_of_256):
        dark, light = sorted((luminance(color(ink)), luminance(color(paper))))
        ratios.append((light + 0.05) / (dark + 0.05))
    return min(ratios)


def _ink_on(paper: int) -> int:
    """Black or white, whichever is read more easily on it: at least 4.5 on any color."""
    return max((_BLACK, _WHITE), key=lambda ink: contrast(ink, paper))


@dataclass(frozen=True)
class _Role:
    """How one kind of thing looks: palette entries (dark, light), the 16-color names, and
    attributes without color.
    """

    ink: tuple[int, int] | None = None
    paper: tuple[int, int] | None = None
    ink16: int | None = None
    paper16: int | None = None
    attributes: str = ""  # at every depth
    plain: str = ""  # added where there is no color


# fmt: off
_ROLES = {
    "text":          _Role((252, 236)),
    "background":    _Role((252, 236), (233, 231)),
    "panel":         _Role((252, 236), (234, 255)),
    "dim":           _Role((247, 240), ink16=8, plain="dim"),
    "title":         _Role((255, 232), attributes="bold"),
    "label":         _Role((250, 238)),
    "gutter":        _Role((250, 238), (234, 255)),
    "gutter_focus":  _Role((255, 232), (238, 252), ink16=15, paper16=8, attributes="bold",
                           plain="reverse"),
    "gutter_process": _Role((117, 25), (234, 255), ink16=14, attributes="bold"),
    "grid":          _Role((236, 253), ink16=8, plain="dim"),
    "axis":          _Role((247, 240), ink16=8),
    "ruler":         _Role((250, 238), (235, 254), ink16=7, paper16=0),
    "cursor":        _Role((221, 94), ink16=11, attributes="bold"),
    "marked":        _Role((255, 232), (24, 153), ink16=15, paper16=4, plain="reverse"),
    "selected":      _Role(attributes="bold reverse"),
    "found":         _Role(attributes="bold underline"),
    "lane":          _Role((252, 236), (233, 231)),
    "wrapper":       _Role((240, 248), ink16=8, plain="dim"),
    "wrapper_bar":   _Role((250, 238), (236, 253), ink16=7, paper16=8, plain="dim reverse"),
    "power":         _Role((214, 94), ink16=11),
    "power_gap":     _Role((240, 248), ink16=8, plain="dim"),
    # Power from low to high: each shade is about as much lighter (on light: darker) than the one
    # before, so that the picture reads without hue.
    "ember_0":       _Role((53, 223), ink16=1),
    "ember_1":       _Role((89, 222), ink16=1),
    "ember_2":       _Role((125, 215), ink16=1),
    "ember_3":       _Role((161, 209), ink16=9),
    "ember_4":       _Role((167, 173), ink16=9),
    "ember_5":       _Role((203, 167), ink16=9),
    "ember_6":       _Role((209, 131), ink16=3),
    "ember_7":       _Role((215, 125), ink16=3),
    "ember_8":       _Role((221, 89), ink16=11),
    "ember_9":       _Role((229, 53), ink16=11),
    "step_bars":     _Role((65, 65), ink16=2),
    "power_floor":   _Role((237, 252), ink16=8, plain="dim"),
    "power_band":    _Role((252, 236), (52, 224), plain="underline"),
    "power_flag":    _Role((255, 232), (88, 224), ink16=15, paper16=1, attributes="bold"),
    "power_limit":   _Role((203, 124), ink16=9),
    "overview":      _Role((74, 31), ink16=6),
    "overview_view": _Role((255, 232), (24, 153), ink16=15, paper16=4, plain="reverse"),
    "step":          _Role((255, 232), (23, 158), ink16=15, paper16=6),
    "step_alt":      _Role((231, 232), (29, 151), ink16=15, paper16=2, plain="reverse"),
    "epoch":         _Role((255, 232), (60, 189), ink16=15, paper16=5, plain="reverse"),
    "phase":         _Role((255, 232), (94, 223), ink16=0, paper16=3, plain="underline"),
    "focus":         _Role((117, 25), ink16=14, attributes="bold"),
    "warn":          _Role((221, 94), ink16=11, attributes="bold"),
    "error":         _Role((210, 124), ink16=9, attributes="bold"),
    "ok":            _Role((114, 22), ink16=10),
    "measured":      _Role((114, 22), ink16=10),
    "estimated":     _Role((221, 94), ink16=11),
    "assumed":       _Role((247, 240), ink16=8),
    "simulated":     _Role((247, 240), ink16=8),
    "key":           _Role((117, 25), ink16=14, attributes="bold"),
}

# Category → four shades of one hue (palette entries) on dark, four on light, one of the sixteen.
# The first shade stands for the category. The first shades are far apart for every kind of color
# vision: at least 13 (CIE76, Machado's matrices) between any two of the ten kinds of work.
CATEGORIES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "matmul":        ((68, 67, 75, 74), (26, 32, 25, 68), 12),
    "convolution":   ((99, 141, 62, 105), (140, 97, 182, 134), 4),
    "elementwise":   ((116, 80, 73, 152), (37, 73, 30, 79), 6),
    "reduction":     ((121, 85, 84, 157), (28, 22, 64, 29), 2),
    "normalization": ((64, 70, 106, 71), (107, 143, 101, 149), 10),
    "memory":        ((214, 208, 215, 172), (52, 94, 88, 130), 3),
    "communication": ((219, 213, 212, 218), (90, 127, 126, 91), 13),
    "input":         ((228, 191, 227, 229), (178, 179, 220, 214), 11),
    "optimizer":     ((168, 132, 175, 169), (162, 161, 198, 168), 9),
    "compile":       ((137, 101, 180, 138), (131, 137, 173, 167), 3),
    "python":        ((110, 109, 147, 103), (67, 110, 66, 103), 7),
    "host":          ((103, 102, 146, 60), (102, 95, 108, 139), 7),
    "runtime":       ((60, 59, 61, 66), (245, 243, 247, 241), 8),
    "idle":          ((240, 239, 241, 238), (252, 251, 253, 250), 8),
    "other":         ((247, 242, 248, 244), (246, 242, 248, 244), 7),
}
# What only holds work of a category: so dark (light) that the work itself stands before it. Calls
# of Python and of a framework that hold only their like stay gray: the palette has no blue so dark
# that twenty rows of it do not shout.
_WRAPPERS: dict[str, tuple[int, int]] = {
    "matmul": (24, 153), "convolution": (54, 183), "elementwise": (23, 152),
    "reduction": (22, 151), "normalization": (58, 193), "memory": (94, 223),
    "communication": (53, 225), "input": (100, 230), "optimizer": (89, 218),
    "compile": (95, 180),
}
# fmt: on


def _tile_roles(shades: list[_Role]) -> dict[str, _Role]:
    """A cell of each shade of power with text on it, with bars in it, and as the chosen one."""
    chosen = _Role(
        ink=(_BLACK, _WHITE),
        paper=(_WHITE, _BLACK),
        ink16=0,
        paper16=15,
        attributes="bold",
        plain="reverse",
    )
    roles = {}
    for number, shade in enumerate(shades):
        assert shade.ink is not None
        papers = shade.ink
        dark_paper, light_paper = papers
        # Of the sixteen colors the two yellows are too bright for white text.
        ink16 = 0 if shade.ink16 in (3, 11) else 15
        text = _Role(
            ink=(_ink_on(dark_paper), _ink_on(light_paper)),
            paper=papers,
            ink16=ink16,
            paper16=shade.ink16,
            plain="reverse" if number >= 8 else "",
        )
        # Bars are two shades away from their paper: they are seen, and the tile keeps its color.
        bar_shade = number + 2 if number < 2 else number - 2
        roles[f"tile_{number}"] = text
        roles[f"tile_{number}_curve"] = replace(text, ink=shades[bar_shade].ink)
        roles[f"tile_{number}_chosen"] = chosen
    no_value = _Role(ink=(221, 94), paper=(236, 255), ink16=11, paper16=8)
    roles["tile_none"] = no_value
    roles["tile_none_curve"] = no_value
    roles["tile_none_chosen"] = chosen
    return roles


_ROLES |= _tile_roles([_ROLES[f"ember_{number}"] for number in range(10)])

# A kind that no table names takes the colors of one of these, always of the same.
_FALLBACK = tuple(name for name in CATEGORIES if name not in ("idle", "other"))
# Of the sixteen colors those on which white is read more easily than black: both blues, magenta,
# and the dark gray.
_DARK_OF_SIXTEEN = (4, 5, 8, 12)


@dataclass(frozen=True)
class Theme:
    """The styles for one background and one depth.

    Each style is made once: the same role gives the same object.
    """

    name: Literal["dark", "light"] = "dark"
    depth: Depth = "true"

    @property
    def background(self) -> int:
        """Palette entry of the page behind everything."""
        return 231 if self.name == "light" else 233

    @property
    def foreground(self) -> int:
        """Palette entry of plain text."""
        return 236 if self.name == "light" else 252

    def style(self, role: str) -> Style:
        """The style of a role of `_ROLES`."""
        return _role_style(self, role)

    def ink(self, role: str) -> Style:
        """The style of a role, or of "category:NAME" as the ink of that kind of work
        ("category:NAME:1" for its next shade). "… on ROLE" has the ground of another role, and
        the ink of another kind as its ground.
        """
        role, _, ground = role.partition(" on ")
        style = self._plain_ink(role)
        if not ground:
            return style
        under = self._plain_ink(ground)
        return style + Style(bgcolor=under.bgcolor or under.color)

    def _plain_ink(self, role: str) -> Style:
        kind, _, name = role.partition(":")
        if kind != "category":
            return self.style(role)
        name, _, shade = name.partition(":")
        return self.category_ink(name, int(shade or 0))

    def category(self, category: str, variant: int = 0) -> Style:
        """A full cell of this category: its color as background, readable text on it."""
        return _category_style(self, category, variant % 4, False)

    def wrapper(self, category: str, is_bar: bool) -> Style:
        """What only holds others, by the category of what it holds; gray where that says little."""
        return _wrapper_style(self, category, is_bar)

    def category_ink(self, category: str, variant: int = 0) -> Style:
        """A partly filled cell: the category's color as ink on the page."""
        return _category_style(self, category, variant % 4, True)


def _color(index: int) -> Color:
    return Color.from_rgb(*rgb(index))


def _flags(text: str) -> dict[str, bool]:
    return dict.fromkeys(text.split(), True)


@lru_cache(maxsize=512)
def _role_style(theme: Theme, role: str) -> Style:
    look = _ROLES[role]
    flags = _flags(look.attributes)
    if theme.depth == "none":
        return Style(**flags | _flags(look.plain))  # type: ignore[arg-type]
    if theme.depth == "16":
        # Only what has its own entry: the user's own sixteen colors are not ours to guess at.
        ink = _ansi_color(look.ink16)
        paper = _ansi_color(look.paper16)
    else:
        ink = _color_on_page(look.ink, theme)
        paper = _color_on_page(look.paper, theme)
    return Style(color=ink, bgcolor=paper, **flags)  # type: ignore[arg-type]


def _ansi_color(number: int | None) -> Color | None:
    return None if number is None else Color.from_ansi(number)


def _color_on_page(entries: tuple[int, int] | None, theme: Theme) -> Color | None:
    """Of the entries for dark and for light pages that of the theme's page."""
    if entries is None:
        return None
    dark, light = entries
    return _color(light if theme.name == "light" else dark)


@lru_cache(maxsize=1024)
def _category_style(theme: Theme, category: str, variant: int, as_ink: bool) -> Style:
    if theme.depth == "none":
        return Style() if as_ink else Style(reverse=True)
    colors = CATEGORIES.get(category)
    if colors is None:
        colors = CATEGORIES[_FALLBACK[sum(category.encode()) % len(_FALLBACK)]]
    dark, light, ansi = colors
    if theme.depth == "16":
        if as_ink:
            return Style(color=Color.from_ansi(ansi))
        ink = Color.from_ansi(15 if ansi in _DARK_OF_SIXTEEN else 0)
        return Style(color=ink, bgcolor=Color.from_ansi(ansi))
    shades = light if theme.name == "light" else dark
    return _palette_style(shades[variant % len(shades)], as_ink)


def _palette_style(entry: int, as_ink: bool) -> Style:
    """This color as ink on the page, or as paper with text that is read on it."""
    if as_ink:
        return Style(color=_color(entry))
    return Style(color=_color(_ink_on(entry)), bgcolor=_color(entry))


@lru_cache(maxsize=256)
def _wrapper_style(theme: Theme, category: str, is_bar: bool) -> Style:
    if theme.depth in ("none", "16") or category not in _WRAPPERS:
        return theme.style("wrapper_bar" if is_bar else "wrapper")
    dark, light = _WRAPPERS[category]
    shade = light if theme.name == "light" else dark
    return _palette_style(shade, as_ink=not is_bar)


@lru_cache(maxsize=16)
def get(name: Literal["dark", "light"] = "dark", depth: Depth = "true") -> Theme:
    """The theme for a background and a depth of color."""
    return Theme(name, depth)
