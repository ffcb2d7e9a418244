"""What to draw with, and a picture instead of screens: arguments of the verbs that have screens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from powertui.verbs import common

if TYPE_CHECKING:
    from powertui.terminal.launch import Display


def screen(parser: argparse.ArgumentParser) -> None:
    """What to draw with."""
    group = parser.add_argument_group("terminal")
    group.add_argument(
        "--glyphs",
        choices=("auto", "unicode", "console", "ascii"),
        default="auto",
        help="characters to draw with",
    )
    group.add_argument(
        "--color",
        choices=("auto", "none", "16", "256", "true"),
        default="auto",
        help="colors to draw with",
    )
    group.add_argument(
        "--theme",
        choices=("dark", "light"),
        default=None,
        help="colors for a dark or a light background",
    )
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    group.add_argument(
        "--no-motion",
        action="store_true",
        help="do not outline where a jump has led",
    )
    group.add_argument("--fps", type=int, metavar="N", help="at most N frames a second")


def picture(parser: argparse.ArgumentParser) -> None:
    """What draws one page instead of opening the screens, and which page is in front."""
    drawing = common.group(parser, "a picture instead of screens")
    drawing.add_argument("--svg", metavar="FILE", help="draw one page as SVG and end")
    drawing.add_argument("--force", action="store_true", help="with --svg: replace the file")
    place = common.group(parser, "a place")
    place.add_argument(
        "--page",
        metavar="PAGE",
        help="this page, by its key or name, or a tool's (default: the first one)",
    )
    place.add_argument(
        "--at",
        metavar="PLACE",
        help="open at this place: 12.5s, epoch 1 step 45-71, what y copied, or a command",
    )
    drawing.add_argument(
        "--size",
        metavar="COLSxROWS",
        default="120x36",
        help="how large (default: 120x36)",
    )


def display_of(args: argparse.Namespace, instead: str) -> Display:
    """A screen to draw on.

    Raises where there can be none; `instead` says what works there. Call it before textual is
    imported.
    """
    from powertui.terminal import capabilities, launch

    asked = capabilities.Wishes(
        color=None if args.color == "auto" else args.color,
        glyphs=None if args.glyphs == "auto" else args.glyphs,
        mouse=False if args.no_mouse else None,
        fps=args.fps,
        motion=False if args.no_motion else None,
    )
    return launch.prepare(asked, args.theme, instead)
