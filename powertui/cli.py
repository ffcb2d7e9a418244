"""The command line: which verb, and what is said when it fails.

Neither numpy nor textual is imported here, so `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from powertui import __version__, verbs
from powertui.errors import PowertuiError, UsageError
from powertui.standard_streams import ReaderLeft
from powertui.terminal import signals
from powertui.verbs.parser import HelpFormatter, Parser

_EXAMPLE_WIDTH = 44  # cells of an example, with what it does beside it
_EXIT_CODES = (
    "exit codes: 0 done, 1 failed, 2 wrong usage or no terminal, 3 nothing readable, "
    "130/143/129 interrupted; of check: 0 within, 1 above, 3 cannot say"
)

# Verbs that have something to put in order when they are interrupted: a file that is half written,
# a terminal without its echo.
_IN_ORDER = ("export", "record", "sensors", "live", "capture")

# Verbs that print, and read what may come from another machine. (The screens show its progress
# themselves.)
_FETCHING = ("report", "doctor", "energy", "compare", "check", "baseline", "export", "note")

# What stands in the place of a verb.
_OPTIONS = ("-h", "--help", "--version", "--licenses", "--clear-cache", "--completions")

# Verbs of the standard library: they work whatever is installed beside them.
_WITHOUT_DATA = ("record", "sensors")


def build_parser(
    only: str | None = None,
    *,
    with_arguments: bool = True,
) -> argparse.ArgumentParser:
    """The whole tree, or what one verb needs of it: nobody waits for the arguments of the
    others.

    Without the arguments of any verb it can print its help and its version.
    """
    names = (only,) if only is not None else verbs.VERBS
    loaded = {name: verbs.load(name) for name in names}
    parser = Parser(
        prog="powertui",
        description="Where a training run's time and energy went, in a terminal.",
        epilog=f"{_examples(loaded)}\n\n{_EXIT_CODES}",
        formatter_class=HelpFormatter,
    )
    parser.verb = only or ""
    parser.add_argument(
        "--completions",
        metavar="SHELL",
        help="print completions for bash, zsh or fish; `man` prints the man page",
    )
    parser.add_argument(
        "--clear-cache",
        action="store_true",
        help="delete what was fetched from other machines",
    )
    parser.add_argument(
        "--licenses",
        action="store_true",
        help="print the packages that powertui uses, with versions and licenses",
    )
    parser.add_argument("--version", action="version", version=f"powertui {__version__}")
    tree = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, verb in loaded.items():
        arguments = tree.add_parser(
            name,
            # argparse would list every option here, in 14 lines
            usage=f"powertui {name} {verb.USAGE}",
            help=verb.HELP,
            description=f"{verb.HELP[0].upper()}{verb.HELP[1:]}.\n\n{verb.ABOUT}",
            epilog=_examples({name: verb}),
            formatter_class=HelpFormatter,
            allow_abbrev=False,  # `--password x` must not be taken for `--password-file x`
        )
        if with_arguments:
            verb.arguments(arguments)
    return parser


def _examples(loaded: dict[str, verbs.Verb]) -> str:
    lines = [(line, text) for verb in loaded.values() for line, text in verb.EXAMPLES]
    return "\n".join(["examples:", *(_example(line, text) for line, text in lines)])


def _example(line: str, text: str) -> str:
    """A command and what it does; beside a long one there is no room for that."""
    if len(line) < _EXAMPLE_WIDTH:
        return f"  {line:<{_EXAMPLE_WIDTH}} {text}".rstrip()
    return f"  {line}\n  {'':<{_EXAMPLE_WIDTH}} {text}".rstrip()


def normalise(argv: Sequence[str]) -> list[str]:
    """`powertui PATH …` means `powertui open PATH …`: put the verb in when the first word is no
    verb.

    A file that is named like a verb is opened as ./report. A word that is nearly a verb and no file
    is a slip; `help` and `version` are what other programs call their options.
    """
    args = list(argv)
    if not args:
        return ["open", "."]
    if args[0] in verbs.VERBS or args[0] in _OPTIONS or args[0].startswith("--completions="):
        return args
    if args[0].isalpha() and not os.path.lexists(args[0]):
        if args[0] == "help":
            return [*(word for word in args[1:2] if word in verbs.VERBS), "--help"]
        if args == ["version"]:
            return ["--version"]
        import difflib

        near = difflib.get_close_matches(args[0].lower(), verbs.VERBS, 1)
        if near:
            raise UsageError(
                f"There is no verb or file named {args[0]!r}.",
                hint=f"Did you mean powertui {near[0]}?",
            )
    return ["open", *args]


def _completions(words: Sequence[str]) -> int:
    from powertui import completion

    first, *rest = words
    kind = first.partition("=")[2]
    if not kind and rest:
        kind, *rest = rest
    print(completion.tell(kind, build_parser(), rest), end="")
    return 0


def _clear_cache() -> int:
    from powertui import units
    from powertui.data.elsewhere import keeping

    gone, kept_bytes = keeping.clear(keeping.cache())
    kept_text = f" Kept, because it is open: {units.size(kept_bytes)}." if kept_bytes else ""
    print(f"{units.size(gone)} deleted in {keeping.cache()}.{kept_text}")
    return 0


def _check_clock() -> None:
    from powertui.sampler import clocks

    clocks.check()


def _check_machine() -> None:
    """A machine or packages that cannot work end here, in a sentence; packages that are newer than
    known are only said.
    """
    if sys.byteorder != "little" or sys.maxsize < 2**32:
        import platform

        kind = "it is big-endian" if sys.byteorder != "little" else "this Python has 32 bits"
        raise PowertuiError(
            f"Profiles cannot be read on this machine ({platform.machine()}): {kind}.",
            hint=(
                f"{' and '.join(_WITHOUT_DATA)} work here. Copy what they write to a 64-bit "
                "little-endian machine and open it there."
            ),
        )
    from powertui import dependencies

    dependencies.one_thread()
    stop, warn = dependencies.trouble()
    if stop:
        raise PowertuiError(
            f"{stop}.",
            hint="Install powertui again in an environment of its own: see docs/install.md.",
        )
    if warn:
        print(f"powertui: {warn}.", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Errors that a person is meant to read become one sentence and an exit code."""
    try:
        words = normalise(sys.argv[1:] if argv is None else argv)
        if words[0].partition("=")[0] == "--completions":
            return _completions(words)
        if words[0] == "--licenses":
            from powertui import dependencies

            print(dependencies.tell_licenses(), end="")
            return 0
        if words[0] == "--clear-cache":
            return _clear_cache()
        verb = words[0] if words[0] in verbs.VERBS else None
        args = build_parser(verb, with_arguments=verb is not None).parse_args(words)
        _check_clock()
        if args.verb not in _WITHOUT_DATA:
            _check_machine()
        run = verbs.load(args.verb).run
        if argv is None and args.verb in _IN_ORDER:
            signals.by_exception()
        if args.verb not in _FETCHING:
            return run(args)
        from powertui.terminal.transfer_line import transfers_shown

        with transfers_shown():
            return run(args)
    except PowertuiError as error:
        from powertui.plain import plain  # a path in a message can hold anything
        from powertui.wrapping import fitted, terminal_columns

        lines = (plain(line) for line in f"powertui: {error}".split("\n"))
        print("\n".join(fitted(lines, terminal_columns(sys.stderr))), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except ImportError:
        code = signals.broken_off()
        if code is None:
            raise
        return code
    except ReaderLeft:  # of a pipe: head, less
        return 0
