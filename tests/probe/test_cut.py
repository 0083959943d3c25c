"""Neighbourhoods: they run, they hold what they must, and they show by themselves what is wrong."""

from collections.abc import Iterator, Sequence
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.probe import cut as cutting
from onnxpad.probe.cut import (
    NeighbourhoodProbe,
    ProbeResult,
    Scene,
    UnprobeableError,
    compare_scenes,
)
from onnxpad.proof import certificate
from onnxpad.proof.term import Equal
from onnxpad.rewrite.pass_api import Pass
from onnxpad.rewrite.run import Run
from tests.broken import Forgotten, Lost, Misread, OtherSide, Swapped, Unguarded
from tests.support import PADS, W, feeds_of, one, run
from tests.support.probes import compare_runs
from tests.support.rows import each_row

PADDED = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}")
OPEN = "float[N, 2, H, V] x"
# (2, 3) in front of and behind axis 2, by a computation that reads the size.
COMPUTED = (
    "s = Shape (x) h = Slice (s, two, three) z = Sub (h, h) b = Add (z, two) e = Add (z, three)"
    " q = Concat <axis = 0> (z, z, b, z, z, z, e, z) a = Pad (x, q)"
)
NUMBERS = "int64[1] two = {2}, int64[1] three = {3}"


def cut(proto: onnx.ModelProto, root: str = "x") -> tuple[tuple[Scene, onnx.ModelProto], ...]:
    graph = Graph.from_proto(proto)
    found = NeighbourhoodProbe(graph).before(graph.tensor("y"), (root,))
    return () if isinstance(found, str) else found


WHOLE = [
    pytest.param(PADDED, id="Pad and Conv"),
    pytest.param(
        one("a = Pad (x, p) y = Conv (a, w)", inputs=OPEN, initializers=f"{W}, {PADS}"),
        id="open sizes",
    ),
    pytest.param(
        one(f"{COMPUTED} y = Conv (a, w)", inputs=OPEN, initializers=f"{W}, {NUMBERS}"),
        id="amounts computed from a size",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", group = 2, strides = [2, 2]> (x, w)',
            inputs="float[2, 4, H, V] x",
            initializers=W.replace("[3, 2,", "[4, 2,").replace("}", ", " + "1, " * 17 + "1}"),
        ),
        id="groups",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) i = Identity (a) y = MaxPool <kernel_shape = [3, 3]> (i)",
            inputs="int8[1, 2, 9, 8] x",
            outputs="int8[] y",
            initializers=f"{PADS}, int8 c = {{-128}}",
        ),
        id="int8",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3]> (a)",
            inputs="float16[1, 2, 9, 8] x",
            outputs="float16[] y",
            initializers=PADS,
        ),
        id="float16",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 2, 0, 0, 2, 1]> (x) y = Conv (a, w)",
            initializers=W,
            opset=9,
            ir=3,
        ),
        id="opset 9",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Pad (a, p)", inputs=OPEN, initializers=PADS), id="Pads alone"
    ),
]


def at(scene: Scene, model: onnx.ModelProto) -> onnx.ModelProto:
    """A cut with the sizes of a scene."""
    sized = onnx.ModelProto()
    sized.CopyFrom(model)
    for value, shape in zip(sized.graph.input, scene.shapes, strict=False):
        for dim, size in zip(value.type.tensor_type.shape.dim, shape, strict=True):
            dim.dim_value = size
    return sized


@pytest.mark.parametrize("proto", WHOLE)
def test_a_cut_runs_and_gives_what_the_whole_has_there(proto: onnx.ModelProto) -> None:
    scenes = cut(proto)
    assert scenes
    window = proto.graph.node[-1].op_type != "Pad"
    for scene, model in scenes:
        sized = onnx.ModelProto()
        sized.CopyFrom(proto)
        dims = sized.graph.input[0].type.tensor_type.shape.dim
        sizes = (1, dims[1].dim_value, *scene.shapes[0][2:]) if window else scene.shapes[0]
        for dim, size in zip(dims, sizes, strict=True):
            dim.dim_value = size
        try:
            (whole,) = run(sized, feeds_of(sized))
        except Exception:  # no window fits data of this size
            with pytest.raises(Exception, match="Invalid input shape"):
                run(model, feeds_of(at(scene, model)))
            continue
        (part,) = run(model, feeds_of(at(scene, model)))
        assert part.dtype == whole.dtype
        assert part.shape[2:] == whole.shape[2:]
        if not window:
            assert part.shape[:2] == whole.shape[:2]


LINEAR = (
    "float s = {0.003}, float[3] e = {0.1, 7, 30}, float t = {900}, uint8 z = {200},"
    " uint8[3] v = {1, 200, 7}, uint8 r = {250},"
    f" uint8[3, 2, 3, 3] w = {{{', '.join(str(i * 53 % 256) for i in range(54))}}}"
)
CLOSE = [
    pytest.param("QLinearConv", "pads = [1, 1, 1, 1]", "(a, s, z, w, e, v, t, r)", id="linear"),
    pytest.param(
        "com.microsoft.QLinearConv",
        "channels_last = 1, pads = [1, 1, 1, 1]",
        "(a, s, z, w, e, v, t, r)",
        id="linear, channels last",
    ),
    pytest.param("ConvInteger", "pads = [1, 1, 1, 1]", "(a, w, z, v)", id="integer"),
    pytest.param(
        "com.microsoft.QLinearAveragePool",
        "kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1",
        "(a, s, z, t, r)",
        id="average",
    ),
]


@pytest.mark.parametrize(("op", "attributes", "inputs"), CLOSE)
@pytest.mark.parametrize("wrong", ["199", "201", "200 elsewhere"])
def test_a_quantised_cut_shows_small_differences(
    op: str, attributes: str, inputs: str, wrong: str
) -> None:
    """Whatever the scales, which would hide them, and scales for each channel."""
    last = "last" in attributes
    shape = "1, 7, 8, 2" if last else "1, 2, 7, 8"

    def cut_of(value: str, amounts: str) -> tuple[Scene, onnx.ModelProto]:
        pads = f"0, {amounts}, 0, 0, 0, 0, 0" if last else f"0, 0, {amounts}, 0, 0, 0, 0"
        proto = one(
            f"a = Pad (x, p, c) y = {op} <{attributes}> {inputs}",
            inputs=f"uint8[{shape}] x",
            outputs=f"{'int32' if op == 'ConvInteger' else 'uint8'}[] y",
            initializers=f"{LINEAR}, int64[8] p = {{{pads}}}, uint8 c = {{{value}}}",
        )
        (found,) = cut(proto)
        return found

    scene, before = cut_of("200", "1, 0")
    assert compare_runs(before, before, scene.shapes).runs == 5
    _, after = cut_of("200", "0, 1") if "elsewhere" in wrong else cut_of(wrong, "1, 0")
    result = compare_runs(before, after, scene.shapes)
    assert not result.ok


def test_channels_and_batch_are_cut_away() -> None:
    proto = one(
        "a = Pad (x, p) y = Conv (a, w)",
        inputs="float[64, 4096, 9, 8] x, float[512, 4096, 3, 3] w",
        initializers=PADS,
    )
    ((scene, model),) = cut(proto)
    assert scene.shapes[0] == (1, 1, 9, 8)
    assert len(model.SerializeToString()) < 2000


def test_sizes_begin_with_the_smallest_and_have_every_remainder() -> None:
    proto = one("a = Pad (x, p) y = Conv (a, w)", inputs=OPEN, initializers=f"{W}, {PADS}")
    heights = {scene.shapes[0][2] for scene, _ in cut(proto)}
    assert {1, 2, 3, 4} <= heights
    assert max(heights) > 30
    for modulus in (2, 3, 4):
        assert {height % modulus for height in heights} == set(range(modulus))


def test_magnified_data_stays_small() -> None:
    """The data of the second convolution has 16 times the size."""
    proto = one(
        "t = ConvTranspose <strides = [16, 16]> (x, v) r = Relu (t) y = ConvTranspose (r, v)",
        inputs="float[N, 2, H, V] x, float[2, 2, 16, 16] v",
    )
    shapes = [scene.shapes[0] for scene, _ in cut(proto, "t")]
    assert {shape[2] for shape in shapes} >= {16, 32, 48, 64}
    assert max(shape[2] for shape in shapes) == 512


@pytest.mark.parametrize("sizes", ["1..2", "1..1", "1..3:2", "3..7:4"])
def test_few_sizes_are_all_that_is_tried(sizes: str) -> None:
    proto = one(
        "a = Pad (x, p) y = Conv (a, w)",
        inputs="float[1, 1, h] x",
        initializers="float[1, 1, 7] w = {1, 2, 3, 4, 5, 6, 7}, int64[6] p = {0, 0, 3, 0, 0, 3}",
    )
    (change,) = onnxpad.fix(proto, dims={"h": sizes}).changes
    assert "equal on" in change.probe


TO_MULTIPLE = (
    "t = Shape <start = 2> (x) n = Neg (t) e = Mod (n, z) o = Concat <axis = 0> (zeros, zeros,"
    " zeros, e) a = Pad (x, o) y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)"
)
REMAINDERS = "int64[1] z = {32}, int64[2] zeros = {0, 0}"


def operators(found: tuple[tuple[Scene, onnx.ModelProto], ...]) -> list[list[str]]:
    return [[node.op_type for node in model.graph.node] for _, model in found]


def test_the_original_computation_of_the_amounts_is_inside() -> None:
    proto = one(
        "i = Cast <to = 7> (m) t = Reshape (i, k) u = Transpose <perm = [1, 0]> (t)"
        " q = Reshape (u, l) a = Pad (x, q) y = Conv (a, w)",
        initializers=f"{W}, int32[8] m = {{0, 0, 0, 0, 1, 2, 2, 1}}, int64[2] k = {{4, 2}},"
        " int64[1] l = {-1}",
    )
    (nodes,) = operators(cut(proto))
    assert nodes == ["Cast", "Reshape", "Transpose", "Reshape", "Pad", "Conv", "Identity"]


def test_sizes_are_asked_of_a_blank_and_the_computation_kept() -> None:
    proto = one(f"{COMPUTED} y = Conv (a, w)", inputs=OPEN, initializers=f"{W}, {NUMBERS}")
    for nodes in operators(cut(proto)):
        assert nodes[:2] == ["ConstantOfShape", "Shape"]
        assert nodes[2:] == ["Slice", "Sub", "Add", "Add", "Concat", "Pad", "Conv", "Identity"]


def test_data_that_cannot_be_negative_is_not_given_negative() -> None:
    proto = one(
        "r = Relu (x) a = Pad (r, p) y = MaxPool <kernel_shape = [3, 3]> (a)", initializers=PADS
    )
    assert operators(cut(proto, "r")) == [["Relu", "Pad", "MaxPool", "Identity"]]
    (change,) = onnxpad.fix(proto).changes
    assert change.probe.startswith("equal on")


@pytest.mark.parametrize(
    ("kind", "first", "inside"),
    [
        ("float", "s = Clip (x, c)", ["Relu", "Add"]),
    ],
)
def test_data_that_cannot_be_below_a_bound_is_not_given_so(
    kind: str, first: str, inside: list[str]
) -> None:
    proto = one(
        f"{first} a = Pad (s, p, c) y = MaxPool <kernel_shape = [3, 3]> (a)",
        inputs=f"{kind}[1, 2, 9, 8] x",
        outputs=f"{kind}[] y",
        initializers=f"{PADS}, {kind} c = {{3}}",
    )
    assert operators(cut(proto, "s")) == [[*inside, "Pad", "MaxPool", "Identity"]]
    (change,) = onnxpad.fix(proto).changes
    assert change.probe.startswith("equal on")


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[ProbeResult]:
    """The result of every pair that was run."""
    results: list[ProbeResult] = []
    original = compare_scenes

    def counting(*sides: Any, specified: bool) -> list[ProbeResult]:
        results.extend(found := original(*sides, specified=specified))
        return found

    monkeypatch.setattr(cutting, "compare_scenes", counting)
    return results


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many sizes each request runs."""
    numbers: list[int] = []
    original = compare_scenes

    def counting(before: Any, after: Any, scenes: Any, **others: Any) -> list[ProbeResult]:
        numbers.append(len(scenes))
        return original(before, after, scenes, **others)

    monkeypatch.setattr(cutting, "compare_scenes", counting)
    return numbers


def test_all_sizes_of_one_change_run_in_one_request(asked: list[int]) -> None:
    pads = "a = Pad (x, p) y = Conv <strides = [2, 2]> (a, w)"
    (change,) = onnxpad.fix(one(pads, inputs=OPEN, initializers=f"{W}, {PADS}")).changes
    (scenes,) = asked
    assert scenes > 5
    assert change.probe == f"equal on {5 * scenes} inputs"


def test_what_runs_in_one_request_is_bounded(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pads = one("a = Pad (x, p) y = Conv <strides = [2, 2]> (a, w)", inputs=OPEN,
               initializers=f"{W}, {PADS}")  # fmt: skip
    (change,) = onnxpad.fix(pads).changes
    (whole,) = asked
    asked.clear()
    monkeypatch.setattr(cutting, "_LARGE", 60)
    (bounded,) = onnxpad.fix(pads).changes
    assert len(asked) > 1
    assert bounded.probe != change.probe  # data of more than so many elements is not drawn
    assert sum(asked) < whole


def test_a_cut_that_holds_a_size_is_made_for_each_scene() -> None:
    scenes = cut(one(TO_MULTIPLE, inputs=OPEN, initializers=REMAINDERS))
    assert len({model.SerializeToString() for _, model in scenes}) == len(scenes) > 5
    plain = "a = Pad (x, p) y = Conv (a, w)"
    scenes = cut(one(plain, inputs=OPEN, initializers=f"{W}, {PADS}"))
    assert len({id(model) for _, model in scenes}) == 1 < len(scenes)


def test_equal_neighbourhoods_run_once(probed: list[ProbeResult]) -> None:
    names = [f"y{i}" for i in range(5)]
    proto = one(
        " ".join(f"a{i} = Pad (x, p) {name} = Conv (a{i}, w)" for i, name in enumerate(names)),
        outputs=", ".join(f"float[] {name}" for name in names),
        initializers=f"{W}, {PADS}",
    )
    result = onnxpad.fix(proto)
    assert len(result.changes) == 5
    assert len(probed) == 1
    assert {change.probe for change in result.changes} == {f"equal on {probed[0].runs} inputs"}
    assert result.validation is not None
    assert result.validation.probes == 5


def test_neighbourhoods_that_differ_run_each(probed: list[ProbeResult]) -> None:
    proto = one(
        "a = Pad (x, p) y = Conv (a, w) b = Pad (x, p) z = Conv <strides = [2, 2]> (b, w)",
        outputs="float[] y, float[] z",
        initializers=f"{W}, {PADS}",
    )
    assert len(onnxpad.fix(proto).changes) == len(probed) == 2


NOT_PROBED = [
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            inputs="float[1, 2, 4096, 4096] x",
            initializers=f"{W}, {PADS}",
        ),
        "not probed: no small size of 'x' could be chosen",
        id="huge data",
    ),
    pytest.param(
        one(
            "r = Reshape (x, t) a = Pad (r, p, , s) y = Relu (a)",
            inputs="float[1, 2, 9, 8] x, int64[K] t",
            initializers="int64[4] p = {0, 0, 0, 0}, int64[2] s = {-1, -2}",
            opset=18,
        ),
        "not probed: the number of axes of 'r' is unknown",
        id="data of unknown rank",
    ),
]


@each_row(("proto", "why"), NOT_PROBED)
def test_what_cannot_be_probed_says_why(
    proto: onnx.ModelProto, why: str, probed: list[ProbeResult]
) -> None:
    graph = Graph.from_proto(proto)
    outcome = Run(graph, Options(), probe=NeighbourhoodProbe(graph)).rewrite()
    assert [change.probe for change in outcome.changes] == [why]
    assert not probed


WRONG: list[Any] = [
    pytest.param(PADDED, Swapped, id="sides swapped"),
    pytest.param(PADDED, Lost, id="padding lost"),
    pytest.param(
        one("a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3]> (a)", initializers=PADS),
        Forgotten,
        id="divisor forgotten",
    ),
    pytest.param(
        one("a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)", initializers=PADS),
        Unguarded,
        id="0 taken for what never wins",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <ceil_mode = 1, kernel_shape = [2], strides = [2]> (a)",
            inputs="float[1, 2, L] x",
            initializers="int64[6] p = {0, 0, 1, 0, 0, 1}, float c = {-inf}",
        ),
        Unguarded,
        id="a window lost at some sizes",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)', initializers=W),
        OtherSide,
        id="SAME on the other side",
    ),
    pytest.param(
        one('q = Add (p, p) y = Pad <mode = "edge"> (x, q)', initializers=PADS),
        Misread,
        id="amounts misread",
    ),
]


def opened(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every size of its input left open."""
    other = onnx.ModelProto()
    other.CopyFrom(proto)
    for axis, dim in enumerate(other.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_param = f"d{axis}"
    return other


@pytest.mark.parametrize(("proto", "broken"), WRONG)
@pytest.mark.parametrize("open_sizes", [False, True])
def test_a_wrong_change_shows_without_the_proof(
    proto: onnx.ModelProto,
    broken: type[Pass],
    open_sizes: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if open_sizes and broken is not OtherSide:  # that one finds nothing at open sizes
        proto = opened(proto)
    monkeypatch.setattr(certificate, "refine", lambda *_: Equal("believed"))
    graph = Graph.from_proto(proto)
    outcome = Run(graph, Options(), probe=NeighbourhoodProbe(graph), passes=(broken,)).rewrite()
    assert not outcome.changes
    assert [f.reason.startswith("undone: its probe differs: ") for f in outcome.undone] == [True]
    assert graph.model.to_bytes() == proto.SerializeToString()


def ran(runs: int, detail: str = "", *, ok: bool = True, repairs: bool = False) -> ProbeResult:
    return ProbeResult(ok, runs, detail, repairs)


@pytest.mark.parametrize(
    ("results", "same", "seen", "repaired", "count"),
    [
        ([ran(3)], True, "equal on 3 inputs", False, 1),
        ([ran(3), ran(4)], True, "equal on 7 inputs", False, 1),
        ([ran(3), ran(0, "why")], True, "equal on 3 inputs", False, 1),
        ([ran(3, repairs=True)], True, "equal on 3 inputs", True, 1),
        ([ran(3, repairs=True), ran(3)], True, "equal on 6 inputs", False, 1),
        ([ran(0, "why", repairs=True)], None, "why", True, 0),
        ([ran(0), ran(0, "why"), ran(0, "late")], None, "why", False, 0),
        ([ran(0)], None, "not probed", False, 0),
        ([ran(3), ran(2, "far", ok=False)], False, "far (data 1x3, 2)", False, 0),
        ([], None, "not probed: no scene", False, 0),
        ([UnprobeableError("open")], None, "not probed: open", False, 0),
    ],
)
@pytest.mark.parametrize("specified", [False, True])
def test_what_a_probe_says_of_its_runs(
    results: list[Any], same: bool | None, seen: str, repaired: bool, count: int, specified: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    graph = Graph.from_proto(one("y = Relu (x)"))
    probe = NeighbourhoodProbe(graph)
    asked: list[bool] = []

    def cuts(tensor: object, roots: object, scenes: Sequence[Scene]) -> Iterator[onnx.ModelProto]:
        if results and isinstance(results[0], UnprobeableError):
            raise results[0]
        return iter([onnx.ModelProto()] * len(scenes))

    def compared(
        sides: Sequence[tuple[Scene, object, object]], specified: bool
    ) -> Iterator[tuple[Scene, ProbeResult]]:
        for (scene, _, _), result in zip(sides, results, strict=False):
            asked.append(specified)
            yield scene, result

    monkeypatch.setattr(probe, "_compare", compared)
    monkeypatch.setattr(probe, "_cuts", cuts)
    scenes = tuple(
        (Scene(((1, place + 2), (2,)), {}), onnx.ModelProto()) for place in range(len(results))
    )
    near = scenes or "no scene"
    found = probe.after(graph.tensor("y"), ["x"], near, specified=specified)
    by = ", by onnx's reference evaluator" if specified and same else ""
    assert found == (same, seen + by)
    assert probe.repaired == ({"y"} if repaired else set())
    ran_of = [each for each in results if isinstance(each, ProbeResult)]
    assert (probe.count, asked) == (count, [specified] * len(ran_of))
