"""`powertui baseline`: the figures of good runs, to hold others against."""

from __future__ import annotations

import argparse

from powertui.errors import UsageError
from powertui.verbs import common, window_arguments

HELP = "save the figures of good runs, to hold others against"
USAGE = "[OPTIONS] save NAME RUN ... | list | show NAME"
ABOUT = """\
What are the usual figures of these runs, and how much do they vary? A baseline is one JSON
file of at most 64 kB: steps, energy, ops, their scatter, and the configuration; no trace.
`powertui check RUN --against NAME` reads it. Save five runs, and add those of other days."""
EXAMPLES = (
    ("powertui baseline save main run/*", "from runs, or folders of them"),
    ("powertui baseline save main tonight/* --add", "with those of the nights before"),
    ("powertui baseline list --dir .baselines", "those in a folder that a CI caches"),
    ("powertui baseline show main", "its figures and how they vary"),
)
_ACTIONS = ("save", "list", "show")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("action", metavar="ACTION", choices=_ACTIONS, help=", ".join(_ACTIONS))
    parser.add_argument("name", metavar="NAME", nargs="?", help="the name of the baseline")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="save: runs, or folders of them")
    common.memory(parser)
    store = common.group(parser, "where baselines are")
    common.baselines(store)
    existing = store.add_mutually_exclusive_group()
    existing.add_argument(
        "--replace",
        action="store_true",
        help="save: write over a baseline of that name",
    )
    existing.add_argument(
        "--add",
        action="store_true",
        help="save: keep its runs, and add these: of another day",
    )
    window_arguments.one_part(parser)
    common.how_to_read(parser)
    common.output(parser, csv="list, show: one row per baseline or figure")


def run(args: argparse.Namespace) -> int:
    """Exit code 3 when nothing of the runs, or of the baseline, could be read."""
    _check(args)
    from powertui.data.gate.baseline_store import baseline_folder
    from powertui.report import baseline

    folder = baseline_folder(args.dir)
    if args.action == "list":
        return baseline.list_saved(folder, common.form_of(args))
    if args.action == "show":
        return baseline.show(args.name, folder, common.form_of(args))
    from powertui.report.compare_sides import SideReading

    reading = SideReading(common.reading_of(args), common.aligning_of(args))
    part = window_arguments.part_of(args)
    return baseline.save(
        name=args.name,
        paths=args.paths,
        part=part,
        reading=reading,
        folder=folder,
        replace=args.replace,
        add=args.add,
    )


def _check(args: argparse.Namespace) -> None:
    """Raises `UsageError` for words that the action does not take, or lacks."""
    hint = "See powertui baseline --help for what it takes."
    if args.action == "list" and args.name is not None:
        raise UsageError("powertui baseline list takes no name.", hint=hint)
    if args.action != "list" and args.name is None:
        raise UsageError("Name the baseline.", hint=hint)
    if args.action == "save" and not args.paths:
        raise UsageError("Name a run.", hint="powertui baseline save NAME RUN...")
    if args.action == "show" and args.paths:
        raise UsageError("powertui baseline show takes one name.", hint=hint)
