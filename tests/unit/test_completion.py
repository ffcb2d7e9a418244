"""Completions in real shells, where they are installed, and the man page; all from the table of
arguments.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from powertui import completion, verbs
from powertui.cli import build_parser, main
from tests.unit.test_cli import powertui

ROOT = Path(__file__).parents[2]


def script(shell: str) -> str:
    return completion.tell(shell, build_parser())


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a file, a config with a host, and a `powertui` that is this one."""
    (tmp_path / "power-of-today.csv").write_text("x")
    (tmp_path / "config" / "powertui").mkdir(parents=True)
    (tmp_path / "config" / "powertui" / "config.toml").write_text(
        '[hosts.bmc-of-a-test]\nhost = "192.0.2.1"\n'
    )
    program = tmp_path / "bin" / "powertui"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m powertui "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(argv: list[str], place: Path) -> str:
    environment = {
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "HOME": str(place),
        "XDG_CONFIG_HOME": str(place / "config"),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
    }
    found = subprocess.run(
        argv, capture_output=True, text=True, check=False, cwd=place, env=environment, timeout=300
    )
    return found.stdout + found.stderr


def in_bash(line: str, place: Path) -> list[str]:
    words = line.split(" ")
    asked = " ".join(f"'{word}'" for word in words)
    (place / "ask.sh").write_text(
        f"{script('bash')}\nCOMP_WORDS=({asked})\nCOMP_CWORD={len(words) - 1}\n_powertui\nprintf "
        f"'%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    return run(["bash", "--norc", "ask.sh"], place).split()


def in_fish(line: str, place: Path) -> list[str]:
    (place / "ask.fish").write_text(f"{script('fish')}\ncomplete -C'{line}'\n")
    return [
        row.split("\t")[0] for row in run(["fish", "--no-config", "ask.fish"], place).splitlines()
    ]


ZSH = """
zmodload zsh/zpty
zpty ask zsh -f -i
answer() {{ local text; zpty -r ask text "*$1*" 2>/dev/null; print -r -- "$text" }}
zpty -w ask 'PS1=READY; autoload -Uz compinit; compinit -D -u; zstyle ":completion:*" verbose no; LISTMAX=1000'
zpty -w ask 'fpath=(. $fpath); source ./_powertui; unsetopt zle_bracketed_paste; print STARTED'
answer STARTED
zpty -n -w ask $'{line}\\t\\t'
sleep 2
zpty -n -w ask $'\\x15print ENDED-HERE\\n'
answer ENDED-HERE
"""


def in_zsh(line: str, place: Path) -> str:
    (place / "_powertui").write_text(script("zsh"))
    (place / "ask.zsh").write_text(ZSH.format(line=line))
    return run(["zsh", "-f", "ask.zsh"], place)


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_verbs_options_choices_files_and_hosts(shell: str, place: Path) -> None:
    need(shell)
    ask = {"bash": in_bash, "fish": in_fish}[shell]
    assert "report" in ask("powertui rep", place)
    assert set(verbs.VERBS) <= set(ask("powertui ", place))
    assert "--brief" in ask("powertui report --b", place)
    assert "--brief" not in ask("powertui record --b", place)
    assert "--glyphs" in ask("powertui --gl", place), "without a verb, it is open"
    assert {"auto", "clock", "signal", "none"} <= set(ask("powertui energy --align ", place))
    assert "power-of-today.csv" in ask("powertui energy --power power", place)
    assert "power-of-today.csv" in ask("powertui report power", place)
    assert "bmc-of-a-test" in ask("powertui record --host ", place)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("powertui rep", "report"),
        ("powertui report --bri", "--brief"),
        ("powertui energy --align cl", "clock"),
        ("powertui report power-of", "power-of-today.csv"),
        ("powertui record --host bmc-o", "bmc-of-a-test"),
    ],
    ids=("verb", "option", "choice", "file", "host"),
)
def test_zsh(line: str, found: str, place: Path) -> None:
    need("zsh")
    assert found in in_zsh(line, place)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_scripts_parse(shell: str, tmp_path: Path) -> None:
    need(shell)
    (tmp_path / "script").write_text(script(shell))
    assert (
        subprocess.run(
            [shell, "-n", str(tmp_path / "script")], capture_output=True, check=False
        ).stderr
        == b""
    )


def test_the_man_page_formats_and_names_every_option(tmp_path: Path) -> None:
    if shutil.which("groff") is None and shutil.which("man") is None:
        pytest.skip("neither groff nor man is installed")
    (tmp_path / "powertui.1").write_text(script("man"))
    page = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(tmp_path / "powertui.1")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MANWIDTH": "120", "MANPAGER": "cat"},
    )
    assert page.stderr == ""
    for verb in completion.table(build_parser()):
        assert f"powertui {verb.name}" in page.stdout
        for option in verb.options:
            assert option.names[-1] in page.stdout.replace("‐", "-")


def test_what_the_package_installs_is_up_to_date() -> None:
    if not (ROOT / "share").exists():
        pytest.skip("not a checkout")
    found = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "completions.py"), "--check"],
        capture_output=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--completions", "bash"]) == 0
    assert "complete -F _powertui powertui" in capsys.readouterr().out
    assert main(["--completions=nosuch"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err
    assert "--completions" in powertui("--help").stdout


def test_hosts_of_the_config_are_offered_where_a_bmc_is_meant_alone() -> None:
    """`report --host` and `export --host` name a host of the run."""
    script = completion.tell("bash", build_parser())
    offered = {
        line.split(":")[0].strip()
        for line in script.splitlines()
        if "_powertui_ask hosts" in line and ":--host)" in line
    }
    assert offered == {"record", "live", "capture", "sensors"}


HOSTILE = "$(touch hacked)"


@pytest.fixture
def runs(place: Path) -> Path:
    """Two runs in a logdir, one of them called like a command."""
    for name in ("first run", HOSTILE):
        folder = place / "logs" / name / "plugins" / "profile" / "2026_11_21_00_51_44"
        folder.mkdir(parents=True)
        (folder / "node17.xplane.pb").write_bytes(b"")
    return place


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_tools_pages_runs_and_their_hosts(shell: str, runs: Path) -> None:
    need(shell)
    ask = {"bash": in_bash, "fish": in_fish}[shell]
    assert ask("powertui report --tool k", runs) == ["kernel_stats", "kernel_summary"]
    assert {"overview", "findings", "ops"} <= set(ask("powertui --page ", runs))
    assert ask("powertui report logs --host ", runs) == ["node17"]
    assert ask("powertui energy logs --run first", runs)[0].startswith("first")
    assert ask("powertui energy power-of-today.csv --run first", runs) in ([], [""])
    offered = " ".join(ask("powertui energy logs --run ", runs))
    assert "touch" in offered
    assert not list(runs.rglob("hacked"))


def test_bash_offers_a_name_that_is_one_word(runs: Path) -> None:
    need("bash")
    (runs / "ask.sh").write_text(
        f"{script('bash')}\nCOMP_WORDS=(powertui report logs --run first)\nCOMP_CWORD=4\n_powertui\n"
        "eval \"printf '<%s>' ${COMPREPLY[0]}\"\n"
    )
    assert run(["bash", "--norc", "ask.sh"], runs) == "<first run/2026_11_21_00_51_44>"


def test_bash_offers_values_behind_an_equals_sign(runs: Path) -> None:
    need("bash")
    assert in_bash("powertui report --tool = k", runs) == ["kernel_stats", "kernel_summary"]
    assert "node17" in in_bash("powertui report logs --host =", runs)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("powertui report --tool kernel_su", "kernel_summary"),
        ("powertui report logs --host no", "node17"),
        ("powertui report logs --run first", "2026_11_21_00_51_44"),
    ],
    ids=("tool", "host", "run"),
)
def test_zsh_offers_tools_runs_and_hosts(line: str, found: str, runs: Path) -> None:
    need("zsh")
    assert found in in_zsh(line, runs)
    assert not list(runs.rglob("hacked"))


def test_zsh_offers_no_folder_beside_the_hosts_of_a_run(runs: Path) -> None:
    """Two hosts: a second Tab behind a single one would go on with the next word, a path."""
    need("zsh")
    (profile,) = (runs / "logs" / "first run").rglob("node17.xplane.pb")
    profile.with_name("node18.xplane.pb").write_bytes(b"")
    offered = in_zsh("powertui report logs --host ", runs)
    assert "node17" in offered
    assert "node18" in offered
    assert "power-of-today.csv" not in offered


def test_names_that_steer_a_terminal_are_not_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bad\x1b]0;x\x07" / "plugins" / "profile" / "2026_11_21_00_51_44"
    folder.mkdir(parents=True)
    (folder / "node17.xplane.pb").write_bytes(b"")
    assert main(["--completions", "runs", "powertui", "report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


AWKWARD = ("power of today.csv", "it's.csv", "a*.csv", "$(touch hacked).csv")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("power", AWKWARD[0]),
        (r"power\ o", AWKWARD[0]),
        ('"power o', AWKWARD[0]),
        ("'power o", AWKWARD[0]),
        (r"it\'", AWKWARD[1]),
        (r"a\*", AWKWARD[2]),
        (r"\$", AWKWARD[3]),
    ],
)
def test_bash_offers_a_file_as_one_word(typed: str, found: str, tmp_path: Path) -> None:
    """Readline quotes it, as it does for every command."""
    need("bash")
    for name in (*AWKWARD, "ab.csv"):
        (tmp_path / name).write_text("x")
    (tmp_path / "ask.sh").write_text(
        f"{script('bash')}\nCOMP_WORDS=(powertui energy {shlex.quote(typed)})\nCOMP_CWORD=2\n"
        "_powertui\nprintf '<%s>' \"${COMPREPLY[@]}\"\n"
    )
    assert run(["bash", "--norc", "ask.sh"], tmp_path) == f"<{found}>"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (r"first\ r", r"<first\ run/2026_11_21_00_51_44>"),
        ('"first r', "<first run/2026_11_21_00_51_44>"),
        ("'$", f"<{HOSTILE}/2026_11_21_00_51_44>"),
        ('"$', "<>"),
    ],
)
def test_bash_goes_on_with_a_quoted_name(typed: str, found: str, runs: Path) -> None:
    """Behind an open double quote a $(command) would run: it is not offered there."""
    need("bash")
    (runs / "ask.sh").write_text(
        f"{script('bash')}\nCOMP_WORDS=(powertui report logs --run {shlex.quote(typed)})\n"
        "COMP_CWORD=4\n_powertui\nprintf '<%s>' \"${COMPREPLY[@]}\"\n"
    )
    assert run(["bash", "--norc", "ask.sh"], runs) == found
    assert not list(runs.rglob("hacked"))
