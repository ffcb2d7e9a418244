"""Run the tests that feel other versions of packages with the oldest and the newest versions that
pyproject.toml allows: each set in an environment of its own, below .ranges/.

    python3 scripts/ranges.py              both
    python3 scripts/ranges.py oldest       one of them
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from environment import ISOLATED  # noqa: E402

# Where other versions are felt. Both sets together take less than three minutes of processor time.
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


def main() -> int:
    """Exit code 1 when a set fails."""
    asked = sys.argv[1:] or ["oldest", "newest"]
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
    pip = [python, *ISOLATED, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    wanted = oldest() if kind == "oldest" else []
    subprocess.run(
        [*pip, "--upgrade", "--prefer-binary", "-e", ".[test,parquet]", *wanted],
        check=True,
        cwd=ROOT,
    )
    names = ("textual", "rich", "numpy", "pandas", "protobuf", "h2", "python-ipmi", "pyarrow")
    shown = subprocess.run(
        [python, *ISOLATED, "-m", "pip", "list", "--format", "freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    print(kind, *[line for line in shown if line.partition("==")[0] in names], flush=True)
    tests = [python, *ISOLATED, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    return subprocess.run(tests, check=False, cwd=ROOT).returncode == 0


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
