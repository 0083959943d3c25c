"""The proof's own reading of operators, held against onnxruntime, and what it refuses to read."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.size import evaluate, symbol
from onnxpad.errors import ModelError
from onnxpad.graph import Graph
from onnxpad.operators.read import UnreadableError, integers_of
from onnxpad.operators.table import OPERATORS
from onnxpad.options import Options
from onnxpad.pipeline.run import Run
from onnxpad.proof.certify import Certifier, UncertifiedError
from onnxpad.proof.layers import EXCLUDED, LEAST
from onnxpad.proof.meaning import SLIDING, MeaninglessError, meaning_of, padding_of, whole
from onnxpad.proof.scattering import SCATTERING
from onnxpad.proof.windows_by_engine import onnxruntime, specification
from onnxpad.runtimes.onnxruntime.departures import DEPARTURES
from tests.operators.test_table import SCHEMAS
from tests.support import BORDER, W, one, run
from tests.support.rows import each_row

LENGTH = 12


def sums(op: str, attributes: str, kernel: int, opset: int) -> onnx.ModelProto:
    """A window over a line that adds up what it reads."""
    body = f"y = Conv <{attributes}> (x, w)"
    weight = f"float[1, 1, {kernel}] w = {{{', '.join(['1'] * kernel)}}}"
    if op == "LpPool":
        body, weight = f"y = LpPool <{attributes}, kernel_shape = [{kernel}], p = 1> (x)", ""
    return one(body, inputs="float[1, 1, L] x", initializers=weight, opset=opset)


def answers(model: onnx.ModelProto, shape: tuple[int, ...]) -> bool:
    """Whether onnxruntime runs a model on data of a shape."""
    try:
        run(model, {"x": np.ones(shape, np.float32)})
    except Exception:  # whatever onnxruntime raises
        return False
    return True


def cases() -> list[tuple[str, str, int, int]]:
    """Windows of many kinds: operator, attributes, kernel, opset."""
    draw = np.random.default_rng(7)
    found = [
        ("LpPool", f'strides = [{stride}], auto_pad = "SAME_{odd}"', kernel, 18)
        for stride, kernel in ((1, 3), (1, 4), (2, 4))
        for odd in ("UPPER", "LOWER")
    ]
    for _ in range(90):
        op = str(draw.choice(["Conv", "LpPool"]))
        kernel, stride, dilation = (int(draw.integers(1, top)) for top in (5, 6, 3))
        given = [f"strides = [{stride}], dilations = [{dilation}]"]
        kind = draw.choice(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
        if kind != "NOTSET":
            given.append(f'auto_pad = "{kind}"')
        else:
            most = kernel if op == "LpPool" else 5
            given.append(f"pads = [{draw.integers(0, most)}, {draw.integers(0, most)}]")
        if op == "LpPool" and (kind in {"NOTSET", "VALID"} or dilation == 1):
            given.append(f"ceil_mode = {draw.integers(0, 2)}")
        found.append((op, ", ".join(given), kernel, 18))
    return found


@each_row(("op", "attributes", "kernel", "opset"), cases(), at_once=8)
def test_windows_are_where_onnxruntime_has_them(
    op: str, attributes: str, kernel: int, opset: int
) -> None:
    model = sums(op, attributes, kernel, opset)
    graph = Graph.from_proto(model)
    (node,) = graph.nodes
    slide = meaning_of(graph, Analysis(graph), node)
    placed = onnxruntime(slide, 0, symbol("L"), onnx.TensorProto.FLOAT)
    window = slide.axes[0]
    for size in range(1, LENGTH + 1):
        line = 2.0 ** np.arange(size, dtype=np.float32)
        try:
            (found,) = run(model, {"x": line.reshape(1, 1, size)})
        except Exception:
            found = None
        runs = placed is not None and evaluate(placed.runs, {"L": size})
        count = evaluate(placed.windows, {"L": size}) if placed is not None and runs else 0
        if found is None or found.shape[2] == 0:
            assert not runs or count < 1
            continue
        assert placed is not None
        assert runs
        start = -evaluate(placed.begin, {"L": size})
        taps = (np.arange(kernel) * window.dilation)[:, None] + start
        read = taps + np.arange(count)[None, :] * window.stride
        inside = (read >= 0) & (read < size)
        expected = np.where(inside, 2.0 ** np.where(inside, read, 0), 0).sum(axis=0)
        assert found.shape[2] == count, (size, found.tolist())
        assert found[0, 0].tolist() == expected.tolist(), size


CONSTANTS = (
    "float s = {1}, float t = {0.25}, uint8 z = {9}, uint8 r = {128}, int8 i = {-9}, int8 j = {0}"
)
KIN = {
    "ConvInteger": ("(x, w, z)", "uint8"),
    "QLinearConv": ("(x, s, i, w, s, j, s, j)", "int8"),
    "com.microsoft.QLinearConv": ("(x, s, z, w, s, v, s, r)", "uint8"),
    "com.microsoft.QLinearConv, last": ("(x, s, i, w, s, j, s, j)", "int8"),
    "com.microsoft.FusedConv": ("(x, w)", "float"),
    "com.microsoft.NhwcMaxPool": ("(x)", "int8"),
    "com.microsoft.QLinearAveragePool": ("(x, s, z, t, r)", "uint8"),
    "com.microsoft.QLinearAveragePool, last": ("(x, s, i, t, j)", "int8"),
}
"""Quantised and fused operators with a window: their inputs, and the type of their data."""


def kin(op: str, attributes: str, kernel: int) -> onnx.ModelProto:
    """A window over any number of lines."""
    given, kind = KIN[op]
    name, _, last = op.partition(", ")
    if last and name != "com.microsoft.NhwcMaxPool":
        attributes += ", channels_last = 1"
    is_last = bool(last) or name == "com.microsoft.NhwcMaxPool"
    ones = f"{kind}[1, 1, {kernel}] w = {{{', '.join(['1'] * kernel)}}}"
    return one(
        f"y = {name} <kernel_shape = [{kernel}], {attributes}> {given}",
        inputs=f"{kind}[N, L, 1] x" if is_last else f"{kind}[N, 1, L] x",
        outputs=f"{'int32' if name == 'ConvInteger' else kind}[] y",
        initializers=f"{CONSTANTS}, uint8 v = {{0}}, {ones}",
    )


def kin_cases() -> list[tuple[str, str, int]]:
    """Windows of quantised and fused operators: operator, attributes, kernel."""
    draw = np.random.default_rng(11)
    found = []
    for place in range(120):
        op = list(KIN)[place % len(KIN)]
        pools = "Pool" in op
        kernel, stride, dilation = (int(draw.integers(1, top)) for top in (5, 6, 3))
        given = [f"strides = [{stride}]"]
        kind = draw.choice(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
        if "Average" not in op:
            given.append(f"dilations = [{dilation}]")
        else:
            given.append(f"count_include_pad = {draw.integers(0, 2)}")
        if kind != "NOTSET":
            given.append(f'auto_pad = "{kind}"')
        if kind == "NOTSET" or draw.integers(0, 4) == 0:
            most = kernel + 1 if pools else 5
            given.append(f"pads = [{draw.integers(0, most)}, {draw.integers(0, most)}]")
        if pools and (not kind.startswith("SAME") or dilation == 1):
            given.append(f"ceil_mode = {draw.integers(0, 2)}")
        found.append((op, ", ".join(given), kernel))
    return found


def positions(model: onnx.ModelProto, size: int, zero: int) -> np.ndarray[Any, Any] | None:
    """Whether each window reads each position of a line; None where onnxruntime stops.

    Each line of the batch has one element above the others, and the last one has none.
    """
    tensor = model.graph.input[0].type.tensor_type
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    lines = np.full((size + 1, size), zero, kind)
    lines[np.arange(size), np.arange(size)] += kind.type(100)
    is_last = tensor.shape.dim[1].dim_param == "L"
    try:
        (found,) = run(model, {"x": lines[:, :, None] if is_last else lines[:, None, :]})
    except Exception:  # whatever onnxruntime raises
        return None
    found = found.reshape(size + 1, -1)
    read: np.ndarray[Any, Any] = found[:-1] != found[-1]
    return read


@each_row(("op", "attributes", "kernel"), kin_cases(), at_once=4)
def test_windows_of_quantised_and_fused_operators(op: str, attributes: str, kernel: int) -> None:
    model = kin(op, attributes, kernel)
    graph = Graph.from_proto(model)
    (node,) = graph.nodes
    slide = meaning_of(graph, Analysis(graph), node)
    placed = onnxruntime(slide, 0, symbol("L"), None)
    zero = {"uint8": 9, "int8": -9, "float": 0}[KIN[op][1]]
    if slide.own not in {"least", "excluded"}:
        assert slide.own == zero
    window = slide.axes[0]
    for size in range(1, LENGTH + 1):
        runs = placed is not None and evaluate(placed.runs, {"L": size})
        count = evaluate(placed.windows, {"L": size}) if placed is not None and runs else 0
        if count == 0 and "Average" in op:
            continue  # with the channels last, the process dies of SIGFPE
        found = positions(model, size, -128 if slide.compares else zero)
        if found is None or found.shape[1] == 0:
            assert not runs or count < 1
            continue
        assert placed is not None
        assert runs
        start = -evaluate(placed.begin, {"L": size})
        taps = (np.arange(kernel) * window.dilation)[:, None] + start
        read = taps + np.arange(count)[None, :] * window.stride
        expected = (read[None] == np.arange(size)[:, None, None]).any(axis=1)
        assert found.tolist() == expected.tolist(), size


@pytest.mark.parametrize("ceil", [0, 1])
def test_a_quantised_average_that_counts_divides_by_its_whole_kernel(ceil: int) -> None:
    """Even past its padding, where the specification would not count."""
    said = f"strides = [2], pads = [1, 1], count_include_pad = 1, ceil_mode = {ceil}"
    model = kin("com.microsoft.QLinearAveragePool", said, 3)
    line = np.array([9, 9, 9, 9, 9, 9 + 6], np.uint8).reshape(1, 1, 6)
    (found,) = run(model, {"x": line})
    assert found.ravel().tolist() == [128, 128, 136, 136][: 3 + ceil]


def test_engines_differ_where_they_are_known_to() -> None:
    graph = Graph.from_proto(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [4]> (x, w)',
            inputs="float[1, 1, 4] x",
            initializers="float[1, 1, 1] w = {1}",
        )
    )
    (node,) = graph.nodes
    slide = meaning_of(graph, Analysis(graph), node)
    assert specification(slide, 0, 4, None).begin == 0
    found = onnxruntime(slide, 0, 4, None)
    assert found is not None
    assert found.begin == -1


def test_every_row_of_the_passes_is_written_a_second_time() -> None:
    scatter = {key for key, row in OPERATORS.items() if row.scatters}
    assert ({*OPERATORS} - scatter, scatter) == ({*SLIDING}, {*SCATTERING})


def kind(of: object) -> str:
    """The type of an attribute, of onnx or of onnxruntime."""
    return str(of).rpartition(".")[2]


@each_row(
    "key",
    SLIDING,
)
def test_a_row_is_as_its_schema_says(key: tuple[str, str]) -> None:
    row, schema = SLIDING[key], SCHEMAS[key][-1]
    place = {each.name.lower(): index for index, each in enumerate(schema.inputs)}
    assert row.weight == place.get("w")
    assert row.zero_point == place.get("x_zero_point")
    is_last = None if "channels_last" in schema.attributes else key[1].startswith("Nhwc")
    assert row.last == is_last
    pools = "Pool" in key[1]
    assert row.rounding == ("pool" if pools else "floor")
    counts = "count_include_pad" in schema.attributes
    assert row.own == (EXCLUDED if counts else LEAST if "MaxPool" in key[1] else 0)
    assert row.rounds_whole_apart == (counts and row.zero_point is not None)
    if key[0]:  # of onnx itself, the schema is asked
        assert row.versions == {schema.since_version}
        assert row.schema is not None
        assert row.schema.inputs == schema.max_input
        assert {name: kind(each) for name, each in row.schema.attributes.items()} == {
            name: kind(each.type) for name, each in schema.attributes.items()
        }


def unknown() -> onnx.ModelProto:
    """A `Pad` before an operator that no table has."""
    model = one(
        "a = Pad (x, p) y = mine.Unknown (a, w)",
        initializers=f"{W}, int64[8] p = {{0, 0, 1, 2, 0, 0, 2, 1}}",
    )
    model.opset_import.append(onnx.helper.make_opsetid("mine", 1))
    return model


def test_a_row_of_the_passes_alone_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(OPERATORS["", "Conv"], op_type="Unknown", domain="mine")
    monkeypatch.setitem(OPERATORS, row.key, row)
    monkeypatch.setitem(DEPARTURES, row.key, DEPARTURES["", "Conv"])
    model = unknown()
    graph = Graph.from_proto(model)
    outcome = Run(graph, Options()).rewrite()
    assert outcome.changes == []
    assert [undone.code for undone in outcome.undone] == ["PAD201"]
    assert graph.model.to_bytes() == model.SerializeToString()


UNREAD = [
    pytest.param("y = MaxPool <kernel_shape = [3], pads = [-1, 0]> (x)", "bounds", id="negative"),
    pytest.param("y = MaxPool (x)", "kernel_shape", id="no kernel"),
    pytest.param('y = MaxPool <auto_pad = "SAME", kernel_shape = [3]> (x)', "SAME", id="auto_pad"),
    pytest.param("y = MaxPool <kernel_shape = [3], sorted = 1> (x)", "sorted", id="attribute"),
    pytest.param("y = MaxPool <kernel_shape = [3.0]> (x)", "another type", id="floats"),
    pytest.param("y = MaxPool <kernel_shape = [3], strides = [0]> (x)", "bounds", id="stride 0"),
    pytest.param("y = MaxPool <kernel_shape = [3], pads = [1]> (x)", "values", id="one pad"),
]


@each_row(("body", "told"), UNREAD)
def test_what_the_specification_forbids_has_no_meaning(body: str, told: str) -> None:
    graph = Graph.from_proto(one(body, inputs="float[1, 1, L] x"))
    with pytest.raises(UncertifiedError, match=told):
        Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph))).window(graph.tensor("y"))


def test_an_operator_of_a_domain_that_is_not_imported_has_no_meaning() -> None:
    """It has no version; onnxruntime runs it all the same."""
    body = "y = com.microsoft.FusedConv (x, w)"
    model = one(body, inputs="float[1, 1, L] x, float[1, 1, 3] w")
    kept = [each for each in model.opset_import if each.domain != "com.microsoft"]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    graph = Graph.from_proto(model)
    with pytest.raises(UncertifiedError):
        Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph))).window(graph.tensor("y"))


def test_an_operator_newer_than_the_table_has_no_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_proto(one("y = MaxPool <kernel_shape = [3]> (x)", inputs="float[1, 1, L] x"))
    row = replace(SLIDING["", "MaxPool"], versions=frozenset({1, 8, 10, 11}))
    monkeypatch.setitem(SLIDING, ("", "MaxPool"), row)
    with pytest.raises(UncertifiedError, match="newer"):
        Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph))).window(graph.tensor("y"))


@pytest.mark.parametrize("value", ["1", "1.0"])
def test_equal_numbers_of_two_types_are_two(value: str) -> None:
    graph = Graph.from_proto(
        one(
            f"y = MaxPool <ceil_mode = {value}, kernel_shape = [3]> (x)",
            inputs="float[1, 1, L] x",
        )
    )
    certifier = Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph)))
    if value == "1":
        certifier.window(graph.tensor("y"))
        return
    with pytest.raises(UncertifiedError, match="ceil_mode"):
        certifier.window(graph.tensor("y"))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "AveragePool, counted"])
@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("opset", [11, 19])
def test_a_same_below_zero_stops_where_onnxruntime_stops(op: str, ceil: int, opset: int) -> None:
    attributes = f'auto_pad = "SAME_UPPER", ceil_mode = {ceil}, kernel_shape = [1], strides = [2]'
    op, _, counted = op.partition(", ")
    attributes += ", count_include_pad = 1" if counted else ""
    model = one(f"y = {op} <{attributes}> (x)", inputs="float[1, 1, L] x", opset=opset)
    graph = Graph.from_proto(model)
    (node,) = graph.nodes
    slide = meaning_of(graph, Analysis(graph), node)
    placed = onnxruntime(slide, 0, symbol("L"), onnx.TensorProto.FLOAT)
    assert placed is not None
    for size in range(1, 9):
        runs = bool(evaluate(placed.runs, {"L": size}))
        assert runs == answers(model, (1, 1, size)), size


SPATIAL = "int64[4] q = {1, 2, 0, 3}"
DAMAGED = [
    pytest.param(17, "(x, t)", "int64[2, 4] t = {0, 0, 1, 2, 0, 0, 0, 3}", "list", id="amounts"),
    pytest.param(17, "(x, p, v)", "double v = {0}", "another type", id="a double fill"),
    pytest.param(17, "(x, p, v)", "int64 v = {0}", "another type", id="an int64 fill"),
    pytest.param(18, "(x, q, , s)", "int16[2] s = {2, 3}", "type", id="axes of int16"),
]


@pytest.mark.parametrize(("opset", "inputs", "initializer", "told"), DAMAGED)
def test_a_pad_that_onnxruntime_refuses_has_no_meaning(
    opset: int, inputs: str, initializer: str, told: str
) -> None:
    model = one(
        f"a = Pad {inputs} y = Conv (a, w)",
        initializers=f"{W}, {BORDER}, {SPATIAL}, {initializer}",
        opset=opset,
    )
    assert not answers(model, (1, 2, 9, 8))
    graph = Graph.from_proto(model)
    with pytest.raises(UncertifiedError, match=told):
        Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph))).window(graph.tensor("y"))


def test_a_pad_that_contradicts_its_schema_is_read_as_it_is() -> None:
    """Axes came with opset 18; what such a `Pad` does to its data is nobody's to say."""
    model = one(
        "a = Pad (x, q, , s) y = Conv (a, w)",
        initializers=f"{W}, {BORDER}, {SPATIAL}, int64[2] s = {{2, 3}}",
        opset=13,
    )
    assert not answers(model, (1, 2, 9, 8))
    graph = Graph.from_proto(model)
    certifier = Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph)))
    found = certifier.window(graph.tensor("y"))
    assert (found.root, found.layers) == ("a", ())
    assert not onnxpad.fix(model, validate=False).changed


@pytest.mark.parametrize("name", ["kernel_shape", "strides", "dilations", "pads"])
def test_no_list_becomes_empty(name: str) -> None:
    before = one("y = Conv (x, w)", initializers=W)
    after = onnx.ModelProto()
    after.CopyFrom(before)
    after.graph.node[0].attribute.append(
        onnx.helper.make_attribute(name, [], attr_type=onnx.AttributeProto.INTS)
    )
    old, new = Graph.from_proto(before), Graph.from_proto(after)
    certifier = Certifier(old, Analysis(old), Signs(old, Analysis(old)))
    read = certifier.window(old.tensor("y"))
    other = Certifier(new, Analysis(new), Signs(new, Analysis(new))).window(new.tensor("y"))
    with pytest.raises(UncertifiedError):
        certifier.certify(read, other)
    certifier.certify(other, read)


@pytest.mark.parametrize(
    ("opset", "inputs", "most"),
    [(10, "(x, p)", 1), (17, "(x, p, , s)", 3), (18, "(x, p, , , s)", 4)],
)
def test_a_pad_has_no_more_inputs_than_its_schema(opset: int, inputs: str, most: int) -> None:
    given, attributes = f"{BORDER}, int64[4] s = {{0, 1, 2, 3}}", ""
    if opset < 11:
        attributes = "<pads = [0, 0, 1, 1, 0, 0, 1, 1]>"
    graph = Graph.from_proto(one(f"y = Pad {attributes} {inputs}", initializers=given, opset=opset))
    (node,) = graph.nodes
    with pytest.raises(MeaninglessError):
        padding_of(graph, Analysis(graph), node)


MOST = 2**31 - 1


@each_row(
    ("value", "name", "count", "least", "wanted"),
    [
        (None, "strides", 2, 1, None),
        ([], "strides", 2, 1, None),  # the default
        ([], "strides", None, 1, None),
        ([], "pads", 4, 0, None),
        ([], "pads", None, -MOST, ()),
        ([1], "strides", 1, 1, (1,)),
        ([0], "strides", 1, 1, "below"),
        ([0], "strides", 1, 0, (0,)),
        ([2, 0], "strides", 2, 1, "below"),
        ([1, 2], "strides", None, 1, (1, 2)),
        ([1, 2], "strides", 1, 1, "count"),
        ([1, 2], "strides", 3, 1, "count"),
        ([1, 2, 3, 4], "pads", 4, 0, (1, 2, 3, 4)),
        ([1, -2, 3, 4], "pads", 4, 0, "below"),
        ([1, -2, 3, 4], "pads", None, -MOST, (1, -2, 3, 4)),
        ([MOST, 1], "strides", 2, 1, (MOST, 1)),
        ([1, MOST + 1], "strides", 2, 1, "beyond"),
        ([-MOST], "pads", 1, -MOST, (-MOST,)),
        ([1.0], "strides", 1, 1, "list"),
        ([1, 2.0], "strides", 2, 1, "list"),
        (1, "strides", 1, 1, "list"),
        ("1", "strides", 1, 1, "list"),
    ],
)
def test_lists_of_integers_are_read_alike_by_the_rewrite_and_by_the_proof(
    value: Any, name: str, count: int | None, least: int, wanted: tuple[int, ...] | str | None
) -> None:
    attributes = {} if value is None else {name: value}
    node: Any = SimpleNamespace(op="Conv", label="n", name="n", attrs=attributes)
    frozen = {key: tuple(each) if type(each) is list else each for key, each in attributes.items()}
    bound = least if least >= 0 else None
    if not isinstance(wanted, str):
        assert integers_of(node, name, count, bound) == wanted
        assert whole(frozen, name, count, least) == wanted
        return
    kind = UnreadableError if wanted == "beyond" else ModelError
    with pytest.raises(kind) as caught:
        integers_of(node, name, count, bound)
    said = {"below": f"must not be below {least}", "count": f"but needs {count}"}
    said |= {"beyond": f"are beyond {MOST}", "list": f"{name} must be a list of integers"}
    assert said[wanted] in str(caught.value)
    with pytest.raises(MeaninglessError) as refused:
        whole(frozen, name, count, least)
    said = {"below": "out of bounds", "beyond": "out of bounds", "count": f"instead of {count}"}
    assert said.get(wanted, "is not a list of integers") in str(refused.value)
