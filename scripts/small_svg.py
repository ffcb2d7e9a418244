"""A screen as a small SVG: a line of text a row, a rectangle where the background differs.

No fonts, no window around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI

NBSP = "\N{NO-BREAK SPACE}"  # several spaces are one in SVG
CELL, ROW = 8.4, 17  # px of a cell, as 14 px monospace has them


def small_svg(app: Any) -> str:
    """The screen that is in front."""
    paper, ink = _colour(app.theme_variables["background"]), "#d0d0d0"
    classes: dict[str, str] = {}
    body: list[str] = []
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x, words = 0, []
        for text, style in _runs(strip):
            cells = cell_len(text)
            fore, back, extra = _looks(style, ink, paper)
            if back != paper:
                body.append(
                    f'<rect x="{x * CELL:.1f}" y="{y * ROW}" width="{cells * CELL:.1f}" '
                    f'height="{ROW}" fill="{back}"/>'
                )
            if text.strip():
                lead = len(text) - len(text.lstrip())
                kept = text.strip()
                rule = f"fill:{fore}{extra}"
                name = classes.setdefault(rule, f"c{len(classes)}")
                place = f'x="{(x + lead) * CELL:.1f}" textLength="{cell_len(kept) * CELL:.1f}"'
                words.append(
                    f'<tspan class="{name}" {place}>{escape(kept).replace(" ", NBSP)}</tspan>'
                )
            x += cells
        if words:
            body.append(f'<text y="{y * ROW + 13}">{"".join(words)}</text>')
    width, height = app.size.width * CELL, app.size.height * ROW
    rules = "".join(f".{name}{{{rule}}}" for rule, name in classes.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}">'
        f"<style>text{{font:14px monospace;white-space:pre}}{rules}</style>"
        f'<rect width="100%" height="100%" fill="{paper}"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _runs(strip: Any) -> Iterator[tuple[str, Style]]:
    """Neighbours of one style as one piece."""
    held, last = "", None
    for segment in strip:
        style = segment.style or Style()
        if last is not None and style == last:
            held += segment.text
            continue
        if last is not None:
            yield held, last
        held, last = segment.text, style
    if last is not None:
        yield held, last


def _looks(style: Style, ink: str, paper: str) -> tuple[str, str, str]:
    """Foreground, background, and what else a rule needs."""
    fore = _colour(style.color) if style.color is not None and not style.color.is_default else ink
    back = (
        _colour(style.bgcolor)
        if style.bgcolor is not None and not style.bgcolor.is_default
        else paper
    )
    if style.reverse:
        fore, back = back, fore
    extra = (";font-weight:bold" if style.bold else "") + (";opacity:.6" if style.dim else "")
    return fore, back, extra + (";text-decoration:underline" if style.underline else "")


def _colour(value: Color | str) -> str:
    colour = Color.parse(value) if isinstance(value, str) else value
    return colour.get_truecolor(DIMMED_MONOKAI).hex
