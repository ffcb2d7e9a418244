"""Folders on other machines.

The far end is a POSIX shell here, asked as ssh asks it; the tests in e2e/ have a real sshd.
"""

from __future__ import annotations

import gc
import gzip
import importlib
import json
import os
import random
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from powertui import cli
from powertui.data import elsewhere, logdir
from powertui.data.elsewhere import cloud, keeping, mirror
from powertui.data.elsewhere.address import RemoteAddress, parse
from powertui.data.elsewhere.mirror import Mirror
from powertui.data.elsewhere.store import RemoteEntry, RemoteListing, RemoteState
from powertui.data.formats import registry
from powertui.data.loading import load_run
from powertui.errors import Cancelled, UnreadableFile, UsageError
from tests.synthetic import xplane
from tests.synthetic.tfevents import write_scalars

MS = 10**9
CHROME = json.dumps(
    {"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}] * 9}
)


class Far:
    """The other machine: every question to it is kept, and its answers can be cut."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        self._asked = folder / "asked"
        self._asked.mkdir()
        program = folder / "ssh"
        program.write_text(
            "#!/bin/sh\n"
            f"q=$(ls {self._asked} | wc -l); cat > {self._asked}/$(printf %04d $q)\n"
            f'printf "%s\\n" "$*" > {folder}/words\n'
            f"s={self._asked}/$(printf %04d $q)\n"
            f'if [ -f {folder}/path ]; then PATH="$(cat {folder}/path):$PATH"; fi\n'
            f"cut=$(cat {folder}/cut 2>/dev/null)\n"
            f'if [ "$cut" ] && grep -q "tail -c" $s; then rm {folder}/cut; /bin/sh -s < $s | '
            'head -c "$cut"; exit; fi\n'
            "exec /bin/sh -s < $s\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("POWERTUI_SSH", str(program))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))

    @property
    def asked(self) -> list[str]:
        return [path.read_text() for path in sorted(self._asked.iterdir())]

    @property
    def reads(self) -> list[str]:
        """The questions for contents."""
        return [text for text in self.asked if "tail -c" in text]

    def cut_after(self, count: int) -> None:
        """The next content breaks off there."""
        (self.folder / "cut").write_text(str(count))

    def without_gnu(self) -> None:
        """A machine whose find has no -printf."""
        programs = self.folder / "programs"
        programs.mkdir()
        find = shutil.which("find")
        (programs / "find").write_text(
            f'#!/bin/sh\ncase "$*" in *-printf*|*-readable*) exit 1;; esac\nexec {find} "$@"\n'
        )
        (programs / "find").chmod(0o755)
        (self.folder / "path").write_text(str(programs))


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    return Far(tmp_path / "far", monkeypatch)


def profile(count: int = 6) -> bytes:
    events = [
        xplane.Event("train", i * 20 * MS, 18 * MS, {"step_num": i, "_r": 1}) for i in range(count)
    ]
    return xplane.encode([xplane.Plane("/host:CPU", [xplane.Line("python", events)])])


def runs(folder: Path, count: int) -> Path:
    """A logdir of so many small runs."""
    for number in range(count):
        home = folder / f"run_{number:02}" / "plugins" / "profile" / "2026_11_21_00_50_50"
        home.mkdir(parents=True)
        (home / "vm.xplane.pb").write_bytes(profile(6 + number))
        begin = 1_700_000_000.0 + number
        log = folder / f"run_{number:02}" / "train" / f"events.out.tfevents.{begin:.0f}.vm.7.0.v2"
        write_scalars(log, [(begin + i, i, "loss", 1.0 / (1 + i)) for i in range(3)], begin)
    return folder


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.main(words) == 0
    return json.loads(capsys.readouterr().out)


def without_paths(told: Any, there: Path) -> Any:
    """An answer whose paths all begin at the folder."""
    return json.loads(re.sub(r'"[^"]*' + re.escape(str(there)), '"', json.dumps(told)))


@pytest.mark.parametrize("gnu", [True, False])
def test_a_folder_elsewhere_tells_what_it_tells_here(
    far: Far, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], gnu: bool
) -> None:
    there = tmp_path / "there"
    shutil.copytree(data / "logdirs", there)
    shutil.copytree(data / "power", there / "power")
    (there / "chrome.json").write_text(CHROME)
    for path in there.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # not every stat tells parts of a second
    if not gnu:
        far.without_gnu()
    mine = answer(capsys, "report", str(there), "--json")
    theirs = answer(capsys, "report", f"ssh://box{there}", "--json")
    assert len(mine["runs"]) > 2
    mine, theirs = (without_paths(one, there) for one in (mine, theirs))
    assert theirs == mine


@pytest.mark.parametrize("verb", ["report", "doctor", "energy --verbose"])
def test_a_warning_names_the_file_as_the_other_machine_does(
    far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    there = runs(tmp_path / "there", 1)
    rows = [f"{1_700_000_000 + second},{100 + second * 7 % 40}" for second in range(30)]
    for name in ("a.csv", "b.csv"):
        (there / name).write_text("\n".join(["time,watts", *rows]))
    cli.main([*verb.split(), f"ssh://box{there}"])
    printed = capsys.readouterr().out
    assert f"ssh://box{there}/b.csv: holds the readings of ssh://box{there}/a.csv" in printed
    assert str(far.folder / "cache") not in printed


def test_only_what_is_opened_moves_and_is_kept(far: Far, tmp_path: Path) -> None:
    there = runs(tmp_path / "there", 5)
    found = logdir.scan(f"ssh://box{there}")
    assert [run.name for run in found.runs] == [f"run_{i:02}/2026_11_21_00_50_50" for i in range(5)]
    files = [file for run in found.runs for file in (*run.profiles, *run.tfevents)]
    assert all(elsewhere.away(file.path) for file in files)
    assert [file.size for file in files] == [
        os.stat(str(there) + file.path.partition(str(there))[2]).st_size for file in files
    ]
    assert len(far.asked) == 1
    run = load_run(found.runs[3])
    assert run.traces[0].event_count == 9
    assert len(run.scalars) == 1
    assert [elsewhere.away(file.path) for file in files] == [True] * 6 + [False] * 2 + [True] * 2
    assert len(far.reads) == 2
    load_run(logdir.scan(f"ssh://box{there}").runs[3])
    assert len(far.reads) == 2


def test_a_file_that_changed_there_comes_anew_and_one_that_is_gone_is_gone(
    far: Far, tmp_path: Path
) -> None:
    there = runs(tmp_path / "there", 2)
    load_run(logdir.scan(f"ssh://box{there}").runs[0])
    (there / "run_00/plugins/profile/2026_11_21_00_50_50/vm.xplane.pb").write_bytes(profile(30))
    shutil.rmtree(there / "run_01")
    found = logdir.scan(f"ssh://box{there}")
    assert len(found.runs) == 1
    assert load_run(found.runs[0]).traces[0].event_count == 30


def test_a_file_that_changes_after_it_was_listed(far: Far, tmp_path: Path) -> None:
    there = runs(tmp_path / "there", 1)
    found = logdir.scan(f"ssh://box{there}")
    (there / "run_00/plugins/profile/2026_11_21_00_50_50/vm.xplane.pb").write_bytes(profile(40))
    assert load_run(found.runs[0]).traces[0].event_count == 40
    (there / "run_00/plugins/profile/2026_11_21_00_50_50/vm.xplane.pb").unlink()
    shutil.rmtree(Mirror(parse("ssh://box/")).files)
    with pytest.raises(UnreadableFile):
        load_run(found.runs[0])


def test_what_broke_off_goes_on_where_it_stopped(far: Far, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "vm.xplane.pb").write_bytes(profile(20_000))
    size = (there / "vm.xplane.pb").stat().st_size
    (run,) = logdir.scan(f"ssh://box{there}/vm.xplane.pb").runs
    far.cut_after(200_000)
    told: list[int] = []
    assert (
        load_run(run, progress=lambda done, total, events: told.append(done)).traces[0].event_count
        == 20_000
    )
    first, second = (int(text.partition("\na=")[2].split("\n")[0]) for text in far.reads)
    assert first == 1
    assert 100_000 < second <= 200_000 < size
    assert second - 1 in told


def test_a_person_stops_and_comes_back(far: Far, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "vm.xplane.pb").write_bytes(profile(40_000))
    (run,) = logdir.scan(f"ssh://box{there}").runs

    def stop(done: int, total: int, events: int, /) -> None:
        if done:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        load_run(run, progress=stop)
    assert elsewhere.away(run.profiles[0].path)
    assert load_run(run).traces[0].event_count == 40_000
    assert "\na=1\n" not in far.reads[-1]


NAMES = (
    "it's",
    'two "quoted"',
    "a\nb",
    "$(touch hacked)",
    "`touch hacked`",
    "-rf",
    "a;touch hacked",
    "ü \x1b[31m",
    "a\\'b",
    " ",
)


def test_names_are_names(
    far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there it's; $(x)"
    for index, name in enumerate(NAMES):
        folder = there / name
        folder.mkdir(parents=True)
        (folder / f"{name}.xplane.pb").write_bytes(profile(6 + index))
        (folder / f"{name}.csv").write_text(
            "time,power_w\n" + "".join(f"{1_700_000_000 + i},{100 + i}\n" for i in range(9))
        )
    monkeypatch.chdir(tmp_path)
    found = logdir.scan(f"ssh://box{there}")
    assert {Path(run.path).name for run in found.runs} == set(NAMES)
    counts = {Path(run.path).name: load_run(run).traces[0].event_count for run in found.runs}
    assert counts == {name: 6 + index for index, name in enumerate(NAMES)}
    assert {run.name for run in found.runs if run.power} == {run.name for run in found.runs}
    assert not list(tmp_path.rglob("hacked"))
    assert cli.main(["doctor", f"ssh://box{there}"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_what_the_host_calls_a_name_stays_below_the_folder(far: Far, tmp_path: Path) -> None:
    """A host that lies: paths elsewhere, the same name as a folder and a file, names that no disk
    takes, impossible sizes.
    """
    there = tmp_path / "there"
    there.mkdir()
    lies = [
        f"f 10 1.0 {there}/../../../out.json",
        "f 10 1.0 /../out.json",
        "f 10 1.0 relative.json",
        f"f 10 1.0 {there}/a.xplane.pb",
        f"f 10 1.0 {there}/a.xplane.pb/b.xplane.pb",
        f"f 10 1.0 {there}/{'n' * 300}.json",
        f"f {10**17} 1.0 {there}/big.xplane.pb",
        f"f -1 1.0 {there}/minus.xplane.pb",
        f"f 10 x {there}/when.xplane.pb",
        f"f {'9' * 40} 1 {there}/many.xplane.pb",
        "junk",
        "f",
    ]
    words = "\\0".join([f"@root 0 0 {there}", *lies, "@end 0 0 ."])
    (far.folder / "ssh").write_text(
        "#!/bin/sh\nn=$(cat | sed -n 's/^n=//p' | head -n 1)\nprintf 'motd\\n%s ok -\\n' "
        f"\"$n\"\nprintf '{words}\\0'\n"
    )
    found = logdir.scan(f"ssh://box{there}")
    top = Mirror(parse("ssh://box/")).files
    made = {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}
    inside = str(there).lstrip("/")
    assert made <= {
        f"{inside}/a.xplane.pb",
        f"{inside}/a.xplane.pb/b.xplane.pb",
        f"{inside}/big.xplane.pb",
    }
    assert not list(tmp_path.rglob("out.json"))
    assert found.problems


@pytest.mark.parametrize(
    "text",
    [
        "ssh://-oProxyCommand=touch%20x/y",
        "ssh://box;touch x/y",
        "ssh://a b/y",
        "ssh:///y",
        "ssh://box/a/../../b",
        "ssh://u@-x/y",
        "ssh://-u@x/y",
        "ssh://box:99999/y",
        "ssh://box:/y",
        "s3://user@bucket/x",
        "http://host/logs",
        "ftp://x/y",
        "ssh://box/a\nb",
    ],
)
def test_no_such_address(text: str, far: Far) -> None:
    with pytest.raises(UsageError):
        parse(text)
    assert cli.main(["report", text]) == 2
    assert far.asked == []


@pytest.mark.parametrize(
    ("text", "found", "login"),
    [
        ("ssh://box/var/logs", RemoteAddress("ssh", "box", "/var/logs"), ("", "box", "")),
        (
            "ssh://ann@box:2222/~/logs/",
            RemoteAddress("ssh", "ann@box:2222", "./logs"),
            ("ann", "box", "2222"),
        ),
        ("ssh://[::1]/x//y", RemoteAddress("ssh", "[::1]", "/x/y"), ("", "::1", "")),
        ("SSH://box", RemoteAddress("ssh", "box", "."), ("", "box", "")),
    ],
)
def test_an_address(text: str, found: RemoteAddress, login: tuple[str, str, str]) -> None:
    assert parse(text) == found
    assert parse(text).login == login
    assert parse(str(found)) == found


def test_the_host_is_never_an_option(far: Far, tmp_path: Path) -> None:
    there = runs(tmp_path / "there", 1)
    logdir.scan(f"ssh://ann@box:2222{there}")
    words = (far.folder / "words").read_text().split()
    assert words[-5:] == ["--", "box", "exec", "/bin/sh", "-s"]
    assert words[words.index("-l") + 1] == "ann"
    assert words[words.index("-p") + 1] == "2222"
    assert str(there) not in " ".join(words)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", "no such file or folder there"),
        ("fifo", "is neither a folder nor a plain file"),
        ("closed", "permission denied there"),
        ("closed/inside", "permission denied there"),
    ],
)
def test_what_cannot_be_listed(far: Far, tmp_path: Path, what: str, said: str) -> None:
    there = tmp_path / "there"
    (there / "closed" / "inside").mkdir(parents=True)
    os.mkfifo(there / "fifo")
    (there / "closed").chmod(0)
    if what.startswith("closed") and os.geteuid() == 0:
        pytest.skip("root may read everything")
    with pytest.raises(UnreadableFile) as caught:
        logdir.scan(f"ssh://box{there}/{what}")
    (there / "closed").chmod(0o700)
    assert caught.value.problem == said
    assert caught.value.path == f"ssh://box{there}/{what}"


SAID = {
    "ssh: Could not resolve hostname box: Name or service not known": "there is no host named box",
    "ann@box: Permission denied (publickey).": "box does not let you in",
    "Host key verification failed.": "ssh does not know the key of box yet, or it has another one",
    "ssh: connect to host box port 22: Connection refused": (
        "box refuses the connection: no ssh server listens there"
    ),
    "ssh: connect to host box port 22: Connection timed out": "box does not answer",
    "kex_exchange_identification: Connection closed by remote host": "box closed the connection",
    "strange \x1b[31m words": "ssh failed: strange \\x1b[31m words",
}


@pytest.mark.parametrize("stderr", SAID)
def test_what_ssh_says_becomes_one_sentence(
    far: Far, stderr: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words").write_text(stderr + "\n")
    (far.folder / "ssh").write_text(f"#!/bin/sh\ncat {tmp_path}/words >&2\nexit 255\n")
    assert cli.main(["report", "ssh://box/logs"]) == 3
    first, hint = capsys.readouterr().err.splitlines()
    assert first == f"powertui: ssh://box/logs: {SAID[stderr]}"
    assert hint == "  Try ssh box true: powertui uses the same keys and settings."


def test_no_ssh_at_all(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTUI_SSH", "/nowhere/ssh")
    with pytest.raises(UnreadableFile, match="ssh cannot be run"):
        logdir.scan("ssh://box/logs")


def test_special_files_links_and_copies(far: Far, tmp_path: Path) -> None:
    there = runs(tmp_path / "there", 1)
    home = there / "run_00/plugins/profile/2026_11_21_00_50_50"
    shutil.copy(home / "vm.xplane.pb", home / "copy.xplane.pb")
    os.mkfifo(home / "pipe.xplane.pb")
    with socket.socket(socket.AF_UNIX) as listening:
        before = Path.cwd()
        os.chdir(home)  # a socket's path is short
        listening.bind("s.xplane.pb")
        os.chdir(before)
    (there / "loop").symlink_to(there)
    (home / "lost.xplane.pb").symlink_to("nowhere")
    found = logdir.scan(f"ssh://box{there}")
    (run,) = found.runs
    assert len(run.profiles) == 1
    assert "the same bytes" in run.problems[0].cause
    told = {(Path(problem.file).name, problem.cause) for problem in found.problems}
    assert ("pipe.xplane.pb", "is not a plain file, so it was not opened") in told
    assert ("s.xplane.pb", "is not a plain file, so it was not opened") in told
    assert all(problem.file.startswith("ssh://box/") for problem in found.problems)


def test_a_file_that_has_not_come_may_not_be_read(far: Far, tmp_path: Path) -> None:
    there = runs(tmp_path / "there", 1)
    (run,) = logdir.scan(f"ssh://box{there}").runs
    mode = os.stat(run.profiles[0].path).st_mode
    assert not mode & 0o444
    assert os.stat(run.profiles[0].path).st_blocks == 0


def test_a_thousand_names_are_one_question(far: Far, tmp_path: Path) -> None:
    there = tmp_path / "there"
    for number in range(250):
        folder = there / f"run_{number:03}"
        folder.mkdir(parents=True)
        (folder / "t.json").write_text(CHROME)
    assert len(logdir.scan(f"ssh://box{there}").runs) == 250
    assert len(far.asked) == 2  # what is there; and the heads of all
    assert len(logdir.scan(f"ssh://box{there}").runs) == 250
    assert len(far.asked) == 3


# ── buckets ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """fsspec's own memory file system under the name s3; what is given is filled with a folder."""
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    class Store(MemoryFileSystem):  # type: ignore[misc]
        protocol = "s3"

    Store.store, Store.pseudo_dirs = {}, [""]
    fsspec.register_implementation("s3", Store, clobber=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def fill(folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                with Store().open(f"/logs/{path.relative_to(folder)}", "wb") as out:
                    out.write(path.read_bytes())

    yield fill
    importlib.import_module("fsspec.registry")._registry.pop("s3", None)


def test_a_bucket(
    bucket: Callable[[Path], None], tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket(data / "logdirs")
    mine = answer(capsys, "report", str(data / "logdirs"), "--json")
    theirs = answer(capsys, "report", "s3://logs", "--json")
    assert theirs["runs"][0]["steps"] == mine["runs"][0]["steps"]
    assert [run["name"] for run in theirs["runs"]] == [run["name"] for run in mine["runs"]]
    with pytest.raises(UnreadableFile, match="there is nothing there"):
        logdir.scan("s3://other/x")


def test_a_bucket_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cloud.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name))
    )
    with pytest.raises(UnreadableFile, match="gs:// is read through the package gcsfs") as caught:
        logdir.scan("gs://bucket/logs")
    assert "pip install gcsfs." in caught.value.hint


ODD_SIZES = (float("nan"), float("inf"), -1, 10**30, "many", [3])


def test_a_bucket_with_sizes_and_times_that_cannot_be(
    bucket: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are left out and counted; a time that cannot be costs nobody the file."""
    from fsspec.implementations.memory import MemoryFileSystem

    entries = {
        f"logs/{number}.xplane.pb": {"type": "file", "size": size}
        for number, size in enumerate(ODD_SIZES)
    }
    entries["logs/good.xplane.pb"] = {"type": "file", "size": 5, "mtime": float("inf")}
    entries["logs/late.xplane.pb"] = {"type": "file", "size": 5, "mtime": 1e30}
    monkeypatch.setattr(MemoryFileSystem, "find", lambda *_args, **_words: entries)
    copy = elsewhere.listed("s3://logs", lambda _name: True)
    assert sorted(path.name for path in Path(copy.path).rglob("*.pb")) == [
        "good.xplane.pb",
        "late.xplane.pb",
    ]
    (problem,) = copy.problems
    assert problem.cause.startswith("6 impossible names were left out")


def test_a_bucket_that_never_answers_is_left(
    bucket: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a sentence, and with somebody told while it is waited for, who may stop it."""
    from fsspec.implementations.memory import MemoryFileSystem

    never = threading.Event()
    monkeypatch.setattr(MemoryFileSystem, "find", lambda *_args, **_words: never.wait())
    monkeypatch.setenv("POWERTUI_REMOTE_TIMEOUT", "0.5")
    monkeypatch.setenv("POWERTUI_REMOTE_RATE", "1e9")
    reports: list[elsewhere.TransferProgress | None] = []
    try:
        with (
            elsewhere.listening(reports.append),
            pytest.raises(UnreadableFile, match="logs has not answered for"),
        ):
            elsewhere.listed("s3://logs", lambda _name: True)
        assert any(report is not None and report.quiet_s > 0 for report in reports)
        assert reports[-1] is None

        def stop(_progress: elsewhere.TransferProgress | None) -> None:
            raise Cancelled("enough")

        monkeypatch.setenv("POWERTUI_REMOTE_TIMEOUT", "1e6")
        with elsewhere.listening(stop), pytest.raises(Cancelled):
            elsewhere.listed("s3://logs", lambda _name: True)
    finally:
        never.set()


def test_a_bucket_that_sends_more_than_was_asked_for(
    bucket: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too much is cut off: the file has the size that was listed."""
    from fsspec.implementations.memory import MemoryFileSystem

    there = tmp_path / "there"
    there.mkdir()
    (there / "vm.xplane.pb").write_bytes(profile())
    bucket(there)
    ask = MemoryFileSystem.cat_file
    monkeypatch.setattr(
        MemoryFileSystem, "cat_file", lambda *args, **words: ask(*args, **words) + bytes(100_000)
    )
    (run,) = logdir.scan("s3://logs").runs
    elsewhere.at_hand(run.profiles[0].path)
    assert Path(run.profiles[0].path).read_bytes() == profile()


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────


def here(path: str) -> bool:
    return not elsewhere.away(path)


def test_what_was_used_longest_ago_goes_when_there_is_no_room(
    far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = runs(tmp_path / "there", 4)
    found = logdir.scan(f"ssh://box{there}")
    first, second, third, fourth = (run.profiles[0].path for run in found.runs)
    for path in (first, second, third):
        elsewhere.at_hand(path)
    elsewhere.at_hand(first)  # again: now the second is the oldest
    block = os.stat(first).st_blocks * 512
    monkeypatch.setenv(keeping.SIZE_VARIABLE, str(3 * block))
    elsewhere.at_hand(fourth)
    assert [here(path) for path in (first, second, third, fourth)] == [True, False, True, True]
    asked = len(far.reads)
    elsewhere.at_hand(second)  # its name and size were kept: it comes again
    assert here(second)
    assert len(far.reads) == asked + 1
    assert not here(third)


def test_what_is_open_stays(far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = runs(tmp_path / "there", 3)
    paths = [run.profiles[0].path for run in logdir.scan(f"ssh://box{there}").runs]
    held = registry.open_file(paths[0])
    elsewhere.at_hand(paths[1])
    assert cli.main(["--clear-cache"]) == 0
    assert "Kept, because it is open" in capsys.readouterr().out
    assert here(paths[0])
    assert not Path(paths[1]).exists()
    held.content.check()
    assert held.content.read(0, held.size).tobytes() == Path(paths[0]).read_bytes()
    del held
    gc.collect()
    assert cli.main(["--clear-cache"]) == 0
    assert not keeping.cache().exists()
    assert cli.main(["--clear-cache"]) == 0
    assert capsys.readouterr().out.endswith(f"0 bytes deleted in {keeping.cache()}.\n")


@pytest.mark.parametrize(
    ("said", "bytes_kept"), [("5G", 5 << 30), ("12kB", 12 << 10), ("0", 0), ("4096", 4096)]
)
def test_the_limit_is_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, bytes_kept: int
) -> None:
    monkeypatch.setenv(keeping.SIZE_VARIABLE, said)
    assert keeping.limit(tmp_path) == bytes_kept


@pytest.mark.parametrize("said", ["", "much", "-5", "G"])
def test_without_a_limit_it_is_never_more_than_half_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv(keeping.SIZE_VARIABLE, said)
    assert (
        0
        < keeping.limit(tmp_path)
        <= min(keeping.MAX_CACHE_BYTES, shutil.disk_usage(tmp_path).total // 2)
    )


def test_the_beginning_of_a_file_is_had_without_the_file(far: Far, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "trace.json").write_text(CHROME)
    folder = elsewhere.listed(f"ssh://host{there}", lambda _name: True).path
    path = f"{folder}/trace.json"
    assert elsewhere.head(path, 20) == CHROME[:20].encode()
    assert elsewhere.away(path)
    asked = len(far.asked)
    assert elsewhere.head(path, 30) == CHROME[:30].encode()  # it was kept
    assert len(far.asked) == asked
    assert not far.reads


def test_a_name_that_no_file_can_have_is_told_with_the_reason(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd:
        def listing(self, path: str) -> RemoteListing:
            entry = RemoteEntry("/logs/a\0b.json", "f", RemoteState(3, 1))
            return RemoteListing("/logs", None, (entry,))

    monkeypatch.setattr(mirror, "_store_of", lambda _address: Odd())
    (problem,) = Mirror(parse("ssh://host/logs")).listed(lambda _name: True).problems
    assert problem.cause == "cannot be kept here: embedded null byte"


def test_a_trace_that_begins_with_settings_is_a_run_there_as_it_is_here(
    tmp_path: Path, far: Far
) -> None:
    """Four public PyTorch traces have their first event behind 10 KB, packed."""
    words = random.Random(1)
    settings = {f"setting {n}": f"{words.getrandbits(200):x}" for n in range(300)}
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    text = json.dumps(
        {"env": settings, "schemaVersion": 1, "deviceProperties": [], "traceEvents": [event] * 9}
    )
    assert 8_192 < len(gzip.compress(json.dumps(settings).encode())) < 16_384
    there = tmp_path / "logs"
    there.mkdir()
    trace = there / "chat.json.gz"
    trace.write_bytes(gzip.compress(text.encode()))
    assert len(logdir.scan(str(there)).runs) == len(logdir.scan(f"ssh://box{there}").runs) == 1
