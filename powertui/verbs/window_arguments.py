"""Which window, or which part of a run: arguments that several verbs share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from powertui.errors import UsageError
from powertui.verbs import common

if TYPE_CHECKING:
    from powertui.data.training.named_windows import WindowRequest
    from powertui.report.compare_sides import Asked
    from powertui.report.export import WindowWords


def window(parser: argparse.ArgumentParser) -> None:
    """Which window of a training."""
    group = parser.add_argument_group("a window of the training")
    group.add_argument(
        "--from",
        dest="from_",
        metavar="TIME",
        help="its start: 27.31s, or wall time: 19:52:50",
    )
    group.add_argument("--to", metavar="TIME", help="its end")
    group.add_argument("--epoch", type=int, metavar="N", help="this epoch")
    group.add_argument(
        "--steps",
        metavar="A-B",
        help="these steps of a profile (of --epoch when given)",
    )
    group.add_argument(
        "--batches",
        metavar="A-B",
        help="these batches of --epoch, e.g. 183-260 (without it: steps as logged)",
    )
    group.add_argument("--session", metavar="NAME", help="this profile session")
    at(group)


def at(options: argparse._ActionsContainer, *, action: str = "store") -> None:
    """The window as one line, for every verb that takes a window."""
    options.add_argument(
        "--at",
        action=action,
        metavar="PLACE",
        help="the window as one line: 'epoch 1 step 45-71', 27.31s-28.78s, or what y copied",
    )


def at_of(args: argparse.Namespace, *others: str) -> WindowWords | None:
    """The window of `--at`; None without it.

    `others` are the options that name a window too: one of them is enough.
    """
    if args.at is None:
        return None
    from powertui.report.export import WindowWords

    given = [getattr(args, name) for name in others]
    if any(value is not None and value is not False for value in given):
        raise UsageError(
            "The window is given twice.", hint="Give --at alone, without other options for it."
        )
    return WindowWords.from_place(args.at)


def window_of(args: argparse.Namespace) -> WindowRequest:
    """The window that was asked for, from the arguments of `window`."""
    from powertui.data.training.named_windows import WindowRequest

    place = at_of(args, "from_", "to", "epoch", "batches", "session", "steps")
    if place is not None:
        is_wall = place.is_of_training
        return WindowRequest(
            start=place.start,
            end=place.end,
            epoch=place.epoch,
            steps=place.steps,
            host=place.host,
            of_profile=place.start is not None and not is_wall,
            tz=args.tz,
        )
    return WindowRequest(
        start=args.from_,
        end=args.to,
        epoch=args.epoch,
        batches=args.batches,
        session=args.session,
        steps=args.steps,
        tz=args.tz,
    )


def one_part(parser: argparse.ArgumentParser) -> None:
    """Which part of the runs, for verbs that take several paths."""
    part = common.group(parser, "which part of each run")
    part.add_argument(
        "--run",
        metavar="NAME",
        help="only this run of the folder: its name, or a part that no other name has",
    )
    part.add_argument("--host", metavar="NAME", help="only this host")
    part.add_argument("--epoch", type=int, metavar="N", help="only this epoch")
    part.add_argument("--steps", metavar="A-B", help="only these steps (of --epoch)")
    part.add_argument(
        "--from",
        dest="from_",
        metavar="TIME",
        help="start of the window in trace time: 27.31s",
    )
    part.add_argument("--to", metavar="TIME", help="end of the window")
    at(part)


def part_of(args: argparse.Namespace) -> Asked:
    """The part that was asked for, from the arguments of `one_part`."""
    from powertui.report.compare_sides import Asked

    given = {
        "run": args.run,
        "host": args.host,
        "epoch": args.epoch,
        "steps": args.steps,
        "start": args.from_,
        "end": args.to,
        "at": args.at,
    }
    return Asked(**{name: [value] for name, value in given.items() if value is not None})


def time_of(words: str | None) -> int | None:
    """A moment of the trace (ps) as a person writes it; None where none is named."""
    from powertui import units
    from powertui.plain import plain

    if words is None:
        return None
    ps = units.parse_time(words)
    if ps is None:
        raise UsageError(
            f"{plain(words, 40)!r} is not a time.", hint="Write it like 27.31s, 350ms or 1:02.5."
        )
    return ps
