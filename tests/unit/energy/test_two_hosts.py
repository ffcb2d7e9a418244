"""A run of several hosts with their power: joules under the host that drew them, and once for the
run.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import powertui
from powertui import cli
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy import account
from powertui.data.opened import Opened
from powertui.report import runs
from tests.synthetic import hosts
from tests.synthetic.hosts import Hosts


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Hosts:
    return hosts.two(tmp_path_factory.mktemp("two"))


def energy(made: Hosts, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.main(["energy", str(made.logdir), "--json", *arguments]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def holds(told: dict[str, Any], truth: float) -> bool:
    """Whether the truth lies within the interval, with room for what a test's one seed may do.

    Steps here are about as long as the time between two readings: were these of moments, they could
    miss 12 % of the joules, and nothing says that they are means.
    """
    half = (told["hi"] - told["lo"]) / 2
    return bool(abs(told["joules"] - truth) < 2 * half < 0.3 * truth)


LOGS = [
    ("long", {"host-a": "host-a", "host-b": "host-b"}),
    ("long", {"HOST-A.cluster": "host-a", "bmc-host-b": "host-b"}),
    ("long", {"host-b-ipmi": "host-b", "host-a.mgmt.cluster": "host-a"}),
    ("recording", {"host-a-bmc": "host-a", "bmc-host-b.cluster": "host-b"}),
]


@pytest.mark.parametrize(("kind", "labels"), LOGS)
def test_each_host_has_its_own_joules(
    made: Hosts,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    labels: dict[str, str],
) -> None:
    log = (
        made.long_csv(tmp_path / "all.csv", labels)
        if kind == "long"
        else made.recording(tmp_path / "all.csv", labels)
    )
    told = energy(made, capsys, "--power", str(log))
    first, second = told["runs"]
    assert (first["host"], second["host"]) == ("host-a", "host-b")
    for one in (first, second):
        assert holds(one["profile"], made.joules(one["host"]))
        assert [labels[sensor["host"]] for sensor in one["sensors"]] == [one["host"]]
        assert one["unmatched"] == []
    (total,) = told["totals"]
    assert holds(total, made.joules("host-a") + made.joules("host-b"))
    assert [h["host"] for h in total["hosts"]] == ["host-a", "host-b"]
    assert total["joules"] == pytest.approx(
        first["profile"]["joules"] + second["profile"]["joules"]
    )


def test_logs_with_one_name_are_told_apart_by_their_folders(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = []
    for folder, host in (("left", "host-a"), ("right", "host-b")):
        (tmp_path / folder).mkdir()
        logs += ["--power", str(made.plain_csv(tmp_path / folder / "power.csv", host))]
    told = energy(made, capsys, *logs)
    for one in told["runs"]:
        assert one["profile"]["joules"] is None
        (note,) = [note for note in one["notes"] if "Not counted" in note]
        assert "watts in left/power.csv, watts in right/power.csv" in note
        assert "--power-host left/power.csv=HOST --power-host right/power.csv=HOST, each" in note
    said = energy(
        made,
        capsys,
        *logs,
        "--power-host",
        "left/power.csv=host-a",
        "--power-host",
        "right/power.csv=host-b",
    )
    assert holds(said["runs"][0]["profile"], made.joules("host-a"))
    assert holds(said["runs"][1]["profile"], made.joules("host-b"))


def test_power_of_hosts_that_nobody_knows_is_in_no_sum(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "bmc-18": "host-b"}))
    told = energy(made, capsys, "--power", log)
    for one in told["runs"]:
        assert one["profile"]["joules"] is None
        assert one["sensors"] == []
        assert [found["host"] for found in one["unmatched"]] == ["bmc-17", "bmc-18"]
        spelled = (
            "--power-host bmc-17=HOST --power-host bmc-18=HOST, each HOST one of host-a, host-b"
        )
        assert any(spelled in note for note in one["notes"])
    assert told["totals"][0]["joules"] is None
    assert [found["joules"] is not None for found in told["totals"][0]["unmatched"]] == [True, True]

    said = energy(
        made,
        capsys,
        "--power",
        log,
        "--power-host",
        "bmc-17=host-a",
        "--power-host",
        "bmc-18=HOST-B",
    )
    assert holds(said["runs"][0]["profile"], made.joules("host-a"))
    assert holds(said["runs"][1]["profile"], made.joules("host-b"))

    half = energy(made, capsys, "--power", log, "--power-host", "bmc-17=host-a")
    assert holds(half["runs"][0]["profile"], made.joules("host-a"))
    assert half["runs"][1]["profile"]["joules"] is None
    assert half["totals"][0]["joules"] is None  # a part of a run is not the run
    assert half["totals"][0]["reason"] == "not known for host-b"


def test_a_log_of_one_host_is_not_the_others(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = energy(
        made, capsys, "--power", str(made.long_csv(tmp_path / "b.csv", {"host-b": "host-b"}))
    )
    assert told["runs"][0]["profile"]["joules"] is None
    assert holds(told["runs"][1]["profile"], made.joules("host-b"))


def test_power_that_names_no_host_is_nobodys_in_a_run_of_two(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(made.plain_csv(tmp_path / "power.csv", "host-a"))
    told = energy(made, capsys, "--power", log)
    assert [one["profile"]["joules"] for one in told["runs"]] == [None, None]
    said = energy(made, capsys, "--power", log, "--power-host", "power.csv=host-a")
    assert holds(said["runs"][0]["profile"], made.joules("host-a"))


def test_a_file_for_each_host(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [str(made.plain_csv(tmp_path / f"power_{host}.csv", host)) for host in made.works]
    told = energy(made, capsys, "--power", logs[0], "--power", logs[1])
    for one in told["runs"]:
        assert holds(one["profile"], made.joules(one["host"]))
        assert one["sensors"][0]["belongs"] == {
            "how": "file",
            "why": f"its file is power_{one['host']}.csv",
            "badge": "measured",
        }


def test_one_host_takes_power_without_a_name_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = hosts.write(tmp_path, {"host-a": hosts.FIRST})
    told = energy(one, capsys, "--power", str(one.plain_csv(tmp_path / "p.csv", "host-a")))
    assert holds(told["runs"][0]["profile"], one.joules("host-a"))
    assert told["runs"][0]["sensors"][0]["belongs"]["badge"] == "assumed"
    assert any("(assumed)" in note for note in told["runs"][0]["notes"])
    other = energy(
        one, capsys, "--power", str(one.long_csv(tmp_path / "q.csv", {"host-b": "host-a"}))
    )
    assert other["runs"][0]["profile"]["joules"] is None


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("bmc-17=host-c", "no host host-c"),
        ("bmc-99=host-a", "no power is named bmc-99"),
        ("bmc-17", "not a pair"),
        ("bmc-17=", "not a pair"),
    ],
)
def test_a_slip_is_one_sentence(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str, wrong: str
) -> None:
    log = made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a"})
    for verb in (["energy"], ["export", "--host", "host-a"]):
        assert (
            cli.main(
                [verb[0], str(made.logdir), *verb[1:], "--power", str(log), "--power-host", said]
            )
            == 2
        )
        found = capsys.readouterr()
        assert found.out == ""
        assert wrong in found.err


def test_the_config_file_says_whose_it_is(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[power_hosts]\nbmc-17 = "host-a"\n"10.0.0.7" = "host-b"\n"bmc-99" = "another"\n'
    )
    monkeypatch.setenv("POWERTUI_CONFIG", str(config))
    log = str(made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "10.0.0.7": "host-b"}))
    told = energy(made, capsys, "--power", log)
    for one in told["runs"]:
        assert holds(one["profile"], made.joules(one["host"]))
    swapped = energy(
        made,
        capsys,
        "--power",
        log,
        "--power-host",
        "bmc-17=host-b",
        "--power-host",
        "10.0.0.7=host-a",
    )
    # What was typed wins. The first host's profile is not as long as the other's to the last step.
    assert swapped["runs"][0]["profile"]["joules"] == pytest.approx(made.joules("host-b"), rel=0.05)
    config.write_text("[power_hosts]\nbmc-17 = 3\n")
    assert cli.main(["energy", str(made.logdir), "--power", log]) == 2
    assert "config.toml:2: bmc-17 must be the name of a host" in capsys.readouterr().err


def test_the_python_interface(made: Hosts, tmp_path: Path) -> None:
    log = made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "host-b": "host-b"})
    run = powertui.open(made.logdir, power=log, power_hosts={"bmc-17": "host-a"})[0]
    frame = run.host_energy
    assert list(frame["of"]) == ["host-a", "host-b", "all hosts"]
    assert frame["joules"].iloc[2] == pytest.approx(
        frame["joules"].iloc[0] + frame["joules"].iloc[1]
    )
    whole = run.energy().query("window == 'whole'").set_index("host")
    assert whole.loc["host-a", "joules"] == pytest.approx(made.joules("host-a"), rel=0.03)
    assert set(run.power["host"]) == {"bmc-17", "host-b"}


def test_the_report_tells_each_host_and_the_run(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "host-b-bmc": "host-b"}))
    assert cli.main(["report", str(made.logdir), "--power", log, "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [one["belongs_to"] for one in run["power"]] == [None, "host-b"]
    assert [one["joules"] is None for one in run["energy"]["hosts"]] == [True, False]
    assert (run["energy"]["joules"], run["energy"]["reason"]) == (None, "not known for host-a")
    assert ["--power-host bmc-17=HOST" in note for note in run["energy"]["not_used"]] == [True]
    assert (
        cli.main(["report", str(made.logdir), "--power", log, "--power-host", "bmc-17=host-a"]) == 0
    )
    text = capsys.readouterr().out
    assert "  energy   host-a: 3," in text
    assert "           all hosts: 11." in text


def test_an_export_holds_its_own_hosts_power(made: Hosts, tmp_path: Path) -> None:
    log = made.long_csv(tmp_path / "all.csv", {"host-a": "host-a", "host-b": "host-b"})
    out = tmp_path / "out.csv"
    assert (
        cli.main(
            ["export", str(made.logdir), "--host", "host-b", "--power", str(log), "-o", str(out)]
        )
        == 0
    )
    frame = pd.read_csv(io.StringIO(out.read_text()), comment="#")
    assert [name for name in frame.columns if name.startswith("watts")] == ["watts: host-b watts"]


def test_an_export_without_power_says_whose_there_is(
    made: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a"}))
    assert (
        cli.main(
            ["export", str(made.logdir), "--host", "host-a", "--power", log, "--what", "steps"]
        )
        == 0
    )
    found = capsys.readouterr()
    problem = "No power belongs to host-a: the log names bmc-17. To say whose it is: --power-host"
    assert f"{problem} bmc-17=HOST, one of host-a, host-b." in found.err
    assert "joules" not in found.out


def test_channels_of_one_host_under_two_names_are_counted_once(made: Hosts, tmp_path: Path) -> None:
    first = made.long_csv(tmp_path / "node.csv", {"host-a": "host-a"})
    second = made.recording(tmp_path / "bmc.csv", {"bmc-host-a": "host-a"})
    opened = Opened(
        logdir.scan(made.logdir).runs[0],
        ReadOptions(power=(str(first), str(second)), find_power=False),
    )
    found = account.energy_account(opened.profiles[0])
    assert len(found.placed) == 2
    energy = found.energy(*found.trace.span)
    assert energy is not None
    assert energy.joules == pytest.approx(made.joules("host-a"), rel=0.03)


def test_the_list_of_runs_has_the_run_s_joules_once(made: Hosts, tmp_path: Path) -> None:
    entry = logdir.scan(made.logdir).runs[0]

    def listed(labels: dict[str, str]) -> runs.KnownRun:
        log = str(made.recording(tmp_path / "bmc.csv", labels))
        opened = Opened(entry, ReadOptions(power=(log,), find_power=False))
        return runs.weighed(opened, runs.read(opened))

    both = listed({"host-a": "host-a", "bmc-host-b": "host-b"})
    assert both.joules == pytest.approx(made.joules("host-a") + made.joules("host-b"), rel=0.03)
    assert both.power.startswith("±")
    half = listed({"host-a": "host-a", "bmc-18": "host-b"})
    assert (half.joules, half.power) == (None, "1 of 2 hosts")
    none = listed({"bmc-17": "host-a", "bmc-18": "host-b"})
    assert (none.joules, none.power) == (None, "of no host")


def test_workers_of_one_machine_are_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = hosts.write(tmp_path, {"10.0.0.7_6003": hosts.FIRST, "10.0.0.7_6004": hosts.FIRST})
    log = made.long_csv(tmp_path / "power.csv", {"10.0.0.7": "10.0.0.7_6003"})
    told = energy(made, capsys, "--power", str(log))
    assert [one["host"] for one in told["runs"]] == ["10.0.0.7_6003", "10.0.0.7_6004"]
    (total,) = told["totals"]
    assert [one["host"] for one in total["hosts"]] == ["10.0.0.7"]
    # from the first worker's start to the last one's end, once
    first, second = (made.works[host] for host in made.works)
    lo, hi = 0.0, max(first.span[1], second.span[1] + second.plan.unix_s - first.plan.unix_s)
    assert holds(total, float(first.energy(lo, hi)))
