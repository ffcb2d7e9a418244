"""Ops are matched by name, then by module path and shape; what fits nothing stays on its side."""

from __future__ import annotations

from pathlib import Path

import pytest

import powertui
from powertui.comparison_view import ComparisonView
from powertui.data.compare.amounts import both_names
from powertui.data.compare.figure import Family
from powertui.data.compare.op_counterparts import counterparts
from powertui.data.compare.values import OpIdentity, ValueKey
from tests.synthetic import torch_json
from tests.synthetic.xplane import Event, Line, Plane, encode

_PUBLIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "public"
_DENSE = "jit(step)/layer0/dot_general"
_OUTPUT = "jit(step)/layer1/dot_general"
_SUM = "jit(step)/layer1/reduce_sum"


def key(name: str) -> ValueKey:
    return ValueKey(Family.OP, name, "s", "device")


def ops(**named: tuple[str, str] | None) -> dict[ValueKey, OpIdentity | None]:
    """`fusion_1=(path, shape)`: ops that a compiler numbered; None where neither is known."""
    return {
        key(name.replace("_", ".")): None if place is None else OpIdentity(*place, is_numbered=True)
        for name, place in named.items()
    }


def names(
    a: dict[ValueKey, OpIdentity | None], b: dict[ValueKey, OpIdentity | None]
) -> dict[str, str]:
    return {second.name: first.name for second, first in counterparts(a, b).items()}


def test_a_shifted_number_follows_the_path_and_not_the_name() -> None:
    a = ops(fusion_1=(_DENSE, "f32[8,4]"), fusion_2=(_OUTPUT, "f32[8,2]"))
    b = ops(
        fusion_1=("jit(step)/whiten/mul", "f32[8,8]"),
        fusion_2=(_DENSE, "f32[8,4]"),
        fusion_3=(_OUTPUT, "f32[8,2]"),
    )
    assert names(a, b) == {"fusion.2": "fusion.1", "fusion.3": "fusion.2"}


def test_another_name_at_the_same_place_is_the_same_op() -> None:
    a = ops(fusion_9=(_DENSE, "f32[8,4]"))
    assert names(a, ops(dot_4=(_DENSE, "f32[8,4]"))) == {"dot.4": "fusion.9"}


def test_another_batch_size_keeps_what_has_one_path() -> None:
    a = ops(fusion_1=(_DENSE, "f32[8,4]"), fusion_2=(_SUM, "f32[8]"))
    b = ops(fusion_2=(_DENSE, "f32[16,4]"), fusion_1=(_SUM, "f32[16]"))
    assert names(a, b) == {"fusion.2": "fusion.1", "fusion.1": "fusion.2"}


def test_ops_that_nothing_tells_apart_follow_their_numbers() -> None:
    place = ("jit(step)/sub", "f32[8]")
    a = ops(fusion_9=place, fusion_10=place)
    b = ops(fusion_11=place, fusion_12=place)
    assert names(a, b) == {"fusion.11": "fusion.9", "fusion.12": "fusion.10"}
    # With one more of them nobody knows which it is: only an equal name still says so.
    assert names(a, ops(fusion_10=place, fusion_11=place, fusion_12=place)) == {
        "fusion.10": "fusion.10"
    }


def test_one_number_of_two_ops_that_do_something_else_brings_nothing_together() -> None:
    a = ops(fusion_3=(_DENSE, "f32[8,4]"))
    assert names(a, ops(fusion_3=(_SUM, "f32[8]"))) == {}
    # A function that was renamed has another path, and does the same.
    renamed = ("jit(train)/layer0/dot_general", "f32[8,4]")
    assert names(a, ops(fusion_3=renamed)) == {"fusion.3": "fusion.3"}


def test_of_an_unknown_place_the_only_op_of_a_kind_is_the_same() -> None:
    a = {key("EagerLocalExecute: __inference_step_640"): None, key("jit_step(123)"): None}
    b = {key("EagerLocalExecute: __inference_step_676"): None, key("jit_step(987)"): None}
    assert len(names(a, b)) == 2
    two = {key("wait_1"): None, key("wait_2"): None}
    assert names(two, {key("wait_3"): None}) == {}


def test_runtime_calls_of_two_makers_are_the_same() -> None:
    a = {key("cudaLaunchKernel"): None, key("cudaGraphLaunch"): None}
    assert names(a, {key("hipLaunchKernel"): None}) == {"hipLaunchKernel": "cudaLaunchKernel"}


# ── in files ─────────────────────────────────────────────────────────────────────────────────────


def write_xla(folder: Path, kernels: list[tuple[str, str, str, int]]) -> Path:
    """A device's trace of kernels: (name, path, shape, µs)."""
    events = []
    at = 0
    for name, path, shape, micros in kernels:
        stats = {"hlo_op": name, "hlo_module": "jit_step", "name": path, "shape": shape}
        events.append(Event(name, at, micros * 1_000_000, dict(stats)))
        at += micros * 1_000_000
    folder.mkdir(parents=True)
    line = Line("Stream #1(Compute)", events, key=1)
    (folder / "host.xplane.pb").write_bytes(encode([Plane("/device:GPU:0", [line])]))
    return folder


def seconds(view: ComparisonView) -> tuple[float, float]:
    """The own time of all ops of either side, in matched and in unmatched rows."""
    totals = {"a": 0.0, "b": 0.0}
    for row in view.json["figures"]:
        if row["family"] == "ops":
            totals["a"] += row["a"]
            totals["b"] += row["b"]
    for row in view.json["unmatched"]:
        if row["family"] == "ops":
            totals[row["side"]] += row["value"]
    return totals["a"], totals["b"]


def test_a_comparison_shows_both_names_and_loses_no_time(tmp_path: Path) -> None:
    layers = [(_DENSE, "f32[8,4]{1,0}", 30), (_OUTPUT, "f32[8,2]{1,0}", 20)]
    a = [(f"fusion.{at}", *layer) for at, layer in enumerate(layers, 1)]
    more = [("jit(step)/whiten/mul", "f32[8,8]{1,0}", 7), *layers]
    b = [(f"fusion.{at}", *layer) for at, layer in enumerate(more, 1)]
    view = powertui.compare(write_xla(tmp_path / "a", a), write_xla(tmp_path / "b", b))
    figures = {row["name"]: row for row in view.json["figures"] if row["family"] == "ops"}
    assert {name: (row["name_b"], row["difference"]) for name, row in figures.items()} == {
        "fusion.1": ("fusion.2", 0.0),
        "fusion.2": ("fusion.3", 0.0),
    }
    # Its own name is A's for another op, so its place is added.
    assert [(row["side"], row["name"]) for row in view.json["unmatched"]] == [
        ("b", "fusion.1 (jit(step)/whiten/mul)")
    ]
    assert seconds(view) == pytest.approx((50e-6, 57e-6))


def write_torch(folder: Path, kernel: str, dims: list[list[int]]) -> Path:
    """A layer whose operator launches one kernel."""
    call = {"correlation": 1}
    rows = [
        torch_json.event(("python_function", "nn.Module: Linear_3", 0, 100)),
        torch_json.event(("cpu_op", "aten::addmm", 10, 50), **{"Input Dims": dims}),
        torch_json.event(("cuda_runtime", "cudaLaunchKernel", 20, 5), **call),
        torch_json.event(("kernel", kernel, 30, 40), thread=1, **call),
    ]
    torch_json.write(folder, rows)
    return folder


@pytest.mark.parametrize(("dims", "is_same"), [([[4], [8, 4]], True), ([[4], [16, 4]], False)])
def test_kernels_of_one_operator_and_shape_are_the_same(
    tmp_path: Path, dims: list[list[int]], is_same: bool
) -> None:
    a = write_torch(tmp_path / "a", "sm90_gemm", [[4], [8, 4]])
    view = powertui.compare(a, write_torch(tmp_path / "b", "Cijk_gemm", dims))
    names_b = {row["name"]: row["name_b"] for row in view.json["figures"]}
    assert not [row for row in view.json["unmatched"] if row["family"] == "ops"]
    if is_same:
        assert names_b["sm90_gemm"] == "Cijk_gemm"
    else:  # of another shape they are only what the operator asked for
        assert names_b["kernels of aten::addmm"] is None


def test_all_kernels_of_one_network_on_two_makers_devices_have_a_counterpart() -> None:
    folders = [_PUBLIC / f"kineto_{maker}_bert" for maker in ("h100", "mi300")]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip("needs the third-party recordings")
    view = powertui.compare(*folders)
    figures = [row for row in view.json["figures"] if row["family"] == "ops"]
    on_device = {row["name_b"] or row["name"] for row in figures if row["within"] == "device"}
    assert "attn_fwd" in on_device  # of a flash attention's kernel
    left = [row for row in view.json["unmatched"] if row["family"] == "ops"]
    on_device = {row["name"] for row in left if row["within"] == "device"}
    assert on_device == {"Memcpy DtoH (Device -> Pinned)", "Memcpy DtoD (Device -> Device)"}
    assert seconds(view) == pytest.approx((2.4238e-3, 2.4009e-3), rel=1e-3)


def test_kernels_that_one_operator_needs_more_of_are_one_op(tmp_path: Path) -> None:
    def write(folder: Path, *kernels: tuple[str, list[list[int]], float]) -> Path:
        rows = []
        for number, (kernel, dims, micros) in enumerate(kernels):
            start = 100.0 * number
            call = {"correlation": number}
            operator = ("cpu_op", "aten::addmm", start, 50.0)
            rows.append(torch_json.event(operator, **{"Input Dims": dims}))
            rows.append(
                torch_json.event(("cuda_runtime", "cudaLaunchKernel", start + 10, 5), **call)
            )
            kernel_row = ("kernel", kernel, start + 20, micros)
            rows.append(torch_json.event(kernel_row, thread=1, **call))
        torch_json.write(folder, rows)
        return folder

    small, large = [[4], [8, 4]], [[4], [64, 4]]
    a = write(tmp_path / "a", ("sm90_gemm", small, 10.0), ("sm90_gemm", large, 20.0))
    b = write(tmp_path / "b", ("Cijk_MT16", small, 10.0), ("Cijk_MT128", large, 25.0))
    view = powertui.compare(a, b)
    rows = {row["name"]: row for row in view.json["figures"] if row["within"] == "device"}
    assert set(rows) == {"kernels of aten::addmm"}
    row = rows["kernels of aten::addmm"]
    assert (row["a"], row["b"]) == pytest.approx((30e-6, 35e-6))
    # Which kernels they are is in the list of kernels, on either side.
    only = {row["name"] for row in view.json["unmatched"] if row["family"] == "kernels"}
    assert only == {"sm90_gemm", "Cijk_MT16", "Cijk_MT128"}


@pytest.mark.parametrize(
    ("name", "name_b", "shown"),
    [
        ("dot.1", "", "dot.1"),
        ("fusion.1", "fusion.12", "fusion.1 (fusion.12 in B)"),
        ("x" * 60, "attn_fwd", "x" * 31 + "… (attn_fwd in B)"),
        ("x" * 60 + "1", "x" * 60 + "2", "x" * 32 + "… (another in B)"),
    ],
)
def test_a_table_shows_both_names_in_its_room(name: str, name_b: str, shown: str) -> None:
    assert both_names(name, name_b, 48) == shown
