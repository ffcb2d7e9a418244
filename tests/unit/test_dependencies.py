"""Packages of versions that cannot work are said at start; licenses are told as they are
installed.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import powertui
from powertui import cli, dependencies
from powertui.dependencies import Need, needs, trouble

METADATA = """Metadata-Version: 2.4
Name: powertui
Requires-Dist: textual<8.3,>=8.2.8
Requires-Dist: numpy>=1.24
Requires-Dist: python-ipmi[rmcpplus]>=0.6.1
Requires-Dist: tomli>=2; python_version < "3.11"
Requires-Dist: nvidia-ml-py>=12; extra == "nvml"
"""


def installed(folder: Path, **versions: str) -> list[str]:
    own = folder / "powertui-0.1.0.dist-info"
    own.mkdir()
    (own / "METADATA").write_text(METADATA, "utf-8")
    for name, version in versions.items():
        (folder / f"{name}-{version}.dist-info").mkdir()
    return [str(folder)]


def test_what_metadata_asks_for_here() -> None:
    found = {need.name: need.bounds for need in needs(METADATA.splitlines())}
    assert found["textual"] == (("<", "8.3"), (">=", "8.2.8"))
    assert found["python-ipmi"] == ((">=", "0.6.1"),)
    assert ("tomli" in found) == (sys.version_info < (3, 11))
    assert "nvidia-ml-py" not in found


@pytest.mark.parametrize(
    ("version", "judged"),
    [
        ("8.2.7", "old"),
        ("8.2.8", ""),
        ("8.2.10", ""),
        ("8.3.0", "new"),
        ("8.3", "new"),
        ("9.0.0rc1", "new"),
        ("7", "old"),
    ],
)
def test_bounds_are_compared_as_numbers(version: str, judged: str) -> None:
    assert Need("textual", ((">=", "8.2.8"), ("<", "8.3"))).judge(version) == judged


def test_trailing_noughts_do_not_matter() -> None:
    assert Need("numpy", ((">=", "1.24"),)).judge("1.24.0") == ""
    assert Need("numpy", ((">=", "1.24.0"),)).judge("1.24") == ""


def test_a_version_that_is_too_old_is_named_with_what_is_needed(tmp_path: Path) -> None:
    stop, warn = trouble(installed(tmp_path, textual="0.40.0", numpy="1.24.2", python_ipmi="0.6.1"))
    assert stop == "textual 0.40.0 is too old (needs textual<8.3,>=8.2.8)"
    assert warn == ""


def test_a_version_that_is_newer_than_known_is_only_said(tmp_path: Path) -> None:
    stop, warn = trouble(installed(tmp_path, textual="9.1.0", numpy="2.0"))
    assert stop == ""
    assert warn.startswith("textual 9.1.0 is newer than any that powertui was tried with")


def test_the_first_on_the_path_is_the_one_that_is_imported(tmp_path: Path) -> None:
    for name in ("own", "distribution"):
        (tmp_path / name).mkdir()
    first = installed(tmp_path / "own", numpy="2.0.0")
    (tmp_path / "distribution/numpy-1.19.5.egg-info").mkdir()
    assert trouble([*first, str(tmp_path / "distribution")]) == ("", "")
    assert "numpy 1.19.5 is too old" in trouble([str(tmp_path / "distribution"), *first])[0]


def test_nothing_is_judged_without_metadata(tmp_path: Path) -> None:
    assert trouble([str(tmp_path), str(tmp_path / "missing")]) == ("", "")


def test_the_program_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        dependencies, "trouble", lambda: ("numpy 1.19 is too old (needs numpy>=1.24)", "")
    )
    assert cli.main(["report", "nowhere"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("powertui: numpy 1.19 is too old (needs numpy>=1.24).\n")
    assert "Traceback" not in said
    assert cli.main(["sensors", "--source", "no-such:"]) != 0
    assert "numpy" not in capsys.readouterr().err  # it needs none of them


def test_the_versions_here_fit() -> None:
    assert trouble()[0] == ""


def test_licenses_name_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--licenses"]) == 0
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines() if line.strip()}
    assert "MIT" in lines["textual"]
    assert "BSD" in lines["numpy"]
    assert "LGPL" in lines["python-ipmi"]
    assert "pytest" not in lines


def test_an_old_python_is_told_so_and_not_by_a_syntax_error() -> None:
    """What runs before that sentence must be readable for the oldest Python that anybody
    still has.
    """
    folder = Path(powertui.__file__).parent
    for name in ("__init__", "__main__", "import_path"):
        ast.parse((folder / f"{name}.py").read_text("utf-8"), feature_version=(3, 6))
    script = """
import sys
from collections import namedtuple
Version = namedtuple("Version", "major minor micro releaselevel serial")
sys.version_info = Version(3, 9, 18, "final", 0)
sys.argv = ["powertui", "report", "."]
import runpy
runpy.run_module("powertui", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("powertui needs Python 3.10 or newer; this is Python 3.9.")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [("byteorder", "big", "it is big-endian"), ("maxsize", 2**31 - 1, "32 bits")],
)
def test_a_machine_that_cannot_read_profiles_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: object,
    why: str,
) -> None:
    monkeypatch.setattr(cli.sys, name, value)
    assert cli.main(["report", "."]) == 1
    said = capsys.readouterr().err
    assert why in said
    assert "record and sensors work here" in said


def test_a_recording_ends_in_a_summary_on_a_machine_of_32_bits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """numpy cannot count by 64-bit numbers there: the recorder's own figures are told, without an
    interval.
    """
    watts = tmp_path / "watts.csv"
    watts.write_text("timestamp,watts\n")
    monkeypatch.setattr(cli.sys, "maxsize", 2**31 - 1)
    monkeypatch.setattr("powertui.report.recorded.energies", lambda *_: pytest.fail("asked"))
    writing = (
        f"import time; open({str(watts)!r}, 'a').writelines(f'{{time.time() + n / "
        f"100}},{{100 + n}}\\n' for n in range(9))"
    )
    out = tmp_path / "out.csv"
    command = [
        "record",
        "--source",
        f"csv:{watts}",
        "--interval",
        "0.1",
        "-o",
        str(out),
        "--",
        sys.executable,
        "-c",
        writing,
    ]
    assert cli.main(command) == 0
    assert f"rows in {out}" in capsys.readouterr().err
