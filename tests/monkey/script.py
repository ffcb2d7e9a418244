"""What a person (or a cat) does at a terminal, as words that can be printed, typed again and taken
away one by one.

A word is a character, the name of a key (`enter`, `ctrl+p`), `idle`, or something with a colon:
`size:80x24`, `click:10,5`, `drag:1,2,30,4`, `wheel:10,5,down`, `paste:27.31s`, `raw:%1b[O`,
`rest:20` (milliseconds). Words without a rest between them arrive at once, as they do over a slow
line.
"""

from __future__ import annotations

import random
import urllib.parse

from powertui.terminal import keymap

KEYS = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "insert": "\x1b[2~",
    "delete": "\x1b[3~",
    "enter": "\r",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "escape": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "f1": "\x1bOP",
    "f5": "\x1b[15~",
    "shift+left": "\x1b[1;2D",
    "shift+right": "\x1b[1;2C",
    "shift+up": "\x1b[1;2A",
    "ctrl+left": "\x1b[1;5D",
    "ctrl+end": "\x1b[1;5F",
    "alt+x": "\x1bx",
}
CONTROL = "abcdefghijklnopqrstuvwxyz"
SHORT = {"q", "ctrl+c", "ctrl+q"}  # end the episode: seldom
TEXTS = (
    "27.31s",
    "1s-2s",
    "step 3",
    "epoch 1 step 1-2",
    "epoch 9",
    "zoom",
    "show",
    "0",
    "-1s",
    "1e999s",
    "((",
    "/(/",
    "/a.*b/",
    "conv",
    "MatMul",
    "nothing like it",
    "größe",
    "\u2003\u200b\u202e",
    "界界",
    "[b]",
    "\x07",
    "%s",
    "2 2",
)
PHRASES: tuple[tuple[str, ...], ...] = (
    ("colon", "TEXT", "enter"),
    ("ctrl+p", "TEXT", "down", "enter"),
    ("colon", "enter"),
    ("colon", "down", "down", "enter"),
    ("colon", "escape"),
    ("colon", "colon", "up", "pageup"),
    ("slash", "TEXT", "enter", "n", "n", "N"),
    ("slash", "TEXT", "escape"),
    ("slash", "enter"),
    ("F", "TEXT", "enter"),
    ("t", "o", "o", "down", "enter"),
    ("t", "escape"),
    ("i", "x", "down", "i"),
    ("m", "RUN", "m"),
    ("e", "down", "enter", "enter"),
    ("e", "escape"),
    ("e", "enter"),
    ("1", "2", "3"),
    ("3", "4", "enter"),
    ("5", "down", "enter", "escape"),
    ("6", "o", "enter"),
    ("4", "enter"),
    ("4", "p", "u"),
    ("7", "right_square_bracket", "o"),
    ("!", "down", "escape"),
    ("question_mark", "tab", "escape"),
    ("question_mark", "escape"),
    ("question_mark", "question_mark", "pagedown"),
    ("backspace", "pagedown", "pageup", "enter"),
    ("backspace", "enter"),
    ("backspace", "slash", "TEXT", "pageup"),
    ("r", "pageup"),
    ("P", "P", "O"),
    ("P", "w", "w", "O", "0"),
    ("T", "down", "enter", "escape"),
    ("P", "RUN", "P", "m", "RUN", "m"),
    ("v", "v"),
    ("w", "w", "w", "w", "w", "w"),
    ("f", "0"),
    ("ctrl+z",),
    ("less_than_sign", "p"),
)
NAMED = {
    "colon": ":",
    "slash": "/",
    "question_mark": "?",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
    "minus": "-",
    "exclamation_mark": "!",
}
NAMED |= {
    "equals_sign": "=",
    "full_stop": ".",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}
NAMED |= {
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
}


def _vocabulary() -> tuple[str, ...]:
    """Every key that means something anywhere, and many that mean nothing."""
    known = dict.fromkeys(NAMED.get(key, key) for action in keymap.ACTIONS for key in action.keys)
    return tuple(
        key
        for key in (*known, *"1234567890", *KEYS, *"QZ!$^~|é界", *(f"ctrl+{c}" for c in CONTROL))
        if key not in SHORT
    )


WORDS = _vocabulary()


def is_key(word: str) -> bool:
    """Whether a word counts as a key."""
    return len(word) == 1 or (":" not in word and word != "idle")


def encode(word: str) -> bytes:
    """The bytes that a terminal sends for it; b"" for what is no input."""
    if word in KEYS:
        return KEYS[word].encode()
    if len(word) == 1:
        return word.encode()
    kind, _, rest = word.partition(":")
    if kind == "paste":
        return f"\x1b[200~{urllib.parse.unquote(rest)}\x1b[201~".encode()
    if kind == "raw":
        return urllib.parse.unquote_to_bytes(rest)
    if kind in ("click", "drag", "wheel"):
        return _mouse(kind, rest.split(",")).encode()
    if word.startswith("ctrl+") and len(word) == 6:
        return bytes([ord(word[5].upper()) & 0x1F])
    if kind in ("rest", "size") or word == "idle":
        return b""
    raise ValueError(f"{word!r} is no word of the monkey's")


def _mouse(kind: str, parts: list[str]) -> str:
    def report(code: int, x: int, y: int, end: str = "M") -> str:
        return f"\x1b[<{code};{x + 1};{y + 1}{end}"

    extra = 16 * ("ctrl" in parts) + 4 * ("shift" in parts)
    x, y = int(parts[0]), int(parts[1])
    if kind == "wheel":
        return report(64 + ("up", "down", "left", "right").index(parts[2]) + extra, x, y)
    if kind == "click":
        return report(extra, x, y) + report(extra, x, y, "m")
    to_x, to_y = int(parts[2]), int(parts[3])
    middle = ((x + to_x) // 2, (y + to_y) // 2)
    return (
        report(0, x, y) + report(32, *middle) + report(32, to_x, to_y) + report(0, to_x, to_y, "m")
    )


def any_size(rng: random.Random) -> tuple[int, int]:
    """From one cell to more than any screen has; often a usual one."""
    if rng.random() < 0.5:
        return rng.choice([(80, 24), (120, 30), (200, 50), (100, 20), (60, 15)])
    if rng.random() < 0.4:
        return rng.randint(1, 30), rng.randint(1, 12)
    return rng.randint(1, 300), rng.randint(1, 100)


def generate(rng: random.Random, keys: int, size: tuple[int, int]) -> list[str]:
    """About so many keys, with everything else between them."""
    out: list[str] = []
    count, burst = 0, 1
    haste = rng.choice([1, 5, 20])  # some look at what they did, others type ahead
    while count < keys:
        many = _some(rng, size)
        if many and many[0].startswith("size:"):
            width, _, height = many[0][5:].partition("x")
            size = int(width), int(height)
        for word in many:
            out.append(word)
            count += is_key(word)
            burst -= 1
            if burst <= 0:
                out.append(
                    rng.choice(
                        [
                            "rest:0",
                            "rest:0",
                            "rest:1",
                            "rest:5",
                            "idle",
                            "idle",
                            f"rest:{rng.randint(1, 60)}",
                        ]
                    )
                )
                burst = haste * rng.choice([1, 1, 2, 3, 5, 8, 13])
    return out


def _some(rng: random.Random, size: tuple[int, int]) -> list[str]:
    """The next few words."""

    def at() -> str:
        return f"{rng.randrange(size[0])},{rng.randrange(size[1])}"

    dice = rng.random()
    if dice < 0.55:
        word = rng.choice(WORDS)
        return [word] * (rng.choice([1, 1, 1, 2, 4, 12]) if word not in SHORT else 1)
    if dice < 0.82:
        return [word for part in rng.choice(PHRASES) for word in _phrase(rng, part)]
    if dice < 0.86:
        return [chr(rng.randrange(32, 127)) for _ in range(rng.randint(1, 12))]
    if dice < 0.90:
        return ["click:" + at() + rng.choice(["", "", ",ctrl", ",shift"])] * rng.choice([1, 1, 2])
    if dice < 0.92:
        return [f"drag:{at()},{at()}"]
    if dice < 0.95:
        return [
            (
                f"wheel:{at()},"
                f"{rng.choice(['up', 'down', 'left', 'right'])}{rng.choice(['', ',ctrl', ',shift'])}"
            )
        ] * rng.randint(1, 4)
    if dice < 0.97:
        return ["paste:" + urllib.parse.quote(rng.choice([*TEXTS, "a\nb\n", "x" * 3000, ""]))]
    if dice < 0.99:
        width, height = any_size(rng)
        return [f"size:{width}x{height}"]
    if dice < 0.995:
        return [
            rng.choice(
                [
                    "raw:%1b[I",
                    "raw:%1b[O",
                    "raw:%1b[999~",
                    "raw:%1b[1;1R",
                    "raw:%1b[<99;500;500M",
                    "raw:%ff%fe",
                    "raw:%00",
                ]
            )
        ]
    return [rng.choice(sorted(SHORT))] if rng.random() < 0.5 else ["f1"]


def _phrase(rng: random.Random, part: str) -> list[str]:
    if part == "TEXT":
        return list(rng.choice(TEXTS).replace(" ", " "))
    if part == "RUN":
        return [rng.choice("[]dawhl,.")] * rng.randint(0, 20)
    return [NAMED.get(part, part)]


def text(words: list[str]) -> str:
    """As one argument of a command line."""
    return " ".join({" ": "space", "\x07": "ctrl+g"}.get(word, word) for word in words)


def parse(line: str) -> list[str]:
    """The words of such an argument."""
    return line.split(" ") if line else []
