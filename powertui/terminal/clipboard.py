"""Copying to the person's own clipboard, through the terminal (OSC 52): it works over SSH, where no
other clipboard does.
"""

from __future__ import annotations

import base64

# Terminals cut or drop longer sequences (xterm, tmux and screen have limits of their own); facts of
# a selection are far shorter.
_MAX_CLIPBOARD_BYTES = 74_000


def osc52(text: str, term: str = "") -> str:
    """The escape sequence that puts a text on the clipboard; "" when it is too long to arrive
    whole.
    """
    data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(data) > _MAX_CLIPBOARD_BYTES:
        return ""
    sequence = f"\x1b]52;c;{data}\x07"
    if term.startswith("screen") and not term.startswith("screen.xterm"):
        # GNU screen passes a device control string through to the outer terminal, 768 bytes at a
        # time. tmux needs none of that.
        parts = [sequence[i : i + 700] for i in range(0, len(sequence), 700)]
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return sequence
