"""The first rows of the live screen: what is watched, and the present power in large digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from powertui.data.live import ChannelKey, History, Total
from powertui.feed import NS, Feed
from powertui.plain import plain, width
from powertui.sampler.health import Health
from powertui.terminal.glyphs import Glyphs
from powertui.units import percent, quantity
from powertui.view.live_texts import RoleLine, age_text, length_text, watts_text

_RECENT_ENERGY_S = 60.0

_DIGITS = {
    "0": ("███", "█ █", "█ █", "█ █", "███"),
    "1": (" █ ", "██ ", " █ ", " █ ", "███"),
    "2": ("███", "  █", "███", "█  ", "███"),
    "3": ("███", "  █", "███", "  █", "███"),
    "4": ("█ █", "█ █", "███", "  █", "  █"),
    "5": ("███", "█  ", "███", "  █", "███"),
    "6": ("███", "█  ", "███", "█ █", "███"),
    "7": ("███", "  █", "  █", "  █", "  █"),
    "8": ("███", "█ █", "███", "█ █", "███"),
    "9": ("███", "█ █", "███", "  █", "███"),
    ".": (" ", " ", " ", " ", "█"),
    "-": ("   ", "   ", "███", "   ", "   "),
    "W": ("█   █", "█   █", "█ █ █", "██ ██", "█   █"),
    "k": ("█  ", "█ █", "██ ", "█ █", "█ █"),
    " ": (" ", " ", " ", " ", " "),
}
BIG_ROWS = 3
_DIGIT_DOTS = 5  # rows of dots of a digit
# Two dots, one above the other, in one cell.
_HALF_BLOCKS = {
    ("█", "█"): "█",
    ("█", " "): "▀",
    (" ", "█"): "▄",
    (" ", " "): " ",
}


def big_digits(text: str, glyphs: Glyphs) -> list[str]:
    """Digits three rows high, from half blocks.

    Where the font has none, it is the plain text in the middle row.
    """
    has_all = all(char in _DIGITS for char in text)
    if glyphs.name != "unicode" or not has_all:
        return ["", text, ""]
    bitmap = []
    for row in range(_DIGIT_DOTS):
        dots = [_DIGITS[char][row] for char in text]
        bitmap.append(" ".join(dots))
    bitmap.append(" " * len(bitmap[0]))  # two rows of dots to a row of cells
    lines = []
    for row in range(0, 2 * BIG_ROWS, 2):
        pairs = zip(bitmap[row], bitmap[row + 1], strict=True)
        line = "".join(_HALF_BLOCKS[pair] for pair in pairs)
        lines.append(line)
    return lines


def head(feed: Feed, columns: int) -> RoleLine:
    """The first row: what is watched, or what is left of a budget, and where it is recorded."""
    recording, role = _recording(feed, columns)
    recording = plain(recording, max(10, columns - 20))
    room = columns - width(recording)
    missing = _missing_sources(list(feed.away))
    if missing:
        missing = plain(missing, max(0, room - 8))
    room -= width(missing)
    title_room = max(4, room - 3)
    if feed.budget:
        title = feed.budget.words(title_room)
    elif feed.over:
        title = f"ended: {feed.title}"
    else:
        title = feed.title
    title = plain(title, title_room)
    gap = " " * max(2, room - width(title))
    pieces = [
        (title, "title"),
        (missing, "warn"),
        (gap, "text"),
        (recording, role),
    ]
    return _without_empty(pieces)


def _missing_sources(silent: Sequence[str]) -> str:
    """Sources that never answered: they have no row, and the sum would silently lack them."""
    if not silent:
        return ""
    if len(silent) == 1:
        return f" · no answer yet: {silent[0]}"
    return f" · {len(silent)} without values"


def _without_empty(pieces: RoleLine) -> RoleLine:
    return [(text, role) for text, role in pieces if text]


def _recording(feed: Feed, columns: int) -> tuple[str, str]:
    """Where the readings are recorded, or why not, with its role."""
    if feed.trouble:
        return f"{feed.trouble} ", "error"
    if feed.file is None:
        return "not recorded", "dim"
    words = "● recording to "
    room = columns - 24 - len(words)
    path = plain(str(feed.file))
    return words + _tail(path, room), "ok"


def _tail(path: str, room: int) -> str:
    """The end of a path, with the file's name, where it has no room in full."""
    if len(path) <= room:
        return path
    end_cells = max(8, room - 1)
    return "…" + path[-end_cells:]


def summary(
    feed: Feed,
    history: History,
    total: Total | None,
    view: tuple[int, int],
    columns: int,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """The present value in large digits, with facts beside it.

    The facts are the range of the window, the energy so far, and the health of the sensor.
    """

    def facts(room: int) -> list[RoleLine]:
        return _facts(feed, history, total, view, room)

    return with_digits(history.now, facts, columns, glyphs)


def with_digits(
    now: float | None,
    facts: Callable[[int], list[RoleLine]],
    columns: int,
    glyphs: Glyphs,
) -> list[RoleLine]:
    """Three lines: watts in large digits, and what the facts say in the cells beside them."""
    role = "power"
    if now is None:
        text = "-"
        role = "warn"
    elif abs(now) < 100_000:
        text = f"{now:.0f}"
    else:
        text = f"{now / 1000:.0f} k"
    rows = big_digits(f"{text} W", glyphs)
    digits_width = max(width(row) for row in rows) + 4
    facts_width = columns - digits_width - 3
    lines: list[RoleLine] = []
    for row, fact in zip(rows, facts(facts_width), strict=True):
        digits = "  " + row.ljust(digits_width)
        beside = _cut(fact, facts_width)
        lines.append([(digits, role), *beside])
    return lines


def _cut(pieces: RoleLine, room: int) -> RoleLine:
    """The pieces in at most so many cells; those without room are empty."""
    cut: list[tuple[str, str]] = []
    for text, role in pieces:
        shown = ""
        if room > 0:
            shown = plain(text, room)
        cut.append((shown, role))
        room -= width(shown)
    return cut


def _fitting(room: int, *wordings: str) -> str:
    """The first wording that fits, from the fullest to the tersest."""
    for wording in wordings:
        if width(wording) <= room:
            return wording
    return wordings[-1]


def _facts(
    feed: Feed,
    history: History,
    total: Total | None,
    view: tuple[int, int],
    room: int,
) -> list[RoleLine]:
    """Three lines: the range of the window, then two of energy and health."""
    window = _window_line(history, view, room)
    if total is not None:
        healths = [feed.healths[key] for key in total.keys]
        return [
            window,
            _sum_line(total, room),
            energy_line(healths, feed, room),
        ]
    health = feed.healths[history.key]
    return [
        window,
        energy_line([health], feed, room),
        _health_line(feed, history.key, room),
    ]


def _window_line(history: History, view: tuple[int, int], room: int) -> RoleLine:
    """Lowest, mean and highest power of the window, and how long that is."""
    first_ns, last_ns = view
    stretch = history.stretch(first_ns, last_ns)
    lowest = watts_text(stretch.lowest)
    mean = watts_text(stretch.mean)
    highest = watts_text(stretch.highest)
    values = _fitting(
        room,
        f"min {lowest}  mean {mean}  max {highest} W",
        f"min {lowest} mean {mean} max {highest}",
        f"{lowest} · {mean} · {highest} W",
    )
    line = [(values, "text")]
    length_s = (last_ns - first_ns) / NS
    length = f"  in the {length_text(length_s)} shown"
    if width(values) + width(length) <= room:
        line.append((length, "dim"))
    return line


def _health_line(feed: Feed, key: ChannelKey, room: int) -> RoleLine:
    """How the sensor answers, and why it has no value where it has none."""
    health = feed.healths[key]
    mono = feed.mono()
    pieces: list[tuple[str, str]] = []
    if health.reason:
        pieces.append((f"no value: {health.reason}", "error"))
        last = "  "
        if health.last_value is not None:
            age = age_text(mono - health.last_value.mono)
            last = f" (last {age} ago)  "
        pieces.append((last, "dim"))
    changed = "never changed"
    if feed.over:  # the clock of a replay stands still: no age is true any more
        changed = ""
    elif health.changed_mono is not None:
        age = age_text(health.age(mono))
        changed = f"changed {age} ago"
    every = ""
    refreshes = ""
    if health.refresh is not None:
        every = f"every {health.refresh:.3g} s"
        refreshes = f"refreshes {every}"
    trip = ""
    answers = ""
    if health.rtt:
        trip = f"{health.rtt * 1000:.3g} ms"
        answers = f"answers in {trip}"
    counts = _counts(feed.reconnects(key), health.gaps)
    wording = _fitting(
        room,
        _dotted(changed, refreshes, answers, *counts),
        _dotted(changed, every, answers, *counts),
        _dotted(changed, every, trip, *counts),
        _dotted(changed, trip, *counts),
        _dotted(changed, *counts),
    )
    pieces.append((wording, "dim"))
    return pieces


def _counts(reconnects: int, gaps: int) -> list[str]:
    """How often something went wrong, of what did."""
    counts = []
    for number, noun in ((reconnects, "reconnect"), (gaps, "gap")):
        if number:
            plural = "" if number == 1 else "s"
            counts.append(f"{number} {noun}{plural}")
    return counts


def _dotted(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _sum_line(total: Total, room: int) -> RoleLine:
    """What the sum adds up.

    Where a row has no value the sum has none: then what the others draw.
    """
    rows = len(total.keys)
    if total.missing and total.watts is not None:
        answering = rows - total.missing
        watts = watts_text(total.watts)
        return [
            (f"{answering} of {rows} draw {watts} W", "text"),
            (f", {total.missing} without a value", "warn"),
        ]
    if total.missing:
        return [(f"none of {rows} channels has a value", "warn")]
    text = f"sum of {rows} channels"
    line = [(text, "text")]
    made = f"  {plain(total.text)}"
    if width(text) + width(made) <= room:
        line.append((made, "dim"))
    return line


def energy_line(healths: Sequence[Health], feed: Feed, room: int) -> RoleLine:
    """Energy since the beginning and in the last minute, and how much of the time is covered."""
    covered_s = max((health.covered_s for health in healths), default=0.0)
    if covered_s <= 0:
        return [("energy: not resolved yet; it needs two readings", "dim")]
    totals = [health.total() for health in healths]
    joules = sum(total.with_gaps for total in totals)
    timed = [total for total in totals if total.span_s > 0]
    has_gaps = any(total.has_gaps for total in timed)
    if not has_gaps:
        role = "measured"
        length_s = covered_s
        partly = ""
    else:
        role = "estimated"
        length_s = max(total.span_s for total in totals)
        share = min((total.coverage for total in timed), default=1.0)
        partly = f" ({percent(share)} covered)"
        if len(healths) > 1:
            with_gaps = sum(total.has_gaps for total in totals)
            partly = f" ({with_gaps} of {len(healths)} with gaps)"
    short_sum = quantity(joules, "J")
    so_far = f"{short_sum} in {length_text(round(length_s))}"
    if feed.is_simulated:
        role = "simulated"
    quality = f" {role}"
    latest = ""
    if length_s > _RECENT_ENERGY_S:  # before that it is the same as the sum
        latest = _recent_energy(healths, feed.mono())
    # What a narrow window can do without goes first.
    if width(so_far + quality + partly + latest) > room:
        so_far = short_sum
    if width(so_far + quality + partly + latest) > room:
        quality = ""
    if width(so_far + quality + partly + latest) > room:
        latest = latest.replace("last ", "")
    pieces = [
        (so_far, "text"),
        (quality, role),
        (partly, "warn"),
        (latest, "text"),
    ]
    return _without_empty(pieces)


def _recent_energy(healths: Sequence[Health], mono: float) -> str:
    """The energy of the last minute; "" where none was covered."""
    length_s = 0.0
    joules = 0.0
    covered = 0
    for health in healths:
        energy = health.between(mono - _RECENT_ENERGY_S, mono)
        if energy.covered_s > 0:
            covered += 1
            joules += energy.joules
            length_s = max(length_s, energy.covered_s)
    if not covered:
        return ""
    count = ""
    if covered < len(healths):
        count = f" of {covered}"
    length = length_text(round(length_s))
    energy_text = quantity(joules, "J")
    return f" · last {length}: {energy_text}{count}"
