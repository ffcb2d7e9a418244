"""A real Prometheus on loopback, filled with promtool, and Debian's ipmi-exporter."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path


def why_not() -> str:
    missing = [p for p in ("prometheus", "promtool") if not shutil.which(p)]
    return f"{' and '.join(missing)} not installed (Debian: prometheus)" if missing else ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=20).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(url)


class Prometheus:
    """`fill()` first, `start()` then. Or `scrape()` targets live."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        (folder / "prometheus.yml").write_text("")

    @property
    def url(self) -> str:
        return f"prometheus://127.0.0.1:{self.port}"

    def fill(self, metric: str, samples: list[tuple[str, float, float]]) -> None:
        """(labels like 'instance="a"', Unix s, watts), in order of series and time."""
        lines = [
            (
                f"# TYPE {metric.removesuffix('_total')} "
                f"{'counter' if metric.endswith('_total') else 'gauge'}"
            ),
            *(f"{metric}{{{labels}}} {watts} {moment:.3f}" for labels, moment, watts in samples),
            "# EOF",
            "",
        ]
        (self.folder / "samples.txt").write_text("\n".join(lines))
        command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "samples.txt", "data"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def scrape(
        self, targets: list[str], *, exporter_port: int, module: str, interval: float = 1.0
    ) -> None:
        """Scrape BMCs through the ipmi-exporter."""
        (self.folder / "prometheus.yml").write_text(
            f"global: {{scrape_interval: {interval:g}s, scrape_timeout: {interval:g}s}}\n"
            "scrape_configs:\n- job_name: ipmi\n  metrics_path: /ipmi\n"
            f"  params: {{module: [{module}]}}\n  static_configs: [{{targets: {targets}}}]\n  "
            "relabel_configs:\n"
            "  - {source_labels: [__address__], target_label: __param_target}\n"
            "  - {source_labels: [__param_target], target_label: instance}\n"
            f"  - {{target_label: __address__, replacement: '127.0.0.1:{exporter_port}'}}\n"
        )

    def start(self) -> Prometheus:
        process = subprocess.Popen(
            [
                "prometheus",
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        wait_for(f"http://127.0.0.1:{self.port}/-/ready", process)
        return self

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(15)
        self.processes.clear()


class IpmiExporter:
    """Debian's prometheus-ipmi-exporter, with FreeIPMI's tools behind it."""

    def __init__(self, folder: Path, user: str, password: str) -> None:
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        config = folder / "exporter.yml"
        config.write_text(
            f"modules: {{power: {{user: {user}, pass: {password}, driver: LAN_2_0, privilege: "
            "admin, timeout: 3000, "
            "collectors: [dcmi], workaround_flags: [opensesspriv]}}\n"
        )
        config.chmod(0o600)
        self._config = config

    @staticmethod
    def why_not() -> str:
        if not shutil.which("prometheus-ipmi-exporter"):
            return "prometheus-ipmi-exporter is not installed"
        return (
            ""
            if shutil.which("ipmi-dcmi", path="/usr/sbin:/usr/bin")
            else "ipmi-dcmi is not installed (Debian: freeipmi-tools)"
        )

    def start(self) -> IpmiExporter:
        self._process = subprocess.Popen(
            [
                "prometheus-ipmi-exporter",
                f"--config.file={self._config}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--freeipmi.path=/usr/sbin",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(f"http://127.0.0.1:{self.port}/", self._process)
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
