"""The JSON of `report` and `energy` about every fixture: its hash in tests/data/json_answers.tsv.

Keys and their order, single words and counts are compared as they are, figures by six digits;
sentences are left out, as they may be put into better words. Where a change is meant, write the
table anew (python -m tests.unit.report.test_json_answers), and say in CHANGELOG.md what is
different.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from powertui import cli

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

DATA = Path(__file__).parents[2] / "data"
SHARED = DATA.parents[2] / "shared" / "data"
TABLE = DATA / "json_answers.tsv"
# Recordings beside the checkout: those whose answers take a few seconds.
OWN = ("own/custom_loop", "own/jax_cpu", "own/keras_cifar", "own/trace_export")
FILE_TIME_S = 1_767_225_600  # the clock of a trace without a date is the time of its file


def questions() -> list[tuple[str, str]]:
    """The verb, and the path of what it is asked about."""
    profiles = [*(DATA / "foreign").iterdir(), *(DATA / "logdirs").iterdir()]
    logs = [*(DATA / "power").iterdir(), *(DATA / "power_tools").iterdir()]
    asked = [("report", path) for path in profiles]
    asked += [("energy", path) for path in (*logs, *(DATA / "logdirs").iterdir())]
    own = [(verb, path) for path in OWN for verb in ("report", "energy")]
    return sorted((verb, path.relative_to(DATA).as_posix()) for verb, path in asked) + own


def answer_hash(verb: str, name: str) -> str:
    """A hash of the JSON, whatever folder the fixture is in."""
    if name.startswith("own/"):
        return _hash(verb, SHARED / name, SHARED)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / name
        copy.parent.mkdir(parents=True)
        original = DATA / name
        (shutil.copytree if original.is_dir() else shutil.copy)(original, copy)
        for path in (copy, *copy.rglob("*")):
            os.utime(path, (FILE_TIME_S, FILE_TIME_S))
        return _hash(verb, copy, Path(folder))


def _hash(verb: str, path: Path, folder: Path) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        code = cli.main([verb, str(path), "--json"])
    answer = output.getvalue().replace(str(folder), "DATA")
    answer = json.dumps(_compared(json.loads(answer))) if answer else ""
    return f"{code} {hashlib.sha256(answer.encode()).hexdigest()[:16]}"


def _compared(value: Any) -> Any:
    """What of a value is compared."""
    if isinstance(value, float):
        return float(f"{value:.6g}")  # the last digits depend on the processor
    if isinstance(value, str):
        return "a sentence" if " " in value else value
    if isinstance(value, dict):
        value.pop("powertui", None)  # the version
        return {key: _compared(item) for key, item in value.items()}
    return [_compared(item) for item in value] if isinstance(value, list) else value


def known_answers() -> dict[tuple[str, str], str]:
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    return {(verb, name): answer for verb, name, answer in rows}


@pytest.mark.parametrize(("verb", "name"), questions())
def test_the_json_of_a_fixture_stays(
    verb: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("own/") and not SHARED.is_dir():
        pytest.skip("no ../shared/data beside this checkout")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert answer_hash(verb, name) == known_answers()[verb, name]


def _lines() -> Iterator[str]:
    """The table anew; of recordings that are not beside this checkout the answers as they are."""
    known = known_answers()
    for verb, name in questions():
        is_missing = name.startswith("own/") and not SHARED.is_dir()
        answer = known[verb, name] if is_missing else answer_hash(verb, name)
        yield f"{verb}\t{name}\t{answer}\n"


if __name__ == "__main__":
    lines = "".join(_lines())
    TABLE.write_text(lines, encoding="utf-8")
