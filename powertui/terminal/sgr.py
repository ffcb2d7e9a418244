"""Styles as numbers, and the shortest "select graphic rendition" from one to the next."""

from __future__ import annotations

from rich.color import Color, ColorSystem, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

# Attribute name → SGR parameter that turns it on. Bold and dim share one "off" (22), so removing
# anything starts afresh.
_ATTRIBUTES = (
    ("bold", 1),
    ("dim", 2),
    ("italic", 3),
    ("underline", 4),
    ("blink", 5),
    ("reverse", 7),
    ("strike", 9),
)
_OFF = {1: "22", 2: "22", 3: "23", 4: "24", 5: "25", 7: "27", 9: "29"}
_SYSTEMS = {"16": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "true": ColorSystem.TRUECOLOR}

# Without colours a background that differs from the page this much (0 to 255) is shown in reverse
# video.
_CONTRAST = 40.0

# What an empty cell shows: it has no ink unless it is underlined, struck through, reversed or
# blinking.
_SEEN_ON_SPACES = frozenset((4, 5, 7, 9))

_Look = tuple[
    frozenset[int], str | None, str
]  # attributes, ink, paper: SGR parameters, "" for the default, None: any ink will do
_PLAIN = Style()
_DEFAULT: _Look = (frozenset(), "", "")


class Pens:
    """Numbers for the looks that a depth of colour can tell apart.

    Number 0 is the terminal's own look.
    """

    def __init__(
        self, color: str, page: ColorTriplet | None = None, ink: ColorTriplet | None = None
    ) -> None:
        self.color = color
        # background and text colour of what has none of its own; None leaves them to the terminal
        self.page = page
        self.ink = ink
        self._looks: list[_Look] = [_DEFAULT]
        self._samples: list[Style | None] = [None]
        self._numbers: dict[_Look, int] = {_DEFAULT: 0}
        self._styles: dict[Style, int] = {}
        self._changes: dict[tuple[int, int], str] = {}
        self._papers: list[int] = []
        self._steps: dict[tuple[int, int], tuple[str, int]] = {}

    def number(self, style: Style | None) -> int:
        """The number of the look that a style has at this depth."""
        if style is None:
            style = _PLAIN
        number = self._styles.get(style)
        if number is None:
            if len(self._styles) > 50_000:
                self._styles.clear()
            look = self._look(style)
            number = self._styles[style] = self._number_of(look, style)
        return number

    def _number_of(self, look: _Look, sample: Style | None = None) -> int:
        number = self._numbers.get(look)
        if number is None:
            number = self._numbers[look] = len(self._looks)
            self._looks.append(look)
            self._samples.append(sample)
        return number

    def papers(self) -> list[int]:
        """For each number the number of what a space of this look shows: those with the same paper
        show the same.
        """
        while len(self._papers) < len(self._looks):
            attributes, _, paper = self._looks[len(self._papers)]
            plain = not attributes & _SEEN_ON_SPACES
            self._papers.append(
                self._number_of((frozenset(), None, paper)) if plain else len(self._papers)
            )
        return self._papers

    def samples(self) -> list[Style | None]:
        """A style for each number."""
        return self._samples

    def _look(self, style: Style) -> _Look:
        flags = {code for name, code in _ATTRIBUTES if getattr(style, name)}
        if self.color == "none":
            if self.page is not None and _differs(style.bgcolor, self.page):
                flags ^= {7}
            return frozenset(flags), "", ""
        return frozenset(flags), self._codes(style.color, True), self._codes(style.bgcolor, False)

    def _codes(self, color: Color | None, foreground: bool) -> str:
        page = self.ink if foreground else self.page
        if self.color == "16":
            # The person's own background and text colour: ours is only a guess at them.
            if page is not None and color is not None and color.triplet == page:
                return ""
        elif (color is None or color.type is ColorType.DEFAULT) and page is not None:
            color = Color.from_triplet(page)
        if color is None or color.type is ColorType.DEFAULT:
            return ""
        return ";".join(color.downgrade(_SYSTEMS[self.color]).get_ansi_codes(foreground))

    def change(self, old: int, new: int) -> str:
        """The escape sequence from one look to another: "" when they are the same."""
        if old == new:
            return ""
        change = self._changes.get((old, new))
        if change is None:
            if len(self._changes) > 50_000:
                self._changes.clear()
            change = self._changes[old, new] = _change(self._looks[old], self._looks[new])
        return change

    def step(self, old: int, new: int, space: bool) -> tuple[str, int]:
        """The escape sequence before cells of a look, and the look that the terminal then writes
        with.

        Spaces need the right paper alone: the ink stays, since text often goes on with it.
        """
        if old == new:
            return "", old
        if not space or self._looks[new][1] is not None:
            return self.change(old, new), new
        step = self._steps.get((old, new))
        if step is None:
            attributes, ink, _ = self._looks[old]
            paper = self._looks[new][2]
            if len(self._steps) > 50_000:
                self._steps.clear()
            full = self._number_of((attributes - _SEEN_ON_SPACES, ink, paper))
            bare = self._number_of((frozenset(), "", paper))
            ways = [(self.change(old, number), number) for number in (full, bare)]
            step = self._steps[old, new] = min(ways, key=lambda way: len(way[0]))
        return step


def _differs(color: Color | None, page: ColorTriplet) -> bool:
    if color is None or color.type is ColorType.DEFAULT:
        return False
    return abs(_luminance(color.get_truecolor()) - _luminance(page)) > _CONTRAST


def _luminance(triplet: ColorTriplet) -> float:
    return 0.299 * triplet.red + 0.587 * triplet.green + 0.114 * triplet.blue


def _change(old: _Look, new: _Look) -> str:
    steps: list[str] = []
    gone = old[0] - new[0]
    steps += sorted({_OFF[code] for code in gone})
    # "22" ends bold and dim alike: whichever of them stays has to be said again.
    lost = {1, 2} & new[0] if gone & {1, 2} else set()
    steps += [str(code) for code in sorted((new[0] - old[0]) | lost)]
    if old[1] != new[1]:
        steps.append(new[1] or "39")
    if old[2] != new[2]:
        steps.append(new[2] or "49")
    direct = ";".join(steps)
    afresh = ";".join(
        ["", *(str(code) for code in sorted(new[0])), *(part for part in new[1:] if part)]
    )
    return f"\x1b[{min(direct, afresh, key=len)}m"
