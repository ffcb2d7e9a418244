"""Folders that are damaged, odd or huge: a scan ends, and opens no more than it must."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from powertui.data.logdir import Logdir, scan, tree
from powertui.errors import UnreadableFile
from tests.logdirs import make

JAX = "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50"


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as caught:
        scan(tmp_path / "nowhere")
    assert caught.value.exit_code == 3
    assert "nowhere" in str(caught.value)


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    make(tmp_path, "logs/plugins/profile/r/h.xplane.pb")
    (tmp_path / "logs/again").symlink_to(tmp_path / "logs", target_is_directory=True)
    (tmp_path / "logs/up").symlink_to(tmp_path, target_is_directory=True)
    assert len(scan(tmp_path).runs) == 1


def test_a_linked_logdir_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/plugins/profile/r/h.xplane.pb")
    (tmp_path / "view").mkdir()
    (tmp_path / "view/linked").symlink_to(tmp_path / "real", target_is_directory=True)
    assert [run.name for run in scan(tmp_path / "view").runs] == ["linked/r"]


def test_broken_links_and_special_files_are_problems_not_crashes(tmp_path: Path) -> None:
    folder = tmp_path / "plugins/profile/r"
    make(tmp_path, "plugins/profile/r/ok.xplane.pb")
    (folder / "gone.xplane.pb").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.xplane.pb")
    found = scan(tmp_path)
    assert [p.host for p in found.runs[0].profiles] == ["ok"]
    assert {Path(problem.file).name for problem in found.problems} == {
        "gone.xplane.pb",
        "pipe.xplane.pb",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    make(tmp_path, "open/plugins/profile/r/h.xplane.pb", "closed/x")
    (tmp_path / "closed").chmod(0)
    try:
        found = scan(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert len(found.runs) == 1
    assert "closed" in found.problems[0].file


def test_odd_names_are_only_names(tmp_path: Path) -> None:
    strange = ["\x1b[31mred", "new\nline", "tab\tname", "-rf", "ünïcode", "a" * 200, "‮reversed"]
    for name in strange:
        make(tmp_path, f"{name}/plugins/profile/r/{name[:50]}.xplane.pb")
    os.makedirs(os.fsencode(tmp_path) + b"/caf\xe9/plugins/profile/r")
    Path(
        os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9/plugins/profile/r/h\xff.xplane.pb")
    ).write_bytes(b"\x0a")
    assert len(scan(tmp_path).runs) == len(strange) + 1


def test_a_huge_tree_is_bounded_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_ENTRIES", 50)
    for number in range(30):
        make(tmp_path, f"d{number:02d}/a", f"d{number:02d}/b", f"d{number:02d}/c")
    found = scan(tmp_path)
    assert found.truncated
    assert found.entries < 80
    assert "too large to scan" in found.problems[-1].cause


def test_depth_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_DEPTH", 5)
    make(tmp_path, "a/b/c/d/e/f/g/plugins/profile/r/h.xplane.pb", "a/plugins/profile/r/h.xplane.pb")
    found = scan(tmp_path)
    assert [run.name for run in found.runs] == ["a/r"]
    assert found.truncated


def test_nothing_is_opened_but_doubtful_files(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "plugins/profile/r"
    run.mkdir(parents=True)
    shutil.copy(data / JAX / "vm.xplane.pb", run / "vm.xplane.pb")
    (run / "vm.xplane.pb").chmod(0)  # a scan that read it would fail for everyone but root
    try:
        (found,) = scan(tmp_path).runs
    finally:
        (run / "vm.xplane.pb").chmod(0o644)
    assert found.size == 352_297


DOUBTFUL = (
    "vm.xplane.pb",
    "vm.trace.json.gz",
    "w.pt.trace.json",
    "any.json",
    "x.pftrace",
    "vm.trace",
    "1_kernel_trace.csv",
    "1_results.json",
    "power.csv",
    "power.log",
    "power.db",
    "events.out.tfevents.1700000000.vm.1.0.v2",
    "hlo_proto.pb",
)


def test_pipes_sockets_and_devices_are_refused_by_name_and_never_opened(tmp_path: Path) -> None:
    """A pipe that nobody writes to would hold whoever opens it for ever."""
    folders = [tmp_path, tmp_path / "plugins" / "profile" / "r"]
    folders[1].mkdir(parents=True)
    before = Path.cwd()
    for folder in folders:
        os.chdir(folder)  # a socket's path is short
        for kind in ("pipe", "socket"):
            for name in DOUBTFUL:
                if kind == "pipe":
                    os.mkfifo(f"{kind}.{name}")
                else:
                    with socket.socket(socket.AF_UNIX) as made:
                        made.bind(f"{kind}.{name}")
        with contextlib.suppress(PermissionError):
            os.mknod("null.xplane.pb", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        (folder / "link.xplane.pb").symlink_to("/dev/zero")
    os.chdir(before)
    found: list[Logdir] = []
    looking = threading.Thread(target=lambda: found.append(scan(tmp_path)), daemon=True)
    looking.start()
    looking.join(60)
    assert not looking.is_alive()
    refused = {
        Path(problem.file).name
        for problem in found[0].problems
        if "not a plain file" in problem.cause
    }
    made = {f"{kind}.{name}" for kind in ("pipe", "socket") for name in DOUBTFUL}
    assert made | {"link.xplane.pb"} <= refused
    assert not [profile for run in found[0].runs for profile in run.profiles]


@pytest.mark.parametrize("kind", ["socket", "device", "link to a device"])
def test_what_is_no_file_is_refused_when_it_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "vm.xplane.pb"
    if kind == "socket":
        before = Path.cwd()
        os.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(before)
    elif kind == "device":
        path = Path("/dev/null")
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(UnreadableFile, match="is neither a folder nor a plain file"):
        scan(path)


def test_loops_of_links_cost_nothing(tmp_path: Path) -> None:
    """Ten folders, each with links to all others and to itself: each is looked at once."""
    for number in range(10):
        make(tmp_path, f"d{number}/plugins/profile/r/vm.xplane.pb")
    for number in range(10):
        for other in range(10):
            (tmp_path / f"d{number}/to{other}").symlink_to(
                tmp_path / f"d{other}", target_is_directory=True
            )
    (tmp_path / "itself").symlink_to("itself")
    found = scan(tmp_path)
    assert len(found.runs) == 10
    assert found.entries < 10 * 14 + 20
    assert [Path(problem.file).name for problem in found.problems] == ["itself"]


def opened_by(look: Callable[[], object]) -> tuple[int, int]:
    """(calls of the system that look at names, bytes that were read) while it goes on."""
    counted = {"names": 0}
    real = (os.scandir, os.stat)

    def counting(which: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **more: object) -> object:
            counted["names"] += 1
            return which(*args, **more)

        return call

    def read() -> int:
        return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]

    before = read()
    os.scandir, os.stat = (counting(one) for one in real)  # type: ignore[assignment]
    try:
        look()
    finally:
        os.scandir, os.stat = real
    return counted["names"], read() - before


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="this system does not count bytes")
def test_ten_thousand_runs_cost_four_times_as_much_as_a_quarter_of_them(tmp_path: Path) -> None:
    found: dict[int, tuple[int, int]] = {}
    for count in (2500, 10_000):
        root = tmp_path / str(count)
        for number in range(count):
            folder = (
                root
                / f"t{number // 100}"
                / "plugins"
                / "profile"
                / f"2026_01_01_{number % 100:02}_00_00"
            )
            folder.mkdir(parents=True)
            (folder / "vm.xplane.pb").write_bytes(b"\x0a\x02ab")
        found[count] = opened_by(functools.partial(_checked, root, count))
    names, read = found[10_000]
    assert names <= 4.2 * found[2500][0]
    assert names <= 4 * 10_000
    assert read < 100_000  # no profile was opened


def _checked(root: Path, count: int) -> None:
    looked = scan(root)
    assert len(looked.runs) == count
    assert not looked.problems
