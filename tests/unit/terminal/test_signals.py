"""How a verb without screens ends at a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ENDING = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)


def ended(script: str, number: int) -> tuple[int, str]:
    """Run a script until it has printed a line, send the signal: exit code and what it said on
    standard error.
    """
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        said = process.stderr.read()
        return process.wait(), said


@ENDING
def test_at_once(number: int, code: int) -> None:
    script = (
        "from powertui.terminal import signals; signals.at_once(); print('ready', "
        "flush=True)\nwhile True: pass"
    )
    assert ended(script, number) == (code, "")


@ENDING
def test_a_file_that_is_half_written_does_not_stay(tmp_path: Path, number: int, code: int) -> None:
    script = (
        "import time\n"
        "from powertui import cli\n"
        "from powertui.data.export import files\n"
        "def run(args):\n"
        f"    with files.opened({str(tmp_path / 'new.csv')!r}) as stream:\n"
        "        stream.write(b'half a line')\n"
        "        print('ready', flush=True)\n"
        # a signal between two instructions does not end the sleep that follows
        "        while True: time.sleep(0.1)\n"
        "from powertui.verbs import export\n"
        "export.run = run\n"
        "import sys; sys.argv[1:] = ['export', 'demo']\n"
        "sys.exit(cli.main())\n"
    )
    assert ended(script, number) == (code, "")
    assert list(tmp_path.iterdir()) == []


IMPORTING = (
    "import sys, time\n"
    "from powertui import cli\n"
    "from powertui.verbs import export\n"
    "def run(args):\n"
    "    try:\n"
    "        print('ready', flush=True)\n"
    "        while True: time.sleep(0.1)\n"
    "    except BaseException:\n"
    "        raise ImportError('PyCapsule_Import could not import module') from None\n"
    "export.run = run\n"
    "sys.argv[1:] = ['export', 'demo']\n"
    "sys.exit(cli.main())\n"
)


@ENDING
def test_compiled_code_that_imports_and_turns_the_signal_into_another_error(
    number: int, code: int
) -> None:
    """numpy does, as it is imported: the person is told nothing of it."""
    assert ended(IMPORTING, number) == (code, "")


def test_an_import_that_fails_without_a_signal_is_a_fault() -> None:
    script = IMPORTING.replace("while True: time.sleep(0.1)", "raise ValueError")
    code, said = ended(script, signal.SIGCONT)
    assert code == 1
    assert "could not import module" in said


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_was_ignored_stays_ignored(number: int) -> None:
    script = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, signal.SIG_IGN)\n"
        "from powertui.terminal import signals\n"
        "signals.at_once(); signals.by_exception()\n"
        f"sys.exit(7 if signal.getsignal({int(number)}) is signal.SIG_IGN and not "
        "print('ready', flush=True) else 1)\n"
    )
    assert ended(script, number)[0] == 7
