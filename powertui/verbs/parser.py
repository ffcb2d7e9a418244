"""The command line's parser: what it cannot take is told in one sentence, with what to do."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from powertui import help_page
from powertui.errors import UsageError

_REQUIRED = re.compile(r"^the following arguments are required: (.+)$")
_UNKNOWN = re.compile(r"^unrecognized arguments: (.+)$", re.DOTALL)
_CHOICE = re.compile(r"^argument (\S+): invalid choice: (.+?) \(choose from (.+)\)$", re.DOTALL)
# Further errors of argparse, and how each is said here.
_SENTENCES = (
    (
        re.compile(r"^argument (\S+): expected (?:one|at least one) argument$"),
        r"\1 needs a value.",
    ),
    (
        re.compile(r"^argument (\S+): not allowed with argument (\S+)$"),
        r"\1 and \2 cannot be given together.",
    ),
    (
        re.compile(r"^argument (\S+): invalid \S+ value: (.+)$", re.DOTALL),
        r"\1 cannot be \2.",
    ),
)

# What stands for `--` between two groups of paths, which argparse would drop. No path has a NUL.
GROUP_MARK = "\0--"
_GROUPING_VERBS = ("compare",)
# A folder alone is not enough for these: two runs, a limit or a name are needed, too.
_VERBS_OF_MORE = ("baseline", "check", "compare")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal, with its lines broken at blanks, as `powertui --help` is."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=help_page.terminal_width() - help_page.MARGIN)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return help_page.broken(text.split(), width)


class Parser(argparse.ArgumentParser):
    """As argparse has it, but for its errors: they are a `UsageError` like every other."""

    verb = ""  # the only one it has: what it does not know, that verb does not know
    _words: Sequence[str] = ()
    _is_mixing = False  # paths may be before and behind options: OLD --json NEW

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = words = list(args or ())
        if self.prog.rpartition(" ")[2] in _GROUPING_VERBS:
            words = [GROUP_MARK if word == "--" else word for word in words]
        parsed, unknown = super().parse_known_args(words, namespace)
        if "--" in words or not self._can_mix(unknown):
            return parsed, unknown
        self._is_mixing = True  # what follows calls this again
        try:
            return self.parse_known_intermixed_args(words)
        finally:
            self._is_mixing = False

    def _can_mix(self, unknown: Sequence[str]) -> bool:
        """Whether these are paths behind an option, which argparse takes only when asked again."""
        if self._is_mixing or not unknown:
            return False
        if any(word.startswith("-") for word in unknown):
            return False
        rest = (argparse.PARSER, argparse.REMAINDER)  # the words of a verb, or a command's own
        return not any(action.nargs in rest for action in self._get_positional_actions())

    def error(self, message: str) -> NoReturn:
        program = f"{self.prog} {self.verb}".strip()
        unknown = next(
            (word for word in self._words if word.startswith("--") and not self._knows(word)), None
        )
        # argparse reports what is missing first, although an unknown option took its place.
        if not self.verb and unknown is not None and _REQUIRED.match(message):
            message = f"unrecognized arguments: {unknown}"
        raise UsageError(_sentence(message, program), hint=_hint(message, program))

    def _knows(self, word: str) -> bool:
        return word == "--" or word.partition("=")[0] in self._option_string_actions


def _sentence(message: str, program: str) -> str:
    if match := _REQUIRED.match(message):
        first = match[1].partition(", ")[0]
        if first == "PATH":
            return "Name a path."
        return f"{first} is missing."
    if match := _UNKNOWN.match(message):
        return f"{program} does not know {_without_value(match[1])}."
    if match := _CHOICE.match(message):
        option, value, choices = match.groups()
        return f"{option} takes one of {choices.replace(chr(39), '')}; {value} is none of them."
    for pattern, sentence in _SENTENCES:
        if match := pattern.match(message):
            return match.expand(sentence)
    text = message.removeprefix("argument ")
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _hint(message: str, program: str) -> str:
    if (match := _REQUIRED.match(message)) and "PATH" in match[1]:
        verb = program.rpartition(" ")[2]
        if verb in _VERBS_OF_MORE:
            from powertui import verbs

            return f"For example: {verbs.load(verb).EXAMPLES[0][0]}"
        return f"For the current folder: {program.removesuffix(' open')} ."
    return f"See {program} --help for what it takes."


def _without_value(words: str) -> str:
    """The first word that is not known, without what it may carry: that could be a password."""
    first = words.split(" ")[0]
    return first.partition("=")[0] if first.startswith("-") else first
