"""Nothing that lies in the working folder is run: no module of ours is found there, and no helper
program either.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from powertui import import_path

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[3]
# What the recorder imports at some time, and what an innocent training folder may call its own
# files.
NAMES = [
    "argparse",
    "bisect",
    "collections",
    "csv",
    "dataclasses",
    "datetime",
    "fcntl",
    "hashlib",
    "hmac",
    "http",
    "importlib_metadata",
    "json",
    "pathlib",
    "queue",
    "random",
    "re",
    "resource",
    "select",
    "selectors",
    "signal",
    "site",
    "socket",
    "ssl",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
    "urllib",
    "uuid",
    "cryptography",
    "keyring",
    "pyipmi",
    "pynvml",
    "tomli",
    "usercustomize",
    "sitecustomize",
]

CALLER = """
import sys
first = sys.path.pop(0)
from powertui.cli import main
import powertui.sampler.recording_run
sys.path.insert(0, first)
raise SystemExit(main())
"""


def trap(folder: Path, *, spare: set[str] | frozenset[str] = frozenset()) -> Path:
    """Fill a folder with modules that leave a trace when they are imported.

    Returns where the traces would lie.
    """
    traces = folder / "traces"
    traces.mkdir(parents=True)
    for name in NAMES:
        if name not in spare:
            (folder / f"{name}.py").write_text(f"open({str(traces / name)!r}, 'w').close()\n")
    return traces


def log(folder: Path) -> str:
    (folder / "log.csv").write_text("time,watts\n1700000000,200\n")
    return f"csv:{folder / 'log.csv'}"


def loaded_by_python_itself(environment: dict[str, str]) -> set[str]:
    """`python -m` looks for its module with the working folder on the path: what that takes is
    beyond any program's reach.
    """
    code = "import runpy, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("how", ["the command", "python -m", "-c"])
@pytest.mark.parametrize("verb", ["record", "sensors"])
def test_no_module_of_the_working_folder_is_run(tmp_path, environment, how, verb):
    traces = trap(
        tmp_path / "work",
        spare=loaded_by_python_itself(environment) if how != "the command" else frozenset(),
    )
    script = tmp_path / "bin" / "powertui"
    script.parent.mkdir()
    script.write_text("from powertui.cli import main\nraise SystemExit(main())\n")
    program = {
        "the command": [sys.executable, str(script)],
        "python -m": [sys.executable, "-m", "powertui"],
        # a caller whose own path begins with the working folder, after it has what it needs itself
        "-c": [sys.executable, "-c", CALLER],
    }[how]
    if how == "-c" and verb == "sensors":
        pytest.skip("it runs in the caller's own process, whose path is the caller's affair")
    words = ["-o", "x.csv", "--duration", "0.3"] if verb == "record" else []
    done = subprocess.run(
        [*program, verb, "--source", log(tmp_path), *words],
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "csv (a CSV file)" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in traces.iterdir()) == []


def test_neither_a_scripts_folder_nor_an_empty_entry_reaches_the_recorder(tmp_path, environment):
    """A script's own folder comes first on its path; the process that is told the password must not
    look there.
    """
    traces = trap(tmp_path / "training", spare=frozenset(NAMES))
    (tmp_path / "work").mkdir()
    script = tmp_path / "training" / "train.py"
    script.write_text(
        textwrap.dedent(f"""
        import os, sys
        own = sys.path.pop(0)
        from powertui.sampler.process import RecorderProcess
        from powertui.sampler.source import Options
        for name in {NAMES!r}:
            open(os.path.join(own, name + ".py"), "w").write("open({str(traces)!r} + '/' + __name__, 'w').close()")
        sys.path[:0] = [own, "", ".", "sub"]
        os.environ["PYTHONPATH"] = os.pathsep.join(["", own])
        recorder = RecorderProcess([({log(tmp_path)!r}, Options())], path="p.csv", interval=0.1)
        recorder.start()
        recorder.stop()
        """)
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(p.name for p in traces.iterdir()) == []


@pytest.mark.skipif(not shutil.which("ipmitool"), reason="ipmitool is not installed")
@pytest.mark.parametrize("where", ["the working folder", "a folder of everybody"])
def test_ipmitool_is_run_from_a_safe_folder_and_named(bmc, powertui, tmp_path, environment, where):
    fake = (tmp_path if where == "the working folder" else tmp_path / "everybody") / "ipmitool"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(f"#!/bin/sh\nenv > {tmp_path}/stolen\n")
    fake.chmod(0o755)
    if where == "the working folder":
        environment["PATH"] = os.pathsep.join(["", ".", environment["PATH"]])
    else:
        fake.parent.chmod(0o777)
        environment["PATH"] = os.pathsep.join([str(fake.parent), environment["PATH"]])
    source = f"ipmitool://viewer@127.0.0.1:{bmc.port}"
    out, err = powertui("sensors", "--source", source).communicate(timeout=300)
    real = shutil.which("ipmitool")
    assert f"program {real}" in out, out + err
    _, err = powertui("record", "--source", source, "-o", "p.csv", "--duration", "0.5").communicate(
        timeout=300
    )
    head = next(
        line
        for line in (tmp_path / "p.csv").read_text().splitlines()
        if line.startswith("# source: ")
    )
    assert json.loads(head.removeprefix("# source: "))["facts"]["program"] == real
    assert not (tmp_path / "stolen").exists()


def test_the_path_of_our_own_process(tmp_path, monkeypatch):
    work, other, home = tmp_path / "work", tmp_path / "other", Path(import_path.home())
    for folder in (work, other):
        folder.mkdir()
    (tmp_path / "link").symlink_to(work)
    monkeypatch.chdir(work)
    given = ["", ".", "lib", str(work), str(tmp_path / "link"), str(other), "/nowhere.zip"]
    assert import_path.cleaned(given) == [str(other), "/nowhere.zip"]
    assert import_path.cleaned([str(other), "/x"], str(other / "train.py")) == ["/x"]
    monkeypatch.chdir(home)  # run from a checkout: it is needed, and comes last
    assert import_path.cleaned([str(home), str(other)]) == [str(other), str(home)]


@pytest.mark.parametrize(
    ("argv0", "words", "ours"),
    [
        ("/usr/bin/powertui", ["/usr/bin/powertui"], True),
        ("-m", ["-m", "powertui", "live"], True),
        ("-m", ["-X", "dev", "-Wm", "-mpowertui"], True),
        ("-m", ["-Bm", "powertui"], True),
        ("-m", ["-m", "mypackage.train", "powertui"], False),
        ("train.py", ["train.py", "-m", "powertui"], False),
        ("", [], False),
    ],
)
def test_only_our_own_program_has_its_path_changed(monkeypatch, argv0, words, ours):
    monkeypatch.setattr(sys, "argv", [argv0])
    monkeypatch.setattr(sys, "orig_argv", ["python", *words])
    assert import_path.is_program() is ours
