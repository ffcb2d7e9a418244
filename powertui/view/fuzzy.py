"""How well a few typed letters fit a name: for lists that one narrows by typing."""

from __future__ import annotations

from collections.abc import Sequence


def fuzzy_rank(typed: str, names: Sequence[str], about: str = "") -> int | None:
    """How well it fits: 0 is best, None not at all.

    The names are what a thing is called; what is said about it counts less, and letters that only
    come in this order count least: "kst" fits "kernel_stats".
    """
    words = typed.lower().split()
    if not words:
        return 0
    called = [name.lower() for name in names]
    holding = [name for name in called if _holds_all(name, words)]
    if any(name.startswith(words[0]) for name in holding):
        return 0
    if holding:
        return 1
    everything = " ".join((*called, about.lower()))
    if _holds_all(everything, words):
        return 2
    letters = "".join(words)
    fitting = [name for name in called if _in_order(letters, name)]
    if any(name.startswith(letters[0]) for name in fitting):
        return 3
    if fitting:
        return 4
    return None


def _holds_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _in_order(letters: str, name: str) -> bool:
    rest = iter(name)
    return all(letter in rest for letter in letters)
