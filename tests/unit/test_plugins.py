"""Formats, logs and sources of other packages: found by entry points, used like ours, and harmless
when they are broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui import plugins
from powertui.data import loading, logdir
from powertui.data.formats import registry
from powertui.data.power import registry as power
from powertui.errors import SensorError, UnreadableFile, UsageError
from powertui.report import checks
from powertui.sampler.source import open_source, reason_of

EXAMPLE = Path(__file__).resolve().parents[1] / "plugin"
SECTION = re.compile(r'\[project\.entry-points\."([\w.]+)"\]\n((?:\w+ = ".*"\n?)+)')


def installed(folder: Path, text: str, name: str = "powertui-toy") -> None:
    """What an installer leaves of a package with these entry points."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "\n".join(
            f"[{group}]\n" + entries.replace('"', "") for group, entries in SECTION.findall(text)
        )
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    plugins.plugin_group.cache_clear()
    plugins._failed.clear()
    yield folder
    plugins.plugin_group.cache_clear()
    plugins._failed.clear()


@pytest.fixture
def toy(site: Path) -> Path:
    installed(site, (EXAMPLE / "pyproject.toml").read_text())
    plugins.plugin_group.cache_clear()
    return site


def test_a_format_of_another_package_opens_in_folders_too(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "node.7.toy.txt").write_text("TOY\n0 1 load\n1 4 compute\n")
    (run,) = logdir.scan(tmp_path / "logs").runs
    (trace,) = loading.load_run(run).traces
    assert (trace.format, trace.host, trace.event_count) == ("toy", "node.7", 2)


def test_a_log_of_another_package_is_read(toy: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("TOYWATTS\n1790000000 100\n1790000001 120\n1790000002 110\n")
    (series,) = power.load(str(path)).series
    assert series.watts.tolist() == [100, 120, 110]


def test_a_source_of_another_package_is_opened(toy: Path) -> None:
    source = open_source("toy:")
    assert source.name == "toy"
    assert [channel.name for channel in source.open().channels] == ["Total Power"]
    assert [(reading.watts, reading.channel) for reading in source.read()] == [
        (42.0, "Total Power")
    ]
    source.close()
    with pytest.raises(UsageError) as caught:
        open_source("toys:")
    assert "toy" in (caught.value.hint or "")


def test_without_packages_nothing_is_found_and_nothing_is_said(site: Path) -> None:
    assert plugins.plugin_group(plugins.FORMATS) == ((), ())
    assert not plugins.problems()


BROKEN = """
[project.entry-points."powertui.formats"]
gone = "nowhere_at_all"
lacks = "powertui_toy"
raises = "powertui_broken"

[project.entry-points."powertui.sources"]
lacks = "powertui_toy"
"""


def test_a_broken_package_costs_a_sentence(site: Path, tmp_path: Path, data: Path) -> None:
    (site / "powertui_broken.py").write_text("raise RuntimeError('\\x1b[31mno')")
    installed(site, BROKEN, "broken")
    plugins.plugin_group.cache_clear()
    said = [check.what for check in checks.of_program() if "plugin" in check.what]
    assert len(said) == 4
    assert not any("\x1b" in one for one in said)
    assert any(
        "'raises' of broken is left out: it cannot be loaded (RuntimeError" in one for one in said
    )
    assert registry.readers()
    assert loading.load_run(logdir.scan(data / "logdirs/jax_cpu").runs[0]).traces


SOURCES = """
class Half:
    name = "half"
class Raises:
    name, channels = "raises", ()
    def open(self):
        from powertui.sampler.source import Channel, Info
        self.channels = (Channel("A"), Channel("B"))
        return Info("raises", "raises:", "", self.channels)
    def read(self): raise KeyError("\x1b[31mgone")
    def close(self): raise KeyError("gone")
class Deaf(Raises):
    def open(self): raise OSError("no meter")
def half(address, options): return Half()
def raises(address, options): return Raises()
def deaf(address, options): return Deaf()
def none(address, options): return 1 / 0
"""


def test_a_source_that_raises_has_readings_without_a_value(site: Path) -> None:
    (site / "powertui_sources.py").write_text(SOURCES)
    entries = "".join(
        f'{name} = "powertui_sources:{name}"\n' for name in ("half", "raises", "deaf", "none")
    )
    installed(
        site,
        f'[project.entry-points."powertui.sources"]\n{entries}gone = "nowhere_at_all"\n',
        "meters",
    )
    plugins.plugin_group.cache_clear()
    source = open_source("raises:")
    source.open()
    readings = source.read()
    assert [(reading.channel, reading.watts) for reading in readings] == [("A", None), ("B", None)]
    assert "the plugin failed (KeyError" in reason_of(readings[0].quality)
    assert "\x1b" not in readings[0].quality
    source.close()
    with pytest.raises(SensorError, match=r"'deaf' of meters failed \(OSError: no meter\)"):
        open_source("deaf:").open()
    with pytest.raises(
        SensorError, match="'half' of meters makes no source: it has no open, read, close"
    ):
        open_source("half:")
    with pytest.raises(SensorError, match=r"'none' of meters failed \(ZeroDivisionError"):
        open_source("none:")
    with pytest.raises(UsageError) as caught:
        open_source("gone:")
    assert "The plugin 'gone' of meters is left out" in (caught.value.hint or "")


def test_a_file_that_nobody_reads_tells_of_plugins_that_were_left_out(
    site: Path, tmp_path: Path
) -> None:
    groups = (("formats", "gone"), ("power", "lost"))
    installed(
        site,
        "".join(
            f'[project.entry-points."powertui.{group}"]\n{name} = "nowhere"\n'
            for group, name in groups
        ),
        "gone",
    )
    plugins.plugin_group.cache_clear()
    path = tmp_path / "a.toy.txt"
    path.write_text("nobody knows this\n")
    with pytest.raises(UnreadableFile) as caught:
        registry.read(path)
    assert "The plugin 'gone' of gone is left out" in (caught.value.hint or "")
    with pytest.raises(UnreadableFile) as caught:
        power.load(str(path))
    assert "The plugin 'lost' of gone is left out" in (caught.value.hint or "")


RAISES = """
NAME, SUFFIXES = "raises", ("raises",)
def sniff(head, path):
    if head.startswith(b"RAISES"):
        return 100
    raise KeyError("what?")
def load(source, progress):
    yield from ()
    raise KeyError("what?")
"""


def test_a_package_that_raises_spoils_its_own_files_alone(
    site: Path, tmp_path: Path, data: Path
) -> None:
    (site / "powertui_raises.py").write_text(RAISES)
    installed(
        site, '[project.entry-points."powertui.formats"]\nraises = "powertui_raises"\n', "raises"
    )
    plugins.plugin_group.cache_clear()
    assert loading.load_run(logdir.scan(data / "logdirs/jax_cpu").runs[0]).traces
    assert plugins.failed() == ("The plugin 'raises' of raises failed in sniff.",)
    path = tmp_path / "a.raises"
    path.write_text("RAISES")
    with pytest.raises(UnreadableFile, match="the plugin 'raises' of raises failed on it"):
        registry.read(path)


def test_nothing_is_asked_when_nobody_may_be(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTUI_NO_PLUGINS", "1")
    plugins.plugin_group.cache_clear()
    assert plugins.plugin_group(plugins.FORMATS) == ((), ())


def test_what_lies_in_the_working_folder_is_no_package(tmp_path: Path) -> None:
    """Metadata in a folder of logs, with a module beside it: never looked at, never imported."""
    installed(tmp_path, '[project.entry-points."powertui.formats"]\nevil = "evil"\n', "evil")
    (tmp_path / "evil.py").write_text("open('imported', 'w')")
    (tmp_path / "a.json").write_text("[]")
    subprocess.run(
        [sys.executable, "-m", "powertui", "doctor", "."],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(EXAMPLE.parents[1])},
    )
    assert not (tmp_path / "imported").exists()
