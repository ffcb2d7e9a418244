"""A folder of power logs without a run: a row for each measurement, with its own date, and no sum
over strangers.
"""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from powertui import cli
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.power import registry
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from powertui.report import runs as listing
from powertui.screens import trainings as rows
from tests.synthetic import write_scalars

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

HERE = Path(__file__).parents[1] / "data" / "power"
BEGINS_S = 1_760_000_000
YEAR_S = 365 * 86_400


def log(
    path: Path,
    *,
    begins: float = BEGINS_S,
    seconds: int = 60,
    host: str = "",
    column: str = "watts",
    watts: int = 200,
) -> Path:
    """A log of one channel; with `host` in a column of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head, cell = ("host,", f"{host},") if host else ("", "")
    lines = [f"{begins + i:.1f},{cell}{watts + i % 7}" for i in range(seconds)]
    path.write_text(f"time_unix_s,{head}{column}\n" + "\n".join(lines) + "\n")
    return path


def relative(path: Path, seconds: int = 60) -> Path:
    """A log whose times count from its own start."""
    path.write_text(
        "t_s,power_w\n" + "\n".join(f"{i},{200 + i % 7}" for i in range(seconds)) + "\n"
    )
    return path


def grouped(folder: Path) -> list[list[str]]:
    """The files of each row."""
    return sorted(
        sorted(Path(file.path).name for file in one.power) for one in logdir.scan(folder).trainings
    )


def test_logs_of_other_years_are_rows_of_their_own(tmp_path: Path) -> None:
    for number in range(5):
        log(tmp_path / f"log{number}.csv", begins=BEGINS_S - number * YEAR_S)
    assert grouped(tmp_path) == [[f"log{number}.csv"] for number in range(5)]


def test_logs_of_one_host_at_one_time_are_one_row(tmp_path: Path) -> None:
    log(tmp_path / "bmc.csv", host="node17")
    log(tmp_path / "gpu.csv", host="NODE17.cluster.org", column="gpu0_watts", begins=BEGINS_S + 10)
    log(tmp_path / "old.csv", host="node17", begins=BEGINS_S - YEAR_S)
    log(tmp_path / "other.csv", host="node18")
    assert grouped(tmp_path) == [["bmc.csv", "gpu.csv"], ["old.csv"], ["other.csv"]]


def test_logs_of_two_sensors_that_were_begun_together_are_one_row_where_nothing_else_is_there(
    tmp_path: Path,
) -> None:
    log(tmp_path / "bmc.csv", column="total_watts")
    log(tmp_path / "gpu.csv", column="gpu0_watts", begins=BEGINS_S + 2)
    assert grouped(tmp_path) == [["bmc.csv", "gpu.csv"]]
    log(tmp_path / "third.csv", column="total_watts", begins=BEGINS_S + 2)
    assert grouped(tmp_path) == [["bmc.csv"], ["gpu.csv"], ["third.csv"]], (
        "nobody knows which of two machines the GPU is in"
    )


def test_parts_of_a_rotated_log_are_one_row(tmp_path: Path) -> None:
    log(tmp_path / "power.csv")
    log(tmp_path / "power.csv.1", begins=BEGINS_S - 60)
    log(tmp_path / "power.csv.2", begins=BEGINS_S - 120)
    log(tmp_path / "other.csv", begins=BEGINS_S - YEAR_S)
    assert grouped(tmp_path) == [["other.csv"], ["power.csv", "power.csv.1", "power.csv.2"]]


def test_times_that_count_from_a_log_s_own_start_join_nothing(tmp_path: Path) -> None:
    relative(tmp_path / "a.csv")
    relative(tmp_path / "b.csv")
    log(tmp_path / "c.csv")
    assert grouped(tmp_path) == [["a.csv"], ["b.csv"], ["c.csv"]]


def test_large_logs_are_told_apart_by_both_ends(tmp_path: Path) -> None:
    for name, begins in (
        ("a.csv", BEGINS_S),
        ("b.csv", BEGINS_S + 100_000),
        ("c.csv", BEGINS_S + 2_000_000),
    ):
        log(
            tmp_path / name,
            host="node17",
            begins=begins,
            seconds=300_000,
            column="watts" if name == "a.csv" else f"gpu{name[0]}_watts",
        )
        assert (tmp_path / name).stat().st_size > 4 << 20
    assert grouped(tmp_path) == [["a.csv", "b.csv"], ["c.csv"]]
    first = min(logdir.scan(tmp_path).trainings, key=lambda one: one.first_ns or 0)
    assert first.last_ns is not None
    assert first.last_ns // 10**9 == BEGINS_S + 400_000 - 1


def real(folder: Path, count: int = 30) -> list[Path]:
    """Logs of many programs, machines and years, side by side."""
    folder.mkdir()
    files = sorted(file for file in HERE.iterdir() if file.suffix in (".csv", ".txt"))[:count]
    return [Path(shutil.copy(file, folder / file.name)) for file in files]


def test_thirty_real_logs_are_rows_of_their_own_with_their_own_dates(tmp_path: Path) -> None:
    files = real(tmp_path / "logs")
    found = logdir.scan(tmp_path / "logs")
    recognized = {Path(one.path).name for one in found.power}
    assert len(recognized) > 25
    listed = rows.listed(found)
    shown = [Path(file.path).name for _, one in listed for file in one.power]
    assert sorted(shown) == sorted(recognized), "each log is in one row, and in one alone"
    assert len(listed) == len(recognized)
    assert len({run.path for run, _ in listed}) == len(listed)
    for run, one in listed:
        when = listing.of_training(run, one).when
        assert "1970" not in when
        assert (when == "no date") is (one.first_ns is None)
    assert len(files) == 30


def test_a_row_sums_no_stranger(tmp_path: Path) -> None:
    real(tmp_path / "logs")
    resolved = 0
    for entry in logdir.scan(tmp_path / "logs").trainings:
        (file,) = entry.power
        found = training_energy(Training(entry, ReadOptions()).seen_from()).whole().energy
        if found is None or found.mean_w is None:
            continue
        most = sum(float(np.nanmax(one.watts)) for one in registry.load(file.path).series)
        assert found.mean_w <= most, f"{entry.name} alone never drew so much"
        resolved += 1
    assert resolved > 5


@pytest.mark.parametrize("verb", ["report", "energy", "doctor"])
def test_no_verb_dates_a_log_to_1970_or_stops_at_one_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    files = real(tmp_path / "logs")
    code = cli.main([verb, str(tmp_path / "logs")])
    out = capsys.readouterr()
    assert code == (3 if verb == "doctor" else 0)
    assert "1970-01-01" not in out.out
    assert "Traceback" not in out.err
    readable = [
        file.name
        for file in files
        if file.name in ("amester.csv", "codecarbon.csv", "generic_long.csv", "powerboard.csv")
    ]
    assert all(name in out.out for name in readable[:3])


def test_a_log_without_wall_time_says_that_it_has_no_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relative(tmp_path / "a.csv")
    log(tmp_path / "b.csv")
    assert cli.main(["report", str(tmp_path)]) == 0
    first, second = capsys.readouterr().out.split("Power log ")[1:]
    assert first.startswith("a.csv")
    assert "no date" in first
    begins = datetime.datetime.fromtimestamp(BEGINS_S, datetime.timezone.utc)
    assert f"from {begins:%Y-%m-%d %H:%M:%S} UTC" in second
    assert cli.main(["report", str(tmp_path), "--json"]) == 0
    zeros = {
        one["name"]: one["zero_unix_s"] for one in json.loads(capsys.readouterr().out)["trainings"]
    }
    assert zeros == {"a.csv": None, "b.csv": BEGINS_S}


def test_a_log_without_wall_time_has_no_place_beside_one_that_has(tmp_path: Path) -> None:
    """A person may put both into one row."""
    power = [relative(tmp_path / "a.csv"), log(tmp_path / "b.csv")]
    (_, entry) = logdir.scan(tmp_path).trainings
    training = Training(
        entry, ReadOptions(power=tuple(str(path) for path in power), find_power=False)
    )
    seen = training.seen_from()
    assert seen.wall
    assert seen.zero_ns == BEGINS_S * 10**9
    assert [one.power.status for one in seen.placements].count("aligned") == 1


def test_a_log_of_several_hosts_alone_is_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a run nobody else could own it, so nothing is left out and nobody is asked."""
    watts = {"node-a": 200, "node-b": 300, "": 100}
    rows = [f"{BEGINS_S + i}.0,{host},{watts[host]}" for i in range(60) for host in watts]
    path = tmp_path / "power.csv"
    path.write_text("time_unix_s,host,power_w\n" + "\n".join(rows) + "\n")
    (entry,) = logdir.scan(path).trainings
    energy = training_energy(Training(entry, ReadOptions()).seen_from())
    assert energy.strangers == ()
    assert energy.owned.owners.machines == ("node-a", "node-b", "")
    total = energy.whole().energy
    assert total is not None
    assert total.joules == pytest.approx(59 * sum(watts.values()))
    assert cli.main(["report", str(path)]) == 0
    assert "of no host" not in capsys.readouterr().out
    assert cli.main(["report", "--json", str(path)]) == 0
    channels = json.loads(capsys.readouterr().out)["runs"][0]["power"]
    assert [channel["belongs_to"] for channel in channels] == ["node-a", "node-b", None]


def test_power_of_a_training_without_a_name_is_asked_for(tmp_path: Path) -> None:
    """Its scalars do not say where it ran, and its log names two hosts: a person says which."""
    rows = [(BEGINS_S + i, i, "epoch_loss", 1.0 / (1 + i)) for i in range(60)]
    write_scalars(tmp_path / "events.out.tfevents", rows, BEGINS_S)
    log(tmp_path / "power.csv", host="node-a")
    with (tmp_path / "power.csv").open("a") as file:
        file.writelines(f"{BEGINS_S + i}.5,node-b,300\n" for i in range(60))
    (entry,) = logdir.scan(tmp_path).trainings
    energy = training_energy(Training(entry, ReadOptions()).seen_from())
    (sentence,) = energy.strangers
    assert sentence == (
        "Not counted: power of node-a, node-b (no host of this run has that name). To say whose it "
        "is: --power-host node-a=HOST or --power-host node-b=HOST, where HOST is what you call the "
        "machine that trained."
    )


def test_a_small_log_is_read_once_to_be_grouped_and_to_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(tmp_path / "power.csv")
    reads: list[str] = []
    read = registry._load

    def counted(*args: object) -> object:
        reads.append(str(path))
        return read(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(registry, "_load", counted)
    (entry,) = logdir.scan(tmp_path).trainings
    assert len(Training(entry).logs.power[0]) == 60
    assert len(reads) == 1


def test_a_log_that_grew_after_it_was_grouped_is_read_again(tmp_path: Path) -> None:
    path = log(tmp_path / "power.csv")
    (entry,) = logdir.scan(tmp_path).trainings
    log(path, seconds=90)
    assert len(Training(entry).logs.power[0]) == 90


def test_the_energy_of_a_training_is_worked_out_once_for_all_who_ask(tmp_path: Path) -> None:
    log(tmp_path / "power.csv")
    (entry,) = logdir.scan(tmp_path).trainings
    training = Training(entry)
    assert training_energy(training.seen_from()) is training_energy(training.seen_from())


def test_a_log_of_local_times_begins_when_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not an hour before, which is the middle of all zones."""
    path = tmp_path / "meter.csv"
    rows = [f"20.02.2026;10:53:{second};400,{second}" for second in range(10, 50)]
    path.write_text("Date;Time;Power_W\n" + "\n".join(rows) + "\n")
    assert cli.main(["report", str(path)]) == 0
    assert "from 2026-02-20 10:53:10 local time (the log names no zone: name it with --tz)" in (
        capsys.readouterr().out
    )
    (training,) = logdir.scan(tmp_path).trainings
    assert training.is_local
    assert training.first_ns is not None
    written = datetime.datetime(2026, 2, 20, 10, 53, 10, tzinfo=datetime.timezone.utc)
    assert training.first_ns / 1e9 == written.timestamp()
