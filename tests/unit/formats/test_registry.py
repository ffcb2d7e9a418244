from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from powertui.data.formats import registry, trace_json, xplane
from powertui.data.formats.builder import TraceBuilder
from powertui.errors import UnreadableFile

SMALL = "logdirs/trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"


def test_the_content_decides_and_the_name_does_not(data: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "liar.trace.json.gz"
    wrong.write_bytes((data / SMALL).read_bytes())
    assert registry.read(wrong).format == "xplane"


def test_every_reader_is_sure_of_its_own_kind_alone(data: Path) -> None:
    json_file = data / "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50/vm.trace.json.gz"
    for path, mine in ((data / SMALL, "xplane"), (json_file, "trace_json")):
        source = registry.open_source(path)
        scores = {reader.NAME: reader.sniff(source.head, "x") for reader in registry.readers()}
        assert scores.pop(mine) >= 90
        assert set(scores.values()) == {0}


def test_a_new_format_is_one_file_and_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    module = ModuleType("powertui.data.formats.third")
    module.NAME = "third"  # type: ignore[attr-defined]
    module.sniff = lambda head, path: 100 * head.startswith(b"THIRD")  # type: ignore[attr-defined]

    class Names:
        def __len__(self) -> int:
            return 0

    module.load = lambda source, progress: iter([TraceBuilder(source.path, "third").build(Names(), complete=True)])  # type: ignore[attr-defined,arg-type]
    monkeypatch.setitem(sys.modules, "powertui.data.formats.third", module)
    monkeypatch.setattr(registry, "READERS", (*registry.READERS, "third"))
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(b"THIRD of its kind")
    assert registry.read(path).format == "third"
    assert registry.read(data / SMALL).format == "xplane"


@pytest.mark.parametrize("reader", [xplane, trace_json])
@pytest.mark.parametrize(
    "head", [b"", b"\n", b"{", b"[", b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x0a\x80", b"\xef\xbb\xbf"]
)
def test_sniffing_survives_anything(reader: ModuleType, head: bytes) -> None:
    assert 0 <= reader.sniff(head, "vm.xplane.pb") <= 100


def test_other_protobufs_are_not_taken_for_profiles(shared_data: Path) -> None:
    paths = [p for p in (shared_data / "public").rglob("*.pb") if not p.name.endswith("xplane.pb") and p.stat().st_size]
    assert len(paths) > 10
    for path in paths:
        with pytest.raises(UnreadableFile):
            registry.read(path)
