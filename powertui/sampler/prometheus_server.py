"""One Prometheus server (or VictoriaMetrics, Thanos, Mimir: one API), as its address names it: the
connection, the login, the clock, and which series an address is about.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from powertui.errors import SensorError, UsageError
from powertui.sampler import prometheus_api
from powertui.sampler.http import Http, basic
from powertui.sampler.prometheus_api import QueryAnswer, escaped
from powertui.sampler.source import Options
from powertui.sampler.urls import Address, join_host_port

__all__ = ["MAX_ANSWER_BYTES", "PrometheusConnection"]

MAX_ANSWER_BYTES = 4 << 20  # 100,000 samples
_PORT = 9090
_MAX_RETRIES = 3  # of a question to a server that has no time: then it is told


class PrometheusConnection:
    """A server that answers questions, one after the other."""

    def __init__(
        self,
        address: Address,
        options: Options,
        timeout: float,
        largest: int = MAX_ANSWER_BYTES,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = join_host_port(address.host, address.port)
        self.ahead_s = 0.0  # its clock against ours, as its last answer shows
        self.missing = ""  # why its last answer was not whole, in its own words
        self._prefix = address.path.rstrip("/")
        self._query = address.query
        self._wait = wait
        self.http = Http(
            host=address.host,
            port=address.port or _PORT,
            tls=address.query.get("tls") == "1",
            insecure=options.insecure,
            timeout=timeout,
            largest=largest,
        )
        if options.user:
            self.http.headers["Authorization"] = basic(options.user, options.password)

    def ask(self, path: str, *, patient: bool = False, **parameters: Any) -> Any:
        """The data of one answer. `patient`: asked again where the server has no time now.

        Raises SensorError, OSError.
        """
        for attempt in range(_MAX_RETRIES + 1):
            try:
                return self._ask(path, parameters).data
            except prometheus_api.Busy as busy:
                if not patient or attempt == _MAX_RETRIES:
                    raise
                self._wait(busy.wait_s * 2**attempt)
        raise AssertionError("unreachable")

    def _ask(self, path: str, parameters: prometheus_api.Parameters) -> QueryAnswer:
        asked_s = time.time()
        answer = prometheus_api.ask(
            self.http, self.name, f"{self._prefix}/api/v1/{path}", parameters
        )
        self.ahead_s = prometheus_api.clock_ahead(answer.date, asked_s, time.time())
        self.missing = answer.missing
        return answer

    def ask_whole(self, path: str, **parameters: Any) -> Any:
        """An answer that joules may be counted from: a part of one is an error."""
        data = self.ask(path, patient=True, **parameters)
        if self.missing:
            raise SensorError(
                f"{self.name} reports an incomplete answer: {self.missing}.",
                hint="Joules of it would be too low. Ask again when all of it is there.",
            )
        return data

    def unreachable(self, error: OSError) -> SensorError:
        """What to tell where nobody answers."""
        return SensorError(
            f"{self.name} does not answer: {error}.",
            hint="Check the address. 9090 is the usual port.",
        )

    def matchers(self) -> tuple[str, ...]:
        """What the address says of labels: rack=r1&instance=a|b, as matchers of a query."""
        found = []
        if instances := self._query.get("instance"):
            pattern = "|".join(f"{instance}(:[0-9]+)?" for instance in instances.split("|"))
            found.append(f'instance=~"{escaped(pattern)}"')
        return tuple(found)

    def named_selector(self) -> str:
        """The query that the address names, with its matchers; "" where it names none."""
        query = self._query.get("query") or self._query.get("match") or ""
        matchers = self.matchers()
        if query and matchers and "{" in query:
            raise UsageError("prometheus: give either instance= or a query with its own {labels}.")
        return selector(query, matchers) if query else ""

    def close(self) -> None:
        self.http.close()


def selector(metric: str, matchers: tuple[str, ...] | list[str]) -> str:
    """A metric with the matchers of its labels, as a query has it."""
    if matchers:
        return f"{metric}{{{','.join(matchers)}}}"
    return metric
