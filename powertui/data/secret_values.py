"""Access tokens and passwords that a trace holds by accident: they are never shown.

Programs put their whole environment or their command line into a trace, and traces are shared. A
value is hidden for the name that it has, or for what it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from powertui.patterns import late_pattern

_HIDDEN = "(hidden: it looks like a secret)"

_WORD = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# A name that ends in one of these words has a secret as its value: `HF_TOKEN`, `dbPassword`.
_SECRET_WORDS = frozenset(
    ("token", "secret", "password", "passwd", "passphrase", "credential", "credentials", "apikey")
)
# A "key" is one only where a word like these stands before it: `cache_key` is none.
_KEY_OWNERS = frozenset(
    ("api", "access", "secret", "private", "auth", "account", "signing", "encryption", "ssh")
)
_MAX_NAME_CHARS = 200  # a longer name is no name of a variable

# What the makers of tokens promise of their looks, so that scanners find them.
_TOKENS = late_pattern(
    r"hf_[A-Za-z0-9]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    r"|glpat-[A-Za-z0-9_-]{20,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bA(?:KIA|SIA)[0-9A-Z]{16}\b"
    r"|\bAIza[0-9A-Za-z_-]{35}"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
)
# Repetitions are bounded, so that a long text is read in one pass.
# `--api-key=…`, `--password …` and `WANDB_TOKEN=…` in a command line; `user:password@` in a URL.
_ARGUMENT = late_pattern(
    r"(?i)((?:(?<![\w-])--?[\w-]{0,60}"
    r"(?:token|secret|password|passwd|credentials?|api[-_]?key)(?:=|\s+)"
    r"|\b\w{0,60}(?:token|secret|password|passwd|credentials?|api_?key)=))(?![\s=-])\S+"
)
_URL_PASSWORD = late_pattern(r"(://[^/@\s:]{0,100}:)[^/@\s]{1,200}(?=@)")

# An environment has some hundreds of values, a few dictionaries deep. As many more take 20 ms.
_MAX_VALUES = 4096
_MAX_DEPTH = 8


def is_secret_name(name: str) -> bool:
    """Whether the value of this name is a secret, as `HF_TOKEN` and `aws_access_key` say."""
    words = [word.casefold() for word in _WORD.findall(name[:_MAX_NAME_CHARS])]
    if not words:
        return False
    if words[-1] in _SECRET_WORDS:
        return True
    # A bare KEY in capitals is a variable of an environment: `WANDB_KEY`.
    is_variable = len(words) > 1 and name.isupper()
    return words[-1] == "key" and (is_variable or not _KEY_OWNERS.isdisjoint(words[:-1]))


def shown_value(name: str, value: Any) -> Any:
    """The value as it may be shown: a secret, or the part of a text that is one, is hidden."""
    if not isinstance(value, str) or not value:
        return value
    if is_secret_name(name):
        return _HIDDEN
    text = _TOKENS.sub(_HIDDEN, value)
    text = _ARGUMENT.sub(rf"\1{_HIDDEN}", text)
    return _URL_PASSWORD.sub(rf"\1{_HIDDEN}", text)


def secret_names(name: str, value: Any) -> list[str]:
    """The names of the secrets in a value of JSON: its own, or those inside of it."""
    pairs = _values(name, value, 0)
    names = []
    for _, (inner_name, text) in zip(range(_MAX_VALUES), pairs, strict=False):
        if shown_value(inner_name, text) != text:
            names.append(inner_name)
    return names


def _values(name: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Each text in a value of JSON, with the name nearest to it."""
    if isinstance(value, str):
        yield name, value
    elif depth < _MAX_DEPTH:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from _values(str(key), inner, depth + 1)
        elif isinstance(value, list):
            for inner in value:
                yield from _values(name, inner, depth + 1)
