"""The characters that widgets draw with: three sets, by what a terminal's font holds.

`unicode` needs block elements and braille. `console` is what the Linux console's fonts have:
shades, full block, box lines, arrows; no eighth blocks, no half blocks, no braille. `ascii` is
printable ASCII alone, for anything that is not UTF-8.
"""

from __future__ import annotations

from powertui.value_types import dataclass


@dataclass(frozen=True)
class Glyphs:
    """One set. `levels` runs from the least to the most; nothing at all is a space."""

    name: str
    levels: str  # coverage of one cell, rising; the last is full
    bars: str  # height of a bar in one cell, rising; the last is full
    braille: bool  # 2×4 dots per cell for curves
    dot: str  # one sample of a sparse curve
    line: str  # a curve between samples
    horizontal: str
    vertical: str
    tick: str
    cursor: str  # points down from the ruler
    left: str
    right: str
    open: str  # an unfolded row
    closed: str  # a folded row
    leaf: str
    above: str  # more rows that way
    below: str
    ellipsis: str
    plus_minus: str
    range_left: str
    range_right: str
    shade: str  # fills a window, or what cannot be said
    area: str  # a full cell of an area
    area_range: str  # between the lowest and the highest value of an area
    broken: str  # where an axis leaves a part out
    bar: str  # a cell of a thin bar beside a number
    bar_end: str  # its last half cell
    dashed: str  # what was expected, over an area
    upper_half: str  # hangs from above; empty where no font has it

    def thin_bar(self, share: float, cells: int) -> str:
        """A share of so many cells as a bar beside a number, in half cells."""
        halves = round(2 * cells * share)
        return self.bar * (halves // 2) + self.bar_end * (halves % 2)


UNICODE = Glyphs(
    name="unicode",
    levels="▁▂▃▄▅▆▇█",
    bars="▁▂▃▄▅▆▇█",
    braille=True,
    dot="•",
    line="─",
    horizontal="─",
    vertical="│",
    tick="┬",
    cursor="▼",
    left="◀",
    right="▶",
    open="▾",
    closed="▸",
    leaf=" ",
    above="↑",
    below="↓",
    ellipsis="…",
    plus_minus="±",
    range_left="├",
    range_right="┤",
    shade="░",
    area="█",
    area_range="▒",
    broken="≈",
    bar="━",
    bar_end="╸",
    dashed="╌",
    upper_half="▀",
)
CONSOLE = Glyphs(
    name="console",
    levels="░▒█",
    bars="░▒█",
    braille=False,
    dot="•",
    line="─",
    horizontal="─",
    vertical="│",
    tick="┬",
    cursor="▼",
    left="◄",
    right="►",
    open="▼",
    closed="►",
    leaf=" ",
    above="↑",
    below="↓",
    ellipsis="~",
    plus_minus="±",
    range_left="├",
    range_right="┤",
    shade="░",
    area="█",
    area_range="▒",
    broken="~",
    bar="═",
    bar_end="═",
    dashed="-",
    upper_half="",
)
ASCII = Glyphs(
    name="ascii",
    levels=".:-=+*#@",
    bars=".:-=+*#@",
    braille=False,
    dot="*",
    line="-",
    horizontal="-",
    vertical="|",
    tick="+",
    cursor="v",
    left="<",
    right=">",
    open="-",
    closed="+",
    leaf=" ",
    above="^",
    below="v",
    ellipsis="~",
    plus_minus="+-",
    range_left="[",
    range_right="]",
    shade=":",
    area="#",
    area_range=":",
    broken="~",
    bar="=",
    bar_end="=",
    dashed="-",
    upper_half="",
)

_GLYPHS = {"unicode": UNICODE, "console": CONSOLE, "ascii": ASCII}


def get(name: str) -> Glyphs:
    """The set of this name; the plainest one for a name that is none."""
    return _GLYPHS.get(name, ASCII)
