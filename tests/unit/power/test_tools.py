"""Dialects of tools and exporters, each on a sample of its documented form: channels, units, spans,
first values, devices.
"""

from __future__ import annotations

import gzip
import importlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from powertui.data.model import Badge, Device, Scope
from powertui.data.power import dialects, registry
from powertui.data.power.source import SQLITE, LogFile
from tests.unit.power.tool_samples import (
    SAMPLES,
)

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

MODULES = [
    importlib.import_module(f"powertui.data.power.{dialect.module}")
    for dialect in registry.DIALECTS
    if isinstance(dialect, dialects.Dialect)
]


@pytest.mark.parametrize(
    ("name", "dialect", "channels", "seconds", "clock"), SAMPLES, ids=[row[0] for row in SAMPLES]
)
def test_samples(
    tools: Path,
    name: str,
    dialect: str,
    channels: list[tuple[str, Scope, str, int, float]],
    seconds: float,
    clock: str,
) -> None:
    path = str(tools / name)
    assert registry.sniff(path)[0] == ("json" if name == "power_gadget.json" else dialect)
    log = registry.load(path)
    assert log.dialect == dialect
    assert [(s.sensor.name, s.sensor.scope, s.sensor.host, len(s)) for s in log.series] == [
        row[:4] for row in channels
    ]
    firsts = [float(s.watts[np.isfinite(s.watts)][0]) for s in log.series]
    assert firsts == pytest.approx([row[4] for row in channels], abs=2e-3)
    assert float(log.series[0].times[-1] - log.series[0].times[0]) / 1e9 == pytest.approx(
        seconds, rel=1e-3
    )
    assert {s.clock.source for s in log.series} == {clock}
    for series in log.series:
        assert (np.diff(series.times) > 0).all()
        assert series.sensor.scale is Badge.MEASURED or dialect == "csv"


def test_every_sample_is_in_the_table(tools: Path) -> None:
    assert {path.name for path in tools.iterdir() if path.suffix != ".md"} == {
        row[0] for row in SAMPLES
    }


def test_every_sample_is_recognised_by_its_own_reader_only(data: Path) -> None:
    """The readers of any table and any JSON come after all others, and take what nobody
    else knows.
    """
    for path in sorted((*(data / "power").iterdir(), *(data / "power_tools").iterdir())):
        if path.suffix == ".md":
            continue
        source = LogFile(str(path))
        head = source.head if source.head.startswith(SQLITE) else source.head_text
        scores = {reader.name: reader.score for reader in registry.readers(head, str(path))}
        surest = max(scores, key=lambda name: scores[name])
        assert registry.sniff(str(path))[0] == surest or not any(scores.values()), path.name
        known = {
            name: score
            for name, score in scores.items()
            if score and name not in ("csv", "json", "log lines", "rows below times")
        }
        assert len(known) <= 1, (path.name, known)
        if known:
            assert max(scores, key=lambda name: scores[name]) in known, (path.name, scores)


def test_a_reader_is_imported_when_a_head_calls_for_it(tools: Path) -> None:
    code = (
        "import sys; from powertui.data.power import registry; "
        f"print(registry.sniff({str(tools / 'tegrastats_orin.log')!r})[0]); "
        "print(sorted(name.rsplit('.', 1)[-1] for name in sys.modules if "
        "name.startswith('powertui.data.power.')))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "tegrastats"
    assert "'tegrastats'" in told[1]
    for other in (
        "redfish",
        "slurm",
        "powermetrics",
        "likwid",
        "shelly",
        "nvidia_query",
        "codecarbon",
        "json_docs",
    ):
        assert f"'{other}'" not in told[1], told[1]


def test_nobody_takes_what_is_no_power_log(tmp_path: Path) -> None:
    for name, text in [
        (
            "trace.json",
            (
                '{"traceEvents": [{"ph": "X", "name": "power", "ts": 1, "dur": 2}], '
                '"displayTimeUnit": "ns"}'
            ),
        ),
        ("config.json", '{"power_limit": 300, "time": "2024-05-01", "model": "resnet"}'),
        ("metrics.jsonl", '{"step": 1, "loss": 0.5, "time": 1714557600}\n' * 9),
        ("train.log", "RAM 3/4 used, GPU 0 busy, POWER of two, card0\n" * 9),
        ("requirements.txt", "numpy>=1.24\npandas>=1.5\n"),
        ("slurm.out", "JobID 4711 started on gpu01\nepoch 1 loss 0.4\n"),
        ("host.xml", "<?xml version='1.0'?><hosts><host name='a'/></hosts>"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        assert registry.sniff(str(path))[1] < registry.IS_POWER, (name, registry.sniff(str(path)))


@pytest.mark.parametrize("name", [row[0] for row in SAMPLES])
def test_recoded_and_packed(tools: Path, tmp_path: Path, name: str) -> None:
    text = (tools / name).read_bytes()
    plain = [(s.sensor.name, s.watts.tolist()) for s in registry.load(str(tools / name)).series]
    for kind, body in [
        ("gz", gzip.compress(text)),
        ("utf16", b"\xff\xfe" + text.decode().encode("utf-16-le")),
        ("bom", b"\xef\xbb\xbf" + text),
        ("crlf", text.replace(b"\n", b"\r\n")),
    ]:
        folder = tmp_path / kind
        folder.mkdir()
        path = folder / name
        path.write_bytes(body)
        assert str(
            [(s.sensor.name, s.watts.tolist()) for s in registry.load(str(path)).series]
        ) == str(plain), kind


@pytest.mark.parametrize(
    "name",
    [
        row[0]
        for row in SAMPLES
        if not row[0].startswith(
            ("likwid_total", "likwid_powermeter", "power_gadget_s", "sacct", "columns")
        )
    ],
)
def test_what_was_cut_loses_nothing_that_can_be_read(
    tools: Path, tmp_path: Path, name: str
) -> None:
    whole = (tools / name).read_bytes()
    rows = sum(len(s) for s in registry.load(str(tools / name)).series)
    path = tmp_path / name
    for share in (0.97, 0.9, 0.8, 0.7):
        path.write_bytes(whole[: int(len(whole) * share)])
        found = registry.load(str(path))
        got = sum(len(s) for s in found.series)
        assert got >= (share - 0.3) * rows, (share, got, rows)
        before = {s.sensor: s for s in registry.load(str(tools / name)).series}
        for series in found.series:  # no reading that the whole file does not have
            assert set(series.watts[np.isfinite(series.watts)].round(6)) <= set(
                before[series.sensor].watts.round(6)
            ), (name, share)


@pytest.mark.parametrize(
    "part", ["\n", " ", "\t", "Power ", "(", "1 W, ", "a=1,", '{"', "GPU ", "|", "RAM 1/2MB "]
)
def test_no_head_keeps_a_reader_busy(part: str) -> None:
    """Seconds of the processor, not of a clock: a pattern that tries again from each character
    takes minutes for these.
    """
    before = time.process_time()
    for first in ("time,power.draw [W] Watts pwr\n", '{"card0": 1}\n', ""):
        head = first + (part * 60_000)[:60_000] + "\n"
        for dialect in registry.DIALECTS:
            dialect.could_read(head)
        for module in MODULES:
            if hasattr(module, "sniff"):
                module.sniff(head, "")
    assert time.process_time() - before < 20


# ── devices and hosts ────────────────────────────────────────────────────────────────────────────

UUID = "GPU-2c1f0a4e-8c3b-4e6d-9f10-00000000000"
H100 = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        (
            "nvidia_query.xml",
            [Device(g, f"{UUID}{g}", f"0000:{0x1B + g:02x}:00.0", H100) for g in (0, 0, 1, 1)],
        ),
        (
            "nvidia_query.txt",
            [Device(g, "", f"0000:{0x1B + g:02x}:00.0", "") for g in (0, 0, 1, 1)],
        ),
        (
            "dcgm_exporter.prom",
            [Device(g, f"{UUID}{g}", f"0000:{0x1B + g:02x}:00.0", H100) for g in (0, 1)],
        ),
        ("dcgm_dmon.txt", [Device(0), Device(0), Device(1), Device(1)]),
        ("influx.lp", [Device(0, f"{UUID}0", "", H100), None, None, None]),
        ("amd_smi_metric.json", [Device(0), Device(1), Device(2)]),
        ("rocm_smi.csv", [Device(0), Device(1)]),
        ("pm_counters.txt", [Device(0), Device(0), None, None, None, None]),
        (
            "aiu_smi.txt",
            [
                Device(0, "", "0301:50:00.0", "IBM Spyre"),
                Device(1, "", "0302:50:00.0", "IBM Spyre"),
            ],
        ),
    ],
)
def test_each_channel_knows_its_device(
    tools: Path, name: str, devices: list[Device | None]
) -> None:
    assert [series.sensor.device for series in registry.load(str(tools / name)).series] == devices


def test_a_log_is_recognized_once_while_it_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recognized = []
    surest = registry._surest_reader

    def counted(source: LogFile, **options: str) -> object:
        recognized.append(source.path)
        return surest(source, **options)

    monkeypatch.setattr(registry, "_surest_reader", counted)
    log = tmp_path / "power.csv"
    log.write_text("timestamp,power_w\n1700000000,200\n1700000001,210\n")
    name, _ = registry.sniff(str(log))
    assert registry.load(str(log)).series[0].watts.tolist() == [200.0, 210.0]
    assert len(recognized) == 1
    assert registry.sniff(str(log))[0] == name
    log.write_text("time_unix_s,gpu0_watts\n1700000000,300\n1700000001,310\n1700000002,320\n")
    assert registry.load(str(log)).series[0].watts.tolist() == [300.0, 310.0, 320.0]
    assert len(recognized) == 3
