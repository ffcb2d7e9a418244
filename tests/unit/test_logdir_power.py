"""Which power logs a scan gives to which runs."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from powertui.data.logdir import scan
from tests.logdirs import make, power


@pytest.mark.parametrize(
    "place",
    [
        "power.csv",
        "data/watts.csv",
        "logs/power.csv",
        "logs/fit/train/power.csv",
        "measurements/power.csv",
    ],
)
def test_power_in_or_beside_the_logs_is_found(tmp_path: Path, place: str) -> None:
    make(tmp_path, "project/logs/fit/train/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "project" / place)
    (run,) = scan(tmp_path / "project").runs
    assert [Path(log.path).name for log in run.power] == [Path(place).name]


@pytest.mark.parametrize(
    "level", ["logs", "logs/fit", "logs/fit/train", "logs/fit/train/plugins/profile/r/h.xplane.pb"]
)
def test_power_above_what_was_asked_for_is_told_of_and_not_taken(
    tmp_path: Path, level: str
) -> None:
    make(tmp_path, "project/logs/fit/train/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "project/power.csv")
    found = scan(tmp_path / "project" / level)
    (run,) = found.runs
    assert run.power == ()
    assert found.power == ()
    assert [Path(log.path).name for log in run.above] == ["power.csv"]


@pytest.mark.parametrize(
    "level", ["logs/fit/train", "logs/fit/train/plugins/profile/r/h.xplane.pb"]
)
def test_power_in_a_runs_own_folder_is_found_from_its_profile(tmp_path: Path, level: str) -> None:
    make(tmp_path, "project/logs/fit/train/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "project/logs/fit/train/power.csv")
    (run,) = scan(tmp_path / "project" / level).runs
    assert [Path(log.path).name for log in run.power] == ["power.csv"]


def test_power_of_one_project_is_not_given_to_another(tmp_path: Path) -> None:
    make(tmp_path, "a/logs/plugins/profile/r/h.xplane.pb", "b/logs/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "a/power.csv")
    power(tmp_path / "elsewhere/power.csv")
    found = scan(tmp_path)
    assert {run.name: len(run.power) for run in found.runs} == {"a/logs/r": 1, "b/logs/r": 0}
    assert len(found.power) == 2  # the other is known, and belongs to nobody


def test_tables_that_are_no_power_are_left_alone(tmp_path: Path) -> None:
    make(tmp_path, "plugins/profile/r/h.xplane.pb")
    make(tmp_path, "manifest.tsv", "notes.txt", "results.csv", content=b"name\tsize\nalpha\tbeta\n")
    assert scan(tmp_path).power == ()


ANSWER = (
    '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_power_watts"},'
    '"values":[[1714557600,"230"],[1714557601,"231"]]}]}}'
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("loop.txt", "".join(f"{1_714_557_600 + t} {230 + t}.5\n" for t in range(8))),
        ("answer.json", ANSWER),
    ],
)
def test_a_log_that_is_named_is_one_whatever_its_name(tmp_path: Path, name: str, text: str) -> None:
    power(tmp_path / "power.csv")
    (tmp_path / name).write_text(text, "utf-8")
    (run,) = scan(tmp_path / name).runs
    assert [Path(log.path).name for log in run.power] == [name]
    assert not run.profiles
    assert [Path(log.path).name for log in scan(tmp_path).power] == [
        "power.csv"
    ]  # unasked it is not taken


@pytest.mark.parametrize("name", ["notes.txt", "table.csv", "settings.json", "odd.bin"])
def test_what_lies_beside_a_file_that_nobody_reads_is_not_its_answer(
    tmp_path: Path, name: str
) -> None:
    power(tmp_path / "power.csv")
    make(tmp_path, "events.out.tfevents.9.h.19202.5.v2")
    (tmp_path / name).write_bytes(
        b'{"a": 1}'
        if name.endswith("json")
        else b"hello\n"
        if "bin" not in name
        else bytes(range(256))
    )
    found = scan(tmp_path / name)
    (run,) = found.runs
    assert [Path(profile.path).name for profile in run.profiles] == [name]
    assert run.power == found.power == ()
    assert run.tfevents == found.tfevents == ()


ROWS = "".join(f"{1_700_000_000 + second},{200 + second % 7}\n" for second in range(20))
BELOW_LIST = "[" + ",".join(
    f'{{"t": "2023-11-14T22:13:{20 + k}Z", "watt": 20{k}}}' for k in range(9)
)
NAMED_BY_ONE_COLUMN = "when,watts\n" + "".join(
    f"Tue Nov 14 22:13:{20 + second} 2023,20{second}\n" for second in range(9)
)


@pytest.mark.parametrize(
    ("name", "text"),
    [("node3_power.csv", NAMED_BY_ONE_COLUMN), ("power.json", BELOW_LIST + "]")],
)
def test_a_file_whose_name_says_power_needs_less_to_be_taken(
    tmp_path: Path, name: str, text: str
) -> None:
    make(tmp_path, "plugins/profile/r/h.xplane.pb")
    (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / name.replace("power", "table")).write_text(text, "utf-8")
    (run,) = scan(tmp_path).runs
    assert [Path(log.path).name for log in run.power] == [name]
    assert run.refused == ()


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("power.csv", ("time_unix_s,dBm\n" + ROWS).encode(), "its columns are: time_unix_s, dBm"),
        ("watts.csv", ROWS.encode(), "may be a power log, but no column is named like power"),
        ("psu_watts.txt", b"hello\nworld\n", "has no column named like power or time"),
        ("power.csv.xz", lzma.compress(ROWS.encode()), "Unpack it first: xz -dk FILE"),
        ("power.zip", b"PK\x03\x04" + bytes(60), "Unpack it first: unzip FILE"),
        ("power.xlsx", b"PK\x03\x04" + bytes(60), "is a spreadsheet. Save it as CSV"),
        ("power.parquet", b"PAR1" + bytes(60), "is a Parquet file"),
    ],
)
def test_why_a_file_whose_name_says_power_is_not_taken_is_told(
    tmp_path: Path, name: str, content: bytes, cause: str
) -> None:
    make(tmp_path, "plugins/profile/r/h.xplane.pb")
    (tmp_path / name).write_bytes(content)
    (run,) = scan(tmp_path).runs
    assert run.power == ()
    (refusal,) = run.refused
    assert refusal.file == str(tmp_path / name)
    assert cause.lower() in refusal.cause.lower()
    (named,) = scan(tmp_path / "plugins/profile/r/h.xplane.pb").runs
    assert named.refused == run.refused


def test_nobody_is_told_of_other_files_where_there_is_power(tmp_path: Path) -> None:
    make(tmp_path, "plugins/profile/r/h.xplane.pb")
    (tmp_path / "power.csv").write_text("time_unix_s,dBm\n" + ROWS, "utf-8")
    power(tmp_path / "node.csv")
    (run,) = scan(tmp_path).runs
    assert len(run.power) == 1
    assert run.refused == ()


@pytest.mark.parametrize("name", ["power_test.json", "power.pt.trace.json"])
def test_a_profile_whose_name_says_power_is_no_log_that_is_missed(
    tmp_path: Path, name: str
) -> None:
    event = {"ph": "X", "name": "a", "ts": 1, "dur": 5, "pid": 1, "tid": 1}
    content = json.dumps({"traceEvents": [event, {**event, "ts": 8}]})
    (tmp_path / name).write_text(content, "utf-8")
    (tmp_path / "other.json").write_text(content, "utf-8")
    for path in (tmp_path, tmp_path / name, tmp_path / "other.json"):
        runs = scan(path).runs
        assert runs
        assert all(run.profiles and run.refused == () for run in runs)


def test_a_table_that_powertui_wrote_is_no_log_that_is_missed(tmp_path: Path) -> None:
    make(tmp_path, "plugins/profile/r/h.xplane.pb")
    (tmp_path / "power.csv").write_text("name,badge,reason,joules\nepoch 0,measured,,3\n", "utf-8")
    (run,) = scan(tmp_path).runs
    assert run.refused == ()


def test_a_power_log_alone_is_a_run(tmp_path: Path) -> None:
    power(tmp_path / "power.csv")
    (run,) = scan(tmp_path / "power.csv").runs
    assert not run.profiles
    assert len(run.power) == 1
