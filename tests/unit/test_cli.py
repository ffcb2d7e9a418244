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
from powertui.verbs.parser import GROUP_MARK
from tests.synthetic.xplane import Event, Line, Plane, encode

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

PROGRAM = (sys.executable, "-m", "powertui")


def powertui(*args: str, **how: object) -> subprocess.CompletedProcess[str]:
    given = {
        "capture_output": True,
        "text": True,
        "check": False,
        "stdin": subprocess.DEVNULL,
        **how,
    }
    return subprocess.run([*PROGRAM, *args], **given)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    steps = [Event("train", i * 10**10, 10**9, {"step_num": i, "_r": 1}) for i in range(5)]
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(encode([Plane("/host:CPU", [Line("python", steps)])]))
    return path


# ── verbs and paths ──────────────────────────────────────────────────────────────────────────────


def test_the_first_word_is_a_verb_or_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert normalise([]) == ["open", "."]
    assert normalise(["logs"]) == ["open", "logs"]
    assert normalise(["./report"]) == ["open", "./report"]
    assert normalise(["-"]) == ["open", "-"]
    assert normalise(["--run", "a", "logs"]) == ["open", "--run", "a", "logs"]
    for verb in verbs.VERBS:
        assert normalise([verb, "x"]) == [verb, "x"]


def test_help_and_version_are_understood_as_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert normalise(["help"]) == ["--help"]
    assert normalise(["help", "record"]) == ["record", "--help"]
    assert normalise(["help", "nothing"]) == ["--help"]
    assert normalise(["version"]) == ["--version"]
    (tmp_path / "help").mkdir()
    assert normalise(["help"]) == ["open", "help"]  # it is there: that is what was meant


def test_a_slip_in_a_verb_is_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_help_reads_in_any_terminal(
    verb: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """argparse prints it as it is: a terminal without UTF-8 would get a traceback for one
    ellipsis.
    """
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


@pytest.mark.parametrize(
    "args",
    [["--help"], ["--version"], ["report", "--help"], ["record", "--help"], ["live", "--help"]],
)
def test_help_and_version_import_next_to_nothing(args: list[str]) -> None:
    code = f"""
import sys
from powertui.cli import main
try:
    main({args!r})
except SystemExit as done:
    assert not done.code
heavy = ("numpy", "pandas", "textual", "rich", "google.protobuf", "pyipmi", "asyncio", "powertui.data")
sampler = [name for name in sys.modules if name.startswith("powertui.sampler.") and name != "powertui.sampler.schemes"]
print([name for name in heavy if name in sys.modules] + sampler, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    if args == ["--version"]:
        assert done.stdout == f"powertui {__version__}\n"


# ── exit codes ───────────────────────────────────────────────────────────────────────────────────


def test_exit_codes(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        try:
            answered = main(args)
        except SystemExit as end:  # of the parser
            answered = int(end.code or 0)
        written = capsys.readouterr()
        assert answered == code, (args, written)
        assert "Traceback" not in written.err


def test_a_process_ends_with_the_code_of_its_answer(profile: Path, tmp_path: Path) -> None:
    for code, args in (
        (0, ["report", str(profile)]),
        (2, ["report"]),
        (3, ["report", str(tmp_path / "nowhere")]),
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

FORMS = (
    ["report"],
    ["report", "--json"],
    ["report", "--csv"],
    ["report", "--markdown"],
    ["doctor"],
    ["doctor", "--json"],
)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_is_one_sentence(profile: Path, form: list[str]) -> None:
    verb, *options = form
    with Path("/dev/full").open("w") as full:
        done = powertui(
            verb, str(profile), *options, capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_a_closed_output_is_one_sentence(profile: Path, form: list[str]) -> None:
    verb, *options = form
    command = 'exec "$@" >&-'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *PROGRAM, verb, str(profile), *options],
        capture_output=True,
        text=True,
        check=False,
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
            done = powertui(
                verb,
                str(demo.folder()),
                *options,
                capture_output=False,
                stdout=write,
                stderr=subprocess.PIPE,
            )
            assert (done.returncode, done.stderr) == (0, "")
    finally:
        os.close(write)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_output_will_do(encoding: str) -> None:
    done = powertui(
        "demo", "--report", env={**os.environ, "PYTHONIOENCODING": encoding}, text=False
    )
    assert done.returncode == 0
    assert ("µs".encode() in done.stdout) == (encoding == "utf-8")
    done.stdout.decode(encoding)


def test_standard_input_is_called_so(profile: Path) -> None:
    content = profile.read_bytes()
    said = powertui(
        "report", "-", stdin=None, input=content[: len(content) - 20], text=False
    ).stdout.decode()
    assert "standard input" in said
    assert "  -" not in said.replace("--step-marker", "")
    assert (
        "standard input: 1 run\n"
        in powertui("doctor", "-", stdin=None, input=content, text=False).stdout.decode()
    )
    assert "Pipe a profile in" in powertui("report", "-").stdout


def test_a_named_pipe_is_read_once(profile: Path, tmp_path: Path) -> None:
    """Also when its name is that of a power log: nothing of it is read to find out what it is."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*PROGRAM, "report", str(pipe), "--json"], stdout=subprocess.PIPE
    ) as process:
        pipe.write_bytes(profile.read_bytes())
        said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert json.loads(said)["runs"][0]["steps"] == 5


def test_where_a_file_lies_does_not_matter_when_it_is_no_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing to see here\n")
    assert main(["doctor", str(text)]) == 3
    said = capsys.readouterr().out
    assert "is text in no format that powertui reads" in said
    assert "plugins/profile" not in said


# ── several paths, power beside them, the brief report ───────────────────────────────────────────


def brief(capsys: pytest.CaptureFixture[str], *args: str) -> dict:  # type: ignore[type-arg]
    assert main(["report", *args, "--brief"]) == 0
    said = capsys.readouterr().out
    assert len(said.encode()) <= 4096
    return json.loads(said)  # type: ignore[no-any-return]


def test_brief_holds_energy_findings_ops_badges_and_the_next_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = brief(capsys, str(demo.folder()))
    (one,) = said["runs"]
    assert one["energy"]["badge"] == "simulated"
    assert one["energy"]["lo"] < one["energy"]["joules"] < one["energy"]["hi"]
    assert one["findings"][0]["steps"][0] == 46
    assert one["findings"][0]["badge"] == "simulated"
    assert one["top_ops"]
    assert one["step_s"]["longest_step"] == 0
    assert main(said["next"].split()[1:]) == 0


def test_brief_never_outgrows_its_bytes() -> None:
    from powertui.report import brief as briefly

    op = {"name": "x" * 120, "count": 1, "self_s": 1.0}
    found = {"what": "ü" * 240, "epoch": 1}
    runs = [
        {"name": "n" * 120, "top_ops": [dict(op) for _ in range(8)], "findings": [dict(found)] * 8}
        for _ in range(20)
    ]
    said = briefly.within(
        {"powertui": "0", "path": "p", "runs": runs, "runs_left_out": 3, "next": "powertui"}
    )
    assert len(said.encode()) < briefly.MAX_BYTES
    told = json.loads(said)
    assert told["runs_left_out"] + len(told["runs"]) == 23
    assert told["runs"], "some of it is better than nothing"
    assert (
        len(
            json.loads(
                briefly.within(
                    {"runs": [{"name": "n" * 5000}], "runs_left_out": 0, "path": "", "next": ""}
                )
            )["runs"]
        )
        == 0
    )


def test_a_power_log_behind_a_profile_is_its_power(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = next(demo.folder().rglob("*.xplane.pb*"))
    log = demo.power_file()
    for args in ((profile, log), (log, profile)):
        assert brief(capsys, *map(str, args))["runs"][0]["energy"]["joules"] is not None
    assert (
        brief(capsys, str(profile), "--power", str(demo.folder()))["runs"][0]["energy"]["joules"]
        is not None
    )
    assert main(["doctor", str(data / "logdirs" / "jax_cpu"), "--power", str(log)]) == 0
    assert "power.csv" in capsys.readouterr().out


def test_several_logdirs_are_opened_together(data: Path) -> None:
    from powertui.data import logdir

    paths = [str(data / "logdirs" / "jax_cpu"), str(demo.folder())]
    (*_, found) = logdir.stream_all(paths)
    assert found.complete
    assert len(found.runs) == sum(len(logdir.scan(path).runs) for path in paths)
    for run in found.runs:
        assert logdir.again(found.path_of(run), run) == run


WRONG = (
    ("nosuch",),
    ("open", "nosuch"),
    ("report", "nosuch"),
    ("doctor", "nosuch"),
    ("report", ".", "--power", "nosuch.csv"),
    ("report", ".", "--tool", "nosuch"),
    ("report", ".", "--run", "nosuch"),
    ("report", "", "--brief"),
    ("energy", ".", "--offset", "x"),
    ("report", ".", "--power", "empty"),
    ("energy", ".", "--power-host", "x"),
    ("live",),
    ("export", ".", "--epoch", "7"),
)


@pytest.mark.parametrize("args", WRONG, ids=" ".join)
def test_errors_are_a_sentence_and_a_step(
    args: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    try:
        code = main(list(args))
    except SystemExit as error:
        code = int(error.code or 0)
    said = capsys.readouterr().err
    assert code != 0
    assert ".;" not in said
    assert ".. " not in said
    assert "..\n" not in said
    assert "Traceback" not in said


def test_a_path_that_is_not_there_is_told_without_a_terminal(tmp_path: Path) -> None:
    said = powertui("nosuch", cwd=tmp_path)
    assert said.returncode == 3
    assert "no such file or directory" in said.stderr
    assert "terminal" not in said.stderr


def test_a_power_log_that_is_not_there_is_told_before_the_screen(tmp_path: Path) -> None:
    """Each run of a folder was said to be one that cannot be read."""
    said = powertui(".", "--power", "nosuch.csv", cwd=tmp_path)
    assert said.returncode == 3
    assert "nosuch.csv: no such file or directory\n  Check the path after --power." in said.stderr
    assert "terminal" not in said.stderr


@pytest.mark.parametrize("verb", verbs.VERBS)
def test_every_verb_has_two_examples_that_parse(verb: str) -> None:
    import shlex

    examples = verbs.load(verb).EXAMPLES
    assert len(examples) >= 2
    for line, text in examples:
        assert text
        words = shlex.split(line)[1:]
        parsed = build_parser(verb).parse_args(normalise(words))
        assert parsed.verb == verb


# ── what the command line cannot take ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (["energy"], "Name a path.", "For the current folder: powertui energy ."),
        (["compare"], "Name a path.", "For example: powertui compare old/ new/"),
        (["check"], "Name a path.", "For example: powertui check run/* --max"),
        (["baseline"], "ACTION is missing.", "For example: powertui baseline save main run/*"),
        (
            ["report", "x", "--epoch", "1"],
            "powertui report does not know --epoch.",
            "See powertui report --help",
        ),
        (
            ["export", "--nope"],
            "powertui export does not know --nope.",
            "See powertui export --help",
        ),
        (["--nope"], "powertui open does not know --nope.", "See powertui open --help"),
        (
            ["energy", ".", "--unit", "no"],
            (
                "--unit takes one of W, mW, uW, kW, dW, J, mJ, uJ, kJ, Wh, mWh, kWh; 'no' is none "
                "of them."
            ),
            "",
        ),
        (["energy", ".", "--power"], "--power needs a value.", ""),
        (["report", ".", "--json", "--csv"], "--csv and --json cannot be given together.", ""),
        (["energy", ".", "--epoch", "x"], "--epoch cannot be 'x'.", ""),
        (["live", "--password=hunter2"], "powertui live does not know --password.", ""),
        (
            ["record", "--password", "hunter2", "--", "true"],
            "powertui record does not know --password.",
            "",
        ),
    ],
)
def test_what_the_command_line_cannot_take_is_one_sentence(
    words: list[str], said: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"powertui: {said}\n")
    assert hint in err
    assert len(err.splitlines()) == 2
    assert "hunter2" not in err


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (["compare", "old", "--json", "new"], ["old", "new"]),
        (["compare", "old", "--json", "--", "new"], ["old", GROUP_MARK, "new"]),
        (["baseline", "save", "--replace", "main", "run1", "run2"], ["run1", "run2"]),
        (["check", "run1", "--max", "W=1", "run2"], ["run1", "run2"]),
    ],
)
def test_paths_may_follow_an_option(words: list[str], paths: list[str]) -> None:
    assert build_parser(words[0]).parse_args(words).paths == paths


def test_a_word_that_no_option_takes_is_still_refused_beside_a_command() -> None:
    words = ["record", "-o", "p.csv", "--", "ls", "-l", "--", "x"]
    assert build_parser("record").parse_args(words).command[-4:] == ["ls", "-l", "--", "x"]
    with pytest.raises(UsageError, match="does not know extra"):
        build_parser("demo").parse_args(["demo", "extra"])
