"""The archive for machines without a network, made from what is on this one and installed where no
network is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.e2e


def offline() -> list[str]:
    """A prefix that takes the network away, where this machine lets us."""
    if (
        shutil.which("unshare")
        and subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode
        == 0
    ):
        return ["unshare", "-n"]
    return []


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bundle")
    command = [sys.executable, str(ROOT / "scripts/bundle.py"), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        pytest.skip(f"no packages can be had here: {done.stderr.strip()[-200:]}")
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(out, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return next(path for path in out.iterdir() if path.is_dir())


def install(folder: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home.mkdir(exist_ok=True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV"))
    }
    environment |= {"HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
    command = [*offline(), "sh", str(folder / "install.sh"), "--python", sys.executable, *words]
    return subprocess.run(
        command, cwd="/", env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_it_installs_into_a_home_and_runs(bundle: Path, tmp_path: Path) -> None:
    done = install(bundle, tmp_path / "home", "--modulefile")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"prepend-path PATH {tmp_path}/home/.local/bin" in done.stdout
    program = tmp_path / "home/.local/bin/powertui"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    for module in ("contextlib", "json", "re"):  # `python -m` would import them
        (tmp_path / f"{module}.py").write_text("raise SystemExit('imported from the folder')")
    asked = subprocess.run(
        [*offline(), str(program), "report", "--brief", str(ROOT / "powertui/demo/data")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    assert '"steps":200' in asked.stdout
    assert (tmp_path / "home/.local/share/powertui/share/man/man1/powertui.1").exists()
    here = os.path.relpath(tmp_path / "home/.local", "/")  # from where it is called
    again = install(
        bundle, tmp_path / "home", "--prefix", here
    )  # an update takes the place of what is there
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"into {tmp_path}/home/.local/share/powertui with" in again.stdout
    assert not list((tmp_path / "home/.local/share").glob("powertui.*"))
    assert not (bundle / "tmp").exists()


def test_a_file_that_was_changed_on_the_way_is_not_installed(bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle, tmp_path / "copy")
    with (copy / "LICENSE").open("a") as file:
        file.write("x")
    done = install(copy, tmp_path / "home")
    assert done.returncode == 1
    assert "a file differs from its checksum. Copy the bundle again." in done.stderr
    assert not (tmp_path / "home/.local").exists()


def test_another_machine_and_another_python_are_said(bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle, tmp_path / "copy")
    sums = (copy / "SHA256SUMS").read_text().splitlines(keepends=True)
    (copy / "SHA256SUMS").write_text(
        "".join(line for line in sums if not line.rstrip().endswith(("MACHINE", "PYTHONS")))
    )
    (copy / "PYTHONS").write_text("3.99\n")
    done = install(copy, tmp_path / "home")
    assert done.returncode == 1
    assert "this bundle has packages for 3.99." in done.stderr
    (copy / "MACHINE").write_text("s390x\n")
    done = install(copy, tmp_path / "home")
    assert "this bundle is for s390x" in done.stderr
    assert not (tmp_path / "home/.local").exists()
