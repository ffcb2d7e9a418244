"""Makes the environment that `make demo`, `make test` and the rest run in: as little as the target
needs, and on POWER too.

    python3 scripts/environment.py .venv            the program alone
    python3 scripts/environment.py .venv test       and what the tests need
    python3 scripts/environment.py .venv dev        and linters, types, builds
    python3 scripts/environment.py .parity-venv parity    and what `make parity` compares with

PyPI has no numpy and pandas for POWER (nor for s390x, 32-bit ARM …): there the environment sees
those of the distribution, and when they are missing one sentence says how to get them. This file is
read by whatever `python3` a machine has: it stays plain.
"""

import platform
import subprocess
import sys
from pathlib import Path

WHEELS = ("x86_64", "aarch64", "arm64", "AMD64")  # machines that PyPI has numpy and pandas for
OLDEST = (3, 10)
# `python -m` puts the folder it runs in before the standard library: a checkout that holds a re.py
# would end pip. `-P` prevents that from Python 3.11 on, `-I` in 3.10 too.
ISOLATED = ["-I"]
NEEDED = (("numpy", (1, 24)), ("pandas", (1, 5)))
WHAT = {
    "": "textual, rich, numpy, pandas and four small ones",
    "test": "pytest and its helpers",
    "dev": "pytest, ruff, mypy and build",
    "release": "build, twine and auditwheel",
    "causes": "TensorFlow, Keras, JAX and PyTorch: about 3 GB",
    "parity": "TensorBoard's profiler, TensorFlow and JAX: about 2 GB",
}


def main(arguments):
    """Exit code 1, after one sentence, when this machine lacks something."""
    folder, extra = arguments[0], arguments[1] if len(arguments) > 1 else ""
    if sys.version_info[:2] < OLDEST:
        return say(
            "powertui needs Python 3.10 or newer; this is {}. {}",
            platform.python_version(),
            newer(),
        )
    own = platform.machine() not in WHEELS
    if own:
        missing = [name for name, least in NEEDED if not fits(name, least)]
        old = [f"{name} {version(name)}" for name in missing if version(name)]
        if old:
            needed = " and ".join(
                "{} {}.{}".format(name, *least) for name, least in NEEDED if name in missing
            )
            return say(
                "PyPI has no {} for {}, and what is here is too old ({}; needed: {}). "
                "Take newer ones from conda-forge: docs/install.md says how.",
                " and ".join(missing),
                platform.machine(),
                ", ".join(old),
                needed,
            )
        if missing:
            return say(
                "PyPI has no {} for {}. {}", " and ".join(missing), platform.machine(), how_to_get()
            )
    python = Path(folder) / "bin" / "python"
    if not python.exists():
        made = subprocess.call(
            [
                sys.executable,
                *ISOLATED,
                "-m",
                "venv",
                *(["--system-site-packages"] if own else []),
                folder,
            ]
        )
        if made:
            return say(
                "The environment could not be made. On Debian and Ubuntu: apt install python3-venv"
            )
    print(f"Installing powertui into {folder} ({WHAT[extra]}) ...", flush=True)
    command = [
        str(python),
        *ISOLATED,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--prefer-binary",
        "-e",
    ]
    done = subprocess.call([*command, f".[{extra}]" if extra else "."])
    return say("pip could not install it: the reason stands above.") if done else 0


def fits(name, least):
    """Whether the distribution's package is there, and not too old."""
    try:
        return tuple(int(part) for part in version(name).split(".")[:2]) >= least
    except ValueError:
        return False


def version(name):
    """That of a package; "" where it is not there."""
    try:
        return __import__(name).__version__
    except (ImportError, AttributeError):
        return ""


def how_to_get():
    """The command of this distribution."""
    known = release()
    if "debian" in known or "ubuntu" in known:
        return "Run: apt install python3-numpy python3-pandas"
    if "rhel" in known or "fedora" in known or "centos" in known:
        return "docs/install.md says how to get them on RHEL."
    return "Take them from your distribution or from conda-forge: docs/install.md says how."


def newer():
    """Where a newer Python comes from."""
    known = release()
    if "rhel" in known or "fedora" in known or "centos" in known:
        return "Run: dnf install python3.12, then: make PYTHON=python3.12 demo"
    return "Name a newer one: make PYTHON=/path/to/python3.12 demo"


def release():
    """What this distribution says that it is like."""
    try:
        with Path("/etc/os-release").open(encoding="utf-8") as file:
            lines = dict(line.strip().partition("=")[::2] for line in file)
    except OSError:
        return ()
    return (lines.get("ID", "") + " " + lines.get("ID_LIKE", "")).replace('"', "").split()


def say(text, *values):
    """One sentence to standard error; exit code 1."""
    print(text.format(*values), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
