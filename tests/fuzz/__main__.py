"""`python -m tests.fuzz`: everything, by count.

A finding is told with what makes it again, and the answer is 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import decoders, readers, scanner, seeds


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument(
        "--scanner",
        type=int,
        default=100_000,
        metavar="N",
        help="inputs made by libFuzzer (default: %(default)s)",
    )
    parser.add_argument(
        "--lines",
        type=int,
        default=2_000,
        metavar="N",
        help="generated lines for both decoders (%(default)s)",
    )
    parser.add_argument(
        "--files",
        type=int,
        default=1_500,
        metavar="N",
        help="mutated files for all readers (%(default)s)",
    )
    parser.add_argument(
        "--json",
        type=int,
        default=400,
        metavar="N",
        help="examples for the JSON stream (%(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="another one does other things (%(default)s)"
    )
    parser.add_argument("--processes", type=int, default=min(4, os.cpu_count() or 1), metavar="N")
    parser.add_argument(
        "--case",
        type=int,
        metavar="N",
        help="write the file of one case, read it here and do nothing else",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="say what of the scanner all kept and found inputs reach",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="pack the fewest inputs that reach all that was reached as corpus.zip",
    )
    return parser.parse_args()


def fuzz_scanner(options: argparse.Namespace) -> str:
    """libFuzzer, from the kept inputs on; only those where there is no libFuzzer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = scanner.unpack(folder / "corpus")
        scanner.add(corpus, seeds.of_scanner())
        try:
            target = scanner.build(folder)
        except OSError as error:
            try:
                count = scanner.replay(scanner.build(folder, "replay"), corpus)
            except OSError as other:
                return f"nothing was run: {other}"
            return (
                f"only the {count:,} kept inputs, no finding; libFuzzer needs clang "
                f"({str(error)[:200]})"
            )
        before = len(list(corpus.iterdir()))
        executed = scanner.fuzz(target, corpus, options.scanner, options.seed, options.processes)
        said = (
            f"{executed.inputs:,} inputs made from {before:,}, {executed.calls:,} calls of "
            "the scanner, no finding; "
        )
        said += f"{len(list(corpus.iterdir())):,} reach something of their own"
        agreed = decoders.compare(
            (file.read_bytes()[scanner.HEADER :] for file in sorted(corpus.iterdir())), options.seed
        )
        said += f"; compiled and pure agree on {agreed:,} of them"
        if options.coverage:
            said += "\n" + scanner.coverage(folder, corpus)
        if options.keep:
            scanner.merge(target, corpus, folder / "kept")
            said += (
                f"\nkept {scanner.keep(folder / 'kept'):,} inputs, "
                f"{scanner.CORPUS.stat().st_size:,} bytes"
            )
        return said


def fuzz_lines(options: argparse.Namespace) -> str:
    count = decoders.compare(decoders.lines(options.lines, options.seed), options.seed)
    return f"compiled and pure agree on {count:,} lines"


def fuzz_readers(options: argparse.Namespace) -> str:
    return f"{readers.run(options.files, options.seed, options.processes):,} files, no finding"


def fuzz_json(options: argparse.Namespace) -> str:
    test = Path(__file__).with_name("test_json.py")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--hypothesis-seed={options.seed}",
            str(test),
        ],
        env={**os.environ, "POWERTUI_FUZZ_EXAMPLES": str(options.json)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise scanner.Finding(done.stdout + done.stderr)
    return f"{options.json:,} examples of each property, no finding"


def main() -> int:
    options = arguments()
    if options.case is not None:
        origin, data = readers.case(options.case, options.seed, seeds.files())
        path = Path(tempfile.mkdtemp(prefix="fuzz-")) / origin.name
        path.write_bytes(data)
        print(f"{path}: {len(data):,} bytes", flush=True)
        print(readers.read(origin.kind, path))
        return 0
    failed = 0
    for name, fuzz in (
        ("scanner", fuzz_scanner),
        ("decoders", fuzz_lines),
        ("readers", fuzz_readers),
        ("JSON stream", fuzz_json),
    ):
        begin = time.perf_counter()
        try:
            said = fuzz(options)
        except scanner.Finding as finding:
            failed, said = 1, f"FOUND: {finding}"
        print(f"{name}: {said} ({time.perf_counter() - begin:.0f} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
