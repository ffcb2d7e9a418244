"""`powertui note RUN [TEXT]`: notes on a run, kept in a file of the person's own."""

from __future__ import annotations

import argparse

from powertui.errors import UsageError
from powertui.verbs import common

HELP = "write, list or delete notes on a run"
USAGE = "[OPTIONS] RUN [TEXT]"
ABOUT = """\
Keeps a text with a run, or with a place in it. Notes are shown in the timeline (there the key
C writes one) and go into exports and reports. They are kept below ~/.local/share/powertui, by
the content of the run, so that they stay with a run that is moved; the data are not touched.
Without TEXT the notes are listed."""
EXAMPLES = (
    ("powertui note RUN TEXT --at 27.31s-28.78s", "a note at a place"),
    ("powertui note RUN", "the notes of a run"),
    ("powertui note RUN --delete 3f2a", "delete the note whose id begins with this"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser)
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the note (default: list them)")
    what = common.group(parser, "the note")
    what.add_argument(
        "--at",
        metavar="PLACE",
        help="where: 12.5s, epoch 1 step 45-71, or what y copied (default: the whole run)",
    )
    what.add_argument("--host", metavar="NAME", help="host of the run (default: the first)")
    what.add_argument(
        "--beside",
        action="store_true",
        help="keep it in the run's folder, for all who read it",
    )
    what.add_argument("--delete", metavar="ID", help="take a note back, by its id or its beginning")
    common.reading(parser)
    forms = common.group(parser, "output").add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object (a stable interface)")


def run(args: argparse.Namespace) -> int:
    """Exit code 3 where there is no run."""
    from powertui.report import notes

    if args.delete is not None and args.text is not None:
        raise UsageError("A note is either written or deleted.", hint="Leave out TEXT or --delete.")
    if args.text is None and (args.at is not None or args.beside):
        raise UsageError("A note needs a text.", hint="powertui note RUN TEXT --at PLACE")
    common.one_path(args)
    entry = notes.noted_run(args.path, args.run)
    if args.delete is not None:
        return notes.delete(entry, args.delete)
    if args.text is None:
        return notes.show(args.path, entry, common.form_of(args))
    reading = common.reading_of(args)
    return notes.write_note(
        entry, args.text, notes.NotePlace(args.at, args.host, args.beside), reading
    )
