"""Runs of many hosts: read by any executor, with the same answers, and events that come and go."""

from __future__ import annotations

import gc
import json
import os
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import powertui
from powertui.api import RunView
from powertui.data import host_trace, logdir, processes
from powertui.data.asked import COMPAT, Aligning, Compat, ReadOptions
from powertui.data.formats import registry
from powertui.data.host_parts import HostQuestion
from powertui.data.host_readers import HostReading
from powertui.data.opened import Opened
from powertui.data.tools import breakdown, host_reading
from powertui.data.tools.activity import activity_timeline
from powertui.errors import FileChanged
from powertui.report import summary
from powertui.screens import loader

from .many_hosts import SLOW, write_hosts

TOOLS = ("hosts", "late_ranks", "overview_page", "kernel_stats", "op_stats")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_hosts(tmp_path / "logs")


@pytest.fixture
def answers(logs: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[ReadOptions], str]:
    """Everything that is said of a run, as JSON."""

    def everything(options: ReadOptions) -> str:
        summary.tell(str(logs), None, options, Aligning(), "json")
        (entry,) = logdir.scan(str(logs)).runs
        view = RunView(Opened(entry, options))
        frames = [view.tool(name).frame.to_json() for name in TOOLS]
        events = view.events(host="node03").to_json()
        return json.dumps([json.loads(capsys.readouterr().out), frames, events])

    return everything


def opened(logs: Path, executor: Executor | None = None) -> Opened:
    (entry,) = logdir.scan(str(logs)).runs
    return Opened(entry, ReadOptions(hosts=HostReading(executor)))


def test_events_are_gone_with_the_last_who_holds_them_without_a_search_for_garbage(
    logs: Path,
) -> None:
    path = next(logs.rglob("*.xplane.pb"))
    gc.collect()
    gc.disable()
    try:
        *_, trace = registry.load(str(path))
        columns = [weakref.ref(track.events.start) for _, track in trace.tracks()]
        assert columns
        assert all(column() is not None for column in columns)
        del trace, _
        assert [column() for column in columns] == [None] * len(columns)
    finally:
        gc.enable()


def test_a_process_that_was_copied_while_nothing_is_collected_does_collect() -> None:
    gc.disable()
    try:
        pool = processes.process_pool(1)
    finally:
        gc.enable()
    with pool:
        assert pool.submit(gc.isenabled).result()


def test_answers_are_the_same_whoever_reads_the_hosts(
    answers: Callable[[ReadOptions], str],
) -> None:
    read_whole = answers(ReadOptions())
    assert SLOW in read_whole
    assert answers(ReadOptions(hosts=HostReading())) == read_whole
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(2) as executor:
            assert answers(ReadOptions(hosts=HostReading(executor))) == read_whole


def test_answers_are_the_same_where_room_is_for_the_events_of_one_host(
    answers: Callable[[ReadOptions], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_whole = answers(ReadOptions())
    monkeypatch.setattr(host_trace.HeldEvents.__init__, "__defaults__", (1,))
    assert answers(ReadOptions(hosts=HostReading())) == read_whole


def test_the_api_takes_any_executor(logs: Path) -> None:
    asked: list[HostQuestion] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
            asked.append(args[0])
            return super().submit(function, *args, **named)

    with Counting(2) as executor:
        run = powertui.open(logs, executor=executor)[0]
        assert len(run.steps) == 12 * 12
    assert len(asked) == 11, "the first host is read here, so that it is seen at once"


def test_what_is_sent_holds_no_power_and_no_password(logs: Path) -> None:
    class Server:
        password = "s3cret"

    asked: list[HostQuestion] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
            assert function is host_reading.read_host
            asked.append(pickle.loads(pickle.dumps(args[0])))
            return super().submit(function, *args, **named)

    (entry,) = logdir.scan(str(logs)).runs
    server: Any = Server()
    with Noting(1) as executor:
        options = ReadOptions(
            servers=(("prometheus://x", server),), hosts=HostReading(executor), tz="UTC"
        )
        assert len(Opened(entry, options).profiles) == 12
    assert {question.options for question in asked} == {ReadOptions(tz="UTC")}
    assert all(len(question.entry.profiles) == 1 for question in asked)


def test_a_host_without_a_readable_file_is_said_and_the_others_stay(logs: Path) -> None:
    (entry,) = logdir.scan(str(logs)).runs
    Path(entry.profiles[5].path).write_bytes(b"no profile at all, and no protobuf \xff\xff\xff")
    (entry,) = logdir.scan(str(logs)).runs
    whole, parts = Opened(entry), Opened(entry, ReadOptions(hosts=HostReading()))
    assert [trace.host for trace in parts.run.traces] == [t.host for t in whole.run.traces]
    assert parts.warnings == whole.warnings
    assert parts.warnings


def test_a_file_that_is_another_one_where_it_is_read_is_read_here_and_said(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlike = host_reading.unlike
    seen: list[str] = []

    def on_another_machine(path: str, stamp: Any) -> str:
        if "node04" in path and path not in seen:
            seen.append(path)
            return f"{path} (No such file or directory)"
        return unlike(path, stamp)

    monkeypatch.setattr(host_reading, "unlike", on_another_machine)
    with ThreadPoolExecutor(1) as executor:
        run = opened(logs, executor).run
    assert len(run.traces) == 12
    (warning,) = run.warnings
    assert warning.cause.startswith("1 host was read here instead: ")
    assert warning.cause.endswith("node04.xplane.pb (No such file or directory)")


def test_a_process_that_ends_is_said_and_its_hosts_are_read_here(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()
    load_host = host_reading.loading.load_host

    def dies(entry: Any, *others: Any) -> Any:
        if os.getpid() != here and "node06" in entry.profiles[0].path:
            os._exit(3)
        return load_host(entry, *others)

    monkeypatch.setattr(host_reading.loading, "load_host", dies)
    with processes.process_pool(2) as pool:
        run = opened(logs, pool).run
    assert [trace.host for trace in run.traces] == [f"node{host:02}" for host in range(12)]
    assert "read here instead" in run.warnings[-1].cause


# ── events that come and go ──────────────────────────────────────────────────────────────────────


def test_the_events_of_the_host_that_was_asked_for_last_are_held(logs: Path) -> None:
    run = opened(logs).run
    held = run.traces[0].file.held  # type: ignore[attr-defined]
    assert held.reads == 0
    first = run.traces[3].processes[0].tracks[0].events
    assert run.traces[3].processes[0].tracks[0].events is first
    assert held.reads == 1
    held._max_bytes = 1
    assert len(run.traces[4].processes[0].tracks[0].events)
    again = run.traces[3].processes[0].tracks[0].events
    assert held.reads == 3
    assert again is not first
    assert again.start.tolist() == first.start.tolist()


def test_planes_lines_and_counts_of_all_hosts_are_known_without_reading_any(logs: Path) -> None:
    run = opened(logs).run
    (entry,) = logdir.scan(str(logs)).runs
    for trace, whole in zip(run.traces, Opened(entry).run.traces, strict=True):
        assert trace.devices == whole.devices
        assert trace.event_count == whole.event_count
        assert [(p.name, t.name, t.event_count) for p, t in trace.tracks()] == [
            (p.name, t.name, t.event_count) for p, t in whole.tracks()
        ]
    assert run.traces[0].file.held.reads == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("compat", COMPAT)
def test_steps_by_the_rules_that_are_asked_for_come_with_the_hosts(
    logs: Path, compat: Compat
) -> None:
    (entry,) = logdir.scan(str(logs)).runs
    parts = Opened(entry, ReadOptions(hosts=HostReading(), compat=compat))
    whole = Opened(entry)
    for one, other in zip(parts.profiles, whole.profiles, strict=True):
        for broken_down in (breakdown.step_breakdown, breakdown.uncut_breakdown):
            measured, expected = broken_down(one, compat), broken_down(other, compat)
            assert measured.length.tolist() == expected.length.tolist()
            assert measured.parts.tolist() == expected.parts.tolist()
    # The first host is read here, the others are not read again.
    assert parts.run.traces[0].file.held.reads <= 1  # type: ignore[attr-defined]


def test_what_was_worked_out_of_events_goes_with_them(logs: Path) -> None:
    run_opened = opened(logs)
    held = run_opened.run.traces[0].file.held  # type: ignore[attr-defined]
    timeline = activity_timeline(run_opened.profiles[2])
    assert activity_timeline(run_opened.profiles[2]) is timeline
    held._max_bytes = 1
    assert len(run_opened.run.traces[9].processes[0].tracks[0].events)
    assert activity_timeline(run_opened.profiles[2]) is not timeline


def test_a_file_that_changed_since_is_not_read_again(logs: Path) -> None:
    run = opened(logs).run
    path = Path(run.traces[8].path)
    path.write_bytes(path.read_bytes() + b"\x22\x01x")
    with pytest.raises(FileChanged, match="changed since it was read"):
        run.traces[8].processes[0].tracks[0].events  # noqa: B018


def test_few_hosts_are_read_whole(tmp_path: Path) -> None:
    run = opened(write_hosts(tmp_path / "few", hosts=7)).run
    assert not any(isinstance(trace, host_trace.HostTrace) for trace in run.traces)


def test_a_host_on_another_clock_is_not_read_for_that(logs: Path) -> None:
    (entry,) = logdir.scan(str(logs)).runs
    options = ReadOptions(match_clocks=True)
    whole = Opened(entry, options).run
    parts = Opened(entry, ReadOptions(match_clocks=True, hosts=HostReading())).run
    assert [trace.clock for trace in parts.traces] == [trace.clock for trace in whole.traces]
    assert parts.traces[0].file.held.reads == 0  # type: ignore[attr-defined]


def test_the_first_host_is_shown_before_the_others_are_read(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "_MIN_REMAINING_S", -1.0)
    monkeypatch.setattr(loader, "_PART_EVERY_S", 0.0)
    (entry,) = logdir.scan(str(logs)).runs
    shown: list[tuple[int, bool]] = []
    reading = loader.Loader(
        entry,
        ReadOptions(hosts=HostReading()),
        on_progress=lambda _: None,
        on_part=lambda part: shown.append((len(part.run.traces), part.complete)),
        on_failed=lambda error: pytest.fail(str(error)),
        training=lambda: None,
        aligning=Aligning(),
    )
    reading._read()
    assert shown[0] == (1, False)
    assert shown[-1] == (12, True)
