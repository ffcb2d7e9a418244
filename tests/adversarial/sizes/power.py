"""Power logs that are large in one respect."""

from __future__ import annotations

from collections.abc import Callable

from tests.adversarial.sizes.json_traces import blanks
from tests.adversarial.sizes.shapes import Pieces, Shape, joined


def _table(
    head: Callable[[int], str], row: Callable[[int, int], str], rows: Callable[[int], int]
) -> Callable[[int], Pieces]:
    def pieces(count: int) -> Pieces:
        yield head(count).encode() + b"\n"
        yield from joined((row(count, i) for i in range(rows(count))), "\n")
        yield b"\n"

    return pieces


def _columns(count: int) -> str:
    return "time," + ",".join(f"gpu{i}_power_w" for i in range(count))


def _stamp(i: int) -> str:
    return f"{1_700_000_000 + i}"


_CSV = "power.csv"
POWER = (
    Shape(
        "power: columns",
        _CSV,
        _table(_columns, lambda n, i: f"{_stamp(i)}" + ",100" * n, lambda n: 3),
        100_000,
    ),
    Shape(
        "power: devices",
        _CSV,
        _table(lambda n: "time,gpu,power_w", lambda n, i: f"{_stamp(i)},{i},100", lambda n: n),
        1_000_000,
    ),
    Shape(
        "power: devices with three readings",
        _CSV,
        _table(
            lambda n: "time,gpu,power_w",
            lambda n, i: f"{_stamp(i * 3 // n)},{i % (n // 3)},100",
            lambda n: n,
        ),
        300_000,
    ),
    Shape(
        "power: hosts",
        _CSV,
        _table(lambda n: "time,host,power_w", lambda n, i: f"{_stamp(i)},h{i},100", lambda n: n),
        1_000_000,
    ),
    Shape(
        "power: one line",
        _CSV,
        lambda n: iter([b"time,power_w\n", b"1" * n, b"\n"]),
        200 << 20,
        small=1 << 20,
    ),
    Shape(
        "power: one line of commas",
        _CSV,
        lambda n: iter([b"time,power_w\n", b"," * n, b"\n"]),
        64 << 20,
        small=1 << 16,
    ),
    Shape(
        "power: head of commas",
        _CSV,
        lambda n: iter([b"time,power_w", b"," * n, b"\n1,2\n2,3\n"]),
        64 << 20,
        small=1 << 16,
    ),
    Shape("power: blanks alone", _CSV, blanks, 1 << 30, small=1 << 20),
    Shape(
        "power: empty lines",
        _CSV,
        lambda n: iter([b"time,power_w\n1,2\n", b"\n" * n, b"2,3\n"]),
        200 << 20,
        small=1 << 16,
    ),
    Shape(
        "power: empty lines before the head",
        _CSV,
        lambda n: iter([b"\n" * n, b"time,power_w\n1,2\n2,3\n"]),
        200 << 20,
        small=1 << 16,
    ),
    Shape(
        "power: titles",
        _CSV,
        _table(
            lambda n: "time,power_w", lambda n, i: f"{_stamp(i)},100\ntime,power_w", lambda n: n
        ),
        500_000,
    ),
    Shape(
        "power: titles that change",
        _CSV,
        _table(
            lambda n: "time,power_w", lambda n, i: f"{_stamp(i)},100\ntime,power{i}_w", lambda n: n
        ),
        300_000,
    ),
    Shape(
        "power: units",
        _CSV,
        _table(lambda n: "time,power_w", lambda n, i: f"{_stamp(i)},100 W{i}", lambda n: n),
        500_000,
    ),
    Shape(
        "power: notes",
        _CSV,
        _table(lambda n: "# note", lambda n, i: f"# note {i}: {i}", lambda n: n),
        1_000_000,
    ),
    Shape(
        "power: prometheus series",
        "power.prom",
        _table(
            lambda n: "# TYPE DCGM_FI_DEV_POWER_USAGE gauge",
            lambda n, i: f'DCGM_FI_DEV_POWER_USAGE{{gpu="{i}"}} 100 1700000000000',
            lambda n: n,
        ),
        300_000,
    ),
    Shape(
        "power: influx series",
        "power.lp",
        _table(
            lambda n: "",
            lambda n, i: f"power,host=h{i} watts=100 {1_700_000_000 + i}000000000",
            lambda n: n,
        ),
        300_000,
    ),
    Shape(
        "power: JSON lines of keys",
        "power.jsonl",
        _table(
            lambda n: '{"time":1700000000,"power_w":100}',
            lambda n, i: f'{{"time":{_stamp(i)},"gpu{i}_power_w":100}}',
            lambda n: n,
        ),
        100_000,
    ),
    Shape("power: JSON nest", "power.json", lambda n: iter([b"[" * n, b"]" * n]), 1_000_000),
    Shape(
        "power: JSON objects",
        "power.json",
        _table(
            lambda n: "[",
            lambda n, i: f'{{"time":{_stamp(i)},"power_w":100}}' + ("," if i + 1 < n else "]"),
            lambda n: n,
        ),
        500_000,
    ),
)
