"""Which file a helper's name stands for, and what its output may do to us."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from powertui.sampler import programs
from tests.waiting import until

NOBODY = 65534


def program(folder: Path, name: str = "powertui-helper", mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\nexit 0\n")
    file.chmod(mode)
    return file


def test_only_absolute_folders_are_searched(tmp_path, monkeypatch):
    program(tmp_path / "work")
    good = program(tmp_path / "good")
    monkeypatch.chdir(tmp_path / "work")
    assert programs.find("powertui-helper", ":.:../work") == programs.Program()
    assert programs.find("powertui-helper", f":.:{good.parent}").path == str(good)


def test_a_file_that_everybody_may_replace_is_not_run(tmp_path):
    bad = program(tmp_path / "open" / "bin")
    bad.parent.chmod(0o777)
    found = programs.find("powertui-helper", str(bad.parent))
    assert found.path == ""
    assert found.refused == f"{bad} is not run: every user can write to {bad.parent}."
    bad.parent.chmod(0o1777)  # sticky: others cannot replace the file, but could have put it there
    assert programs.find("powertui-helper", str(bad.parent)).path == ""
    bad.parent.chmod(0o755)
    bad.parent.parent.chmod(0o777)  # or they swap the folder
    assert programs.find("powertui-helper", str(bad.parent)).path == ""
    bad.parent.parent.chmod(0o1777)  # as /tmp is
    assert programs.find("powertui-helper", str(bad.parent)).path == str(bad)
    bad.chmod(0o777)
    assert "every user can write to it" in programs.find("powertui-helper", str(bad.parent)).refused


def test_the_next_folder_is_taken_and_a_link_is_followed(tmp_path):
    bad, good = program(tmp_path / "bad"), program(tmp_path / "good")
    bad.parent.chmod(0o777)
    assert programs.find("powertui-helper", f"{bad.parent}:{good.parent}").path == str(good)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "powertui-helper").symlink_to(bad)
    assert programs.find("powertui-helper", str(tmp_path / "links")).path == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_strangers_program_is_named_and_never_run_as_root(tmp_path):
    file = program(tmp_path / "sw")
    os.chown(file, NOBODY, NOBODY)
    found = programs.find("powertui-helper", str(file.parent))
    assert (found.path, found.owner) == (str(file), "nobody")
    assert (
        "sudo would run it as root"
        in programs.find("powertui-helper", str(file.parent), as_root=True).refused
    )


def test_the_environment_leads_nowhere_into_the_working_folder():
    given = {"PATH": ":/usr/bin:bin:.", "LD_LIBRARY_PATH": ":", "IPMI_PASSWORD": "x", "HOME": "/h"}
    assert programs.environment(given) == {"PATH": "/usr/bin", "HOME": "/h"}


def run(code: str, timeout: float = 60.0) -> programs.Done:
    return programs.run([sys.executable, "-c", code], os.environ, timeout)


def test_output_and_exit_code():
    assert run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)") == (
        3,
        "out\n",
        "err\n",
    )
    assert programs.run(["/nonexistent"], {}, 1.0).code == programs.NOT_RUN


def test_output_without_end_is_cut_off():
    done = run("import sys\nwhile True: sys.stdout.write('x' * 65536)")
    assert done == (programs.TOO_MUCH, "", "more than 1 MiB of output")


def test_one_that_cannot_be_killed_is_not_run_again_until_it_has_ended(monkeypatch, tmp_path):
    """A driver that hangs keeps nvidia-smi in the kernel: one of them is enough."""
    monkeypatch.setattr(subprocess.Popen, "kill", lambda process: None)
    asker, begun = programs.Asker(), tmp_path / "begun"
    end = tmp_path / "end"
    code = f"import pathlib, time; pathlib.Path({str(begun)!r}).open('a').write('x')\n"
    code += f"while not pathlib.Path({str(end)!r}).exists(): time.sleep(0.1)"
    command = [sys.executable, "-c", code]
    assert asker.run(command, os.environ, 1.0).code == programs.TIMED_OUT
    again = asker.run(command, os.environ, 1.0)
    assert again == (programs.TIMED_OUT, "", "it has not ended since it was asked before")
    end.touch()
    until(lambda: asker.run([sys.executable, "-c", "print(1)"], os.environ, 60.0).out == "1\n")
    assert begun.read_text() == "x"


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(600)",
        "import os, time; os.close(1); os.close(2); time.sleep(600)",
        (
            "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; "
            "time.sleep(400)'])"
        ),
        "import time\nwhile True: print('.', flush=True); time.sleep(0.05)",
    ],
)
def test_one_that_hangs_ends_at_its_time(code):
    begin = time.monotonic()
    assert run(code, 1.0).code == programs.TIMED_OUT
    assert time.monotonic() - begin < 200  # and not when its last descendant ends
