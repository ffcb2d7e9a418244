"""Traces of IBM's AIU with known power, in the dialects that its tools write, and the log that
`aiu-smi` would print beside them.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

RATE = 557_060_000  # cycles a second, as in the public files
PER_WATT = 512 / 12  # of the sum for each cycle
UPTIME_US = 1_475_000_719_972  # the zero of the public files
_FIRST_SUM, _FIRST_CYCLES = 4_294_000_000, 4_200_000_000  # both wrap soon
_HEAD = """\
#ID Date      Time      hostcpu hostmem    pwr  gtemp   busy    rdmem    wrmem
#   YYYYMMDD  HH:MM:SS        %       %      W      C      %     GB/s     GB/s
"""


class Op(NamedTuple):
    """One op on a card: when it ran (ns of the trace, cycles) and the mean power up to its end."""

    card: int
    name: str
    start_ns: int
    end_ns: int
    cycles: tuple[int, int, int]  # the last op's end, its own start and end
    total: int
    watts: float

    @property
    def joules(self) -> float:
        return self.watts * (self.end_ns - self.start_ns) / 1e9


def ops(seconds: float, cards: int = 1, seed: int = 1) -> Iterator[Op]:
    """Ops that follow each other at 0.5 to 1.8 ms; the first of each card is where its sum
    begins.
    """
    chance = random.Random(seed)
    for card in range(cards):
        begun = _FIRST_CYCLES + card * 1000
        total, before, number = _FIRST_SUM, begun, 0
        while before - begun < seconds * RATE:
            start = before + round(chance.uniform(0.2e-3, 0.6e-3) * RATE)
            end = start + round(chance.uniform(0.3e-3, 1.2e-3) * RATE)
            usual = 12 + 6 * (int((before - begun) / RATE) // 2 % 2)
            rise = round((usual + chance.uniform(-1, 1)) * (end - before) * PER_WATT)
            total += rise
            start_ns = round((start - begun) / RATE * 1e9)
            yield Op(
                card=card,
                name=f"op_{number % 7}",
                start_ns=start_ns,
                end_ns=start_ns + round((end - start) / RATE * 1e9),
                cycles=(before, start, end),
                total=total,
                watts=rise / (end - before) / PER_WATT,
            )
            before, number = end, number + 1


def _us(ns: int, base_us: int) -> str:
    """A ts with three decimals, too long for a float."""
    return f"{base_us + ns // 1000}.{ns % 1000:03d}"


def _registers(op: Op) -> dict[str, int]:
    before, start, end = (cycles % 2**32 for cycles in op.cycles)
    total = op.total % 2**32
    return {"Power": total, "TS1": before, "TS2": before, "TS3": start, "TS4": end, "TS5": end + 6}


def write_flex(path: Path, made: list[Op], base_us: int = UPTIME_US) -> None:
    """As the card's runtime writes it: begins and ends, `attr`, every other number hexadecimal."""
    lines = []
    for number, op in enumerate(made):
        registers = _registers(op).items()
        attr = {key: hex(value) if number % 2 else str(value) for key, value in registers}
        same = f'"name":"{op.name} Cmpt Exec","pid":{op.card},"tid":15514734831341844875'
        for phase, ns in (("B", op.start_ns), ("E", op.end_ns)):
            lines.append(
                f'{{"attr":{json.dumps(attr)},{same},"ph":"{phase}","ts":{_us(ns, base_us)}}}'
            )
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def write_kineto(
    path: Path, made: list[Op], base_us: int = UPTIME_US, *, by_torch: bool = False
) -> None:
    """As acelyzer writes it, or torch's profiler with the list of cycles."""
    lines = []
    for op in made:
        registers = _registers(op)
        args: dict[str, Any] = {key: str(value) for key, value in registers.items()}
        if by_torch:
            total = registers.pop("Power")
            args = {"cycles_ts": list(registers.values()), "charge": total, "stream": 1}
        args |= {"device": op.card}
        length = op.end_ns - op.start_ns
        lines.append(
            f'{{"ph":"X","name":"{op.name}","cat":"kernel","pid":{op.card},"tid":1,'
            f'"ts":{_us(op.start_ns, base_us)},"dur":{_us(length, 0)},"args":{json.dumps(args)}}}'
        )
    cards = sorted({op.card for op in made})
    devices = [{"id": card, "type": "AIU", "name": "AIU", "core": "PT Array"} for card in cards]
    path.write_text(
        f'{{"schemaVersion":1,"deviceProperties":{json.dumps(devices)},"traceEvents":[\n'
        + ",\n".join(lines)
        + "\n]}\n"
    )


def write_log(path: Path, made: list[Op], zero_s: int, scale: float, noise_w: float = 0.2) -> None:
    """What `aiu-smi` prints at the end of each whole second: the mean of that second, times a
    scale.
    """
    chance = random.Random(5)
    joules: dict[tuple[int, int], float] = defaultdict(float)
    for op in made:
        begun = _FIRST_CYCLES + op.card * 1000
        lo, hi = (op.cycles[0] - begun) / RATE, (op.cycles[2] - begun) / RATE
        for second in range(int(lo), int(hi) + 1):
            part = min(hi, second + 1) - max(lo, second)
            joules[second, op.card] += op.watts * max(0.0, part)
    lines = []
    whole = max(second for second, _ in joules)
    for (second, card), drawn in sorted(joules.items()):
        if second < whole:
            moment = datetime.fromtimestamp(zero_s + second + 1, timezone.utc)
            watts = drawn * scale + chance.gauss(0, noise_w)
            lines.append(
                f"  {card} {moment:%Y%m%d  %H:%M:%S}     15.0     5.4   {watts:.1f}   30.8      0"
                "    0.000    0.000\n"
            )
    path.write_text(_HEAD + "".join(lines))
