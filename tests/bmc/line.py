"""A line between a BMC and its client that damages packets, and on which somebody else sends.

    bmc.line = Line(seed=1, flip=0.2)            # one bit of every fifth packet, both ways
    bmc.line = Line(seed=1, stray=1.0)           # a packet of somebody else before each answer

What is sent by somebody else knows the protocol and nothing of the password: noise, pieces, old
answers, damaged and relabelled copies of the answer that is to come, refusals.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Sequence


class Line:
    KINDS = (
        "noise",
        "short",
        "ping",
        "truncated",
        "damaged",
        "old",
        "session",
        "sequence",
        "unsealed",
        "refusal",
        "empty",
    )

    def __init__(
        self, *, seed: int, flip: float = 0.0, stray: float = 0.0, kinds: Sequence[str] = KINDS
    ) -> None:
        self._random = random.Random(seed)
        self.flip, self.stray, self._kinds = flip, stray, kinds
        self._old: list[bytes] = []
        self.done: Counter[str] = Counter()

    def incoming(self, packet: bytes) -> bytes:
        return self._damaged(packet, "request damaged")

    def outgoing(self, answer: bytes) -> list[bytes]:
        packets = []
        if self._random.random() < self.stray:
            kind = self._random.choice(self._kinds)
            self.done[kind] += 1
            packets.append(self._foreign(kind, answer))
        self._old = [*self._old[-63:], answer]
        return [*packets, self._damaged(answer, "answer damaged")]

    def _damaged(self, packet: bytes, name: str) -> bytes:
        if self._random.random() >= self.flip:
            return packet
        self.done[name] += 1
        return self._with_flip(packet, 0)

    def _with_flip(self, packet: bytes, first: int) -> bytes:
        bit = self._random.randrange(first * 8, len(packet) * 8)
        changed = bytearray(packet)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)

    def _foreign(self, kind: str, answer: bytes) -> bytes:
        made = bytearray(answer)
        if kind == "noise":
            return self._random.randbytes(self._random.randrange(1, 300))
        if kind == "short":
            return answer[: self._random.randrange(1, 5)]
        if kind == "ping":
            return bytes.fromhex("0600ff06000011be40000010000011be00000000810000000000000000")
        if kind == "truncated":
            return answer[: self._random.randrange(4, len(answer))]
        if kind == "damaged":
            return self._with_flip(answer, 4)
        if kind == "old":
            return self._random.choice(self._old or [answer[:-1]])
        if kind == "session" and len(answer) > 16:
            struct.pack_into("<I", made, 6, self._random.randrange(1 << 32))
        elif kind == "sequence" and len(answer) > 16:
            struct.pack_into("<I", made, 10, self._random.randrange(1 << 32))
        elif (
            kind == "unsealed" and len(answer) > 16
        ):  # its content in the clear, with another reading in it
            made = bytearray(b"\x06\x00\xff\x07\x06\x00" + answer[6:14] + b"\x08\x00" + bytes(8))
        elif kind == "refusal" and len(answer) > 18 and answer[5] in (0x11, 0x13, 0x15):
            made[17] = self._random.choice((0x01, 0x02, 0x09, 0x0D, 0x0F, 0x11))
        else:
            return b"\x00"
        return bytes(made)
