"""Run the tests that feel other versions of packages with the oldest and the newest versions that
pyproject.toml allows: each set in an environment of its own, below .ranges/.

    python3 scripts/ranges.py              both
    python3 scripts/ranges.py oldest       one of them
    python3 scripts/ranges.py --tested .venv    no newest where they are those of that environment,
                                           whose tests have run (as in `.ci/run`)
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from environment import ISOLATED  # noqa: E402

# Where other versions are felt. Each set takes a minute and a half of processor time.
TESTS = (
    "tests/unit/terminal",  # Textual's private names, the painter
    "tests/screens/test_frame.py",  # every page, 25 pictures: Textual and rich
    "tests/e2e/test_first_picture.py",  # the whole program in a terminal
    "tests/unit/api",  # pandas: every frame of the Python API, every tool
    "tests/unit/test_export.py",  # numpy: columns as bytes
    "tests/unit/energy/test_account.py",
    "tests/unit/formats/test_tfevents.py",  # protobuf
    "tests/unit/wire/test_wire_schemas.py",
    "tests/unit/capture/test_losses.py",  # h2
)
# The oldest numpy and pandas have no wheel from this Python on. Beside them pyarrow has to be old,
# too: the newest refuses that numpy.
FIRST_PYTHON_WITHOUT_THEM = (3, 12)
OLD_TOGETHER = ("numpy", "pandas", "pyarrow")
# As in the Makefile: tests of screens wait for a third of their time.
PROCESSES = min(4, (os.cpu_count() or 1) + 1)
EXTRAS = ".[test,parquet]"


def main() -> int:
    """Exit code 1 when a set fails."""
    asked = sys.argv[1:] or ["oldest", "newest"]
    if asked[0] == "--tested":
        tested = ROOT / asked[1]
        asked = ["oldest"] if is_newest(tested) else ["oldest", "newest"]
        if len(asked) == 1:
            print(f"newest: those of {tested.name}, whose tests have run", flush=True)
    failed = [kind for kind in asked if not passes(kind)]
    for kind in failed:
        print(f"The {kind} versions of pyproject.toml's ranges fail.", file=sys.stderr)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"Processor time: {spent.ru_utime + spent.ru_stime:.0f} s", flush=True)
    return int(bool(failed))


def passes(kind: str) -> bool:
    """Whether the tests pass with the oldest, or the newest, versions."""
    environment = ROOT / ".ranges" / kind
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, *ISOLATED, "-m", "venv", environment], check=True)
    wanted = oldest() if kind == "oldest" else []
    subprocess.run(
        [*install_into(environment), "--upgrade", "-e", EXTRAS, *wanted], check=True, cwd=ROOT
    )
    names = ("textual", "rich", "numpy", "pandas", "protobuf", "h2", "python-ipmi", "pyarrow")
    shown = subprocess.run(
        [python, *ISOLATED, "-m", "pip", "list", "--format", "freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    print(kind, *[line for line in shown if line.partition("==")[0] in names], flush=True)
    tests = [python, *ISOLATED, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests += ["-n", str(PROCESSES), "--dist", "loadfile", *TESTS]
    return subprocess.run(tests, check=False, cwd=ROOT).returncode == 0


def install_into(environment: Path) -> list[str | Path]:
    """The command that installs into an environment."""
    pip = [environment / "bin" / "python", *ISOLATED, "-m", "pip", "--disable-pip-version-check"]
    return [*pip, "install", "--quiet", "--prefer-binary"]


def is_newest(environment: Path) -> bool:
    """Whether an environment has the newest of all that the tests need: pip would install nothing
    but powertui itself.
    """
    options = ["--dry-run", "--upgrade", "--upgrade-strategy", "eager", "--report", "-"]
    plan = subprocess.run(
        [*install_into(environment), *options, "-e", EXTRAS],
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    installed = {item["metadata"]["name"] for item in json.loads(plan.stdout)["install"]}
    return installed <= {"powertui"}


def oldest() -> list[str]:
    """`name==lower bound` of every dependency, and of what Parquet needs."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.partition("\ndependencies = [")[2].partition("\n]")[0]
    block += text.partition("\nparquet = [")[2].partition("]")[0]
    pins = []
    for name, extras, bound in re.findall(r'"([\w-]+)(\[[\w,]+\])?>=([\d.]+)', block):
        has_old_wheels = sys.version_info[:2] < FIRST_PYTHON_WITHOUT_THEM
        if name == "tomli" or (name in OLD_TOGETHER and not has_old_wheels):
            continue
        pins.append(
            f"{name}{extras}=={bound}.*" if bound.count(".") == 1 else f"{name}{extras}=={bound}"
        )
    return pins


if __name__ == "__main__":
    raise SystemExit(main())
