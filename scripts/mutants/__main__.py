"""Do the tests hold? Each mutant of tests/mutants.txt is put into a copy of the program, and the
tests of its file are run.

    python -m scripts.mutants                 try the list; exit 1 if an outcome differs from the
                                              list
    python -m scripts.mutants --only energy   those whose file or function has this in its name
    python -m scripts.mutants --check         does the list still fit the source?
    python -m scripts.mutants --write         try, and write the outcomes into the list
    python -m scripts.mutants --generate      put new mutants in the place of those that no longer
                                              fit

A mutant is a statement or an expression of a function, before and after. It fits as long as the
function contains that statement once, wherever and however it is written.
"killed" means that a test failed, or took much more of the processor than without the mutant.
Nothing is written to the checkout but the list.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scripts.mutants.changes import with_new_mutants
from scripts.mutants.covering_tests import missing_places
from scripts.mutants.listed import LIST, Mutant, parsed_list, problems_of
from scripts.mutants.trial import TrialError, tried


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 1: an outcome differs from the list, or a survivor has no reason; 2: the list
    does not fit the source.
    """
    options = _parser().parse_args(argv)
    text = options.list.read_text("utf-8") if options.list.exists() else ""
    header = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))
    listed = parsed_list(text)

    def write(mutants: Sequence[Mutant]) -> None:
        options.list.write_text(header + "\n" + "\n".join(map(str, mutants)), "utf-8")

    if options.generate:
        write(with_new_mutants(listed))
        return 0
    chosen = [mutant for mutant in listed if _is_chosen(mutant, options)]
    problems = problems_of(chosen) + missing_places()
    if problems:
        print("The list does not fit the source (--generate draws other mutants):", file=sys.stderr)
        print(*problems, sep="\n", file=sys.stderr)
        return 2
    if options.check:
        return 0
    outcomes: dict[tuple[str, ...], Mutant] = {}
    try:
        for mutant in tried(chosen, options.jobs):
            outcomes[mutant.key] = mutant
            if options.write:
                write([outcomes.get(mutant.key, mutant) for mutant in listed])
    except TrialError as error:
        print(error, file=sys.stderr)
        return 2
    return _report(chosen, [outcomes[mutant.key] for mutant in chosen])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", type=Path, default=LIST, help="another list")
    parser.add_argument(
        "--only", default="", help="mutants with this in the name of their file or function"
    )
    parser.add_argument("--unknown", action="store_true", help="only mutants that were never tried")
    parser.add_argument(
        "--survivors", action="store_true", help="only those that survive by the list"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument(
        "--check", action="store_true", help="only look whether the list fits the source"
    )
    parser.add_argument("--write", action="store_true", help="write the outcomes into the list")
    parser.add_argument(
        "--generate",
        action="store_true",
        help="put new mutants in the place of those that no longer fit",
    )
    return parser


def _is_chosen(mutant: Mutant, options: argparse.Namespace) -> bool:
    if options.unknown and mutant.outcome:
        return False
    if options.survivors and mutant.outcome != "survived":
        return False
    return options.only in f"{mutant.file} {mutant.function}"


def _report(listed: Sequence[Mutant], outcomes: Sequence[Mutant]) -> int:
    """Print the counts and what is not as listed; the exit code."""
    print(_counts_by_folder(outcomes))
    differing = [
        new
        for old, new in zip(listed, outcomes, strict=True)
        if old.outcome and old.outcome != new.outcome
    ]
    unexplained = [mutant for mutant in outcomes if mutant.outcome == "survived" and not mutant.why]
    for mutant in differing:
        print(f"\nThe outcome differs from the list:\n{mutant}", end="")
    for mutant in unexplained:
        print(f"\nSurvives without a reason:\n{mutant}", end="")
    return 1 if differing or unexplained else 0


def _counts_by_folder(mutants: Sequence[Mutant]) -> str:
    """A table of killed and survived mutants."""
    counts = Counter((mutant.file.rpartition("/")[0], mutant.outcome) for mutant in mutants)
    lines = [f"{'folder':28} killed survived"]
    for folder in sorted({folder for folder, _ in counts}):
        killed, survived = counts[folder, "killed"], counts[folder, "survived"]
        lines.append(f"{folder:28} {killed:6} {survived:8}")
    survived = sum(mutant.outcome == "survived" for mutant in mutants)
    share = survived / max(len(mutants), 1)
    lines.append(f"{'all':28} {len(mutants) - survived:6} {survived:8}   {share:.1%} survive")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
