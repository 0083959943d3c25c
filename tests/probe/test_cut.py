"""Neighbourhoods: they run, they hold what they must, and they show by themselves what is wrong."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.probe.cut import NeighbourhoodProbe, ProbeResult, Scene
from onnxpad.proof import certificate
from onnxpad.proof.term import Equal
from onnxpad.rewrite.pass_api import Pass
from onnxpad.rewrite.run import Run
from tests.broken import Forgotten, Lost, Misread, OtherSide, Swapped, Unguarded
from tests.support import PADS, W, feeds_of, one, parsed, ran
from tests.support.probes import compare_runs
from tests.support.rows import each_row, rows_below

ROWS = Path(__file__).with_name("rows.txt")
PADDED = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}")
OPEN = "float[N, 2, H, V] x"


def cut(proto: onnx.ModelProto, root: str = "x") -> tuple[tuple[Scene, onnx.ModelProto], ...]:
    graph = Graph.from_proto(proto)
    found = NeighbourhoodProbe(graph).before(graph.tensor("y"), (root,))
    return () if isinstance(found, str) else found


def sized(model: onnx.ModelProto, *shapes: Sequence[int]) -> onnx.ModelProto:
    """A model whose inputs have these shapes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value, shape in zip(copy.graph.input, shapes, strict=False):
        for dim, size in zip(value.type.tensor_type.shape.dim, shape, strict=True):
            dim.dim_value = size
    return copy


@each_row(("opset", "inputs", "given", "body"), rows_below(ROWS, "whole"), at_once=1)
def test_a_cut_runs_and_gives_what_the_whole_has_there(
    opset: str, inputs: str, given: str, body: str
) -> None:
    proto = parsed(f"g ({inputs}) => (y) <{given}> {{ {body} }}", opset=int(opset), ir=8)
    scenes = cut(proto)
    assert scenes
    pads_alone = proto.graph.node[-1].op_type == "Pad"
    for scene, model in scenes:
        (channels,) = (d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim[1:2])
        shape = scene.shapes[0] if pads_alone else (1, channels, *scene.shapes[0][2:])
        whole = sized(proto, shape)
        expected, found = (
            ran(each, feeds_of(each)) for each in (whole, sized(model, *scene.shapes))
        )
        if isinstance(expected, str):  # no window fits data of this size
            assert "Invalid input shape" in str(found)
            continue
        assert not isinstance(found, str), found
        assert found[0].dtype == expected[0].dtype
        first = 0 if pads_alone else 2
        assert found[0].shape[first:] == expected[0].shape[first:]


LINEAR = (
    "float s = {0.003}, float[3] e = {0.1, 7, 30}, float t = {900}, uint8 z = {200},"
    " uint8[3] v = {1, 200, 7}, uint8 r = {250},"
    f" uint8[3, 2, 3, 3] w = {{{', '.join(str(i * 53 % 256) for i in range(54))}}}"
)
PAD, COUNTED = "pads = [1, 1, 1, 1]", ", count_include_pad = 1"


@pytest.mark.parametrize(
    "operator",
    [
        f"QLinearConv <{PAD}> (a, s, z, w, e, v, t, r)",
        f"com.microsoft.QLinearConv <channels_last = 1, {PAD}> (a, s, z, w, e, v, t, r)",
        f"ConvInteger <{PAD}> (a, w, z, v)",
        f"com.microsoft.QLinearAveragePool <kernel_shape = [3, 3], {PAD}{COUNTED}> (a, s, z, t, r)",
    ],
)
def test_a_quantised_cut_shows_small_differences(operator: str) -> None:
    """Whatever the scales, which would hide them, and scales for each channel."""
    last = "last" in operator
    shape = "1, 7, 8, 2" if last else "1, 2, 7, 8"

    def cut_of(value: int, amounts: str) -> tuple[Scene, onnx.ModelProto]:
        pads = f"0, {amounts}, 0, 0, 0, 0, 0" if last else f"0, 0, {amounts}, 0, 0, 0, 0"
        given = f"{LINEAR}, int64[8] p = {{{pads}}}, uint8 c = {{{value}}}"
        inputs = f"uint8[{shape}] x"
        (found,) = cut(
            parsed(f"g ({inputs}) => (y) <{given}> {{ a = Pad (x, p, c) y = {operator} }}")
        )
        return found

    scene, before = cut_of(200, "1, 0")
    assert compare_runs(before, before, scene.shapes).runs == 5
    for value, amounts in ((199, "1, 0"), (201, "1, 0"), (200, "0, 1")):
        assert not compare_runs(before, cut_of(value, amounts)[1], scene.shapes).ok


def test_sizes_begin_with_the_smallest_and_have_every_remainder() -> None:
    scenes = cut(one("a = Pad (x, p) y = Conv (a, w)", inputs=OPEN, initializers=f"{W}, {PADS}"))
    heights = {scene.shapes[0][2] for scene, _ in scenes}
    assert {1, 2, 3, 4} <= heights
    assert max(heights) > 30
    for modulus in (2, 3, 4):
        assert {height % modulus for height in heights} == set(range(modulus))
    assert len({id(model) for _, model in scenes}) == 1 < len(scenes)
    behind = one("b = LpPool <kernel_shape = [4]> (x) y = Relu (b)", inputs="float[1, 2, n] x")
    assert {scene.shapes[0][2] for scene, _ in cut(behind, "b")} >= {1, 32}


@each_row(("body", "inputs", "given", "dims"), rows_below(ROWS, "probed"), at_once=1)
def test_few_sizes_and_bounded_data_are_probed(
    body: str, inputs: str, given: str, dims: str
) -> None:
    proto = one(body, inputs=inputs, initializers=given, opset=18)
    changes = onnxpad.fix(proto, dims=json.loads(dims)).changes
    assert [change.probe.startswith("equal on") for change in changes] == [True]


@each_row(("told", "opset", "inputs", "given", "body"), rows_below(ROWS, "told"), at_once=1)
def test_what_cannot_be_probed_says_why(
    told: str, opset: str, inputs: str, given: str, body: str
) -> None:
    proto = one(body, inputs=inputs, initializers=given, opset=int(opset) or 17)
    if opset == "0":  # of ONNX's own operators
        del proto.opset_import[0]
    graph = Graph.from_proto(proto)
    outcome = Run(graph, Options(), probe=NeighbourhoodProbe(graph)).rewrite()
    found = [change.probe.partition(": ")[0].partition(" on ")[0] for change in outcome.changes]
    assert ", ".join(found) == told


def test_a_change_that_cannot_be_cut_out_is_not_probed() -> None:
    graph = Graph.from_proto(one("y = Add (x, z)", inputs="float[2] x, float[2] z"))
    probe, before = NeighbourhoodProbe(graph), ((Scene(((2,),), {}), onnx.ModelProto()),)
    assert probe.after(graph.tensor("y"), "x", before, specified=False)[0] is None


POOLED = "a = Pad (x, p) y = {}Pool <kernel_shape = [3, 3]> (a)"
WRONG: list[tuple[onnx.ModelProto, type[Pass]]] = [
    (PADDED, Swapped),
    (PADDED, Lost),
    (one(POOLED.format("Average"), initializers=PADS), Forgotten),
    (one(POOLED.format("Max"), initializers=PADS), Unguarded),
    (
        one(  # a window is lost at some sizes
            "a = Pad (x, p, c) y = MaxPool <ceil_mode = 1, kernel_shape = [2], strides = [2]> (a)",
            inputs="float[1, 2, L] x",
            initializers="int64[6] p = {0, 0, 1, 0, 0, 1}, float c = {-inf}",
        ),
        Unguarded,
    ),
    (one('y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)', initializers=W), OtherSide),
    (one('q = Add (p, p) y = Pad <mode = "edge"> (x, q)', initializers=PADS), Misread),
]


@pytest.mark.parametrize(("proto", "broken"), WRONG)
@pytest.mark.parametrize("open_sizes", [False, True])
def test_a_wrong_change_shows_without_the_proof(
    proto: onnx.ModelProto, broken: type[Pass], open_sizes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if open_sizes and broken is not OtherSide:  # that one finds nothing at open sizes
        proto = sized(proto)
        for axis, dim in enumerate(proto.graph.input[0].type.tensor_type.shape.dim):
            dim.dim_param = f"d{axis}"
    monkeypatch.setattr(certificate, "refine", lambda *_: Equal("believed"))
    graph = Graph.from_proto(proto)
    outcome = Run(graph, Options(), probe=NeighbourhoodProbe(graph), passes=(broken,)).rewrite()
    assert not outcome.changes
    assert [each.reason_code for each in outcome.undone] == ["probe-differs"]
    assert graph.model.to_bytes() == proto.SerializeToString()


FEW, NONE = ProbeResult(True, 3, ""), ProbeResult(True, 0, "")
WHY, FAR = ProbeResult(True, 0, "why"), ProbeResult(False, 2, "far")
MENDS, STOPS = ProbeResult(True, 3, "", True), ProbeResult(True, 0, "why", True)


@each_row(
    ("results", "same", "seen", "repaired", "count"),
    [
        ([FEW, FEW], True, "equal on 6 inputs", False, 1),
        ([FEW, WHY], True, "equal on 3 inputs", False, 1),
        ([MENDS], True, "equal on 3 inputs", True, 1),
        ([MENDS, FEW], True, "equal on 6 inputs", False, 1),
        ([STOPS], None, "why", True, 0),
        ([NONE, WHY], None, "why", False, 0),
        ([NONE], None, "not probed", False, 0),
        ([FEW, FAR], False, "far (data 1x3, 2)", False, 0),
        ([], None, "not probed: no scene", False, 0),
    ],
)
@pytest.mark.parametrize("specified", [False, True])
def test_what_a_probe_says_of_its_runs(
    results: list[ProbeResult], same: bool | None, seen: str, repaired: bool, count: int,
    specified: bool, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    graph = Graph.from_proto(one("y = Relu (x)"))
    probe = NeighbourhoodProbe(graph)

    def compared(sides: Sequence[tuple[Scene, object, object]], _: bool) -> Iterator[Any]:
        return ((scene, found) for (scene, *_), found in zip(sides, results, strict=False))

    monkeypatch.setattr(probe, "_compare", compared)
    monkeypatch.setattr(probe, "_cuts", lambda *_: iter([onnx.ModelProto()] * len(results)))
    scenes = tuple(
        (Scene(((1, place + 2), (2,)), {}), onnx.ModelProto()) for place in range(len(results))
    )
    found = probe.after(graph.tensor("y"), ["x"], scenes or "no scene", specified=specified)
    by = ", by onnx's reference evaluator" if specified and same else ""
    assert found == (same, seen + by)
    assert (probe.repaired, probe.count) == ({"y"} if repaired else set(), count)
