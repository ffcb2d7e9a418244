"""What a pickle would do that is more than plain data, in a sentence for a person."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.plain import plain

HINT = (
    "powertui opens pickles that hold plain data only, as torch.cuda.memory._dump_snapshot "
    "writes them, and never runs what is in one."
)
_CALLS = {
    "R": "REDUCE",
    "b": "BUILD",
    "i": "INST",
    "o": "OBJ",
    "\x81": "NEWOBJ",
    "\x92": "NEWOBJ_EX",
    "\x82": "EXT1",
    "\x83": "EXT2",
    "\x84": "EXT4",
    "P": "PERSID",
    "Q": "BINPERSID",
    "\x97": "NEXT_BUFFER",
    "\x98": "READONLY_BUFFER",
}
_MAX_NAME = 120  # bytes that are shown of a name which a pickle would import
LOOKED_AT = 2 * _MAX_NAME  # bytes behind an opcode that may name what it would import


def problem_of(opcode: int, following: bytes, texts: Sequence[str]) -> str:
    """What is wrong with a pickle that has this opcode, before these bytes and with these texts on
    its stack; "" for an opcode that calls nothing.
    """
    letter = chr(opcode)
    if letter == "c":
        lines = following.split(b"\n")[:2]
        what = f"would import {_shown(b'.'.join(lines))} (GLOBAL)"
    elif letter == "\x93":
        what = f"would import {_shown('.'.join(texts).encode('utf-8', 'replace'))} (STACK_GLOBAL)"
    elif letter in _CALLS:
        what = f"would run code ({_CALLS[letter]})"
    else:
        return ""
    return f"is a pickle that {what}: it was not run"


def _shown(name: bytes) -> str:
    return plain(name.decode("utf-8", "replace"), _MAX_NAME)
