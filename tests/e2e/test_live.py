"""`powertui live` as a person runs it: a real process in a pty, a real BMC over UDP, a run that
trains meanwhile.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from powertui.data.power import registry
from tests.bmc.rmcpplus import Bmc
from tests.e2e.terminal import Terminal, environment
from tests.synthetic.tfevents import frame, scalar, write_scalars

pytestmark = pytest.mark.e2e


@pytest.fixture
def bmc() -> Iterator[Bmc]:
    with Bmc() as one:
        yield one


@pytest.fixture
def password(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("pw-viewer\n")
    path.chmod(0o600)
    return path


def live(*arguments: str, size: tuple[int, int] = (100, 30), cwd: Path) -> Terminal:
    command = [sys.executable, "-m", "powertui", "live", *arguments]
    env = environment(
        extra={
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
            )
        }
    )
    return Terminal(command, size=size, env=env, cwd=cwd)


def watching(bmc: Bmc, password: Path, *more: str) -> list[str]:
    url = f"ipmi://viewer@127.0.0.1:{bmc.port}"
    return ["--source", url, "--password-file", str(password), "--interval", "0.2", *more]


def recorded(path: Path) -> list[float]:
    """All readings; a gap is NaN."""
    return [watts for series in registry.load(str(path)).series for watts in series.watts.tolist()]


def values(path: Path) -> set[float]:
    """What was read. On a busy machine an answer may come too late: that is a gap, and no value."""
    return {watts for watts in recorded(path) if watts == watts}


def count(path: Path, what: str) -> int:
    return path.read_text().count(what) if path.exists() else 0


def wait_until(terminal: Terminal | None, holds: Callable[[], bool]) -> None:
    """Wait for an event outside of the screen, however long it takes on a busy machine."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it never came"
        if terminal is not None:
            terminal.run(0.05)
        else:
            time.sleep(0.05)


def test_it_records_by_default_says_where_and_ends_with_a_whole_file(
    bmc: Bmc, password: Path, tmp_path: Path
) -> None:
    bmc.machine.watts = 321
    with live(*watching(bmc, password), cwd=tmp_path) as terminal:
        terminal.wait_for(r"recording to .*power-\d+-\d+\.csv")
        terminal.wait_for(r"min 321  mean 321  max 321 W")
        terminal.press("m")
        terminal.wait_for("mark 1")
        wait_until(terminal, lambda: "mark 1" in next(tmp_path.glob("power-*.csv")).read_text())
        terminal.press("q")
        assert terminal.wait_exit() == 0
        assert not terminal.left_on()
        assert "rows in" in terminal.raw.decode(errors="replace")
    files = list(tmp_path.glob("power-*.csv"))
    assert len(files) == 1
    assert values(files[0]) == {321.0}
    assert "mark 1" in files[0].read_text()
    assert "# ended:" in files[0].read_text()
    assert "pw-viewer" not in files[0].read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_a_whole_file(
    bmc: Bmc, password: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    path = tmp_path / "power.csv"
    with live(*watching(bmc, password, "-o", str(path)), cwd=tmp_path) as terminal:
        terminal.wait_for(r"mean 245")
        terminal.signal(number)
        assert terminal.wait_exit() == code
        assert not terminal.left_on()
    assert "# ended:" in path.read_text()


def test_a_lost_terminal_loses_no_sample(bmc: Bmc, password: Path, tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    with live(*watching(bmc, password, "-o", str(path)), cwd=tmp_path) as terminal:
        terminal.wait_for(r"mean 245")
        terminal.hang_up()
        assert terminal.wait_exit() == 129
    text = path.read_text()
    assert "# ended:" in text
    assert values(path) == {245.0}


def test_a_killed_screen_leaves_a_whole_file(bmc: Bmc, password: Path, tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    with live(*watching(bmc, password, "-o", str(path)), cwd=tmp_path) as terminal:
        terminal.wait_for(r"mean 245")
        terminal.signal(signal.SIGKILL)
        assert terminal.wait_exit() == -signal.SIGKILL
        wait_until(None, lambda: "# ended:" in path.read_text())
    assert "# ended:" in path.read_text()


def test_an_outage_is_a_gap_with_its_reason_and_passes(
    bmc: Bmc, password: Path, tmp_path: Path
) -> None:
    path = tmp_path / "power.csv"
    with live(*watching(bmc, password, "-o", str(path)), cwd=tmp_path) as terminal:
        terminal.wait_for(r"mean 245")
        bmc.stop()
        terminal.wait_for(r"no value")
        wait_until(terminal, lambda: count(path, ",none,") >= 2)
        bmc.start()
        terminal.wait_for(r"values again after")
        terminal.wait_for(r"\d+ gaps?")
        terminal.press("q")
        assert terminal.wait_exit() == 0
    assert any(value != value for value in recorded(path)), "the outage is in the file"
    assert values(path) == {245.0}, "and no invented value"


def test_a_host_that_never_answers_is_named_and_told_by_the_exit_code(
    bmc: Bmc, password: Path, tmp_path: Path
) -> None:
    with Bmc() as other:
        away = f"ipmi://viewer@127.0.0.1:{other.port}"
    with live(
        *watching(bmc, password, "--source", away, "-o", "power.csv"), cwd=tmp_path
    ) as terminal:
        terminal.wait_for(r"mean 245")
        terminal.wait_for(rf"no answer yet: 127\.0\.0\.1:{other.port}")
        terminal.press("q")
        assert terminal.wait_exit() == 1
        assert f"127.0.0.1:{other.port}: it never answered" in terminal.raw.decode(errors="replace")


def test_a_full_disk_is_told_after_the_screen_with_the_place_of_the_rest(
    bmc: Bmc, password: Path, tmp_path: Path
) -> None:
    path = tmp_path / "power.csv"
    script = tmp_path / "small.sh"
    arguments = " ".join(watching(bmc, password, "-o", path.name))
    script.write_text(
        f"ulimit -f 2\nexec {sys.executable} -m powertui live {arguments} --interval 0.1\n"
    )
    root = str(Path(__file__).parents[2])
    env = environment(
        extra={"PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)}
    )
    with Terminal(["bash", str(script)], size=(100, 30), env=env, cwd=tmp_path) as terminal:
        terminal.wait_for(r"mean 245")
        terminal.wait_for(r"File too large")
        terminal.press("q")
        assert terminal.wait_exit() == 1
        said = terminal.raw.decode(errors="replace")
    held = sum(
        line[:1].isdigit()
        for line in path.read_text().splitlines(keepends=True)
        if line.endswith("\n")
    )
    assert f"{held} rows in" in said
    (rescued,) = tmp_path.glob("powertui-rescued-*.csv")
    assert rescued.name in said.replace("\r\n", "")


def test_watching_alone_asks_before_it_leaves(bmc: Bmc, password: Path, tmp_path: Path) -> None:
    with live(*watching(bmc, password, "--no-record"), cwd=tmp_path) as terminal:
        terminal.wait_for(r"not recorded")
        terminal.wait_for(r"mean 245")
        terminal.press("q")
        terminal.wait_for("Press q again")
        terminal.press("q")
        assert terminal.wait_exit() == 0
    assert not list(tmp_path.glob("*.csv"))


def test_a_refused_password_is_one_sentence_and_no_file(bmc: Bmc, tmp_path: Path) -> None:
    wrong = tmp_path / "password"
    wrong.write_text("nonsense\n")
    wrong.chmod(0o600)
    with live(*watching(bmc, wrong), cwd=tmp_path) as terminal:
        assert terminal.wait_exit() == 1
        assert not terminal.left_on()
        shown = terminal.raw.decode(errors="replace")
    assert "Traceback" not in shown
    assert "refuses the password of 'viewer'" in shown
    assert "nonsense" not in shown
    assert not list(tmp_path.glob("*.csv"))


def test_a_file_that_cannot_be_written_is_one_sentence(
    bmc: Bmc, password: Path, tmp_path: Path
) -> None:
    with live(*watching(bmc, password, "-o", "no/such/folder.csv"), cwd=tmp_path) as terminal:
        assert terminal.wait_exit() == 2
        shown = terminal.raw.decode(errors="replace")
    assert "cannot be written" in shown
    assert "Traceback" not in shown


def test_the_screen_stands_before_any_host_has_answered_and_each_state_fills_in(
    bmc: Bmc, password: Path, tmp_path: Path
) -> None:
    path = tmp_path / "power.csv"
    with Bmc() as closed:
        gone = closed.port
    with Bmc(drop=True) as silent, Bmc(users={"viewer": ("another", 2)}) as strict:
        bmc.drop = True
        more = [
            w
            for port in (silent.port, strict.port, gone)
            for w in ("--source", f"ipmi://viewer@127.0.0.1:{port}")
        ]
        with live(*watching(bmc, password, *more, "-o", str(path)), cwd=tmp_path) as terminal:
            terminal.wait_for(rf"(?s)recording to.*127\.0\.0\.1:{silent.port} +connecting")
            assert not path.exists() or not count(path, ",ok,")
            terminal.wait_for(rf"127\.0\.0\.1:{strict.port} .*refuses the password")
            terminal.wait_for(rf"127\.0\.0\.1:{gone} +.*nothing listens")
            terminal.wait_for(rf"127\.0\.0\.1:{silent.port} +.*does not answer")
            bmc.drop = False
            terminal.wait_for(r"mean 245")
            terminal.wait_for("3 without v")
            terminal.press("q")
            assert terminal.wait_exit() == 1


def test_epochs_get_their_joules_beside_the_loss(bmc: Bmc, password: Path, tmp_path: Path) -> None:
    logs, path = tmp_path / "logs", tmp_path / "power.csv"
    train = logs / "train" / "events.out.tfevents.1.vm.7.0.v2"
    with live(
        *watching(bmc, password, "--logdir", str(logs), "-o", str(path)), cwd=tmp_path
    ) as terminal:
        terminal.wait_for(r"mean 245")
        begin = time.time()
        write_scalars(train, [(begin, 0, "epoch_loss", 0.75)], begin - 1)
        terminal.wait_for(r"loss 0\.75")
        for epoch in range(
            1, 20
        ):  # an epoch in which a busy machine missed readings is not resolved: then the next one
            before = count(path, ",ok,")
            wait_until(terminal, lambda before=before: count(path, ",ok,") >= before + 15)
            with train.open("ab") as stream:
                stream.write(frame(scalar(time.time(), epoch, "epoch_loss", 0.5)))
            terminal.wait_for(rf"(?m)^ +{epoch} .*loss 0\.5")
            if re.search(rf"(?m)^ +{epoch} .* J .*measured .*loss 0\.5", terminal.text()):
                break
        else:
            raise AssertionError(terminal.text())
        terminal.press("q")
        terminal.wait_exit()


def test_a_profile_that_appears_opens_with_the_live_power(
    bmc: Bmc, password: Path, tmp_path: Path, data: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    recorded_profile = next((data / "logdirs").rglob("*.xplane.pb"))
    with live(*watching(bmc, password, "--logdir", str(logs)), cwd=tmp_path) as terminal:
        terminal.wait_for(r"mean 245")
        terminal.press("Enter")
        terminal.wait_for("No profile has appeared yet")
        run = logs / "plugins" / "profile" / "2026_11_21_00_50_42"
        run.mkdir(parents=True)
        (run / "vm.xplane.pb").write_bytes(recorded_profile.read_bytes())
        terminal.wait_for("New profile")
        terminal.press("Enter")
        terminal.wait_for(r"host:CPU|python")
        terminal.press("9")
        terminal.wait_for(r"recording to")
        terminal.press("q")
        assert terminal.wait_exit() == 0


def test_replay_plays_a_recording_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time_unix_s,watts\n" + "".join(f"{1795224813 + i},{200 + i % 7}\n" for i in range(300))
    )
    with live("--replay", str(path), "--speed", "100", cwd=tmp_path) as terminal:
        terminal.wait_for("replay of log.csv")
        terminal.wait_for("end of the recording")
        for key in ("w", "s", "a", "d", "Space", "0", "G"):
            terminal.press(key)
            terminal.settle(0.1)
        terminal.press("q")
        assert terminal.wait_exit() == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_tick_costs_few_bytes_and_a_finished_replay_none(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = "".join(f"{1795224813 + i},{200 + 50 * (i // 20 % 2) + i % 7}\n" for i in range(600))
    path.write_text("time_unix_s,watts\n" + rows)
    with live("--replay", str(path), "--speed", "20", size=(200, 50), cwd=tmp_path) as terminal:
        terminal.wait_for("replay of log.csv")
        begun = terminal.questions
        terminal.wait_until(lambda: terminal.questions >= begun + 4, "the first frames")
        before, frames = terminal.total, terminal.questions
        terminal.wait_until(lambda: terminal.questions >= frames + 10, "a frame for each tick")
        per_tick = (terminal.total - before) / (terminal.questions - frames)
        assert 0 < per_tick <= 4096, f"{per_tick:.0f} bytes for a tick of half a second"
        terminal.wait_for("end of the recording")
        terminal.wait_until(
            lambda: time.monotonic() - terminal.last_byte >= 2.0, "nothing changes, nothing is sent"
        )
        terminal.press("q")
        terminal.wait_exit()
