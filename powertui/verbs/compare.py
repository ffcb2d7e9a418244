"""`powertui compare A B`: what differs between two runs, groups of runs or stretches of one run."""

from __future__ import annotations

import argparse

from powertui.verbs import common, window_arguments
from powertui.verbs.parser import GROUP_MARK

HELP = "compare two runs, two groups of runs, or two parts of one"
USAGE = "[OPTIONS] A B | A... -- B... | RUN --epoch 0 --epoch 1"
ABOUT = """\
What changed from A to B, how sure is that, and where does it come from? Each figure has an
interval and a verdict: differs, within noise, or cannot tell, with the recording that would
decide it. From three runs a side the scatter of the runs decides; a single run a side is held
against its own drift only. An option given twice is for A, then for B."""
EXAMPLES = (
    ("powertui compare old/ new/", "two runs, or all runs of two folders"),
    ("powertui compare base/* -- new/*", "two groups: from three runs a side, run to run"),
    ("powertui compare ~/logs --epoch 0 --epoch 1", "two epochs of one run"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="A and B: a run, a folder of runs, or several of them with -- between the sides",
    )
    common.memory(parser)
    sides = common.group(parser, "the sides (once for both, or twice: for A, then for B)")
    sides.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="NAME",
        help="only this run of the folder: its name, or a part that no other name has",
    )
    sides.add_argument("--host", action="append", default=[], metavar="NAME", help="only this host")
    sides.add_argument(
        "--epoch",
        action="append",
        default=[],
        type=int,
        metavar="N",
        help="only this epoch",
    )
    sides.add_argument(
        "--steps",
        action="append",
        default=[],
        metavar="A-B",
        help="only these steps (of --epoch)",
    )
    sides.add_argument(
        "--from",
        dest="from_",
        action="append",
        default=[],
        metavar="TIME",
        help="start of the window in trace time, e.g. 27.31s",
    )
    sides.add_argument(
        "--to",
        action="append",
        default=[],
        metavar="TIME",
        help="end of the window",
    )
    window_arguments.at(sides, action="append")
    common.how_to_read(parser)
    common.output(parser, csv="one row per figure", html=True)
    common.group(parser, "output").add_argument(
        "--brief",
        action="store_true",
        help="what matters, in at most 4 kB of JSON",
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 3 when nothing of a side could be read."""
    from powertui.report import compare
    from powertui.report.compare_sides import Asked, SideReading

    asked = Asked(
        run=args.run,
        host=args.host,
        epoch=args.epoch,
        steps=args.steps,
        start=args.from_,
        end=args.to,
        at=args.at or (),
    )
    reading = SideReading(common.reading_of(args), common.aligning_of(args))
    if args.html is not None:
        from powertui.html import comparison_file
        from powertui.html.html_file import HtmlFile

        common.without(args, "--html", "--brief")
        output = HtmlFile(args.html, args.force)
        return comparison_file.write_comparison(_groups(args.paths), asked, reading, output)
    return compare.tell(_groups(args.paths), asked, reading, common.form_of(args), args.brief)


def _groups(words: list[str]) -> list[list[str]]:
    """The paths of each side: what stands before `--`, and what stands behind it."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word == GROUP_MARK:
            groups.append([])
        else:
            groups[-1].append(word)
    return groups
