"""A new format is one module and one line of the registry's table: nothing else knows it by
name.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from powertui import cli
from powertui.data import logdir
from powertui.data.formats import filenames, registry
from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.formats.json_stats import ArgStats, PairNames
from powertui.data.loading import load_run
from powertui.data.model import PS_PER_S, Clock, Trace

ZERO_NS = 1_790_000_000 * 10**9


def toy(name: str, *suffixes: str, clock: bool = False) -> types.ModuleType:
    """A format of lines `start_s end_s name` under the magic TOY."""
    module = types.ModuleType(f"powertui.data.formats.{name}")

    def sniff(head: bytes, path: str) -> int:
        return 100 if head.startswith(b"TOY\n") else 0

    def load(source: registry.OpenedFile, progress: registry.Progress) -> Iterator[Trace]:
        text = b"".join(source.chunks(1 << 16)).decode()
        rows = [line.split(None, 2) for line in text.splitlines()[1:]]
        names = PairNames()
        start = np.array([float(row[0]) * PS_PER_S for row in rows], np.int64)
        length = np.array([float(row[1]) * PS_PER_S for row in rows], np.int64) - start
        index = np.array([names.index(row[2], row[2]) for row in rows], np.uint32)
        builder = TraceBuilder(source.path, name, size=source.size)
        builder.process("/host:CPU", (), ArgStats()).add(
            1, "main", LineEvents(start, length, index, np.zeros(len(rows), np.uint64))
        )
        yield builder.build(names, complete=True, warnings=source.warnings)

    module.NAME, module.SUFFIXES, module.sniff, module.load = name, suffixes, sniff, load  # type: ignore[attr-defined]
    if clock:
        zero = Clock(ZERO_NS, ZERO_NS, "toy clock", "the format says so")
        module.CLOCK = registry.ClockRule(zero=lambda trace: zero)  # type: ignore[attr-defined]
    return module


def register(
    monkeypatch: pytest.MonkeyPatch, module: types.ModuleType, *, first: bool = False
) -> None:
    name = module.__name__.rpartition(".")[2]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(
        registry, "READERS", (name, *registry.READERS) if first else (*registry.READERS, name)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "logs" / "monday"
    run.mkdir(parents=True)
    (run / "node.7.toy.log").write_text("TOY\n0 1 load\n1 4 compute\n")
    return run


def test_a_folder_of_an_unknown_format_holds_no_run(folder: Path) -> None:
    assert logdir.scan(folder.parent).runs == ()


def test_a_registered_format_is_found_opened_and_reported_in_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch, toy("toy", "toy.log", clock=True))
    (entry,) = logdir.scan(folder.parent).runs
    assert [(profile.host, profile.tool) for profile in entry.profiles] == [("node.7", "toy.log")]
    assert entry.power == (), "a profile is no power log, whatever its name ends with"
    (trace,) = load_run(entry).traces
    assert (trace.format, trace.host, trace.event_count, trace.span) == (
        "toy",
        "node.7",
        2,
        (0, 4 * PS_PER_S),
    )
    assert (trace.clock.source, trace.clock.mid_ns) == ("toy clock", ZERO_NS), (
        "the format's own clock rule"
    )
    assert cli.main(["report", str(folder.parent), "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert "node.7" in json.dumps(told)
    assert cli.main(["report", str(folder / "node.7.toy.log"), "--json"]) == 0


def test_what_a_reader_takes_is_no_longer_told_as_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "neff" in filenames.unread()
    register(monkeypatch, toy("toy", "neff"))
    assert "neff" not in filenames.unread()
    (tmp_path / "a.neff").write_text("TOY\n0 1 load\n")
    (entry,) = logdir.scan(tmp_path).runs
    assert [profile.tool for profile in entry.profiles] == ["neff"]
    assert entry.unread == ()


@pytest.mark.parametrize("first", [True, False])
def test_of_one_hosts_files_that_is_read_whose_reader_stands_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path, first: bool
) -> None:
    (source,) = (data / "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50").glob("*.xplane.pb")
    (tmp_path / "vm.xplane.pb").write_bytes(source.read_bytes())
    (tmp_path / "vm.toy").write_text("TOY\n0 1 load\n")
    register(monkeypatch, toy("toy", "toy"), first=first)
    (entry,) = logdir.scan(tmp_path).runs
    assert [profile.tool for profile in entry.profiles] == ["toy" if first else "xplane.pb"]
    assert [profile.tool for profile in entry.alternates] == ["xplane.pb" if first else "toy"]


def test_every_reader_states_how_its_files_are_named() -> None:
    assert set(registry.FILE_NAMES) == set(registry.READERS)
    stated = [suffix for names in registry.FILE_NAMES.values() for suffix in names.suffixes]
    assert tuple(stated) == registry.suffixes()
    assert len(stated) == len(set(stated))
    assert filenames.split_tool("node.xplane.pb") == ("node", "xplane.pb")
    assert filenames.certain("xplane.pb")
    assert not filenames.certain("trace.json")


def test_a_format_may_say_when_keras_writes_its_record() -> None:
    assert (
        registry.clock_rule("trace_json").batch_ns
        != registry.clock_rule("xplane").batch_ns
        == registry.ClockRule().batch_ns
    )
