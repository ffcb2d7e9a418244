"""`--on dask://…` with a real scheduler and real workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from powertui import cli
from powertui.data import cluster, loading, logdir, run_readers
from powertui.data.asked import ReadOptions
from powertui.data.host_readers import HostReading
from powertui.data.logdir import RunEntry
from powertui.data.opened import Opened
from powertui.data.run.rank_collectives import HOST_CALLS
from powertui.data.training.training import Trainings
from powertui.data.wire.stored import FileState
from powertui.power_server import FetchedPower, PowerQuestion
from powertui.report import baseline

from ..waiting import until
from .many_hosts import SLOW, write_hosts

pytest.importorskip("distributed", reason="distributed is not installed: pip install '.[cluster]'")


class Dask:
    """A scheduler and its workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        until(lambda: self._file.exists() and self._file.read_text().strip().endswith("}"))
        address = json.loads(self._file.read_text())["address"]
        self.address = address.replace("tcp", "dask", 1)

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments]
        with open(self._folder / f"{what}.log", "ab") as log:
            process = subprocess.Popen(
                [*command, "--scheduler-file", str(self._file)],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        self.processes.append(process)
        return process

    def add_workers(self, count: int) -> list[subprocess.Popen[bytes]]:
        """So many more, each with one thread."""
        from distributed import Client

        with Client(self.address.replace("dask", "tcp"), set_as_default=False) as client:
            before = len(client.ncores())
            options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
            workers = [self._start("worker", *options) for _ in range(count)]
            until(lambda: len(client.ncores()) == before + count)
        return workers

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    folder = tmp_path / "dask"
    folder.mkdir()
    running = Dask(folder)
    yield running
    running.close()


@pytest.fixture(autouse=True)
def no_client_left() -> Iterator[None]:
    """The program keeps its client until it ends. Here others are tested in the same process, and
    one that has threads is never copied.
    """
    yield
    from distributed import Client
    from distributed.utils import LoopRunner

    for client in list(Client._instances):
        client.close(timeout=1)
    # Of a client that found no scheduler.
    for _, runner in list(LoopRunner._all_loops.values()):
        if runner is not None and runner.is_started():
            runner.stop()


def opened(logs: Path, address: str = "") -> Opened:
    (entry,) = logdir.scan(str(logs)).runs
    hosts = cluster.cluster_reader(address) if address else None
    return Opened(entry, ReadOptions(hosts=hosts))


def figures(run: Opened) -> list[Any]:
    """All that comes back of each host, to the last bit."""
    found = []
    for profile in run.profiles:
        trace = profile.trace
        steps = [
            column.tolist() for column in vars(profile.steps).values() if hasattr(column, "tolist")
        ]
        calls = [
            [column.tolist() for column in vars(rank).values() if hasattr(column, "tolist")]
            for rank in trace.prepared(HOST_CALLS) or ()
        ]
        found.append((trace.host, trace.span, str(trace.clock), steps, calls))
    return found


def test_answers_are_the_same_with_one_two_and_four_workers(
    dask: Dask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = write_hosts(tmp_path / "logs")
    asked = ["report", str(logs), "--tool", "hosts", "--json"]
    assert cli.main(asked) == 0
    here = capsys.readouterr().out
    assert SLOW in here
    for more in (1, 1, 2):
        dask.add_workers(more)
        assert cli.main([*asked, "--on", dask.address]) == 0
        assert capsys.readouterr().out == here


def test_the_hosts_of_a_worker_that_is_killed_are_read_by_others_and_it_is_said(
    dask: Dask, tmp_path: Path
) -> None:
    logs = write_hosts(tmp_path / "logs", hosts=40, kernels=400)
    doomed, *_ = dask.add_workers(2)
    reader = cluster.cluster_reader(dask.address)
    ask = reader.parts

    def killing(questions: Any, on_wait: Any) -> Iterator[Any]:
        for number, part in enumerate(ask(questions, on_wait)):
            if number == 0:
                os.kill(doomed.pid, signal.SIGKILL)
                doomed.wait()
            yield part

    reader.parts = killing  # type: ignore[method-assign]
    (entry,) = logdir.scan(str(logs)).runs
    run = Opened(entry, ReadOptions(hosts=reader))
    assert [warning.cause for warning in run.run.warnings] == [
        "1 of 2 workers was lost; their hosts were read again"
    ]
    here = opened(logs)
    assert [figure[:4] for figure in figures(run)] == [figure[:4] for figure in figures(here)]


def test_a_tool_says_that_a_worker_was_lost_beside_an_answer_that_is_the_same(
    dask: Dask,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = write_hosts(tmp_path / "logs", hosts=40, kernels=400)
    asked = ["report", str(logs), "--tool", "hosts", "--json"]
    assert cli.main(asked) == 0
    here = capsys.readouterr()
    assert here.err == ""
    doomed, *_ = dask.add_workers(2)
    read_parts = HostReading.parts

    def killing(reader: HostReading, questions: Any, on_wait: Any) -> Iterator[Any]:
        for number, part in enumerate(read_parts(reader, questions, on_wait)):
            if number == 0:
                os.kill(doomed.pid, signal.SIGKILL)
                doomed.wait()
            yield part

    monkeypatch.setattr(HostReading, "parts", killing)
    assert cli.main([*asked, "--on", dask.address]) == 0
    there = capsys.readouterr()
    assert there.out == here.out
    assert there.err == (
        f"powertui: {dask.address}: 1 of 2 workers was lost; their hosts were read again\n"
    )


def test_when_all_workers_are_gone_the_rest_is_read_here_and_it_is_said(
    dask: Dask, tmp_path: Path
) -> None:
    logs = write_hosts(tmp_path / "logs", hosts=40, kernels=400)
    workers = dask.add_workers(2)
    reader = cluster.cluster_reader(dask.address)
    ask = reader.parts

    def killing(questions: Any, on_wait: Any) -> Iterator[Any]:
        for worker in workers:  # as soon as they have got something to do
            os.kill(worker.pid, signal.SIGSTOP)
        parts = ask(questions, on_wait)
        for worker in workers:
            worker.kill()
            worker.wait()
        yield from parts

    reader.parts = killing  # type: ignore[method-assign]
    (entry,) = logdir.scan(str(logs)).runs
    run = Opened(entry, ReadOptions(hosts=reader))
    causes = [warning.cause for warning in run.run.warnings]
    assert causes[0] == "39 hosts were read here instead: no worker is left"
    assert causes[1] == "2 of 2 workers were lost; their hosts were read again"
    assert len(run.profiles) == 40


def test_a_scheduler_that_does_not_answer_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.2)
    logs = write_hosts(tmp_path / "logs", hosts=1)
    assert cli.main(["report", str(logs), "--on", "dask://127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert "No Dask scheduler answers at dask://127.0.0.1:9." in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "address",
    [
        "dask:/x",
        "tcp://host:8786",
        "dask://",
        "dask://host:99999",
        "dask://host:8786/../x",
        "dask://a\x1b[31m",
    ],
)
def test_what_is_no_address_is_said(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", ".", "--on", address]) == 2
    said = capsys.readouterr().err
    assert "is not the address of a cluster." in said
    assert "\x1b" not in said


def test_a_missing_package_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.main(["report", ".", "--on", "dask://host:8786"]) == 2
    said = capsys.readouterr().err
    assert "--on dask://host:8786 needs the package distributed." in said
    assert "pip install distributed" in said


def test_a_cluster_without_workers_and_one_of_another_version_are_said(
    dask: Dask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["report", ".", "--on", dask.address]) == 2
    assert f"{dask.address} has no worker yet." in capsys.readouterr().err
    dask.add_workers(1)
    monkeypatch.setattr(cluster, "__version__", "99.0")
    assert cli.main(["report", ".", "--on", dask.address]) == 2
    assert "this is 99.0." in capsys.readouterr().err


# ── the runs of a list ───────────────────────────────────────────────────────────────────────────


def write_runs(folder: Path, runs: int = 6) -> Path:
    """A logdir with runs of one host each, two of which are cut."""
    for number in range(runs):
        run = folder / f"trial{number}" / "plugins" / "profile" / "2026_11_28_10_00_00"
        run.mkdir(parents=True)
        whole = write_hosts(folder.parent / f"{folder.name}-{number}", hosts=1, kernels=20 + number)
        (profile,) = whole.rglob("*.xplane.pb")
        content = profile.read_bytes()
        file = run / "node00.xplane.pb"
        file.write_bytes(content[:900] if number % 3 == 2 else content)
        os.utime(file, (1_795_860_000, 1_795_860_000))  # nothing is said of a file being written
    return folder


# What is asked of a list: "*" are its runs, each as a path of its own.
LISTS = (
    ["report", ".", "--json"],
    ["report", "."],
    ["report", ".", "--csv"],
    ["report", ".", "--markdown"],
    ["doctor", ".", "--json"],
    ["doctor", "."],
    ["report", ".", "--tool", "op_stats", "--json"],
    ["report", ".", "--tool", "op_stats", "--csv"],
    ["report", ".", "--tool", "overview_page"],
    ["report", ".", "--tool", "steps", "--markdown", "--to", "1s"],
    ["compare", "trial0", "trial1", "trial2", "--", "trial3", "trial4", "--json"],
    ["compare", "trial0", "trial4"],
    ["compare", "trial0", "trial1", "--csv", "--steps", "2-9"],
    ["compare", "trial3", "--from", "0s", "--from", "0.5s", "--to", "0.5s", "--to", "1s"],
    ["check", ".", "--max", "step_s=120ms", "--max", "op:fusion.1=1", "--json"],
    ["check", "*", "--max", "step_s=1ms"],
    ["baseline", "save", "main", ".", "--replace", "--dir", "baselines"],
)
EXIT_CODES = (0, 1)  # `check` answers with either


def told(logs: Path, asked: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, ...]:
    """What is printed, what is said of it beside, and what is saved."""
    words = []
    for word in asked:
        if word == "*":
            words += sorted(map(str, logs.iterdir()))
        elif word == "." or word.startswith("trial"):
            words.append(str(logs / word))
        else:
            words.append(word)
    assert cli.main(words) in EXIT_CODES
    captured = capsys.readouterr()
    saved = []
    for path in Path("baselines").glob("*.json"):
        saved.append(path.read_text())
        path.unlink()
    return captured.out, captured.err, *saved


def with_cluster(asked: list[str], dask: Dask) -> list[str]:
    """The same, by a cluster."""
    verb, *words = asked
    return [verb, "--on", dask.address, *words]


@pytest.fixture
def in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Baselines are saved there, and at one moment."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(baseline, "time", SimpleNamespace(time=lambda: 1_795_860_000.0))


@pytest.mark.usefixtures("in_own_folder")
def test_the_runs_of_a_list_are_read_by_workers_and_answers_are_the_same(
    dask: Dask,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = write_runs(tmp_path / "logs")
    here = [told(logs, asked, capsys) for asked in LISTS]
    assert all(out for out, *_ in here)

    def fail(entry: RunEntry, **_: Any) -> None:
        raise AssertionError(f"{entry.name} was read here")

    monkeypatch.setattr(loading, "load_run", fail)
    dask.add_workers(2)
    for asked, expected in zip(LISTS, here, strict=True):
        assert told(logs, with_cluster(asked, dask), capsys) == expected


@pytest.mark.usefixtures("in_own_folder")
@pytest.mark.parametrize(
    "asked",
    [
        ["report", ".", "--json"],
        ["report", ".", "--tool", "op_stats", "--json"],
        ["compare", "*", "--", "trial0", "--json"],
        ["check", ".", "--max", "step_s=120ms", "--json"],
        ["baseline", "save", "main", "*", "--replace", "--dir", "baselines"],
    ],
    ids=lambda asked: " ".join(asked[:3]),
)
def test_the_runs_of_a_worker_that_is_killed_are_read_by_others_and_it_is_said(
    dask: Dask,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked: list[str],
) -> None:
    logs = write_runs(tmp_path / "logs", runs=12)
    here, beside, *saved = told(logs, asked, capsys)
    doomed, _ = dask.add_workers(2)
    answers = HostReading.answers

    def killing(reader: HostReading, *questions: Any) -> Iterator[Any]:
        for answer in answers(reader, *questions):
            doomed.kill()
            doomed.wait()
            yield answer

    monkeypatch.setattr(HostReading, "answers", killing)
    out, err, *saved_there = told(logs, with_cluster(asked, dask), capsys)
    assert (out, saved_there) == (here, saved)
    assert err == (
        f"{beside}powertui: {dask.address}: 1 of 2 workers was lost; their runs were read again\n"
    )


def test_a_run_that_is_another_one_there_is_read_here_and_it_is_said(
    dask: Dask,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = write_runs(tmp_path / "logs")
    here = told(logs, ["report", ".", "--json"], capsys)[0]
    dask.add_workers(1)
    state_of = FileState.at

    def other(path: str) -> FileState | None:
        state = state_of(path)
        if state is not None and "trial3" in path:
            return state._replace(mtime_ns=state.mtime_ns - 1)
        return state

    monkeypatch.setattr(FileState, "at", other)
    out, err = told(logs, ["report", ".", "--json", "--on", dask.address], capsys)
    assert out == here
    profile = next((logs / "trial3").rglob("*.xplane.pb"))
    assert err == (
        f"powertui: {dask.address}: 1 run was read here instead: {profile} is another file there\n"
    )


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (["report", ".", "--tool", "op_stats", "--from", "2s", "--to", "1s"], "window"),
        (["compare", "trial0", "trial1", "--epoch", "7"], "epoch"),
        (["check", ".", "--max", "step_s=1", "--host", "nobody"], "No host"),
    ],
    ids=["report", "compare", "check"],
)
def test_what_a_run_refuses_is_said_in_the_same_words_and_once(
    dask: Dask,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    asked: list[str],
    problem: str,
) -> None:
    logs = write_runs(tmp_path / "logs", runs=2)
    verb, *words = [
        str(logs / word) if word in (".", "trial0", "trial1") else word for word in asked
    ]
    code = cli.main([verb, *words])
    here = capsys.readouterr()
    assert code == 2
    assert problem in here.err
    dask.add_workers(1)
    assert cli.main([verb, "--on", dask.address, *words]) == code
    assert capsys.readouterr() == here


def test_runs_whose_power_a_server_has_are_read_here_and_it_is_said(tmp_path: Path) -> None:
    logs = write_runs(tmp_path / "logs")
    with ThreadPoolExecutor(1) as executor:
        reader = HostReading(executor)
        server = "prometheus://127.0.0.1:9"
        options = ReadOptions(hosts=reader, servers=((server, Unasked()),))
        scan = logdir.scan(str(logs))
        names = list(run_readers.each_run(name_of, scan.runs, Trainings(scan, options)))
    assert names == [run.name for run in scan.runs]
    (warning,) = reader.warnings()
    assert warning.cause == (
        "6 runs were read here instead: a server is asked for their power, and its password is not "
        "sent"
    )


class Unasked:
    """A server of power that nobody asks."""

    def fetch(self, question: PowerQuestion) -> FetchedPower:
        raise AssertionError(question)


def name_of(entries: Sequence[RunEntry], trainings: Trainings, number: int) -> str:
    return entries[number].name
