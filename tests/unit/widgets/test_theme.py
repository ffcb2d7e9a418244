"""Colors that are read at 3 a.m.: contrast, and kinds that differ for every kind of color vision."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from powertui.terminal import theme
from powertui.terminal.sgr import Pens

# What text stands on: the page, panels and the gutter, the ruler.
PAGES = {"dark": (233, 234, 235), "light": (231, 255, 254)}
MIN_TEXT_CONTRAST = 4.5  # WCAG 2.1, level AA
# Fills and lines: no words are written in these inks.
FILLS = (
    {"grid", "wrapper", "power_gap", "power_floor", "overview", "step_bars"}
    | {f"ember_{shade}" for shade in range(10)}
    | {f"tile_{shade}_curve" for shade in range(10)}
)
WORK = [
    "matmul",
    "convolution",
    "elementwise",
    "reduction",
    "normalization",
    "memory",
    "communication",
    "input",
    "optimizer",
    "compile",
]
# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as dichromats see it.
VISION: dict[str, npt.NDArray[np.float64]] = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
_SIDES: list[Literal["dark", "light"]] = ["dark", "light"]


@pytest.mark.parametrize("side", _SIDES)
def test_text_is_read_on_everything_that_it_stands_on(side: str) -> None:
    column = 1 if side == "light" else 0
    hard = {}
    for name, role in theme._ROLES.items():
        if role.ink is None or name in FILLS:
            continue
        papers = (role.paper[column],) if role.paper else PAGES[side]
        worst = min(theme.contrast(role.ink[column], paper) for paper in papers)
        if worst < MIN_TEXT_CONTRAST:
            hard[name] = round(worst, 2)
    assert hard == {}


@pytest.mark.parametrize("side", _SIDES)
def test_names_are_read_on_every_kind_of_work(side: Literal["dark", "light"]) -> None:
    for name, shades in theme.CATEGORIES.items():
        for variant, shade in enumerate(shades[1 if side == "light" else 0]):
            style = theme.get(side, "true").category(name, variant)
            assert style.color is not None
            ink = theme._BLACK if style.color.get_truecolor().red == 0 else theme._WHITE
            assert theme.contrast(ink, shade) >= MIN_TEXT_CONTRAST, (name, shade)


DEPTHS = {"true": theme.rgb, "256": theme.rgb_of_256}


def lab(color: tuple[int, int, int], matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """CIE L*a*b* (D65) of a color, as somebody sees it."""
    channels = np.array(color) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(matrix @ linear, 0, 1)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    xyz = to_xyz @ seen / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("depth", list(DEPTHS))
@pytest.mark.parametrize("vision", list(VISION))
@pytest.mark.parametrize("side", _SIDES)
def test_kinds_of_work_differ_for_every_kind_of_color_vision(
    side: str, vision: str, depth: str
) -> None:
    """ΔE by CIE76; 10 is seen at a glance. Letters tell kinds apart where colors run out."""
    column = 1 if side == "light" else 0
    colors = {}
    for name in WORK:
        first_shade = DEPTHS[depth](theme.CATEGORIES[name][column][0])
        colors[name] = lab(first_shade, VISION[vision])
    nearest = min(
        (float(np.linalg.norm(colors[a] - colors[b])), a, b) for a, b in combinations(WORK, 2)
    )
    assert nearest[0] >= 10, nearest


@pytest.mark.parametrize("depth", list(DEPTHS))
def test_power_grows_lighter_on_dark_and_darker_on_light(depth: str) -> None:
    for column, sign in ((0, 1), (1, -1)):
        inks = [theme._ROLES[f"ember_{shade}"].ink for shade in range(10)]
        colors = [DEPTHS[depth](ink[column]) for ink in inks if ink is not None]
        steps = np.diff([theme.luminance(color) for color in colors])
        assert (sign * steps > -0.02).all(), "it reads without hue"


@pytest.mark.parametrize("kind", WORK)
def test_a_tuned_color_is_its_entry_of_the_palette_where_there_are_256(kind: str) -> None:
    """Else the nearest of 256 would be shown, and two kinds of work would become one."""
    pens = Pens("256")
    for side, column in (("dark", 0), ("light", 1)):
        for variant, entry in enumerate(theme.CATEGORIES[kind][column]):
            style = theme.get(_SIDES[column], "true").category_ink(kind, variant)
            assert pens.change(0, pens.number(style)) == f"\x1b[38;5;{entry}m", (side, variant)
