"""PyTorch's profiler names a file HOST_PID: whose watts its run is given, for hosts and logs of
many spellings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from powertui import cli
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.formats import filenames, registry
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy

pytestmark = pytest.mark.usefixtures("nothing_is_searched", "worked_out_once", "read_once")

BEGINS_S = 1_760_000_000
SECONDS = 100
# what torch.profiler.tensorboard_trace_handler puts behind HOST_PID
HANDLERS = f".{BEGINS_S}000000000.pt.trace.json"


@dataclass
class Profile:
    """What PyTorch writes of one process."""

    name: str
    pid: int = 1568
    host_name: str | None = None
    rank: int | None = None
    steps: int = SECONDS

    def write(self, folder: Path) -> Path:
        """The trace; `host_name` stands behind all events, as Kineto writes it in some releases."""
        length = SECONDS * 1e6 / self.steps
        events = [
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "pid": self.pid,
                "tid": self.pid,
                "ts": i * length,
                "dur": 0.99 * length,
            }
            for i in range(self.steps)
            for cat, name in (("user_annotation", f"ProfilerStep#{i}"), ("cpu_op", "aten::mm"))
        ]
        told: dict[str, Any] = {"schemaVersion": 1}
        if self.rank is not None:
            told["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": 2}
        told |= {"traceEvents": events, "baseTimeNanoseconds": BEGINS_S * 10**9}
        if self.host_name is not None:
            told["host_name"] = self.host_name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.name
        path.write_text(json.dumps(told))
        os.utime(
            path, (BEGINS_S + SECONDS, BEGINS_S + SECONDS)
        )  # it is written when the profile ends
        return path


def torch(
    worker: str, pid: int = 1568, host_name: str | None = None, rank: int | None = None
) -> Profile:
    """A trace under the name that `tensorboard_trace_handler` gives it."""
    return Profile(f"{worker}{HANDLERS}", pid, host_name, rank)


def wide(path: Path, watts: Mapping[str, float]) -> Path:
    """A log with a column for each name."""
    rows = [
        f"{BEGINS_S + i / 2:.1f},{','.join(f'{w:.1f}' for w in watts.values())}"
        for i in range(-20, 2 * SECONDS + 40)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"time_unix_s,{','.join(watts)}\n" + "\n".join(rows) + "\n")
    return path


def long(path: Path, watts: Mapping[tuple[str, str], float]) -> Path:
    """A log with the columns `host` and `device`."""
    rows = [
        f"{BEGINS_S + i / 2:.1f},{host},{device},{w:.1f}"
        for i in range(-20, 2 * SECONDS + 40)
        for (host, device), w in watts.items()
    ]
    path.write_text("time_unix_s,host,device,watts\n" + "\n".join(rows) + "\n")
    return path


def energy(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What `powertui energy --json` answers."""
    assert cli.main(["energy", *(str(one) for one in arguments), "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def mean_watts(figure: Mapping[str, Any]) -> float | None:
    """Of a window that is as long as the profile."""
    return None if figure["joules"] is None else float(figure["joules"]) / (SECONDS - 1 + 0.99)


A_AND_B = {"nodeA_watts": 608.0, "nodeB_watts": 7120.0}

# (the trace, the columns of the log, the watts that are this run's; None: nobody can tell, so
# nothing is counted)
COLUMNS: list[tuple[str, Profile, Mapping[str, float], float | None]] = [
    ("the second of two", torch("nodeB_1568"), A_AND_B, 7120.0),
    ("the first of two", torch("nodeA_1568"), A_AND_B, 608.0),
    ("compressed or not, without a time", Profile("nodeB_1568.pt.trace.json"), A_AND_B, 7120.0),
    ("a process id of seven digits", torch("nodeB_4194303", 4194303), A_AND_B, 7120.0),
    ("a process id of two digits, as in a container", torch("nodeB_17", 17), A_AND_B, 7120.0),
    ("a domain in the file", torch("nodeB.cluster.example.org_1568"), A_AND_B, 7120.0),
    (
        "a domain in the log",
        torch("nodeB_1568"),
        {"nodeA.cluster.example.org_watts": 608.0, "nodeB.cluster.example.org_watts": 7120.0},
        7120.0,
    ),
    (
        "upper and lower case",
        torch("NODE-B_1568"),
        {"node-a power [W]": 608.0, "Node-b power [W]": 7120.0},
        7120.0,
    ),
    (
        "an underscore in the host",
        torch("big_box_1568"),
        {"small_box_W": 608.0, "big_box_W": 7120.0},
        7120.0,
    ),
    (
        "digits behind an underscore",
        torch("node_12_1568"),
        {"node_11_watts": 608.0, "node_12_watts": 7120.0},
        7120.0,
    ),
    (
        "digits that are no process id",
        Profile("node_12.pt.trace.json"),
        {"node_11_watts": 608.0, "node_12_watts": 7120.0},
        7120.0,
    ),
    (
        "a worker's own name, ending in digits",
        torch("node_12"),
        {"node_watts": 608.0, "node_12_watts": 7120.0},
        7120.0,
    ),
    (
        "the quantity first",
        torch("nodeB_1568"),
        {"watts_nodeA": 608.0, "watts_nodeB": 7120.0},
        7120.0,
    ),
    (
        "the GPUs of two hosts",
        torch("nodeB_1568"),
        {"nodeA_gpu0_watts": 300.0, "nodeB_gpu0_watts": 400.0, "nodeB_gpu1_watts": 250.0},
        650.0,
    ),
    (
        "the name in the JSON alone",
        Profile("rank0.pt.trace.json", host_name="nodeB"),
        A_AND_B,
        7120.0,
    ),
    (
        "a domain in the JSON",
        Profile("rank0.pt.trace.json", host_name="nodeB.cluster.example.org"),
        A_AND_B,
        7120.0,
    ),
    ("the JSON before the file's name", torch("nodeA_1568", host_name="nodeB"), A_AND_B, 7120.0),
    (
        "a container's name in the JSON",
        Profile("nodeB.pt.trace.json", host_name="3fa2b1c07d11"),
        A_AND_B,
        7120.0,
    ),
    ("a name of nobody in the JSON", torch("nodeB_1568", host_name="localhost"), A_AND_B, 7120.0),
    ("the sum beside the hosts", torch("nodeB_1568"), {**A_AND_B, "total_watts": 7728.0}, 7120.0),
    ("two other hosts", torch("nodeB_1568"), {"nodeA_watts": 608.0, "nodeC_watts": 7120.0}, None),
    ("one other host", torch("nodeB_1568"), {"nodeA_watts": 608.0}, None),
    (
        "hosts whose names have no form",
        torch("gamma_1568"),
        {"alpha_watts": 608.0, "beta_watts": 7120.0},
        None,
    ),
    (
        "a longer name of the same beginning",
        torch("node1_1568"),
        {"node10_watts": 608.0, "node11_watts": 7120.0},
        None,
    ),
    ("GPUs or hosts", torch("gpu_7_1568"), {"gpu_6_watts": 608.0, "gpu_7_watts": 7120.0}, None),
    ("another domain", torch("nodeB.north.org_1568"), {"nodeB.south.org_watts": 608.0}, None),
    ("no host is named", torch("nodeB_1568"), {"watts": 608.0}, 608.0),
    ("parts of one machine", torch("nodeB_1568"), {"cpu_watts": 100.0, "gpu_watts": 500.0}, 600.0),
]


@pytest.mark.parametrize(
    ("profile", "columns", "watts"),
    [case[1:] for case in COLUMNS],
    ids=[case[0] for case in COLUMNS],
)
def test_a_run_is_given_the_columns_of_its_own_host(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    profile: Profile,
    columns: Mapping[str, float],
    watts: float | None,
) -> None:
    profile.write(tmp_path)
    wide(tmp_path / "power.csv", columns)
    answer = energy(capsys, tmp_path)
    (run,) = answer["runs"]
    found = mean_watts(run["profile"])
    assert found == (None if watts is None else pytest.approx(watts, rel=0.01))
    if watts is None:
        notes = " ".join(run["notes"])
        assert "Not counted" in notes
        assert "--power-host " in notes
        assert all(name.split("_watts")[0] in notes for name in columns), (
            "the sentence names what the log names"
        )
    training = answer["trainings"][0]["whole"] if answer["trainings"] else None
    assert training is None or training["joules"] is None or watts is not None, (
        "the whole training has the same owners"
    )


@pytest.mark.parametrize(
    ("file", "watts"),
    [
        ("power_nodeA.csv", None),
        ("nodeA/power.csv", None),
        ("power-nodeC-2026.csv", None),
        ("power_nodeB.csv", 608.0),
        ("nodeB/power.csv", 608.0),
        ("power.csv", 608.0),
        ("watts.log.csv", 608.0),
    ],
)
def test_a_file_that_is_named_after_another_host_is_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, watts: float | None
) -> None:
    trace = torch("nodeB_1568").write(tmp_path / "logs")
    log = wide(tmp_path / "elsewhere" / file, {"watts": 608.0})
    (run,) = energy(capsys, trace.parent, "--power", log)["runs"]
    assert mean_watts(run["profile"]) == (None if watts is None else pytest.approx(watts, rel=0.01))


LONG: list[tuple[str, Profile, Mapping[tuple[str, str], float], float | None]] = [
    (
        "a column host",
        torch("nodeB_1568"),
        {("nodeA", "node"): 608.0, ("nodeB", "node"): 7120.0},
        7120.0,
    ),
    (
        "its domain",
        torch("nodeB_1568"),
        {("nodeA.x.org", "node"): 608.0, ("NODEB.x.org", "node"): 7120.0},
        7120.0,
    ),
    (
        "its devices",
        torch("nodeB_1568"),
        {("nodeA", "gpu0"): 300.0, ("nodeB", "gpu0"): 400.0, ("nodeB", "gpu1"): 250.0},
        650.0,
    ),
    (
        "a process id of six digits",
        torch("nodeB_123456", 123456),
        {("nodeA", "node"): 608.0, ("nodeB", "node"): 7120.0},
        7120.0,
    ),
    (
        "others alone",
        torch("nodeB_1568"),
        {("nodeA", "node"): 608.0, ("nodeC", "node"): 7120.0},
        None,
    ),
]


@pytest.mark.parametrize(
    ("profile", "rows", "watts"), [case[1:] for case in LONG], ids=[case[0] for case in LONG]
)
def test_a_run_is_given_the_rows_of_its_own_host(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    profile: Profile,
    rows: Mapping[tuple[str, str], float],
    watts: float | None,
) -> None:
    profile.write(tmp_path)
    long(tmp_path / "power.csv", rows)
    (run,) = energy(capsys, tmp_path)["runs"]
    assert mean_watts(run["profile"]) == (None if watts is None else pytest.approx(watts, rel=0.01))


@pytest.mark.parametrize(
    ("profiles", "machines"),
    [
        ((torch("nodeB_1568", 1568, rank=0), torch("nodeB_1569", 1569, rank=1)), ["nodeB"]),
        (
            (
                torch("nodeB_1568", 1568, "nodeB.cluster.org", rank=0),
                torch("nodeB_1569", 1569, rank=1),
            ),
            ["nodeB.cluster.org"],
        ),
        ((torch("rank0", 8, "nodeB", rank=0), torch("rank1", 9, "nodeB", rank=1)), ["nodeB"]),
        (
            (torch("nodeA_1568", 1568, rank=0), torch("nodeB_1568", 1568, rank=1)),
            ["nodeA", "nodeB"],
        ),
    ],
    ids=[
        "two ranks of one machine",
        "one of them says its domain",
        "ranks named by a person",
        "two machines",
    ],
)
def test_the_power_of_a_machine_counts_once_however_many_of_its_processes_were_profiled(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    profiles: Sequence[Profile],
    machines: list[str],
) -> None:
    for profile in profiles:
        profile.write(tmp_path)
    wide(tmp_path / "power.csv", A_AND_B)
    answer = energy(capsys, tmp_path)
    assert len(answer["runs"]) == 2, "each process keeps a page of its own"
    (total,) = answer["totals"]
    assert [host["host"] for host in total["hosts"]] == machines
    expected = sum(A_AND_B[f"{machine.split('.')[0]}_watts"] for machine in machines)
    assert mean_watts(total) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("verb", ["report", "energy", "doctor"])
def test_every_verb_takes_the_word_of_a_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    torch("gamma_1568").write(tmp_path)
    wide(tmp_path / "power.csv", {"alpha_watts": 608.0, "beta_watts": 7120.0})
    assert cli.main([verb, str(tmp_path), "--json", "--power-host", "beta=gamma"]) == 0
    answer = json.loads(capsys.readouterr().out)
    if verb == "energy":
        assert mean_watts(answer["runs"][0]["profile"]) == pytest.approx(7120.0, rel=0.01)
    elif verb == "report":
        assert mean_watts(answer["runs"][0]["energy"]) == pytest.approx(7120.0, rel=0.01)
        owners = {one["name"]: one["belongs_to"] for one in answer["runs"][0]["power"]}
        assert owners == {"alpha": None, "beta": "gamma"}


def test_the_name_of_a_process_stays_a_name_for_its_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch("gamma_1568").write(tmp_path)
    wide(tmp_path / "power.csv", {"alpha_watts": 608.0, "beta_watts": 7120.0})
    (run,) = energy(capsys, tmp_path, "--power-host", "beta=gamma_1568")["runs"]
    assert mean_watts(run["profile"]) == pytest.approx(7120.0, rel=0.01)


def test_a_host_s_name_is_read_behind_megabytes_of_events(tmp_path: Path) -> None:
    path = Profile("rank0.pt.trace.json", host_name="nodeB.cluster.org", steps=40_000).write(
        tmp_path
    )
    assert path.stat().st_size > 6_000_000
    assert path.read_bytes().rindex(b'"host_name"') > path.stat().st_size - 100
    (*_, trace) = registry.load(str(path), lambda *_: None)
    assert trace.machine == "nodeB.cluster.org"


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        (f"nodeB_1568{HANDLERS}", ("nodeB", 1568, True)),
        (f"gpu_7_4711{HANDLERS}.gz", ("gpu_7", 4711, True)),
        ("node_12.pt.trace.json", ("node", 12, False)),
        ("a.b.org_99.json.gz", ("a.b.org", 99, False)),
        ("rank0.pt.trace.json", None),
        ("_12.json", None),
        ("nodeB_12345678.json", None),
        ("node_12.csv", None),
    ],
)
def test_a_process_in_the_name_of_a_file(name: str, writer: tuple[str, int, bool] | None) -> None:
    assert filenames.trace_writer(name) == writer


@pytest.mark.parametrize(
    ("column", "watts"), [("nodeB_watts", 7120.0), ("nodeA_watts", None), ("watts", 7120.0)]
)
@pytest.mark.parametrize("is_read", [False, True])
def test_a_whole_training_has_the_same_owners_as_its_runs(
    tmp_path: Path, column: str, watts: float | None, is_read: bool
) -> None:
    torch("nodeB_1568").write(tmp_path)
    wide(tmp_path / "power.csv", {column: 7120.0})
    (entry,) = logdir.scan(tmp_path).trainings
    training = Training(entry, ReadOptions())
    if is_read:
        assert training.opened(entry.sessions[0]).run.traces
    whole = training_energy(training.seen_from())
    drew = whole.whole().energy
    assert (None if drew is None else drew.mean_w) == (
        None if watts is None else pytest.approx(watts, rel=0.01)
    )
    assert bool(whole.strangers) == (watts is None)


def test_a_training_of_two_hosts_has_the_power_of_both(tmp_path: Path) -> None:
    for rank, host in enumerate(("nodeA", "nodeB")):
        torch(f"{host}_1568", rank=rank).write(tmp_path)
    wide(tmp_path / "power.csv", {**A_AND_B, "nodeC_watts": 555.0})
    (entry,) = logdir.scan(tmp_path).trainings
    whole = training_energy(Training(entry, ReadOptions()).seen_from())
    drew = whole.whole().energy
    assert drew is not None
    assert drew.mean_w == pytest.approx(608.0 + 7120.0, rel=0.01)
    assert any("nodeC" in words and "Not counted" in words for words in whole.strangers)
