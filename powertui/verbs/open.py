"""`powertui PATH`: look at what lies there, in screens."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from powertui.errors import UsageError
from powertui.verbs import common, screen_arguments

if TYPE_CHECKING:
    from powertui.data.host_parts import HostReader
    from powertui.data.logdir.folder import Logdir
    from powertui.screens.session import Session

HELP = "browse a logdir, a run or one profile (the verb may be left out)"
USAGE = "[OPTIONS] PATH [PATH ...]"
ABOUT = """\
Opens the list of runs, or the run itself where PATH holds only one. Power logs beside a
run are found and aligned. Press ? on any page for its keys."""
EXAMPLES = (
    ("powertui ~/logs", "browse the runs of a logdir"),
    ("powertui vm.xplane.pb power.csv", "one profile with its power log"),
    ("powertui run_a run_b", "both; R switches between them"),
    ("powertui RUN --at 27.31s-28.78s", "this stretch, marked in the timeline"),
    ("powertui RUN --svg found.svg --page findings", "a page as a picture, without a terminal"),
)
# Folders are looked through so long before the list is shown, and each time that it grows: below
# it a person feels no wait.
_FIRST_S = 0.2


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser)
    common.more_paths(parser, "more logdirs, runs or profiles, to open together; or power logs")
    common.reading(parser)
    screen_arguments.screen(parser)
    screen_arguments.picture(parser)


def run(args: argparse.Namespace, notice: str = "") -> int:
    """Open the screens.

    Textual reads its settings while it is imported: the terminal is looked at before.
    """
    from dataclasses import replace

    from powertui import config
    from powertui.terminal.transfer_line import transfers_shown

    # First of all: a path that is not there is told as that, with or without a terminal.
    with transfers_shown():
        paths = common.sort_out(args)
    if args.svg is None:
        display = screen_arguments.display_of(
            args, f"`powertui report {args.path}` prints the same facts as text."
        )
        marker = display.settings.step_marker
    else:
        columns, rows = _size(args.size)
        marker = config.load().step_marker
    place = _place(args)
    scanned, rest = _scan(paths, args.run, whole=bool(place))
    from powertui.screens.session import Session

    reading = common.reading_of(args)
    reading = replace(reading, step_marker=reading.step_marker or marker)
    session = Session(reading, common.aligning_of(args), logdir=scanned, rest=rest, notice=notice)
    if args.svg is not None:
        return _draw(args, session, columns, rows)
    with _reading_beside(args, scanned) as reader:
        if reader is not None:
            session.reading = replace(session.reading, hosts=reader)
        from powertui.screens.shell import Shell

        return Shell(session, display, place=place).run_to_exit()


def _reading_beside(
    args: argparse.Namespace,
    scanned: Logdir,
) -> AbstractContextManager[HostReader | None]:
    """Who reads hosts while there are screens: processes, where a run of many is already known."""
    if args.on is not None or not any(run.has_many_hosts for run in scanned.runs):
        return nullcontext()
    from powertui.data import host_workers

    return host_workers.reading_beside_screens()


def _place(args: argparse.Namespace) -> str:
    """Where to begin, in words; "" without one. A page that does not exist is refused at once."""
    if not args.page or args.svg is not None:
        return args.at or ""
    from powertui.place_words import name_words
    from powertui.screens import page_named

    page = f"page {name_words(page_named(args.page).title)}"
    return f"{args.at}, {page}" if args.at else page


def _scan(
    paths: list[str],
    run: str | None,
    *,
    whole: bool,
) -> tuple[Logdir, Iterator[Logdir] | None]:
    """The logdir as far as it is known, and what more of it is to come.

    Of thousands of runs the list stands with the first of them; a run that was named, or the
    only one that has a place, may be the last.
    """
    from dataclasses import replace

    from powertui.data import logdir
    from powertui.terminal.transfer_line import transfers_shown

    stages = logdir.stream_all(paths, _FIRST_S)
    with transfers_shown():
        scanned = next(stages)
        if (run is not None or whole) and not scanned.complete:
            scanned = list(stages)[-1]
    rest = None if scanned.complete else stages
    if run is not None:
        scanned = replace(scanned, runs=scanned.chosen(run), parts=())
    return scanned, rest


def _draw(args: argparse.Namespace, session: Session, columns: int, rows: int) -> int:
    """One page as a picture."""
    from powertui import units
    from powertui.data.export import files
    from powertui.plain import plain
    from powertui.screens import page_picture

    picture = page_picture.PagePicture(
        args.svg,
        page=args.page or "",
        at=args.at or "",
        columns=columns,
        rows=rows,
        theme=args.theme or "dark",
        force=args.force,
    )
    saved = page_picture.save(session, picture)
    # On the error output: the picture itself may go to the standard output.
    name = "standard output" if args.svg == files.STDOUT else plain(args.svg)
    print(f"Wrote {name}: {units.size(saved.byte_count)}, {columns}x{rows} cells.", file=sys.stderr)
    if not saved.is_whole:
        print(
            "powertui: the page was drawn before all of it was worked out, after ten minutes.",
            file=sys.stderr,
        )
    return 0


def _size(words: str) -> tuple[int, int]:
    """Columns and rows of "120x36"."""
    columns, _, rows = words.lower().partition("x")
    if columns.isdecimal() and rows.isdecimal():
        size = int(columns), int(rows)
        if 20 <= size[0] <= 500 and 5 <= size[1] <= 200:
            return size
    raise UsageError(
        f"--size {words!r} is not a size.",
        hint="Write columns x rows, such as 120x36, between 20x5 and 500x200.",
    )
