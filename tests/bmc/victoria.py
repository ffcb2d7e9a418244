"""A real VictoriaMetrics on loopback, filled through its import."""

from __future__ import annotations

import shutil
import subprocess
import urllib.request
from pathlib import Path

from .prometheus import free_port, wait_for

_PROGRAM = "victoria-metrics"


def why_not() -> str:
    return "" if shutil.which(_PROGRAM) else f"{_PROGRAM} is not installed"


class VictoriaMetrics:
    """As `Prometheus`: `fill()` first, `start()` then."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: list[str] = []

    @property
    def url(self) -> str:
        return f"prometheus://127.0.0.1:{self.port}"

    def fill(self, metric: str, samples: list[tuple[str, float, float]]) -> None:
        """(labels like 'instance="a"', Unix s, watts), in order of series and time."""
        for labels, moment, watts in samples:
            self._lines.append(f"{metric}{{{labels}}} {watts} {round(moment * 1000)}")

    def start(self) -> VictoriaMetrics:
        self._process = subprocess.Popen(
            [
                _PROGRAM,
                f"-storageDataPath={self.folder / 'victoria'}",
                f"-httpListenAddr=127.0.0.1:{self.port}",
                "-retentionPeriod=100y",
                "-search.latencyOffset=0s",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(f"http://127.0.0.1:{self.port}/health", self._process)
        body = ("\n".join(self._lines) + "\n").encode()
        self._ask("api/v1/import/prometheus", body)
        self._ask("internal/force_flush")  # what was imported can be asked for at once
        return self

    def _ask(self, path: str, body: bytes | None = None) -> None:
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", body, timeout=60).close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
