"""Styles as numbers, and the shortest "select graphic rendition" from one to the next."""

from __future__ import annotations

from rich.color import Color, ColorSystem, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

from powertui.named_tuples import NamedTuple
from powertui.terminal.true_colors import palette_entry

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
_BOLD_AND_DIM = frozenset((1, 2))
_REVERSE = 7
_SYSTEMS = {"16": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "true": ColorSystem.TRUECOLOR}

# Without colors a background that differs from the page this much (0 to 255) is shown in reverse
# video.
_CONTRAST = 40.0

# What an empty cell shows: it has no ink unless it is underlined, struck through, reversed or
# blinking.
_SEEN_ON_SPACES = frozenset((4, 5, 7, 9))


class _Look(NamedTuple):
    """What a depth of color can tell apart. Ink and paper are SGR parameters, "" the terminal's
    own.
    """

    attributes: frozenset[int] = frozenset()
    ink: str | None = ""  # None: any ink will do
    paper: str = ""


_PLAIN = Style()
# Answers that are kept of each kind: a page that colors every cell anew must not fill the memory
# (chosen, not measured).
_MAX_REMEMBERED = 50_000
_DEFAULT = _Look()


class Pens:
    """Numbers for the looks that a depth of color can tell apart.

    Number 0 is the terminal's own look.
    """

    def __init__(
        self,
        color: str,
        page: ColorTriplet | None = None,
        ink: ColorTriplet | None = None,
    ) -> None:
        self.color = color
        # background and text color of what has none of its own; None leaves them to the terminal
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
            if len(self._styles) > _MAX_REMEMBERED:
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
            number = len(self._papers)
            look = self._looks[number]
            if not look.attributes & _SEEN_ON_SPACES:
                number = self._number_of(_Look(ink=None, paper=look.paper))
            self._papers.append(number)
        return self._papers

    def is_paper(self, number: int) -> bool:
        """Whether this look is a color alone, as a cleared screen can have it."""
        look = self._looks[number]
        return look.ink is None and not look.attributes

    def samples(self) -> list[Style | None]:
        """A style for each number."""
        return self._samples

    def _look(self, style: Style) -> _Look:
        attributes = {code for name, code in _ATTRIBUTES if getattr(style, name)}
        if self.color == "none":
            if self.page is not None and _differs(style.bgcolor, self.page):
                attributes ^= {_REVERSE}
            return _Look(frozenset(attributes))
        ink = self._codes(style.color, True)
        paper = self._codes(style.bgcolor, False)
        return _Look(
            attributes=frozenset(attributes),
            ink=ink,
            paper=paper,
        )

    def _codes(self, color: Color | None, foreground: bool) -> str:
        page = self.ink if foreground else self.page
        if self.color == "16":
            # The person's own background and text color: ours is only a guess at them.
            if page is not None and color is not None and color.triplet == page:
                return ""
        elif page is not None and _is_default(color):
            color = Color.from_triplet(page)
        if color is None or _is_default(color):
            return ""
        entry = None
        if self.color == "256" and color.triplet is not None:
            entry = palette_entry(color.triplet)
        if entry is not None:
            reduced = Color.from_ansi(entry)
        else:
            reduced = color.downgrade(_SYSTEMS[self.color])
        return ";".join(reduced.get_ansi_codes(foreground))

    def change(self, old: int, new: int) -> str:
        """The escape sequence from one look to another: "" when they are the same."""
        if old == new:
            return ""
        change = self._changes.get((old, new))
        if change is None:
            if len(self._changes) > _MAX_REMEMBERED:
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
        if not space or self._looks[new].ink is not None:
            return self.change(old, new), new
        step = self._steps.get((old, new))
        if step is None:
            if len(self._steps) > _MAX_REMEMBERED:
                self._steps.clear()
            step = self._steps[old, new] = self._step_to_paper(old, self._looks[new].paper)
        return step

    def _step_to_paper(self, old: int, paper: str) -> tuple[str, int]:
        """The shorter way to a paper: with the old ink and attributes, or without any."""
        look = self._looks[old]
        keeping = self._number_of(
            _Look(
                attributes=look.attributes - _SEEN_ON_SPACES,
                ink=look.ink,
                paper=paper,
            )
        )
        bare = self._number_of(_Look(paper=paper))
        keeping_change = self.change(old, keeping)
        bare_change = self.change(old, bare)
        if len(bare_change) < len(keeping_change):
            return bare_change, bare
        return keeping_change, keeping


def _is_default(color: Color | None) -> bool:
    return color is None or color.type is ColorType.DEFAULT


def _differs(color: Color | None, page: ColorTriplet) -> bool:
    if color is None or _is_default(color):
        return False
    difference = _luminance(color.get_truecolor()) - _luminance(page)
    return abs(difference) > _CONTRAST


def _luminance(triplet: ColorTriplet) -> float:
    return 0.299 * triplet.red + 0.587 * triplet.green + 0.114 * triplet.blue


def _change(old: _Look, new: _Look) -> str:
    """The shorter of two sequences: what differs, or all of the new look after a reset."""
    removed = old.attributes - new.attributes
    turned_on = new.attributes - old.attributes
    if removed & _BOLD_AND_DIM:
        # "22" ends bold and dim alike: whichever of them stays has to be said again.
        turned_on |= new.attributes & _BOLD_AND_DIM
    steps = sorted({_OFF[code] for code in removed})
    steps += [str(code) for code in sorted(turned_on)]
    if old.ink != new.ink:
        steps.append(new.ink or "39")
    if old.paper != new.paper:
        steps.append(new.paper or "49")
    direct = ";".join(steps)
    anew = ["", *(str(code) for code in sorted(new.attributes))]
    if new.ink:
        anew.append(new.ink)
    if new.paper:
        anew.append(new.paper)
    afresh = ";".join(anew)
    return f"\x1b[{min(direct, afresh, key=len)}m"
