"""Completions for bash, zsh and fish, and the man page: all made from the arguments of the verbs,
so that they cannot disagree.

`powertui --completions bash` prints a script for that shell; `--completions man` the man page. The
scripts ask for what changes: `--completions hosts` prints the BMCs of the config file,
`--completions runs WORDS` and `run-hosts WORDS` what the path among the words of a command line
holds. The package installs them
(share/); `scripts/completions.py` writes them there.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from powertui import verbs
from powertui.errors import UsageError
from powertui.value_types import dataclass

SHELLS = ("bash", "zsh", "fish")
_HOSTS = "hosts"  # what completes --host where it means a BMC, and no host of a run
_RUNS = "runs"
_RUN_HOSTS = "run-hosts"
_ASKED = (_HOSTS, _RUNS, _RUN_HOSTS)  # what a script asks the program for
_KINDS = (*SHELLS, "man", *_ASKED)
_FILES = "files"


@dataclass(frozen=True)
class Option:
    """One option of a verb.

    `values` are its choices, or _FILES, or one of _ASKED, or nothing that could be completed.
    """

    names: tuple[str, ...]
    help: str
    takes: str  # what stands for its value, "" for a flag
    values: tuple[str, ...] | str = ""


@dataclass(frozen=True)
class DescribedVerb:
    """One verb, as the scripts and the man page know it."""

    name: str
    help: str
    options: tuple[Option, ...]
    paths: bool
    examples: tuple[tuple[str, str], ...]


def table(parser: argparse.ArgumentParser) -> list[DescribedVerb]:
    """Every verb, from its own parser."""
    tree = next(
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    out = []
    for name, subparser in tree.choices.items():
        actions = [action for action in subparser._actions if action.help is not argparse.SUPPRESS]
        options = tuple(_option(action) for action in actions if action.option_strings)
        paths = any(not action.option_strings for action in actions)
        verb = verbs.load(name)
        out.append(
            DescribedVerb(
                name=name,
                help=verb.HELP,
                options=options,
                paths=paths,
                examples=verb.EXAMPLES,
            )
        )
    return out


def _option(action: argparse.Action) -> Option:
    flag = action.nargs == 0
    takes = (
        ""
        if flag
        else str(
            action.metavar or (",".join(map(str, action.choices)) if action.choices else "VALUE")
        )
    )
    values: tuple[str, ...] | str = (
        tuple(str(choice) for choice in action.choices) if action.choices and not flag else ""
    )
    if not values and not flag:
        values = _values(action.option_strings[-1], takes)
    return Option(
        tuple(action.option_strings), (action.help or "").replace("%%", "%"), takes, values
    )


def _values(option: str, takes: str) -> tuple[str, ...] | str:
    """What an option takes that its parser has no list of."""
    if option == "--tool":
        from powertui.data.tools import registry

        return (*(tool.name for tool in registry.TOOLS), "list")
    if option == "--page":
        from powertui.screens import SCREENS

        return tuple(screen.title.lower() for screen in SCREENS if screen.key)
    if option == "--host":
        return _HOSTS if takes.startswith("BMC") else _RUN_HOSTS
    if option == "--run":
        return _RUNS
    return _FILES if takes in ("FILE", "PATH", "DIR", "FOLDER") else ""


def tell(kind: str, parser: argparse.ArgumentParser, words: Sequence[str] = ()) -> str:
    """What `--completions KIND` prints. `words` is the command line that is being written."""
    if kind in _ASKED:
        return "".join(f"{name}\n" for name in _asked_names(kind, words))
    makers = {"bash": _bash, "zsh": _zsh, "fish": _fish, "man": _man}
    if kind not in makers:
        raise UsageError(
            f"There are no completions for {kind!r}.", hint=f"There are: {', '.join(_KINDS)}."
        )
    return makers[kind](table(parser))


def _asked_names(kind: str, words: Sequence[str]) -> list[str]:
    """The names that a script asks for, each on one line: nothing where they cannot be had."""
    from powertui.errors import PowertuiError

    if kind == _HOSTS:
        from powertui import config

        return list(config.load().hosts)
    path = _path_among(words)
    if not path:
        return []
    from powertui.data import logdir

    try:
        runs = logdir.scan(path).runs
    except (OSError, PowertuiError):
        return []
    if kind == _RUNS:
        names = [run.name for run in runs]
    else:
        names = [file.host for run in runs for file in run.profiles if file.host]
    # A name with a control character could be more than one line, or steer the terminal.
    return [name for name in dict.fromkeys(names) if name.isprintable()]


def _path_among(words: Sequence[str]) -> str:
    """The folder or file that a command line names. Nothing is fetched from another machine."""
    for word in words[1:]:
        if word.startswith("-") or word in verbs.VERBS:
            continue
        path = Path(word.strip("'\"").replace("\\ ", " "))
        if word.startswith("~"):
            try:
                path = path.expanduser()
            except RuntimeError:  # there is no such user
                continue
        if path.exists():
            return str(path)
    return "."


# ── shells ───────────────────────────────────────────────────────────────────────────────────────


def _bash(verbs: Sequence[DescribedVerb]) -> str:
    """Words from the verb that stands on the line; without one, those of `open`."""
    names = " ".join(verb.name for verb in verbs)
    lines = [
        "# bash completion of powertui: made by `powertui --completions bash`",
        # What is typed, as the shell will read it: \'a b\', "a b and a\\ b begin the name "a b".
        "_powertui_typed() {",
        "    case $cur in",
        "        \\'*) typed=${cur#?} ;;",
        '        \\"*) IFS= read -d "" typed <<< "${cur#?}" ;;',
        '        *) IFS= read -d "" typed <<< "$cur" ;;',
        "    esac",
        "    typed=${typed%$'\\n'}",
        "}",
        # Readline quotes names of files; words of `$(compgen)` would be cut at blanks.
        "_powertui_files() {",
        "    local name typed",
        "    _powertui_typed",
        '    while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$typed")',
        "    compopt -o filenames 2>/dev/null",
        "}",
        "_powertui_ask() {",
        # Names of runs come from files: `compgen -W` would run a $(command) in them.
        "    local name typed kind=$1",
        "    shift",
        "    _powertui_typed",
        "    while IFS= read -r name; do",
        '        [[ $name == "$typed"* ]] || continue',
        "        case $cur in",
        # Behind an open quote a name stands as it is, or not at all.
        """            \\'*) [[ $name == *\\'* ]] || COMPREPLY+=("$name") ;;""",
        """            \\"*) [[ $name == *[\\"\\$\\`\\\\]* ]] || COMPREPLY+=("$name") ;;""",
        '            *) COMPREPLY+=("$(printf %q "$name")") ;;',
        "        esac",
        '    done < <(powertui --completions "$kind" "$@" 2>/dev/null)',
        "}",
        "_powertui() {",
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=open word",
        (
            f'    for word in "${{COMP_WORDS[1]}}"; do case $word in '
            f"{'|'.join(v.name for v in verbs)}) verb=$word ;; esac; done"
        ),
        "    COMPREPLY=()",
        # --tool=NAME is three words for bash.
        '    [[ $prev == "=" ]] && prev=${COMP_WORDS[COMP_CWORD-2]}',
        '    [[ $cur == "=" ]] && cur=',
        '    case "$verb:$prev" in',
    ]
    for verb in verbs:
        for option in verb.options:
            if option.takes:
                which = "|".join(f"{verb.name}:{name}" for name in option.names)
                lines.append(f"        {which}) {_bash_values(option)}; return ;;")
    lines += ["    esac", "    if [[ $cur == -* ]]; then", '        case "$verb" in']
    for verb in verbs:
        words = " ".join(
            name for option in verb.options for name in option.names if name.startswith("--")
        )
        lines.append(
            f'            {verb.name}) COMPREPLY=($(compgen -W {_quoted(words)} -- "$cur")) ;;'
        )
    return "\n".join(
        [
            *lines,
            "        esac",
            "        return",
            "    fi",
            f'    ((COMP_CWORD == 1)) && COMPREPLY=($(compgen -W {_quoted(names)} -- "$cur"))',
            "    _powertui_files",
            "    return 0",
            "}",
            "complete -F _powertui powertui",
            "",
        ]
    )


def _bash_values(option: Option) -> str:
    if option.values in _ASKED:
        return f'_powertui_ask {option.values} "${{COMP_WORDS[@]}}"'
    if option.values == _FILES:
        return "_powertui_files"
    return (
        f'COMPREPLY=($(compgen -W {_quoted(" ".join(option.values))} -- "$cur"))'
        if option.values
        else "COMPREPLY=()"
    )


def _zsh(verbs: Sequence[DescribedVerb]) -> str:
    """`_arguments` for each verb."""
    lines = [
        "#compdef powertui",
        "# zsh completion of powertui: made by `powertui --completions zsh`",
        "_powertui_ask() {",
        '    compadd -- ${(f)"$(powertui --completions $1 "${(@Q)words}" 2>/dev/null)"}',
        "}",
        "_powertui() {",
    ]
    lines += ["    local -a verbs=("]
    lines += [f"        {_quoted(f'{verb.name}:{verb.help}')}" for verb in verbs]
    lines += [
        "    )",
        "    local verb=open",
        f"    case $words[2] in {'|'.join(v.name for v in verbs)}) verb=$words[2] ;; esac",
    ]
    lines += [
        "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then",
        "        _describe verb verbs",
        "        _files",
        "        return",
    ]
    lines += ["    fi", "    case $verb in"]
    for verb in verbs:
        lines.append(f"        {verb.name}) _arguments -S \\")
        for option in verb.options:
            for name in option.names:
                lines.append(f"            {_quoted(_zsh_option(name, option))} \\")
        lines.append("            '*:path:_files' ;;")
    return "\n".join(
        [
            *lines,
            "    esac",
            "}",
            (
                'if [[ $funcstack[1] == _powertui ]]; then _powertui "$@"; else compdef _powertui '
                "powertui; fi"
            ),
            "",
        ]
    )


def _zsh_option(name: str, option: Option) -> str:
    text = (
        option.help.replace("\\", "\\\\")
        .replace("[", "\\[")
        .replace("]", "\\]")
        .replace(":", "\\:")
    )
    if not option.takes:
        return f"*{name}[{text}]"
    if option.values in _ASKED:
        what = "run" if option.values == _RUNS else "host"
        return f"*{name}=[{text}]:{what}:{{_powertui_ask {option.values}}}"
    if option.values == _FILES:
        action = "_files"
    elif option.values:
        action = f"({' '.join(option.values)})"
    else:
        action = " "
    takes = option.takes.lower().replace(":", " ").replace("[", "").replace("]", "")
    return f"*{name}=[{text}]:{takes}:{action}"


def _fish(verbs: Sequence[DescribedVerb]) -> str:
    """One line an option. Without a verb, those of `open`."""
    every = " ".join(verb.name for verb in verbs)
    lines = [
        "# fish completion of powertui: made by `powertui --completions fish`",
        "complete -c powertui -e",
    ]
    none = f"not __fish_seen_subcommand_from {every}"
    for verb in verbs:
        lines.append(
            f"complete -c powertui -n {_quoted('__fish_use_subcommand')} -a {verb.name} -d "
            f"{_quoted(verb.help)}"
        )
        where = f"__fish_seen_subcommand_from {verb.name}" + (
            f"; or {none}" if verb.name == "open" else ""
        )
        for option in verb.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            if not option.takes:
                takes = ""
            elif option.values == _FILES:
                takes = " -r"
            else:
                takes = " -x"
            if option.values in _ASKED:
                asked = f"powertui --completions {option.values} (commandline -opc) 2>/dev/null"
                takes += f" -a '({asked})'"
            elif option.values and option.values != _FILES:
                takes += f" -a {_quoted(' '.join(option.values))}"
            lines.append(
                f"complete -c powertui -n {_quoted(where)} {names}{takes} -d {_quoted(option.help)}"
            )
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# ── the man page ─────────────────────────────────────────────────────────────────────────────────


def _man(verbs: Sequence[DescribedVerb]) -> str:
    """man(7), without macros that only one formatter has."""
    lines = [
        '.\\" made by `powertui --completions man`',
        ".TH POWERTUI 1",
        ".SH NAME",
        "powertui \\- where a training run's time and energy went, in a terminal",
        ".SH SYNOPSIS",
        ".B powertui",
        "[VERB] [PATH ...] [OPTIONS]",
        ".SH DESCRIPTION",
        _roff(
            "Reads TensorBoard, PyTorch and Chrome profiles and power logs, samples a server's "
            "power, and shows both on one"
        ),
        _roff("clock."),
        _roff("Without a verb, powertui opens PATH in screens. In them, ? lists the keys."),
        ".SH VERBS",
    ]
    for verb in verbs:
        lines += [
            f".SS powertui {_roff(verb.name)}",
            _roff(verb.help[0].upper() + verb.help[1:] + "."),
        ]
        for option in verb.options:
            takes = ""
            if option.takes:
                takes = f" \\fI{_roff(option.takes)}\\fR"
            lines += [
                ".TP",
                ", ".join(f"\\fB{_roff(name)}\\fR" for name in option.names) + takes,
                _roff(option.help),
            ]
        lines += [".PP", "Examples:"]
        for line, text in verb.examples:
            lines += [".TP", f"\\fB{_roff(line)}\\fR", _roff(text)]
    lines += [
        ".SH EXIT STATUS",
        (
            "0 done, 1 failed, 2 wrong usage or no terminal, 3 nothing readable, 130, 143 or 129 "
            "interrupted. Of check: 0 within, 1 above, 3 cannot say."
        ),
        "",
    ]
    return "\n".join(lines)


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in ".'" else text
