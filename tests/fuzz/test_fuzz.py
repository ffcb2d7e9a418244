"""A little of `make fuzz` with every run of the tests: by count, from fixed seeds.

And that the harness finds what is there.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from powertui.data import wire
from tests.fuzz import decoders, mutate, readers, scanner, seeds
from tests.fuzz.scanner import Finding
from tests.memory_limits import holds

needs_headers = pytest.mark.skipif(
    scanner.compiler() is None
    or not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists(),
    reason="no compiler, or no Python headers",
)
needs_scanner = pytest.mark.skipif(
    not wire.COMPILED, reason="the scanner is not built, or not wanted"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """The target, and whether libFuzzer is in it."""
    folder = tmp_path_factory.mktemp("target")
    for kind in ("fuzz", "replay"):
        try:
            return scanner.build(folder, kind), kind == "fuzz"
        except OSError:
            continue
    pytest.skip("the compiler's sanitizers do not run here, or no interpreter can be linked")


@needs_headers
def test_sanitizers_find_nothing_on_the_kept_inputs(
    built: tuple[Path, bool], tmp_path: Path
) -> None:
    corpus = scanner.unpack(tmp_path / "corpus")
    scanner.add(corpus, seeds.of_scanner())
    assert scanner.replay(built[0], corpus) > 300


@needs_headers
def test_libfuzzer_finds_nothing(built: tuple[Path, bool], tmp_path: Path) -> None:
    target, fuzzes = built
    if not fuzzes:
        pytest.skip("libFuzzer comes with clang, which is not installed")
    assert scanner.fuzz(target, scanner.unpack(tmp_path / "corpus"), 10_000, 1).calls > 100_000


@needs_headers
def test_one_byte_too_far_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A harness that finds nothing must be able to find something."""
    copy = shutil.copytree(scanner.SCAN, tmp_path / "scan")
    broken = (copy / "field.h").read_text().replace("if (end - p < 8)", "if (end - p < 7)")
    assert broken != (copy / "field.h").read_text()
    (copy / "field.h").write_text(broken)
    monkeypatch.setattr(scanner, "SCAN", copy)
    try:
        target = scanner.build(tmp_path, "replay")
    except OSError as error:
        pytest.skip(str(error)[:200])
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    scanner.add(corpus, [bytes(scanner.HEADER) + b"\x09" + b"\x01" * 7])
    with pytest.raises(Finding):
        scanner.replay(target, corpus)


@needs_scanner
def test_both_decoders_agree_on_kept_inputs_and_mangled_lines(tmp_path: Path) -> None:
    kept = [
        file.read_bytes()[scanner.HEADER :]
        for file in sorted(scanner.unpack(tmp_path / "corpus").iterdir())
    ]
    assert decoders.compare(kept, 1) > 100
    assert decoders.compare(decoders.lines(500, 1), 1) == 500


def test_readers_bear_mutated_files() -> None:
    count = 4 * len(seeds.files())
    assert readers.run(count, 1, processes=2) == count


def test_what_a_reader_must_not_do_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies, runs out of memory or raises: each is told with its case.

    Real processes, a broken reader.
    """
    if not holds(resource.RLIMIT_DATA):
        pytest.skip("limits of memory are not held here, as in some emulators")
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "import powertui.data.power.powerboard as reader\n"
        "def load(source, options):\n"
        "    how = len(source.data) % 3\n"
        "    if how == 0: os.abort()\n"
        "    if how == 1: raise KeyError('x')\n"
        "    return [bytearray(3 << 30)]\n"
        "reader.load = load\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    files = seeds.files()
    at = next(i for i, seed in enumerate(files) if seed.name == "powerboard.csv")
    told = ""
    for turn in range(8):  # a third of the lengths each
        try:
            readers.run(1, 1, first=at + turn * len(files))
        except Finding as finding:
            told += str(finding)
    assert "powerboard.csv" in told
    assert sum(word in told for word in ("ended with -6", "KeyError", "MemoryError")) >= 2


def test_every_mutation_is_the_same_again() -> None:
    files = seeds.files()
    assert {seed.kind for seed in files} == {"profile", "tfevents", "power"}
    for number in range(0, 3 * len(files), 7):
        assert readers.case(number, 5, files) == readers.case(number, 5, files)
    assert len({readers.case(number, 5, files)[1] for number in range(len(files))}) > 0.9 * len(
        files
    )


def test_a_changed_field_leaves_a_whole_message() -> None:
    seed = next(seed for seed in seeds.files() if seed.name == "made.xplane.pb")
    whole = mutate.fields(seed.data)
    assert whole is not None
    assert mutate.encode(whole) == seed.data
    mended = [mutate.fields(mutate.field(seed.data, random.Random(i), [seed])) for i in range(100)]
    assert sum(found is not None for found in mended) > 60
    record = next(seed for seed in seeds.files() if seed.kind == "tfevents")
    assert b"".join(map(mutate.frame, mutate.records(record.data))) == record.data


def test_make_fuzz_says_what_it_did(tmp_path: Path) -> None:
    import sys

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.fuzz",
            "--scanner=2000",
            "--lines=20",
            "--files=20",
            "--json=20",
            "--processes=1",
        ],
        cwd=seeds.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 files, no finding" in done.stdout
