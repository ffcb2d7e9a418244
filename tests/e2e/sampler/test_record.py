"""`powertui record` as a person runs it: around a command, alone, in a terminal, and when things go wrong."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from pty_process import PtyProcess

from tests.bmc.rmcpplus import Bmc

pytestmark = pytest.mark.e2e


def where(bmc) -> list[str]:
    return ["--host", f"127.0.0.1:{bmc.port}", "--user", "viewer", "-o", "p.csv", "--interval", "0.1"]


def frame(tmp_path: Path) -> pd.DataFrame:
    return pd.read_csv(tmp_path / "p.csv", comment="#")


def ended(tmp_path: Path) -> dict:
    last = (tmp_path / "p.csv").read_text().splitlines()[-1]
    assert last.startswith("# ended: "), last
    return json.loads(last.removeprefix("# ended: "))


def wait_for_rows(path: Path, count: int, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and path.read_text().count(",ok,") >= count:
            return
        time.sleep(0.02)
    raise TimeoutError(path.read_text() if path.exists() else "no file")


def child_of(pid: int, name: str) -> int:
    """The process that `pid` started and whose command line holds `name`."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            if name in Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
        time.sleep(0.02)
    raise TimeoutError(name)


def test_around_a_command_output_exit_code_and_energy(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc), "--", "sh", "-c", "echo out; echo err >&2; sleep 1; exit 7")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7
    assert out == "out\n"
    assert "err\n" in err
    found = re.search(r"power: ([\d.]+) J, mean 245\.0 W \(245 to 245 W\) over ([\d.]+) s", err)
    assert found, err
    assert float(found[1]) == pytest.approx(245 * float(found[2]), rel=0.1)
    assert float(found[2]) >= 1.0
    rows = frame(tmp_path)
    assert list(rows[[q in ("begin", "end") for q in rows.quality]]["mark"]) == ["sh", "sh"]
    assert ended(tmp_path)["reason"] == "the command ended"


def test_a_short_command_has_no_energy(bmc, powertui):
    process = powertui("record", *where(bmc), "--interval", "5", "--", "true")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "energy not resolved (1 reading" in err or "energy not resolved (0 readings" in err


@pytest.mark.parametrize(("command", "code"), [(["no-such-command-here"], 127), (["/etc/passwd"], 126)])
def test_a_command_that_cannot_run_leaves_nothing_behind(bmc, powertui, tmp_path, command, code):
    process = powertui("record", *where(bmc), "--", *command)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "command" in err or "cannot be run" in err
    assert not (tmp_path / "p.csv").exists()


def test_the_commands_signal_is_our_exit_code(bmc, powertui):
    process = powertui("record", *where(bmc), "--", "sh", "-c", "kill -SEGV $$")
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGSEGV


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_go_to_the_command(bmc, powertui, tmp_path, number):
    script = f"import signal, sys, time; signal.signal({int(number)}, lambda *_: sys.exit(42)); "
    script += "print('ready', flush=True); time.sleep(60)"
    process = powertui("record", *where(bmc), "--", sys.executable, "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 42
    assert ended(tmp_path)["reason"] == "the command ended"


def test_a_command_that_somebody_else_stops_and_continues(bmc, powertui, tmp_path):
    """Not the terminal: we are not to stop with it, nobody would wake us."""
    process = powertui(
        "record", *where(bmc), "--", sys.executable, "-c", "print('ready', flush=True); input()", stdin=subprocess.PIPE
    )
    assert process.stdout.readline() == "ready\n"
    command = child_of(process.pid, "ready")
    os.kill(command, signal.SIGSTOP)
    time.sleep(0.3)
    assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T"
    os.kill(command, signal.SIGCONT)
    process.communicate("\n", timeout=60)
    assert process.returncode == 0
    ended(tmp_path)


def test_no_password_is_no_attempt_to_log_in(bmc, powertui, environment):
    del environment["IPMI_PASSWORD"]
    process = powertui("record", *where(bmc))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no password for viewer on 127.0.0.1" in err
    assert bmc.packets == 0


def test_alone_until_ctrl_c(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc))
    wait_for_rows(tmp_path / "p.csv", 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "mean 245.0 W" in err
    assert ended(tmp_path)["reason"] == "stopped"


def test_alone_until_sigterm_or_hangup(bmc, powertui, tmp_path):
    for number in (signal.SIGTERM, signal.SIGHUP):
        process = powertui("record", *where(bmc))
        wait_for_rows(tmp_path / "p.csv", 3)
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == 128 + number
        ended(tmp_path)
        (tmp_path / "p.csv").unlink()


def test_for_a_duration(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc), "--duration", "1")
    process.communicate(timeout=60)
    assert process.returncode == 0
    rows = frame(tmp_path)
    assert rows.mono_s.max() - rows.mono_s.min() >= 1.0
    assert ended(tmp_path)["reason"] == "stopped"


def test_hosts_of_the_config_file_and_several_sources(bmc, powertui, tmp_path, environment):
    """Names from the file in the recording, the password from a file of its own, a log followed beside the BMC."""
    del environment["IPMI_PASSWORD"]
    secret = tmp_path / "secret"
    secret.write_text("pw-viewer\n")
    secret.chmod(0o600)
    config = tmp_path / "config.toml"
    config.write_text(f'[hosts.node7]\nhost = "127.0.0.1:{bmc.port}"\nuser = "viewer"\npassword_file = "{secret}"\n')
    environment["POWERTUI_CONFIG"] = str(config)
    log = tmp_path / "gpu.csv"
    log.write_text("timestamp,watts\n")
    process = powertui("record", "--host", "node7", "--source", f"csv:{log}", "-o", "p.csv", "--interval", "0.1")
    wait_for_rows(tmp_path / "p.csv", 3)
    for n in range(3):
        with log.open("a") as file:
            file.write(f"{time.time():.3f},{50 + n}\n")
        time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    rows = frame(tmp_path)
    assert set(rows[rows.source == "node7"].watts) == {245}
    assert rows[rows.source == "gpu.csv"].watts.tolist() == [50, 51, 52]


def test_two_machines_are_added_up_and_read_back_by_our_own_reader(bmc, powertui, tmp_path):
    from powertui.data.power import registry

    with Bmc() as other:
        other.machine.watts = 1000
        process = powertui("record", *where(bmc), "--host", f"127.0.0.1:{other.port}", "--", "sleep", "1")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    log = registry.load(str(tmp_path / "p.csv"))
    means = sorted(float(series.watts[~pd.isna(series.watts)].mean()) for series in log.series)
    assert means == [245.0, 1000.0]
    assert "2 machines together" not in err  # both are 127.0.0.1: nobody can tell that they are two machines
    rows = frame(tmp_path)
    for series in log.series:
        assert len(series) == (rows.source == f"127.0.0.1:{bmc.port if series.watts[0] == 245 else other.port}").sum()


def test_sensors_as_json(bmc, powertui):
    process = powertui("sensors", "--host", f"127.0.0.1:{bmc.port}", "--user", "viewer", "--json")
    out, _ = process.communicate(timeout=60)
    found = {entry["url"].partition(":")[0]: entry for entry in json.loads(out)["sensors"]}
    assert process.returncode == 0
    assert found["ipmi"]["watts"] == {"power": 245.0}
    assert found["ipmi"]["channels"][0]["quantum_w"] == 1.0
    assert not found["redfish"]["ok"]
    assert found["redfish"]["why_not"]


def test_a_rotated_recording_goes_on_under_its_name(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc))
    wait_for_rows(tmp_path / "p.csv", 3)
    (tmp_path / "p.csv").rename(tmp_path / "p.csv.1")
    wait_for_rows(tmp_path / "p.csv", 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "renamed or removed while recording; a new file of that name continues it" in err
    assert process.returncode == 1
    old, new = (pd.read_csv(tmp_path / name, comment="#") for name in ("p.csv.1", "p.csv"))
    times = [*old.mono_s, *new.mono_s]
    assert times == sorted(times)
    assert max(b - a for a, b in itertools.pairwise(times)) < 1.0, "no reading was lost in between"


def test_killed_recorder_loses_at_most_the_row_in_flight(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc))
    wait_for_rows(tmp_path / "p.csv", 10)
    os.kill(child_of(process.pid, "powertui-recorder"), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the recorder died" in err
    text = (tmp_path / "p.csv").read_text()
    rows = [line for line in text.splitlines() if ",ok," in line]
    times = [float(r.split(",")[1]) for r in rows]
    assert max(b - a for a, b in itertools.pairwise(times)) < 1.0


def test_killed_front_end_ends_the_recording_with_a_complete_file(bmc, powertui, tmp_path):
    process = powertui("record", *where(bmc))
    wait_for_rows(tmp_path / "p.csv", 5)
    recorder = child_of(process.pid, "powertui-recorder")
    process.kill()
    process.wait(10)
    end = time.monotonic() + 20
    while Path(f"/proc/{recorder}/cmdline").exists() and Path(f"/proc/{recorder}/cmdline").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    assert ended(tmp_path)["reason"] == "the program that was recording ended"


def test_a_second_recorder_on_the_same_file_is_refused(bmc, powertui, tmp_path):
    first = powertui("record", *where(bmc))
    wait_for_rows(tmp_path / "p.csv", 2)
    second = powertui("record", *where(bmc))
    _, err = second.communicate(timeout=60)
    assert second.returncode == 2
    assert "written by another recorder" in err
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    assert first.returncode == 0
    ended(tmp_path)


def test_a_wrong_password_starts_no_command_and_no_file(bmc, powertui, tmp_path, environment):
    environment["IPMI_PASSWORD"] = "wrong"
    process = powertui("record", *where(bmc), "--", "touch", "started")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "refuses the password of 'viewer'" in err
    assert "Traceback" not in err
    assert not (tmp_path / "started").exists()
    assert not (tmp_path / "p.csv").exists()


def test_an_outage_in_mid_run_costs_only_the_outage(bmc, powertui, tmp_path):
    """Killed and restarted: true values before and after, gaps with their reason between, and it is said."""
    process = powertui("record", *where(bmc), "--timeout", "0.4")
    wait_for_rows(tmp_path / "p.csv", 10)
    bmc.stop()
    down = time.monotonic()
    time.sleep(1.0)
    bmc.machine.watts = 301
    bmc.start()
    up = time.monotonic()
    count = (tmp_path / "p.csv").read_text().count(",ok,")
    wait_for_rows(tmp_path / "p.csv", count + 10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    rows = frame(tmp_path)
    rows = rows[rows.channel == "power"]
    before = rows[rows.mono_s < down - 0.1]
    back = rows[(rows.mono_s > up) & rows.watts.notna()].mono_s.min()
    assert back < up + 2.0
    assert set(before.watts) == {245}
    assert set(rows[rows.mono_s >= back].watts) == {301}
    between = rows[(rows.mono_s > down + 0.2) & (rows.mono_s < up)]
    assert len(between) >= 3
    assert between.watts.isna().all()
    assert between.reason.notna().all()
    assert "no value: nothing listens" in err
    assert "values again after" in err
    assert "1 reconnect)" in err or "1 reconnect," in err
    share = re.search(r"which is ([\d.]+)% of the time", err)
    assert share, err
    assert float(share[1]) < 100


def test_a_full_disk_is_said_and_told_by_the_exit_code(bmc, powertui, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (disk / "filler").write_bytes(b"x" * 8192)
        words = [w if w != "p.csv" else str(disk / "p.csv") for w in where(bmc)]
        process = powertui("record", *words, "--interval", "0.1")
        wait_for_rows(disk / "p.csv", 2)
        (disk / "filler2").write_bytes(b"x" * 100)
        end = time.monotonic() + 60
        lines: list[str] = []
        while time.monotonic() < end and not any("kept in memory" in line for line in lines):
            lines.append(process.stderr.readline())
        assert any("No space left on device" in line for line in lines)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        rest = "".join(lines) + err
        assert process.returncode == 1
        rescued = re.search(r"did not take are in (\S+\.csv)", rest)
        assert rescued, rest
        assert ",ok," in Path(rescued[1]).read_text()
        Path(rescued[1]).unlink()
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_pulses_are_marked_with_what_they_took(bmc, powertui, tmp_path):
    """The real ones take 22 s; here they are shortened by the module's own parameters."""
    code = (
        "import sys; from powertui.sampler import pulse; "
        "pulse.pulses.__kwdefaults__.update(lengths=(0.2, 0.3, 0.5), rest=0.2, cores=1); "
        "from powertui.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    env = {
        **os.environ,
        "IPMI_PASSWORD": "pw-viewer",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "HOME": str(tmp_path),
    }
    command = [sys.executable, "-c", code, "record", *where(bmc), "--pulse", "--", "true"]
    subprocess.run(command, cwd=tmp_path, env=env, timeout=60, check=True, capture_output=True)
    rows = frame(tmp_path)
    rows = rows[rows["mark"].astype(str).str.startswith("pulse")]
    assert list(rows["mark"]) == ["pulse 1", "pulse 1", "pulse 2", "pulse 2", "pulse 3", "pulse 3"]
    lengths = rows.mono_s.to_numpy()[1::2] - rows.mono_s.to_numpy()[::2]
    assert all(length >= wanted for length, wanted in zip(lengths, (0.2, 0.3, 0.5), strict=True))


def shell(environment: dict[str, str], cwd: Path) -> PtyProcess:
    """A shell with job control."""
    made = PtyProcess(["bash", "--norc", "--noprofile", "-i"], {**environment, "PS1": "PROMPT> "}, cwd)
    made.wait("PROMPT> ")
    return made


@pytest.fixture
def terminal(environment, tmp_path):
    made = shell(environment, tmp_path)
    yield made
    made.close()


def test_ctrl_z_gives_the_prompt_back_and_the_recording_keeps_its_rate(bmc, terminal, tmp_path):
    words = " ".join(where(bmc))
    terminal.send(f"{sys.executable} -m powertui record {words} -- sleep 3\n")
    terminal.wait("recording to")
    wait_for_rows(tmp_path / "p.csv", 5)
    terminal.send("\x1a")
    terminal.wait("Stopped")
    terminal.wait("PROMPT> ")
    stopped = time.monotonic()
    before = (tmp_path / "p.csv").read_text().count(",ok,")
    time.sleep(1.5)
    during = (tmp_path / "p.csv").read_text().count(",ok,") - before
    assert during >= 5, "the recorder must go on while its terminal is suspended"
    terminal.send("fg\n")
    terminal.wait("mean 245.0 W")
    terminal.wait("PROMPT> ")
    rows = frame(tmp_path)
    times = rows[rows.channel == "power"].mono_s.to_numpy()
    around = times[(times > stopped - 0.5) & (times < stopped + 1.5)]
    assert (around[1:] - around[:-1]).max() < 1.0
    notes = rows[rows.quality == "note"].reason.tolist()
    assert notes == ["sleep was suspended", "sleep goes on"]
    ended(tmp_path)


def test_ctrl_c_reaches_the_command_and_ends_both(bmc, terminal, tmp_path):
    terminal.send(f"{sys.executable} -m powertui record {' '.join(where(bmc))} -- sleep 60; echo code=$?\n")
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
    end = time.monotonic() + 20
    while "# ended" not in (tmp_path / "p.csv").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    ended(tmp_path)
