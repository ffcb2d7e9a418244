"""Answers of a broken Prometheus, by a generator: whatever comes, no reading may be one that the
server's samples do not hold.

    python -m tests.fuzz.prometheus_answers 100000
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from powertui.errors import PowertuiError
from powertui.power_server import PowerQuestion
from powertui.sampler import prometheus_fetch
from powertui.sampler.http import Reply, parse
from powertui.sampler.prometheus import PrometheusSource
from powertui.sampler.prometheus_fetch import PrometheusPower
from powertui.sampler.prometheus_server import PrometheusConnection
from powertui.sampler.source import Options, open_source

METRIC = "ipmi_dcmi_power_consumption_watts"
NO_NUMBERS = (
    "NaN", "+Inf", "-Inf", "", "1_000", "\u0661\u0662", "0x10", "245 W", "1e", "--1", "9" * 400, "1,5",
    None, True, False, [], {}, 245, 245.5,
)  # fmt: skip
NO_MOMENTS = (None, True, "now", [], float(2**70), -1.0)
PAGES = (b"", b"<html>", b"null", b"[]", b"7", b'{"status":"success"}', b"[" * 200 + b"]" * 200)
STATUSES = (200, 204, 301, 400, 404, 422, 429, 500, 502, 503)

Truth = dict[str, dict[float, float]]  # by instance: moment → watts


def truth_around(now: float, draw: random.Random) -> Truth:
    """What the server was fed: some hosts, one sample a second, each of its own watts."""
    return {
        f"node{host}": {
            round(now - 9 + second + host / 8, 3): float(draw.randrange(100, 900))
            for second in range(9)
        }
        for host in range(draw.randrange(1, 4))
    }


def body_of(truth: Truth, draw: random.Random) -> dict[str, Any]:
    """A right answer."""
    result = [
        {
            "metric": {"__name__": METRIC, "instance": instance},
            "values": [[moment, f"{watts:g}"] for moment, watts in samples.items()],
        }
        for instance, samples in truth.items()
    ]
    draw.shuffle(result)
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def broken(body: dict[str, Any], draw: random.Random) -> tuple[int, bytes]:
    """That answer, broken in one to four ways: its status, its bytes."""
    result = body["data"]["result"]
    status = 200
    for _ in range(draw.randrange(1, 5)):
        entry = draw.choice(result) if result else {"values": [[0.0, "1"]], "metric": {}}
        values = entry.get("values")
        at = draw.randrange(len(values)) if isinstance(values, list) and values else 0
        kind = draw.randrange(12)
        if not isinstance(values, list) or not values or len(values[at] or ()) != 2:
            continue
        if kind == 0:
            values[at] = [values[at][0], draw.choice(NO_NUMBERS)]
        elif kind == 1:
            values[at] = [draw.choice(NO_MOMENTS), *values[at][1:]]
        elif kind == 2:
            values[at] = draw.choice(([], [1.0], None, "x", [values[at], values[at]]))
        elif kind == 3:  # milliseconds, or a clock that is far off
            if isinstance(values[at][0], float):
                values[at] = [values[at][0] * 1000.0, *values[at][1:]]
        elif kind == 4:
            draw.shuffle(values)
        elif kind == 6:
            del values[at:]  # a staleness mark: no more samples
        elif kind == 7:
            entry["metric"] = draw.choice((None, [], "x", {"instance": 7}, {"instance": None}))
        elif kind == 8:
            entry["values"] = draw.choice((None, {}, "x", 7))
        elif kind == 9:
            body["isPartial"] = True
        elif kind == 10:
            status = draw.choice(STATUSES)
        elif kind == 11:
            body["status"] = draw.choice(("error", None, 7))
    _contradict(result, draw)
    text = json.dumps(body).encode()
    if draw.random() < 0.2:
        text = text[: draw.randrange(len(text))]
    if draw.random() < 0.05:
        text = draw.choice(PAGES)
    return status, text


def _contradict(result: list[dict[str, Any]], draw: random.Random) -> None:
    """A second value for a moment that has one, at last: nobody knows which is right."""
    values = draw.choice(result).get("values") if result else None
    if draw.random() < 0.2 and isinstance(values, list) and values:
        pair = draw.choice(values)
        if isinstance(pair, list) and len(pair) == 2:
            values.insert(draw.randrange(len(values)), [pair[0], "12345"])


class BrokenServer:
    """Stands where the connection is, and answers what it is told to."""

    def __init__(self) -> None:
        self.answer: Callable[[], tuple[int, bytes]] = lambda: (200, b"")
        self.timeout = 1.0
        self.date = ""

    def request(self, _method: str, _path: str, **_form: Any) -> Reply:
        """One exchange."""
        status, raw = self.answer()
        body, refused = parse(raw) if raw else (None, "")
        return Reply(status, {"date": self.date or formatdate(time.time())}, body, refused)

    def close(self) -> None:
        """Nothing is held."""


def is_true(truth: Truth, instance: str, moment: float, watts: float) -> bool:
    """Whether the server was fed this sample."""
    return any(
        abs(known - moment) < 1e-6 and watts == value
        for known, value in truth.get(instance, {}).items()
    )


def run_live(count: int, seed: int) -> Counter[str]:
    """Broken answers to the live source: how many readings came, and the wrong ones."""
    draw = random.Random(seed)
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        now = time.time()
        truth = truth_around(now, draw)
        source = open_source(f"prometheus://server?query={METRIC}", Options())
        assert isinstance(source, PrometheusSource)
        server = BrokenServer()
        source._server.http = server  # type: ignore[assignment]
        right = json.dumps(body_of(truth, draw)).encode()
        status, text = broken(body_of(truth, draw), draw)
        server.answer = lambda right=right: (200, right)
        source.open()
        source._last = dict.fromkeys(source._last, 0.0)  # all samples are new
        server.answer = lambda status=status, text=text: (status, text)
        for reading in source.read():
            if reading.watts is None:
                outcomes["gap"] += 1
            elif is_true(truth, reading.channel, reading.t, reading.watts):
                outcomes["right"] += 1
            else:
                outcomes["wrong"] += 1
        outcomes["answers"] += 1
    return outcomes


def run_fetch(count: int, seed: int) -> Counter[str]:
    """The same for the power of a run: an answer, or one sentence."""
    draw = random.Random(seed)
    outcomes: Counter[str] = Counter()
    server = PrometheusPower("prometheus://server", Options())
    for _ in range(count):
        now = float(round(time.time()))
        truth = truth_around(now, draw)
        status, text = broken(body_of(truth, draw), draw)
        listed = [{"__name__": METRIC, "instance": instance} for instance in truth]
        counted = [{"metric": one, "value": [now, "9"]} for one in listed]
        answers = iter(
            [
                (200, _success({"resultType": "scalar", "result": [now, "1"]})),
                (200, _success(listed)),
                (200, _success({"resultType": "vector", "result": counted})),
            ]
        )
        broken_server = BrokenServer()
        broken_server.answer = lambda answers=answers, status=status, text=text: next(
            answers, (status, text)
        )
        connection = PrometheusConnection(
            server._address, Options(), 1.0, wait=lambda _seconds: None
        )
        connection.http = broken_server  # type: ignore[assignment]
        try:
            question = PowerQuestion(now - 9, now)
            fetched = prometheus_fetch.PowerFetch(connection, question).answer()
        except PowertuiError as error:
            outcomes["refused"] += 1
            if not error.message.endswith((".", "…")) or "\n" in error.message:
                outcomes["no sentence"] += 1
        else:
            for series in fetched.series:
                for moment, watts in zip(series.times_s, series.values, strict=True):
                    if watts != watts:
                        outcomes["gap"] += 1
                    elif is_true(truth, series.labels.get("instance", ""), moment, watts):
                        outcomes["right"] += 1
                    else:
                        outcomes["wrong"] += 1
        outcomes["answers"] += 1
    return outcomes


def _success(data: Any) -> bytes:
    return json.dumps({"status": "success", "data": data}).encode()


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("live ", dict(run_live(number // 2, 1)))
    print("fetch", dict(run_fetch(number // 2, 2)))
