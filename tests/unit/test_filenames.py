from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui.data.formats import filenames, registry

SUFFIXES = (*registry.suffixes(), *filenames.RESULTS, *filenames.unread())


@pytest.mark.parametrize(
    ("name", "host", "tool"),
    [
        ("vm.xplane.pb", "vm", "xplane.pb"),
        ("34.83.195.179_6003.xplane.pb", "34.83.195.179_6003", "xplane.pb"),
        (
            "gaoyihaodeMacBook-Pro.local.trace.json.gz",
            "gaoyihaodeMacBook-Pro.local",
            "trace.json.gz",
        ),
        (
            "worker0.pt.trace.json.gz",
            "worker0",
            "pt.trace.json.gz",
        ),  # the longer suffix: not a TensorFlow trace
        ("xplane.pb", "", "xplane.pb"),
        ("10.240.1.50.pod_viewer.json", "10.240.1.50", "pod_viewer.json"),
        (".cached_tools.json", "", "cached_tools.json"),
        ("vm.metadata.SSTABLE", "vm", "metadata.SSTABLE"),
        ("cache_version.txt", "", "cache_version.txt"),
    ],
)
def test_names_are_cut_at_the_longest_suffix(name: str, host: str, tool: str) -> None:
    assert filenames.split_tool(name) == (host, tool)


@pytest.mark.parametrize(
    "name", ["notes.txt", "xplane.pb.bak", "mytrace", "a.pb", "vm.xplane_pb", ""]
)
def test_other_names_are_not_cut(name: str) -> None:
    assert filenames.split_tool(name) is None


@given(
    st.text(
        st.characters(blacklist_categories=["Cs"], blacklist_characters="/\0"),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(SUFFIXES),
)
def test_any_host_is_found_again(host: str, tool: str) -> None:
    found = filenames.split_tool(f"{host}.{tool}")
    assert found is not None
    assert f"{found[0]}.{found[1]}".lstrip(".") == f"{host}.{tool}".lstrip(".")
    assert len(found[1]) >= len(tool)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("events.out.tfevents.1616280767.madrid.19202.414.v2", (1616280767, "madrid", 19202)),
        ("events.out.tfevents.1616280775.madrid.profile-empty", (1616280775, "madrid", None)),
        (
            "events.out.tfevents.1667273631.gaoyihaodeMacBook-Pro.local.19828.9084.v2",
            (1667273631, "gaoyihaodeMacBook-Pro.local", 19828),
        ),
        ("events.out.tfevents.1510000000.node.with.dots", (1510000000, "node.with.dots", None)),
        ("tfevents.txt", None),
        ("events.out.tfevents.soon.vm", None),
    ],
)
def test_tfevents_names_tell_second_host_and_process(
    name: str, parts: tuple[int, str, int | None] | None
) -> None:
    assert filenames.split_events(name) == parts
