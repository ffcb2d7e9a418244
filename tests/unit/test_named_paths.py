"""A path that a person names may be anything.

Every verb ends, says in one sentence what is there, and exits with its code.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui import config, opening
from powertui.cli import main
from powertui.data.export import files
from powertui.data.formats import tfevents
from powertui.errors import PowertuiError, UnreadableFile, UsageError
from powertui.verbs import live

_SILENCE_S = 0.05
_SILENT = "nothing came through it for"
_PROFILE, _LOG = "profile.json", "power.csv"
_UNREADABLE, _MISUSED = 3, 2  # exit codes

# what is there → the reason that a person is given
_REASONS = {
    "pipe": _SILENT,
    "mute-pipe": _SILENT,
    "/proc/kmsg": r"never ends: it waits for more data",
    "socket": r"is neither a folder nor a plain file|is a socket|is not a file",
    "folder": r"Is a directory|is a folder|no run|nothing",
    "/dev/zero": (
        r"is neither a folder nor a plain file|is neither a file nor a pipe|is too "
        r"large|is not a file"
    ),
    "/dev/full": (
        r"is neither a folder nor a plain file|is neither a file nor a pipe|is too "
        r"large|is not a file"
    ),
}
_READ = ["report", "energy", "doctor", "export"]
_WORDS: dict[str, tuple[list[str], int]] = {
    **{f"{verb} PATH": ([verb, "{}"], _UNREADABLE) for verb in _READ},
    **{f"{verb} --power": ([verb, _PROFILE, "--power", "{}"], _UNREADABLE) for verb in _READ},
    **{
        f"{verb} --pins": ([verb, _PROFILE, "--power", _LOG, "--pins", "{}"], _UNREADABLE)
        for verb in ("report", "energy", "export")
    },
    "record --password-file": (
        ["record", "--source", "redfish://u@127.0.0.1:1", "--password-file", "{}"],
        _MISUSED,
    ),
    "record --kg-file": (
        ["record", "--host", "u@127.0.0.1", "--password-file", "password", "--kg-file", "{}"],
        _MISUSED,
    ),
}
_FOLDERS_ARE_MEANT = re.compile(r" (PATH|--power)$")


@pytest.fixture
def odd_files(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with one of each kind, and a profile with its power log."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "SILENCE_S", _SILENCE_S)
    shutil.copy(data / "foreign" / "jax_perfetto_trace.json", _PROFILE)
    Path(_LOG).write_text(
        "time,watts\n" + "".join(f"2026-11-23T06:06:{s:02d}Z,{100 + s}\n" for s in range(50, 60))
    )
    Path("password").write_text("secret\n")
    Path("password").chmod(0o600)
    os.mkfifo("pipe")
    os.mkfifo("mute-pipe")
    Path("folder").mkdir()
    writer = os.open("mute-pipe", os.O_RDWR)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        yield tmp_path
    os.close(writer)


@pytest.mark.parametrize("there", _REASONS)
@pytest.mark.parametrize("what", _WORDS)
def test_every_verb_says_what_a_named_path_is(
    odd_files: Path, capsys: pytest.CaptureFixture[str], what: str, there: str
) -> None:
    if there == "folder" and _FOLDERS_ARE_MEANT.search(what):
        pytest.skip("a folder may be given here")
    if there == "/proc/kmsg":
        _skip_unless_readable(there)
    words, code = _WORDS[what]
    assert main([word.format(there) for word in words]) == code
    output, errors = capsys.readouterr()
    assert re.search(_REASONS[there], output + errors)
    assert there in output + errors
    assert len(re.findall(r"^powertui: ", errors, re.MULTILINE)) <= 1
    assert "Traceback" not in output + errors


def _skip_unless_readable(path: str) -> None:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        pytest.skip(f"{path} may not be read here")


def test_without_a_terminal_nothing_is_opened(
    odd_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [main([*words, "pipe"]) for words in (["open"], ["live", "--replay"])] == [2, 2]
    assert capsys.readouterr().err.count("No screen can be shown here") == 2


def test_the_config_file_may_be_a_silent_pipe(odd_files: Path) -> None:
    with pytest.raises(UsageError, match=rf"pipe: cannot be read: {_SILENT}"):
        config.load({"POWERTUI_CONFIG": str(odd_files / "pipe")})
    with pytest.raises(UsageError, match="too large for a config file"):
        config.load({"POWERTUI_CONFIG": "/dev/zero"})


def test_a_replay_of_a_silent_pipe_ends(odd_files: Path) -> None:
    from powertui.cli import build_parser

    args = build_parser("live").parse_args(["live", "--replay", "pipe"])
    with pytest.raises(UnreadableFile, match=_SILENT):
        live._replay(args)


def test_an_event_file_that_is_a_pipe_is_refused(odd_files: Path) -> None:
    name = str(odd_files / "events.out.tfevents.1700000000.host")
    os.mkfifo(name)
    with pytest.raises(UnreadableFile, match="it is not a regular file"):
        tfevents.Tail(name).poll()
    assert main(["doctor", name]) == _UNREADABLE


def test_what_nobody_named_is_not_opened(
    odd_files: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(data / "logdirs" / "jax_cpu", "run")
    for name in ("events.out.tfevents.1700000000.host", "power.csv", "run.pt.trace.json"):
        os.mkfifo(Path("run") / name)
    assert main(["doctor", "run"]) in (0, _UNREADABLE)
    output = capsys.readouterr().out
    assert output.count("is not a plain file, so it was not opened") == 3
    assert _SILENT not in output


def test_an_export_to_a_pipe_that_nobody_reads_ends(odd_files: Path) -> None:
    with pytest.raises(PowertuiError, match="nobody read from the pipe"), files.opened("pipe"):
        raise AssertionError("there is nothing to write to")


def test_an_export_to_a_pipe_waits_for_its_reader(
    odd_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SILENCE_S", 300)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(Path("pipe").read_bytes()))
    reader.start()
    with files.opened("pipe") as stream:
        stream.write(b"x" * 200_000)
    reader.join(300)
    assert received == [b"x" * 200_000]


@pytest.mark.parametrize("name", ["/proc/self/mounts", "/proc/cpuinfo"])
def test_a_file_of_proc_has_bytes_though_its_size_is_zero(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["report", name]) == _UNREADABLE
    assert "is empty" not in capsys.readouterr().out


def _record(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "powertui", "record", *words, "--duration", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def test_a_recording_of_nothing_names_no_file(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("time,watts\n")
    recording = _record(tmp_path, "--source", "csv:log.csv", "-o", "power.csv")
    assert recording.returncode == 1
    assert "powertui: No reading was recorded, and no file was left.\n" in recording.stderr
    assert " rows in " not in recording.stderr
    assert not (tmp_path / "power.csv").exists()


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("folder", "folder is not a regular file: only a file can be followed."),
        ("gone", "gone cannot be read"),
    ],
)
def test_a_source_that_cannot_be_opened_is_reported_once(
    tmp_path: Path, source: str, sentence: str
) -> None:
    (tmp_path / "folder").mkdir()
    recording = _record(tmp_path, "--source", f"csv:{source}", "-o", "power.csv")
    assert recording.returncode == 1
    assert recording.stderr.count(sentence) == 1
    assert recording.stderr.count("powertui: ") == 1
