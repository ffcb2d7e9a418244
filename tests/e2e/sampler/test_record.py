"""`powertui record` as a person runs it: around a command, alone, in a terminal, and when things go
wrong.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from pty_process import PtyProcess

from tests.bmc.rmcpplus import Bmc

pytestmark = pytest.mark.e2e


def where(bmc) -> list[str]:
    return [
        "--host",
        f"127.0.0.1:{bmc.port}",
        "--user",
        "viewer",
        "-o",
        "p.csv",
        "--interval",
        "0.1",
        "--timeout",
        "60",
    ]


def frame(tmp_path: Path) -> pd.DataFrame:
    return pd.read_csv(tmp_path / "p.csv", comment="#")


def ended(tmp_path: Path) -> dict:
    last = (tmp_path / "p.csv").read_text().splitlines()[-1]
    assert last.startswith("# ended: "), last
    return json.loads(last.removeprefix("# ended: "))


def text_of(path: Path) -> str:
    """What a file holds; nothing of one that is not there (any more)."""
    try:
        return path.read_text()
    except OSError:
        return ""


def wait_until(holds: Callable[[], bool], what: Callable[[], str]) -> None:
    """Wait for an event, however long it takes on a busy machine; `what` says how things stand when
    it never comes.
    """
    end = time.monotonic() + 120
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what())
        time.sleep(0.02)


def wait_for_rows(path: Path, count: int, kind: str = ",ok,") -> None:
    wait_until(lambda: text_of(path).count(kind) >= count, lambda: text_of(path) or "no file")


def wait_for_end(path: Path) -> None:
    wait_until(lambda: "# ended" in text_of(path), lambda: text_of(path))


def child_of(pid: int, name: str) -> int:
    """The process that `pid` started and whose command line holds `name`."""
    found: list[int] = []

    def look() -> bool:
        children = text_of(Path(f"/proc/{pid}/task/{pid}/children")).split()
        found.extend(
            int(child) for child in children if name in text_of(Path(f"/proc/{child}/cmdline"))
        )
        return bool(found)

    wait_until(look, lambda: f"{pid} has no child {name}")
    return found[0]


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


class Numbers:
    """A log whose readings are counted: one that was left out, doubled or reordered is seen,
    whatever time anything took.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "numbers.csv"
        self.path.write_text("watts\n")
        self.written = 0
        self.words = ["--source", f"csv:{self.path}", "-o", "p.csv", "--interval", "0.1"]

    def more(self, count: int) -> None:
        with self.path.open("a") as file:
            file.write("".join(f"{n}\n" for n in range(self.written, self.written + count)))
        self.written += count


def numbers_in(*paths: Path) -> list[float]:
    rows = [
        line.split(",")
        for path in paths
        for line in path.read_text().splitlines()
        if ",ok," in line
    ]
    return [float(row[4]) for row in rows]


def started(process: subprocess.Popen[str]) -> None:
    """Wait until the sources are open and readings are on their way."""
    assert process.stderr is not None
    while "recording to" not in (line := process.stderr.readline()):
        assert line, "it ended"


def until_rows(count: int, path: str = "p.csv") -> str:
    """Shell: wait until the recording holds so many readings."""
    return f'until [ "$(grep -c ,ok, {path})" -ge {count} ]; do sleep 0.05; done'


def test_around_a_command_output_exit_code_and_energy(bmc, powertui, tmp_path):
    process = powertui(
        "record", *where(bmc), "--", "sh", "-c", f"echo out; echo err >&2; {until_rows(10)}; exit 7"
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 7
    assert out == "out\n"
    assert "err\n" in err
    found = re.search(r"power: ([\d.]+) (k?)J, mean 245\.0 W \(245 to 245 W\) over ([\d.]+) s", err)
    assert found, err
    joules, covered = float(found[1]) * (1000 if found[2] else 1), float(found[3])
    assert joules == pytest.approx(
        245 * covered, abs=0.06 * 245, rel=0.001
    )  # the seconds are told with one decimal
    rows = frame(tmp_path)
    begin, end = rows[[q in ("begin", "end") for q in rows.quality]].mono_s
    share = re.search(
        r"which is ([\d.]+) % of the time", err
    )  # where a busy machine missed readings
    assert covered == pytest.approx(
        (end - begin) * (float(share[1]) / 100 if share else 1.0), abs=0.06 + 0.006 * (end - begin)
    )
    assert list(rows[[q in ("begin", "end") for q in rows.quality]]["mark"]) == ["sh", "sh"]
    assert ended(tmp_path)["reason"] == "the command ended"


def test_a_command_gets_the_environment_as_it_was(bmc, powertui, environment):
    """But for secrets.

    What powertui sets for itself (numpy without threads) would make a training slower.
    """
    told = "import os; print(sorted(name for name in os.environ if name.endswith('_NUM_THREADS')))"
    here = sorted(name for name in environment if name.endswith("_NUM_THREADS"))
    process = powertui("record", *where(bmc), "--", sys.executable, "-c", told)
    assert process.communicate(timeout=120)[0] == f"{here}\n"


def test_a_short_command_has_no_energy(bmc, powertui):
    process = powertui("record", *where(bmc), "--interval", "3600", "--", "true")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "energy not resolved (1 reading" in err or "energy not resolved (0 readings" in err


@pytest.mark.parametrize(
    ("command", "code"), [(["no-such-command-here"], 127), (["/etc/passwd"], 126)]
)
def test_a_command_that_cannot_run_leaves_nothing_behind(bmc, powertui, tmp_path, command, code):
    process = powertui("record", *where(bmc), "--", *command)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert "command" in err or "cannot be run" in err
    assert not (tmp_path / "p.csv").exists()


def test_the_commands_signal_is_our_exit_code(bmc, powertui):
    process = powertui("record", *where(bmc), "--", "sh", "-c", "kill -SEGV $$")
    process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGSEGV


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_go_to_the_command(bmc, powertui, tmp_path, number):
    script = f"import signal, sys, time; signal.signal({int(number)}, lambda *_: sys.exit(42)); "
    script += "print('ready', flush=True); time.sleep(60)"
    process = powertui("record", *where(bmc), "--", sys.executable, "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == 42
    assert ended(tmp_path)["reason"] == "the command ended"


def test_a_command_that_somebody_else_stops_and_continues(bmc, powertui, tmp_path):
    """Not the terminal: we are not to stop with it, nobody would wake us."""
    process = powertui(
        "record",
        *where(bmc),
        "--",
        sys.executable,
        "-c",
        "print('ready', flush=True); input()",
        stdin=subprocess.PIPE,
    )
    assert process.stdout.readline() == "ready\n"
    command = child_of(process.pid, "ready")
    os.kill(command, signal.SIGSTOP)
    wait_until(lambda: state_of(command) == "T", lambda: state_of(command))
    wait_for_rows(tmp_path / "p.csv", (tmp_path / "p.csv").read_text().count(",ok,") + 3)
    assert state_of(process.pid) != "T"
    os.kill(command, signal.SIGCONT)
    process.communicate("\n", timeout=120)
    assert process.returncode == 0
    ended(tmp_path)


def test_no_password_is_no_attempt_to_log_in(bmc, powertui, environment):
    del environment["IPMI_PASSWORD"]
    process = powertui("record", *where(bmc))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "no password for viewer on 127.0.0.1" in err
    assert bmc.packets == 0


def test_alone_until_ctrl_c(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc))
    started(process)
    wait_for_rows(tmp_path / "p.csv", 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "mean 245.0 W" in err
    assert ended(tmp_path)["reason"] == "stopped"


def test_alone_until_sigterm_or_hangup(bmc, powertui, tmp_path):
    for number in (signal.SIGTERM, signal.SIGHUP):
        process = powertui("record", *where(bmc))
        started(process)
        wait_for_rows(tmp_path / "p.csv", 3)
        process.send_signal(number)
        process.communicate(timeout=120)
        assert process.returncode == 128 + number
        ended(tmp_path)
        (tmp_path / "p.csv").unlink()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_it_may_be_ended_as_soon_as_it_says_that_it_records(
    bmc, environment, tmp_path, number, code
):
    """On a busy machine time passes between that line and the next look: here the signal comes with
    the line itself.
    """
    script = (
        "import os, sys; from powertui.sampler import recording_run as run\n"
        "said = run._Talker.started\n"
        f"def started(self, *given): said(self, *given); os.kill(os.getpid(), {int(number)})\n"
        "run._Talker.started = started\n"
        "from powertui.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "record", *where(bmc)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert " rows in " in done.stderr
    assert ended(tmp_path)["reason"] == "stopped"


def test_for_a_duration(bmc, powertui, tmp_path):
    begin = time.monotonic()
    process = powertui("record", *where(bmc), "--duration", "1")
    process.communicate(timeout=120)
    assert process.returncode == 0
    last = ended(tmp_path)
    assert last["mono_s"] - begin >= 1.0
    assert last["reason"] == "after 1 s"


def test_hosts_of_the_config_file_and_several_sources(bmc, powertui, tmp_path, environment):
    """Names from the file in the recording, the password from a file of its own, a log followed
    beside the BMC.
    """
    del environment["IPMI_PASSWORD"]
    secret = tmp_path / "secret"
    secret.write_text("pw-viewer\n")
    secret.chmod(0o600)
    config = tmp_path / "config.toml"
    config.write_text(
        f'[hosts.node7]\nhost = "127.0.0.1:{bmc.port}"\nuser = "viewer"\npassword_file = '
        f'"{secret}"\n'
    )
    environment["POWERTUI_CONFIG"] = str(config)
    log = tmp_path / "gpu.csv"
    log.write_text("timestamp,watts\n")
    process = powertui(
        "record", "--host", "node7", "--source", f"csv:{log}", "-o", "p.csv", "--interval", "0.1"
    )
    started(process)
    wait_for_rows(tmp_path / "p.csv", 3)
    for n in range(3):
        with log.open("a") as file:
            file.write(f"{time.time():.3f},{50 + n}\n")
        wait_for_rows(tmp_path / "p.csv", n + 1, ",gpu.csv,")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 0
    rows = frame(tmp_path)
    assert set(rows[rows.source == "node7"].watts.dropna()) == {245}
    assert rows[rows.source == "gpu.csv"].watts.tolist() == [50, 51, 52]


def test_two_machines_are_added_up_and_read_back_by_our_own_reader(bmc, powertui, tmp_path):
    from powertui.data.power import registry

    with Bmc() as other:
        other.machine.watts = 1000
        process = powertui(
            "record",
            *where(bmc),
            "--host",
            f"127.0.0.1:{other.port}",
            "--",
            "sh",
            "-c",
            until_rows(8),
        )
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    log = registry.load(str(tmp_path / "p.csv"))
    means = sorted(float(series.watts[~pd.isna(series.watts)].mean()) for series in log.series)
    assert means == [245.0, 1000.0]
    assert f"2 machines together (127.0.0.1:{bmc.port}, 127.0.0.1:{other.port})" in err
    rows = frame(tmp_path)
    for series in log.series:
        assert (
            len(series)
            == (rows.source == f"127.0.0.1:{bmc.port if 245 in series.watts else other.port}").sum()
        )


def test_sensors_as_json(bmc, powertui):
    process = powertui("sensors", "--host", f"127.0.0.1:{bmc.port}", "--user", "viewer", "--json")
    out, _ = process.communicate(timeout=120)
    found = {entry["url"].partition(":")[0]: entry for entry in json.loads(out)["sensors"]}
    assert process.returncode == 0
    assert found["ipmi"]["watts"] == {"power": 245.0}
    assert found["ipmi"]["channels"][0]["quantum_w"] == 1.0
    assert not found["redfish"]["ok"]
    assert found["redfish"]["why_not"]


def test_a_rotated_recording_goes_on_under_its_name_and_loses_nothing(powertui, tmp_path):
    numbers, path, old = Numbers(tmp_path), tmp_path / "p.csv", tmp_path / "p.csv.1"
    process = powertui("record", *numbers.words)
    started(process)
    numbers.more(5)
    wait_for_rows(path, 5)
    path.rename(old)
    numbers.more(5)  # into the one or the other
    wait_until(path.exists, lambda: "no new file")
    numbers.more(5)
    wait_for_rows(path, 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert "a new file with that name continues it" in err
    assert process.returncode == 0, "nothing is lost"
    assert numbers_in(old, path) == list(range(15))
    assert (
        pd.read_csv(path, comment="#").columns.tolist()
        == pd.read_csv(old, comment="#").columns.tolist()
    )


@pytest.mark.parametrize("harm", ["cut", "removed"])
def test_what_happens_to_the_file_is_said_and_nothing_is_claimed_that_it_does_not_hold(
    powertui, tmp_path, harm
):
    numbers, path = Numbers(tmp_path), tmp_path / "p.csv"
    process = powertui("record", *numbers.words)
    started(process)
    numbers.more(5)
    wait_for_rows(path, 5)
    if harm == "cut":
        path.write_text("")
    else:
        path.unlink()
    said = process.stderr.readline()  # with no further reading
    assert f"was {harm} while recording" in said
    assert "5 rows" in said.replace("its ", "")
    numbers.more(3)
    wait_for_rows(path, 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert numbers_in(path) == [5, 6, 7]
    assert f" 3 rows in {path}" in err
    assert ended(tmp_path)["rows"] == 3
    assert path.stat().st_mode & 0o777 == 0o600


def test_killed_recorder_loses_at_most_the_row_in_flight(powertui, tmp_path):
    numbers, path = Numbers(tmp_path), tmp_path / "p.csv"
    process = powertui("record", *numbers.words)
    started(process)
    numbers.more(10)
    wait_for_rows(path, 10)
    numbers.more(1000)
    wait_for_rows(path, 11)
    os.kill(child_of(process.pid, "powertui-recorder"), signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "The recorder ended unexpectedly" in err
    whole, _, cut = path.read_text().rpartition("\n")
    assert "\n" not in cut
    values = [float(line.split(",")[4]) for line in whole.splitlines() if ",ok," in line]
    assert len(values) > 10
    assert values == list(range(len(values)))


def test_killed_front_end_ends_the_recording_with_a_complete_file(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc))
    wait_for_rows(tmp_path / "p.csv", 5)
    child_of(process.pid, "powertui-recorder")
    process.kill()
    process.wait(120)
    wait_for_end(tmp_path / "p.csv")
    assert ended(tmp_path)["reason"] == "the program that started the recorder ended"


def test_a_second_recorder_on_the_same_file_is_refused(bmc, powertui, tmp_path):
    first = powertui("record", *where(bmc))
    started(first)
    wait_for_rows(tmp_path / "p.csv", 2)
    second = powertui("record", *where(bmc))
    _, err = second.communicate(timeout=120)
    assert second.returncode == 2
    assert "written by another recorder" in err
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=120)
    assert first.returncode == 0
    ended(tmp_path)


def test_a_wrong_password_starts_no_command_and_no_file(bmc, powertui, tmp_path, environment):
    environment["IPMI_PASSWORD"] = "wrong"
    process = powertui("record", *where(bmc), "--", "touch", "started")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "refuses the password of 'viewer'" in err
    assert "Traceback" not in err
    assert not (tmp_path / "started").exists()
    assert not (tmp_path / "p.csv").exists()


def test_an_outage_in_mid_run_costs_only_the_outage(bmc, powertui, tmp_path):
    """Killed and restarted: true values before and after, gaps with their reason between, and it is
    said.
    """
    path = tmp_path / "p.csv"
    process = powertui("record", *where(bmc))
    started(process)
    wait_for_rows(path, 10)
    bmc.stop()
    down = time.monotonic()
    wait_for_rows(path, 5, ",none,")
    bmc.machine.watts = 301
    up = time.monotonic()
    bmc.start()
    wait_for_rows(path, 10, ",301,")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    rows = frame(tmp_path)
    rows = rows[rows.channel == "power"].reset_index()
    values = rows.watts.dropna()
    back = values.index[values == 301][0]
    assert set(values.loc[: back - 1]) == {245}
    assert set(values.loc[back:]) == {301}
    assert rows.mono_s[back] > down
    between = rows[(rows.mono_s > down) & (rows.mono_s < up)]
    assert len(between) >= 3
    assert between.watts.isna().all()
    assert rows[rows.watts.isna()].reason.notna().all()
    assert "no value: nothing listens" in err
    assert "values again after" in err
    assert re.search(r"[1-9]\d* reconnects?[,)]", err)
    share = re.search(r"([\d.]+) % of the time", err)
    assert share, err
    assert float(share[1]) < 100


def test_a_full_disk_is_said_and_told_by_the_exit_code(bmc, powertui, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (disk / "filler").write_bytes(b"x" * 8192)
        words = [w if w != "p.csv" else str(disk / "p.csv") for w in where(bmc)]
        process = powertui("record", *words, "--interval", "0.1")
        wait_for_rows(disk / "p.csv", 2)
        (disk / "filler2").write_bytes(b"x" * 100)
        lines = [""]
        while not any("kept in memory" in line for line in lines) and (
            line := process.stderr.readline()
        ):
            lines.append(line)
        assert any("No space left on device" in line for line in lines)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        rest = "".join(lines) + err
        assert process.returncode == 1
        rescued = re.search(r"did not accept are in (\S+\.csv)", rest)
        assert rescued, rest
        assert ",ok," in Path(rescued[1]).read_text()
        Path(rescued[1]).unlink()
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_pulses_are_marked_with_what_they_took(bmc, powertui, tmp_path):
    """The real ones take 22 s; here they are shortened by the module's own parameters."""
    code = (
        "import sys; from powertui.sampler import pulse; "
        "pulse.PULSES, pulse.REST, pulse._cores = (0.2, 0.3, 0.5), 0.2, lambda: 1; "
        "from powertui.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    env = {
        **os.environ,
        "IPMI_PASSWORD": "pw-viewer",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "HOME": str(tmp_path),
    }
    command = [sys.executable, "-c", code, "record", *where(bmc), "--pulse", "--", "true"]
    subprocess.run(command, cwd=tmp_path, env=env, timeout=300, check=True, capture_output=True)
    rows = frame(tmp_path)
    rows = rows[rows["mark"].astype(str).str.startswith("pulse")]
    assert list(rows["mark"]) == ["pulse 1", "pulse 1", "pulse 2", "pulse 2", "pulse 3", "pulse 3"]
    lengths = rows.mono_s.to_numpy()[1::2] - rows.mono_s.to_numpy()[::2]
    assert all(length >= wanted for length, wanted in zip(lengths, (0.2, 0.3, 0.5), strict=True))


def shell(environment: dict[str, str], cwd: Path) -> PtyProcess:
    """A shell with job control."""
    made = PtyProcess(
        ["bash", "--norc", "--noprofile", "-i"], {**environment, "PS1": "PROMPT> "}, cwd
    )
    made.wait("PROMPT> ")
    return made


@pytest.fixture
def terminal(environment, tmp_path):
    made = shell(environment, tmp_path)
    yield made
    made.close()


def test_ctrl_z_gives_the_prompt_back_and_the_recording_goes_on(bmc, terminal, tmp_path):
    path = tmp_path / "p.csv"
    # until it is interrupted; what is typed does not read "begun"
    command = f"sh -c 'echo be\"\"gun; {until_rows(10**6)}'"
    terminal.send(f"{sys.executable} -m powertui record {' '.join(where(bmc))} -- {command}\n")
    terminal.wait("recording to")
    terminal.wait("begun")
    wait_for_rows(path, 5)
    terminal.send("\x1a")
    terminal.wait("Stopped")
    terminal.wait("PROMPT> ")
    before = path.read_text().count(",ok,")
    wait_for_rows(path, before + 10)  # while its terminal is suspended
    terminal.send("fg\n")
    wait_until(lambda: "sh goes on" in text_of(path), lambda: text_of(path))
    terminal.send("\x03")
    terminal.wait("mean 245.0 W")
    terminal.wait("PROMPT> ")
    rows = frame(tmp_path)
    notes = rows[
        (rows.quality == "note") & rows.reason.astype(str).str.startswith("sh ")
    ].reason.tolist()
    assert notes == ["sh was suspended", "sh goes on"]
    ended(tmp_path)


def test_ctrl_c_reaches_the_command_and_ends_both(bmc, terminal, tmp_path):
    terminal.send(
        f"{sys.executable} -m powertui record {' '.join(where(bmc))} -- sleep 60; echo code=$?\n"
    )
    terminal.wait("recording to")
    wait_for_rows(tmp_path / "p.csv", 3)
    terminal.send("\x03")
    terminal.wait("code=130")
    assert ended(tmp_path)["reason"] == "the command ended"


def test_a_lost_terminal_leaves_a_complete_file(bmc, environment, tmp_path):
    """The link is dropped: the kernel hangs the session up."""
    made = shell(environment, tmp_path)
    made.send(f"{sys.executable} -m powertui record {' '.join(where(bmc))} -- sleep 60\n")
    made.wait("recording to")
    wait_for_rows(tmp_path / "p.csv", 5)
    made.close()
    wait_for_end(tmp_path / "p.csv")
    ended(tmp_path)
