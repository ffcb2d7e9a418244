"""The command line itself: verbs and paths, help, exit codes, and outputs that take nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from powertui import __version__, demo, verbs
from powertui.cli import build_parser, main, normalise
from powertui.errors import UsageError
from tests.synthetic.xplane import Event, Line, Plane, encode

PROGRAM = (sys.executable, "-m", "powertui")


def powertui(*args: str, **how: object) -> subprocess.CompletedProcess[str]:
    given = {"capture_output": True, "text": True, "check": False, "stdin": subprocess.DEVNULL, **how}
    return subprocess.run([*PROGRAM, *args], **given)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    steps = [Event("train", i * 10**10, 10**9, {"step_num": i, "_r": 1}) for i in range(5)]
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(encode([Plane("/host:CPU", [Line("python", steps)])]))
    return path


# ── verbs and paths ──────────────────────────────────────────────────────────────────────────────


def test_the_first_word_is_a_verb_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert normalise([]) == ["open", "."]
    assert normalise(["logs"]) == ["open", "logs"]
    assert normalise(["./report"]) == ["open", "./report"]
    assert normalise(["-"]) == ["open", "-"]
    assert normalise(["--run", "a", "logs"]) == ["open", "--run", "a", "logs"]
    for verb in verbs.VERBS:
        assert normalise([verb, "x"]) == [verb, "x"]


def test_a_slip_in_a_verb_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reprot", "logs"]) == 2
    assert "powertui report" in capsys.readouterr().err
    with pytest.raises(UsageError, match="Docter"):
        normalise(["Docter"])
    (tmp_path / "reports").mkdir()
    assert normalise(["reports"]) == ["open", "reports"]  # it is there: that is what was meant


def test_a_file_that_is_named_like_a_verb(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(profile.parent)
    profile.rename("report")
    assert main(["report", "report"]) == 0
    assert main(["report", "./report"]) == 0


@pytest.mark.parametrize("verb", verbs.VERBS)
def test_every_verb_says_what_it_is_for_and_how_it_is_called(verb: str) -> None:
    loaded = verbs.load(verb)
    assert loaded.HELP
    for line, _ in loaded.EXAMPLES:
        assert line.split()[:2] == ["powertui", verb] or verb == "open"
        if " -- " not in line:
            words = normalise(line.split()[1:])
            assert build_parser(words[0]).parse_args(words).verb == verb


# ── help ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("verb", [None, *verbs.VERBS])
def test_help_reads_in_any_terminal(verb: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """argparse prints it as it is: a terminal without UTF-8 would get a traceback for one ellipsis."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as done:
        build_parser(verb).parse_args([verb, "--help"] if verb else ["--help"])
    said = capsys.readouterr().out
    assert done.value.code == 0
    assert said.isascii()
    assert "usage: powertui" in said


def test_help_names_every_verb_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert [verb for verb in verbs.VERBS if f"    {verb} " not in said] == []
    for words in ("0 done", "1 failed", "2 wrong usage or no terminal", "3 nothing readable"):
        assert words in said


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["report", "--help"], ["record", "--help"], ["live", "--help"]])
def test_help_and_version_import_next_to_nothing(args: list[str]) -> None:
    code = f"""
import sys
from powertui.cli import main
try:
    main({args!r})
except SystemExit as done:
    assert not done.code
heavy = ("numpy", "pandas", "textual", "rich", "google.protobuf", "pyipmi", "asyncio", "powertui.data", "powertui.sampler")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    if args == ["--version"]:
        assert done.stdout == f"powertui {__version__}\n"


# ── exit codes ───────────────────────────────────────────────────────────────────────────────────


def test_exit_codes(profile: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.xplane.pb"
    empty.write_bytes(b"")
    for code, args in (
        (0, ["report", str(profile)]),
        (0, ["doctor", str(profile)]),
        (0, ["demo", "--report"]),
        (2, ["report"]),
        (2, ["report", str(profile), "--json", "--csv"]),
        (2, ["report", str(profile), "--run", "another"]),
        (2, ["report", str(profile), "--step-marker", "("]),
        (2, ["report", ""]),
        (3, ["report", str(tmp_path / "nowhere")]),
        (3, ["report", str(empty)]),
        (3, ["doctor", str(empty)]),
        (3, ["report", str(profile), "--power", str(tmp_path / "nowhere.csv")]),
        (3, ["report", "-"]),
    ):
        done = powertui(*args)
        assert done.returncode == code, (args, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr


def test_without_a_terminal_the_way_out_is_named(profile: Path) -> None:
    for args in ([], [str(profile)], ["open", str(profile)], ["demo"]):
        done = powertui(*args, cwd=profile.parent)
        assert done.returncode == 2, done.stderr
        assert "powertui report" in done.stderr or "--report" in done.stderr
        assert done.stdout == ""


def test_a_path_in_an_error_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "\x1b]0;owned\x07\r\x9b2J"]) == 3
    said = capsys.readouterr().err
    assert "\\x1b]0;owned" in said
    assert not set(said) & set("\x1b\x07\r\x9b")


# ── outputs that take nothing ────────────────────────────────────────────────────────────────────

FORMS = (["report"], ["report", "--json"], ["report", "--csv"], ["report", "--markdown"], ["doctor"], ["doctor", "--json"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_is_one_sentence(profile: Path, form: list[str]) -> None:
    verb, *options = form
    with Path("/dev/full").open("w") as full:
        done = powertui(verb, str(profile), *options, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_a_closed_output_is_one_sentence(profile: Path, form: list[str]) -> None:
    verb, *options = form
    command = 'exec "$@" >&-'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *PROGRAM, verb, str(profile), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "powertui: Nothing can be printed: standard output is closed.\n"


def test_a_reader_who_leaves_is_no_error() -> None:
    """`powertui report … | head -1`."""
    read, write = os.pipe()
    os.close(read)
    try:
        for form in FORMS:
            verb, *options = form
            done = powertui(verb, str(demo.folder()), *options, capture_output=False, stdout=write, stderr=subprocess.PIPE)
            assert (done.returncode, done.stderr) == (0, "")
    finally:
        os.close(write)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_output_will_do(encoding: str) -> None:
    done = powertui("demo", "--report", env={**os.environ, "PYTHONIOENCODING": encoding}, text=False)
    assert done.returncode == 0
    assert ("µs".encode() in done.stdout) == (encoding == "utf-8")
    done.stdout.decode(encoding)


def test_standard_input_is_called_so(profile: Path) -> None:
    content = profile.read_bytes()
    said = powertui("report", "-", stdin=None, input=content[: len(content) - 20], text=False).stdout.decode()
    assert "standard input" in said
    assert "  -" not in said.replace("--step-marker", "")
    assert "standard input: 1 run\n" in powertui("doctor", "-", stdin=None, input=content, text=False).stdout.decode()
    assert "Pipe a profile in" in powertui("report", "-").stdout


def test_a_named_pipe_is_read_once(profile: Path, tmp_path: Path) -> None:
    """Also when its name is that of a power log: nothing of it is read to find out what it is."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen([*PROGRAM, "report", str(pipe), "--json"], stdout=subprocess.PIPE) as process:
        pipe.write_bytes(profile.read_bytes())
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(said)["runs"][0]["steps"] == 5


def test_where_a_file_lies_does_not_matter_when_it_is_no_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing to see here\n")
    assert main(["doctor", str(text)]) == 3
    said = capsys.readouterr().out
    assert "is text, but no format" in said
    assert "plugins/profile" not in said
