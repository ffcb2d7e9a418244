"""A Redfish service and a Prometheus that answer too much, too slowly, too deep: each is a gap with
its reason, and passes.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from powertui.errors import SensorError
from powertui.sampler import http
from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options, open_source, reason_of
from tests.bmc.redfish import CHASSIS

METRICS = CHASSIS + "/EnvironmentMetrics"
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MANY = 1 << 30
FAR = 120.0  # s; what is waited for comes within one or two


@pytest.fixture
def source(redfish, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(redfish.certificate))
    made = open_source(
        f"redfish://admin@127.0.0.1:{redfish.port}", Options(password=Secret("pw"), timeout=FAR)
    )
    yield made
    made.close()


def impatient(source) -> None:
    """From now on it waits half a second.

    It was opened with all the time that a busy machine needs.
    """
    source._http.timeout = 0.5


def body(text: str):
    return lambda write: write(f"{HEAD}Content-Length: {len(text)}\r\n\r\n{text}")


def reading(text: str) -> str:
    return '{"PowerWatts": {"Reading": ' + text + "}}"


def endless(write, piece: str = "[1]," * 4096) -> None:
    while True:
        write(piece)


def large(write) -> None:
    write(f"{HEAD}Content-Length: {MANY}\r\n\r\n[")
    endless(write)


def large_without_length(write) -> None:
    write(f"{HEAD}\r\n[")
    endless(write)


def large_in_chunks(write) -> None:
    write(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n")
    endless(write, "4000\r\n" + "[1]," * 4096 + "\r\n")


def large_head(write) -> None:
    write(HEAD)
    endless(write, "X: " + "x" * 60_000 + "\r\n")


def unasked(write) -> None:
    """Large ones: Python 3.14 takes a hundred of them and no more."""
    endless(write, "HTTP/1.1 100 Continue\r\nX: " + "x" * 60_000 + "\r\n\r\n")


@pytest.mark.parametrize(
    "answer", [large, large_without_length, large_in_chunks, large_head, unasked]
)
def test_no_more_than_a_mebibyte_is_read(redfish, source, answer):
    source.open()
    impatient(source)
    redfish.raw[METRICS] = answer
    why = reason_of(source.read()[0].quality)
    if answer in (large_head, unasked):
        assert why in (
            "an answer of more than 1 MiB is not accepted",
            "an answer that is not HTTP",
            "no whole answer within 0.5 s",
        )
    else:
        assert why in (
            "an answer of more than 1 MiB is not accepted",
            "no whole answer within 0.5 s",
        )  # a slow machine
    redfish.raw.clear()
    assert redfish.sent < 16 << 20  # what we took and what the buffers between us hold
    source._http.timeout = FAR
    comes_back(source)


def test_an_answer_that_never_begins_ends_by_its_size(redfish, monkeypatch):
    """However much time there is: lines without end before the answer are counted as well."""
    monkeypatch.setenv("SSL_CERT_FILE", str(redfish.certificate))
    patient = open_source(
        f"redfish://admin@127.0.0.1:{redfish.port}", Options(password=Secret("pw"), timeout=4 * FAR)
    )
    patient.open()
    redfish.raw[METRICS] = unasked
    assert reason_of(patient.read()[0].quality) == "an answer of more than 1 MiB is not accepted"
    redfish.raw.clear()
    patient.close()


def comes_back(source) -> None:
    end = time.monotonic() + FAR
    while (value := source.read()[0]).watts is None:
        assert time.monotonic() < end, value
        time.sleep(0.05)
    assert value.watts == 245.0


def slowly(text: str):
    def write_slowly(write) -> None:
        for character in text:
            write(character)
            time.sleep(0.05)

    return write_slowly


@pytest.mark.parametrize(
    "answer",
    [HEAD + "X: y\r\n" * 1000, f"{HEAD}Content-Length: 9999\r\n\r\n{' ' * 9999}"],
    ids=["head", "body"],
)
def test_the_deadline_is_for_the_whole_answer(redfish, source, answer):
    source.open()
    impatient(source)
    redfish.raw[METRICS] = slowly(answer)
    begin = time.monotonic()
    reading = source.read()[0]
    assert time.monotonic() - begin < FAR  # and not the minutes that its bytes take
    assert reason_of(reading.quality) == "no whole answer within 0.5 s"
    redfish.raw.clear()
    source._http.timeout = FAR
    comes_back(source)
    assert len(redfish.tokens) == 1  # a session slot is not used up by each


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (reading("9" * 400), "an answer with a number of 400 digits"),
        (reading("9" * 5000), "an answer with a number of 5000 digits"),
        (reading("0." + "1" * 400), "an answer with a number of 402 digits"),
        (reading("[" * 1000 + "]" * 1000), "an answer nested deeper than 64 levels"),
        ('{"a":' * 200_000, "an answer nested deeper than 64 levels"),
        ("[" * 200_000, "an answer nested deeper than 64 levels"),
        (reading("245") + "\\", "an answer that is not JSON"),
        ('"' + '\\"' * 400_000, "an answer that is not JSON"),
    ],
)
def test_json_that_is_refused(redfish, source, text, why):
    source.open()
    redfish.raw[METRICS] = body(text)
    assert reason_of(source.read()[0].quality) == why
    redfish.raw.clear()
    comes_back(source)


def test_a_hostile_resource_does_not_keep_the_others_from_being_read(redfish, source):
    redfish.raw[METRICS] = body(reading("9" * 400))
    assert source.open().source == "redfish Power"
    assert source.read()[0].watts == 245.0


def test_when_all_that_is_there_is_refused_it_may_pass(redfish, source):
    redfish.raw["/redfish/v1/Chassis"] = body("[" * 100)
    with pytest.raises(SensorError, match="nested deeper than 64 levels") as caught:
        source.open()
    assert type(caught.value) is SensorError  # and is tried again
    redfish.raw.clear()
    source.open()


def test_depth_is_refused_before_a_parser_recurses():
    """Whoever records inside a training script may have lifted Python's limit."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10**8)
    try:
        assert http.parse(b"[" * 1_000_000) == (None, "an answer nested deeper than 64 levels")
    finally:
        sys.setrecursionlimit(before)
    inside = json.dumps({"text": '[{"\\' * 1000, "list": [[1]] * 500})
    assert http.parse(inside.encode()) == (json.loads(inside), "")
    assert http.parse(("[" * 64 + "]" * 64).encode())[1] == ""


@pytest.mark.parametrize("scheme", ["redfish", "prometheus"])
def test_a_server_that_takes_the_connection_and_says_nothing(scheme):
    """The TLS handshake is part of the answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = open_source(f"{scheme}://127.0.0.1:{server.getsockname()[1]}", Options(timeout=0.5))
        with pytest.raises(SensorError, match="no answer within"):
            made.open()


class _Prometheus(BaseHTTPRequestHandler):
    answer = b""

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)


@pytest.fixture
def hostile_prometheus():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Prometheus)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    made = open_source(
        f"prometheus://127.0.0.1:{server.server_address[1]}?query=watts", Options(timeout=FAR)
    )

    def answers(result: object) -> None:
        _Prometheus.answer = (
            result
            if isinstance(result, bytes)
            else json.dumps({"status": "success", "data": result}).encode()
        )

    yield made, answers
    made.close()
    server.shutdown()
    server.server_close()


def series(*pairs: object) -> dict:
    return {"result": [{"metric": {"instance": "a"}, "values": list(pairs)}]}


@pytest.mark.parametrize(
    "result",
    [
        [],
        "text",
        {"result": "text"},
        {"result": [5, {}]},
        {"result": [{"metric": [], "values": {}}]},
        series([1]),
        series("xy", 5),
        series([1e300, "5"]),
        series(["NaN", "5"]),
        series(["9" * 400, "5"]),
        b"[" * 100_000,
        b'{"status": "success", "data": {"result": ' + b"9" * 400 + b"}}",
        b"\xff\xfe",
    ],
)
def test_prometheus_answers_of_any_shape_are_gaps(hostile_prometheus, result):
    source, answers = hostile_prometheus
    answers(series([time.time() - 1, "245"]))
    source.open()
    assert source.read()[0].watts == 245.0
    answers(result)
    assert all(r.watts is None for r in source.read())
    answers(series([time.time() - 0.01, "250"]))
    assert [r.watts for r in source.read()] == [250.0]


def test_prometheus_values_that_are_no_numbers(hostile_prometheus):
    source, answers = hostile_prometheus
    now = time.time() - 2
    answers(series([now, "245"]))
    source.open()
    source.read()
    answers(
        series(
            [now + 0.1, "NaN"],
            [now + 0.2, "+Inf"],
            [now + 0.3, []],
            [now + 0.4, "9" * 400],
            [now + 0.5, "246"],
        )
    )
    assert [r.watts for r in source.read()][:5] == [None, None, None, None, 246.0]


def test_samples_at_the_ends_of_the_time_that_was_asked_for_count(hostile_prometheus):
    """A server's clock may differ by a second from ours; what lies further out was not
    asked for.
    """
    source, answers = hostile_prometheus
    end = 1.7e9
    answers(
        series(
            [end - 61.5, "1"],
            [end - 60.5, "2"],
            [end - 60.0, "3"],
            [end, "4"],
            [end + 0.5, "5"],
            [end + 1.5, "6"],
        )
    )
    source.selector = "watts"
    (found,) = source._vectors(60.0, end)
    assert [watts for _, watts in found.samples] == [2.0, 3.0, 4.0, 5.0]


def test_a_prometheus_with_too_many_samples_is_asked_for_a_shorter_time(hostile_prometheus):
    source, answers = hostile_prometheus
    answers(series([time.time() - 1, "245"]))
    source.open()
    answers(b" " * (5 << 20))
    assert reason_of(source.read()[0].quality) == "an answer of more than 4 MiB is not accepted"
