"""What is imported is time until an answer."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from powertui import import_path
from powertui.data import wire
from powertui.terminal import launch

ROOT = Path(__file__).resolve().parents[2]


def imported(script: str) -> set[str]:
    """The modules that a script makes Python load."""
    code = (
        f"import sys; before = set(sys.modules)\n{script}\nprint(*sorted(set(sys.modules) - "
        "before), sep='\\n')"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_version_needs_nothing() -> None:
    script = (
        "sys.argv = ['powertui', '--version']\nfrom powertui.__main__ import main\nassert "
        "main() == 0"
    )
    found = imported(script)
    assert {"powertui", "powertui.__main__"} <= found
    assert {name for name in found if not name.startswith("powertui")} <= {
        "0.1.0"
    }  # what was printed
    assert len(found) <= 6  # main, what it prints with, and where imports come from


def older() -> list[Path]:
    """Pythons of this machine that are too old: pyenv's."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob("3.[6-9].*/bin/python"))
    return [path for path in found if os.access(path, os.X_OK)]


@pytest.mark.parametrize("python", older(), ids=lambda path: path.parts[-3])
def test_an_older_python_is_told_so_in_one_sentence(python: Path) -> None:
    version = python.parts[-3].rpartition(".")[0]
    sentence = (
        f"powertui needs Python 3.10 or newer; this is Python {version}. "
        "docs/install.md names newer ones."
    )
    for words in (
        ["-m", "powertui", "report", "x"],
        ["-m", "powertui"],
        ["-c", "from powertui.__main__ import run; run()"],
    ):
        done = subprocess.run([python, *words], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", sentence)
    if version == "3.6":
        return  # its modules have no __getattr__
    done = subprocess.run(
        [python, "-c", "import powertui; powertui.record()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stderr.strip().endswith(f"ImportError: {sentence}")


def test_what_runs_before_the_sentence_can_be_read_by_older_pythons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("__init__.py", "__main__.py", "import_path.py"):
        ast.parse((ROOT / "powertui" / name).read_text("utf-8"), feature_version=(3, 6))
    monkeypatch.delattr(sys, "orig_argv")
    monkeypatch.setattr(sys, "argv", ["-m"])
    assert not import_path.is_program()


# The shell and the timeline, before a run is read (2026-12-01).
FIRST_PAGE_MODULES = 228


def test_the_first_page_needs_nothing_of_the_others() -> None:
    found = imported("import powertui.config, powertui.screens.shell, powertui.screens.timeline")
    assert "powertui.screens.timeline" in found
    unwanted = {
        "powertui.feed",
        "powertui.sampler.process",
        "powertui.data.live",
        "tomllib",
        "tomli",
        "pandas",
        "plotext",
        "powertui.data.energy.log_alignment",  # and all that places power: after the first picture
        "powertui.data.energy.measured_energy",
    }
    assert not found & unwanted
    assert len([name for name in found if name.startswith("powertui.")]) <= FIRST_PAGE_MODULES
    assert not [name for name in found if name.startswith("google.protobuf")]


def test_the_first_page_is_drawn_without_masked_arrays(tmp_path: Path) -> None:
    """NumPy's own medians and percentiles import numpy.ma: 12 ms, when the first page is drawn."""
    words = ["powertui", "demo", "--svg", str(tmp_path / "page.svg"), "--page", "timeline"]
    script = f"import sys; sys.argv = {words!r}\nfrom powertui.__main__ import main\nmain()"
    found = imported(script)
    assert "powertui.view.slow_steps" in found
    assert "numpy.ma" not in found


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by /proc")
@pytest.mark.parametrize("verb", ["open", "report", "energy", "export"])
def test_numpy_starts_no_pool_of_threads(verb: str, data: Path) -> None:
    """A path that is not there is told before the terminal is looked at: what finds that must not
    import numpy as it comes.
    """
    path = data / "logdirs" / "jax_cpu"
    code = (
        # an emulator may have one of its own
        "import os, sys; threads = len(os.listdir('/proc/self/task'));"
        f" from powertui import cli; cli.main([{verb!r}, {str(path)!r}]); assert 'numpy' in "
        "sys.modules;"
        " print('\\n', len(os.listdir('/proc/self/task')) - threads)"
    )
    env = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == "0"


def test_help_imports_neither_archives_nor_what_only_a_verb_needs() -> None:
    script = (
        "import contextlib; from powertui import cli\n"
        "with contextlib.suppress(SystemExit): cli.main(['--help'])"
    )
    found = imported(script)
    assert "argparse" in found
    assert not found & {"dataclasses", "inspect", "lzma", "pathlib", "shutil", "termios"}


def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from powertui import cli

    monkeypatch.setenv("COLUMNS", "300")
    wide = cli.build_parser(with_arguments=False).format_help()
    monkeypatch.setenv("COLUMNS", "50")
    narrow = cli.build_parser(with_arguments=False).format_help()
    line = "print the packages that powertui uses, with versions and licenses"
    assert line in wide
    assert line not in narrow


def test_help_without_the_arguments_of_verbs_is_the_same() -> None:
    from powertui import cli

    without = cli.build_parser(with_arguments=False).format_help()
    assert without == cli.build_parser().format_help()


def test_garbage_is_collected_again_once_there_is_a_picture() -> None:
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    try:
        launch.hurry()
        assert not gc.isenabled()
        launch.at_ease()
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]


ENDING = """
import atexit, os, sys
class Witness:
    def __del__(self, write=os.write):
        write(2, b"taken apart")
witness = Witness()
atexit.register(print, "asked to be called")
sys.argv = ["powertui", "--version"]
{watching}
from powertui.__main__ import run
run()
"""


@pytest.mark.parametrize(
    ("watching", "messages"), [("", ""), ("sys.setprofile(lambda *_: None)", "taken apart")]
)
def test_the_end_takes_objects_apart_only_where_somebody_watches(
    watching: str, messages: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING.format(watching=watching)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == ["asked to be called"]
    assert done.stderr == messages


# What each command imports of powertui, and how many of those are about power (2026-11-24): a run
# without power needs none that place it, share it out or look for what is unusual in it. Two to four
# came of dividing checks, the list of runs and packed columns by idea, with nothing new in them; one
# or two more of giving the arguments about windows and about sensors a file each (2026-11-28).
# One more for medians and quantiles that do not import numpy.ma, and one for what is looked up in
# ascending columns, which finding steps asks, too (2026-11-30).
# One more for names that differ in numbers alone: rules are asked once for all of them (2026-12-01).
# With `__main__`, three modules by which classes are made cheaply, and the words of help.
COMMANDS = {
    "--help": (10, 0),
    "sensors": (50, 1),  # and where lines end, and patterns that are compiled late
    # The last of each is the settings that energy answers share; before it the rivals of edges and
    # their costs, and how runs are read on other machines.
    # Three for the evidence of a clock, drawn steps and who asked for work, and the nodes of a line.
    # Few scalars are read one by one.
    "doctor RUN": (149, 15),
    "report RUN --tool kernel_stats": (183, 17),
    # The power beside a training, the start of a session, and the account of a trace apart from how
    # it is made; the fit of short pauses; what parts of a program are for, which two findings ask;
    # the ends of stretches apart from the search for them; and other stretches of a long log.
    # where lines end, when a training began, and what readings miss of work that repeats
    # cores that other processes keep busy; and Student's t, of which there were two; and what a
    # reading costs, what is expected of work, and rivals, each apart from the search for a place
    # bursts that are added, boxes that are fitted, running sums; what is known of late ranks, and
    # the lines through what hosts read while they wait
    # launches of functions apart from the wall time, and meetings of replicas apart from activities
    # how far stretches of readings are off, of all lengths at once; stored random numbers. What only
    # power asks is imported where power is: 71 fewer (2026-11-30). The words of a clock, and the
    # shapes of names.
    "report RUN --json": (304, 85),
    # the names of operations of JAX; causes of time of slow steps; what programs annotate
    # those, what logs alone come to, and patterns that are compiled late; the layout of a table,
    # guessed apart from how it is read; and how surely a text is one
    "energy DEMO": (346, 207),
    # one more, which tells what ops of XLA cost, and the arguments about screens
    "demo --report": (410, 192),
}


def test_a_table_of_watts_imports_no_reader_of_another_form(tmp_path: Path) -> None:
    log = tmp_path / "power.csv"
    log.write_text("time_unix_s,watts\n1795224813.3,180\n1795224814.3,184\n")
    script = f"from powertui.data.power import registry\nprint(registry.sniff({str(log)!r}))"
    found = imported(script)
    assert "powertui.data.power.generic_csv" in found
    assert not found & {
        "powertui.data.power.ipmitool",
        "powertui.data.power.prometheus",
        "powertui.power_server",
    }


@pytest.mark.skipif(
    not wire.COMPILED,
    reason=f"the decoder without a compiler is more modules ({wire.WHY_PURE}); "
    "python setup.py build_ext --inplace",
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_what_it_needs(command: str, data: Path) -> None:
    run = data / "logdirs" / "jax_cpu"
    demo = ROOT / "powertui" / "demo"
    words = [{"RUN": str(run), "DEMO": str(demo)}.get(word, word) for word in command.split()]
    code = (
        "import sys; from powertui.__main__ import main\n"
        f"sys.argv = ['powertui', *{words!r}]\n"
        "main()\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    modules = done.stdout.rsplit("\n", 2)[-2].split()
    unwanted = {"multiprocessing", "concurrent.futures.process", "pandas"}
    if np.__version__ >= "2":  # numpy 1 imports it by itself
        unwanted.add("numpy.random")
    assert not unwanted & set(modules)
    found = [name for name in modules if name.startswith("powertui.")]
    about_power = [
        name for name in found if any(part in name for part in (".energy", ".training", ".power"))
    ]
    most, most_about_power = COMMANDS[command]
    assert 0 < len(found) <= most, len(found)
    assert len(about_power) <= most_about_power
