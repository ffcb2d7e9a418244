"""`powertui demo`: the recorded run that ships with powertui."""

from __future__ import annotations

import argparse

from powertui.verbs import common, screen_arguments

HELP = "open the recorded run that ships with powertui"
USAGE = "[OPTIONS]"
ABOUT = """\
Two epochs of a small training with power beside them and a foreign load in the second."""
EXAMPLES = (
    ("powertui demo", "a recorded run; nothing to download"),
    ("powertui demo --report", "the same run as text"),
    ("powertui demo --svg demo.svg --page findings", "a page of it as a picture"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument(
        "--report",
        action="store_true",
        help="print the report instead of opening the screens",
    )
    parser.add_argument("--json", action="store_true", help="with --report: machine-readable")
    screen_arguments.screen(parser)
    screen_arguments.picture(parser)


def run(args: argparse.Namespace) -> int:
    """The screens, or with --report the same facts as text."""
    from powertui import demo

    path = str(demo.folder())
    if args.report or args.json:
        from powertui.data.asked import Aligning, ReadOptions
        from powertui.report import summary, text

        if not args.json:
            text.out(demo.NOTE + "\n")
        return summary.tell(path, None, ReadOptions(), Aligning(), common.form_of(args))
    from powertui.verbs import open

    parser = argparse.ArgumentParser(add_help=False)
    open.arguments(parser)
    return open.run(
        argparse.Namespace(**{**vars(parser.parse_args([path])), **vars(args)}), notice=demo.NOTE
    )
