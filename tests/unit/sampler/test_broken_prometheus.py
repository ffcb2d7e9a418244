"""What a server of power that is broken is said to be: one sentence each."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from urllib.parse import parse_qsl

import pytest

from powertui.errors import AuthenticationFailed, SensorError
from powertui.power_server import PowerQuestion
from powertui.sampler import prometheus_fetch
from powertui.sampler.prometheus_fetch import PrometheusPower
from powertui.sampler.prometheus_server import PrometheusConnection
from powertui.sampler.source import Options, open_source
from powertui.sampler.urls import parse_url
from tests.fuzz.prometheus_answers import METRIC, BrokenServer, body_of, truth_around

OK = json.dumps(
    {"status": "success", "data": {"resultType": "scalar", "result": [0, "1"]}}
).encode()


def fetch(status, body, waits=None):
    connection = PrometheusConnection(
        PrometheusPower("prometheus://server", Options())._address,
        Options(),
        1.0,
        wait=(waits if waits is not None else []).append,
    )
    server = BrokenServer()
    server.answer = lambda: (status, body)
    connection.http = server
    now = time.time()
    return prometheus_fetch.PowerFetch(connection, PowerQuestion(now - 60, now)).answer()


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (429, "server got too many requests and refuses more for now (status 429)."),
        (503, "server is starting or overloaded and refuses requests for now (status 503)."),
    ],
)
def test_a_server_without_time_is_asked_three_times_more_and_then_told(status, sentence):
    waits = []
    with pytest.raises(SensorError) as raised:
        fetch(status, b"", waits)
    assert raised.value.message == sentence
    assert waits == [1.0, 2.0, 4.0]


def test_a_login_that_is_missing_is_named_whatever_page_says_so():
    for body in (b"<html>401 Authorization Required</html>", b'{"error": "no"}', b""):
        with pytest.raises(AuthenticationFailed) as raised:
            fetch(401, body)
        assert raised.value.message == "server refuses the request (status 401)."
        assert "prometheus://USER@server" in raised.value.hint


def test_a_question_that_is_too_much_is_refused_in_the_servers_words_with_a_way_on():
    limit = "exceeded maximum resolution of 11,000 points per timeseries."
    body = json.dumps({"status": "error", "errorType": "bad_data", "error": limit}).encode()
    with pytest.raises(SensorError) as raised:
        fetch(400, body)
    assert raised.value.message == f"server refuses the question (status 400): {limit}"
    assert "?instance=a|b" in raised.value.hint


def test_a_part_of_an_answer_makes_no_joules():
    partial = {"status": "success", "data": [], "warnings": ["store node7 is down"]}
    with pytest.raises(SensorError) as raised:
        fetch(200, json.dumps(partial).encode())
    assert raised.value.message == "server reports an incomplete answer: store node7 is down."


def test_no_server_may_answer_with_a_part_or_with_each_replica():
    """Thanos and VictoriaMetrics would, unless they are asked not to."""
    forms = []

    class Asked(BrokenServer):
        def request(self, method, path, form=""):
            forms.append(dict(parse_qsl(form)))
            return super().request(method, path, form=form)

    connection = PrometheusConnection(parse_url("prometheus://server"), Options(), 1.0)
    server = Asked()
    server.answer = lambda: (200, OK)
    connection.http = server
    connection.ask_whole("query", query="up")
    (form,) = forms
    assert form == {
        "query": "up",
        "partial_response": "false",
        "deny_partial_response": "1",
        "dedup": "true",
    }


def test_an_answer_that_was_cut_is_no_answer():
    with pytest.raises(SensorError, match="server: an answer that is not JSON"):
        fetch(200, OK[:-5])


@pytest.mark.parametrize("ahead_s", [90.0, -90.0])
def test_a_clock_that_is_90_s_off_is_corrected_and_told(ahead_s):
    import random

    truth = truth_around(time.time() + ahead_s, random.Random(1))
    source = open_source(f"prometheus://server?query={METRIC}", Options())
    server = BrokenServer()
    server.date = formatdate(time.time() + ahead_s, usegmt=True)
    body = json.dumps(body_of(truth, random.Random(1))).encode()
    server.answer = lambda: (200, body)
    source._server.http = server
    source._server.ask("query", query="1")
    info = source.open()
    direction = "ahead of" if ahead_s > 0 else "behind"
    assert f"s {direction} ours; the times of its samples are corrected" in info.notes[0]
    source._last = dict.fromkeys(source._last, 0.0)
    readings = [reading for reading in source.read() if reading.watts is not None]
    assert len(readings) == sum(map(len, truth.values()))
    assert all(abs(reading.t - time.time()) < 12 for reading in readings)


def _whole_answer(answer: Callable[[socket.socket], None]) -> PrometheusConnection:
    """A connection to a server that answers once."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection, server:
            connection.recv(1 << 16)
            answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    address = parse_url(f"prometheus://127.0.0.1:{server.getsockname()[1]}/")
    return PrometheusConnection(address, Options(), timeout=10.0)


def _reply(status: str, body: bytes, *headers: str) -> Callable[[socket.socket], None]:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return lambda connection: connection.sendall("\r\n".join([*head, "", ""]).encode() + body)


def test_an_answer_that_a_proxy_compressed_unasked_is_read() -> None:
    body = gzip.compress(b'{"status": "success", "data": [1, 2]}')
    server = _whole_answer(_reply("200 OK", body, "Content-Encoding: gzip"))
    assert server.ask("query") == [1, 2]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (gzip.compress(b'{"status": "success", "data": []}')[:-9], "ended before it was whole"),
        (b'{"status": "success", "data": []}', "says it is compressed and is not"),
        (gzip.compress(b" " * (64 << 20)), "more than 4 MiB"),
    ],
    ids=["cut", "not compressed", "a bomb"],
)
def test_a_compressed_answer_that_is_none_is_refused(body: bytes, message: str) -> None:
    server = _whole_answer(_reply("200 OK", body, "Content-Encoding: gzip"))
    with pytest.raises(OSError, match=message):
        server.ask("query")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            _reply("302 Found", b"", "Location: https://ada:pw@login.example:8443/sso?token=1"),
            r"sends requests on to https://login\.example:8443 \(status 302\)\.",
        ),
        (
            _reply("200 OK", b"<!DOCTYPE html><p>Log in", "Content-Type: text/html"),
            r"a web page, not an answer of Prometheus \(status 200\)\.",
        ),
        (_reply("200 OK", b""), "answers with status 200. Its answer is empty."),
        (_reply("200 OK", b'{"a": 1}'), "answers with status 200. It is not Prometheus' API."),
    ],
    ids=["redirect", "page of a proxy", "empty", "other JSON"],
)
def test_what_is_no_prometheus_is_said_in_a_sentence(
    answer: Callable[[socket.socket], None], message: str
) -> None:
    with pytest.raises(SensorError, match=message) as error:
        _whole_answer(answer).ask("query")
    assert "pw" not in str(error.value)
    assert "token" not in str(error.value)
