"""Sizes that are given: what they fix, what they limit, what they contradict, and what is said."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.arithmetic.size import NMAX, Sizes, evaluate
from onnxpad.errors import UsageError
from onnxpad.facts import LARGEST_SIZE, Analysis
from onnxpad.facts.recorded import given_domain, shape_of, sizes_of
from onnxpad.file.skeleton import scan
from onnxpad.finding import Assumption
from onnxpad.graph import Graph
from onnxpad.probe.cut import NeighbourhoodProbe
from tests.support import feeds_of, one, onnxpad_runs, run
from tests.support.rows import each_row

W = "float[1, 2, 3, 3] w = {" + ", ".join(str(i % 7 - 3) for i in range(18)) + "}"
SAME = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
OPEN = one(SAME, inputs="float[N, 2, height, width] x", initializers=W)
# The amounts are those of SAME for the size of the other input.
BORROWED = one(
    "s = Shape <start = 2> (z) n = Neg (s) m = Mod (n, two) t = Add (m, one) b = Div (t, two)"
    " e = Sub (t, b) q = Concat <axis = 0> (none, b, none, e) p = Pad (x, q)"
    " y = Conv <strides = [2, 2]> (p, w)",
    inputs="float[1, 2, height, width] x, float[1, 1, height, width] z",
    initializers=f"{W}, int64 two = {{2}}, int64 one = {{1}}, int64[2] none = {{0, 0}}",
)


def declared(model: onnx.ModelProto) -> list[list[int | str]]:
    return [
        [
            d.dim_value if d.HasField("dim_value") else d.dim_param
            for d in i.type.tensor_type.shape.dim
        ]
        for i in model.graph.input
    ]


# What is fixed


@pytest.mark.parametrize(
    ("shapes", "dims", "inputs"),
    [
        ({"x": (1, 2, 9, 8)}, {}, [[1, 2, 9, 8]]),
        ({"": "1,2,9,8"}, {}, [[1, 2, 9, 8]]),
        ({"x": " ?, 2 ,9,-1"}, {}, [["N", 2, 9, "width"]]),
        ({"x": ",,9,"}, {"width": 8}, [["N", 2, 9, 8]]),
        ({}, {"height": 9, "width": "8"}, [["N", 2, 9, 8]]),
        ({"x": (None, 2, np.int64(9), None)}, {"height": 9, "width": "8..8"}, [["N", 2, 9, 8]]),
        ({}, {"height": 9, "width": "5..11:8"}, [["N", 2, 9, 8]]),
    ],
)
def test_a_fixed_size_is_declared(
    shapes: Mapping[str, str], dims: Mapping[str, str], inputs: list[list[int | str]]
) -> None:
    result = onnxpad.fix(OPEN, shapes=shapes, dims=dims)
    assert declared(result.model) == inputs
    assert result.declared == {"x": tuple(inputs[0])}
    assert result.validation is not None
    assert result.validation.ok
    if 8 not in inputs[0]:
        assert [f.code for f in result.findings] == ["PAD101"]
        return
    assert [c.code for c in result.changes] == ["PAD101"]
    assert result.changes[0].certificate.sizes == "size 9x8"
    feeds = feeds_of(result.model)
    np.testing.assert_array_equal(run(OPEN, feeds)[0], run(result.model, feeds)[0])
    again = onnxpad.fix(result.model, shapes=shapes, validate=False)
    assert not again.changed
    assert not again.declared


@pytest.mark.parametrize("text", ["1x2x9x?", "1 X 2 X 9 X ?", "1x2x9x-1", "1,2,9,?", "1,2,9,"])
def test_sizes_are_taken_as_they_are_printed(text: str) -> None:
    for shapes in ({"x": text}, text, f"x={text}"):
        assert onnxpad.fix(OPEN, shapes=shapes, validate=False).declared["x"][:3] == (1, 2, 9)


def test_a_shape_gives_an_input_axes() -> None:
    proto = one(SAME, inputs="float[N, 2, height, width] x", initializers=W)
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(proto, shapes={"x": "?,2,9,8"})
    assert declared(result.model) == [["", 2, 9, 8]]
    assert [c.certificate.sizes for c in result.changes] == ["size 9x8"]


def test_nothing_changes_but_the_record_of_the_input() -> None:
    proto = one(
        "y = Relu (x) v = Relu (z)",
        inputs="float[N, 2, height, width] x, float[height, M] z",
        outputs="float[N, 2, height, width] y, float[height, M] v",
    )
    proto.graph.input[0].doc_string = "documented"
    proto.graph.input[0].type.tensor_type.shape.dim[2].denotation = "DATA_FEATURE"
    proto.graph.input[0].metadata_props.add(key="k", value="v")
    proto.graph.output[0].type.CopyFrom(proto.graph.input[0].type)
    proto.graph.value_info.add().CopyFrom(proto.graph.output[0])
    proto.graph.value_info[0].name = "elsewhere"
    raw = proto.SerializeToString()
    result = onnxpad.fix(proto, shapes={"x": "?,2,9,?"}, validate=False)
    assert not result.changes
    assert result.changed

    def records(data: bytes) -> list[bytes]:
        view = memoryview(data)
        (graph,) = [record for record in scan(view, 0, len(data)) if record.field == 7]
        return [data[part.begin : part.end] for part in scan(view, graph.body, graph.end)]

    saved = onnx.ModelProto()
    saved.CopyFrom(result.model)
    before, after = records(raw), records(result._graph.model.to_bytes())
    assert [i for i, pair in enumerate(zip(before, after, strict=True)) if len(set(pair)) > 1] == [
        next(i for i, record in enumerate(before) if b"documented" in record)
    ]
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 9
    assert saved == proto


def test_a_declaration_is_taken_back() -> None:
    graph = Graph.from_proto(OPEN)
    mark = graph.mark()
    graph.declare("x", (1, 2, "height", 7))
    assert graph.inputs["x"].shape == (1, 2, "height", 7)
    assert declared(graph.model.to_proto()) == [[1, 2, "height", 7]]
    graph.rollback(mark)
    assert not graph.model.changed
    assert graph.model.to_bytes() == OPEN.SerializeToString()


def test_an_initializer_that_is_an_input_is_not_given_sizes() -> None:
    proto = one(SAME, inputs="float[N, 2, height, 8] x, float[O, 2, 3, 3] w", initializers=W)
    with pytest.raises(UsageError, match="'w'"):
        onnxpad.fix(proto, shapes={"w": (1, 2, 3, 3)})
    with pytest.raises(UsageError, match="'O'"):
        onnxpad.fix(proto, dims={"O": 1})
    assert declared(onnxpad.fix(proto, shapes={"": "1,2,9,8"}).model)[0] == [1, 2, 9, 8]


# Ranges


def test_a_range_is_proved_for_and_not_declared() -> None:
    dims = {"height": "30..64:4", "width": "8..40:8"}
    result = onnxpad.fix(OPEN, dims=dims)
    assert not result.declared
    assert declared(result.model) == declared(OPEN)
    (change,) = result.changes
    assert change.after == "Conv H 0+1, W 0+1, pads [0, 0, 1, 1]"
    assert change.certificate.sizes == "height 32..64 in steps of 4, width 8..40 in steps of 8"
    assert not change.certificate.assumptions
    assert result.validation is not None
    drawn = {run.inputs.split()[2] for run in result.validation.runs}
    assert drawn == {"1x2x32x8,", "2x2x36x16,", "1x2x64x40,"}
    for height, width in ((32, 8), (36, 16), (64, 40)):
        data = {"x": np.random.default_rng(0).integers(-8, 9, (2, 2, height, width))}
        feeds = {name: values.astype(np.float32) for name, values in data.items()}
        np.testing.assert_array_equal(run(OPEN, feeds)[0], run(result.model, feeds)[0])


def test_outside_of_a_range_nothing_is_promised() -> None:
    result = onnxpad.fix(OPEN, dims={"height": "2..64:2", "width": "2..64:2"}, validate=False)
    feeds = {"x": np.ones((1, 2, 9, 9), np.float32)}
    assert not np.array_equal(run(OPEN, feeds)[0], run(result.model, feeds)[0])


def test_what_holds_for_every_size_says_so_though_a_range_is_given() -> None:
    proto = one(
        'v = Conv <auto_pad = "SAME_UPPER"> (x, w) c = Conv <strides = [1, 1]> (v, e)'
        ' y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (c)',
        inputs="float[N, 2, height, width] x",
        initializers=f"{W}, float[1, 1, 1, 1] e = {{2}}",
    )
    result = onnxpad.fix(proto, dims={"height": "2..64:2", "width": "2..64:2"})
    sizes = {change.op_type: change.certificate.sizes for change in result.changes}
    ranges = "height 2..64 in steps of 2, width 2..64 in steps of 2"
    assert sizes == {"Conv": "every size", "MaxPool": ranges}


def test_a_range_that_does_not_settle_it_leaves_it() -> None:
    result = onnxpad.fix(OPEN, dims={"height": "3..64", "width": "2..64:2"})
    assert not result.changed
    (finding,) = result.findings
    assert "'height'" in finding.reason
    assert "'width'" not in finding.reason


def test_probes_keep_to_the_range() -> None:
    graph = Graph.from_proto(OPEN)
    given = given_domain(graph, dims={"height": "10..18:4", "width": "33..35"})
    probes = NeighbourhoodProbe(graph)
    analysis = Analysis(graph, given.extents(graph))
    probes.take(graph, analysis)
    scenes = probes.before(graph.tensor("y"), ("x",))
    assert not isinstance(scenes, str)
    assert {scene.shapes[0][2] for scene, _ in scenes} == {12, 16}
    assert {scene.shapes[0][3] for scene, _ in scenes} == {33, 34, 35}


def test_axes_of_one_name_are_each_in_the_range_by_themselves() -> None:
    graph = Graph.from_proto(BORROWED)
    given = given_domain(graph, dims={"height": "2..64:2"})
    analysis = Analysis(graph, given.extents(graph))
    (_, _, one_size, _), (_, _, other, _) = (
        analysis.shape(graph.tensor(name)) or () for name in ("x", "z")
    )
    values = {"height": 8, "height (z[2])": 64}
    assert (evaluate(one_size, values), evaluate(other, values)) == (8, 64)
    assert one_size != other


# Names


def test_equal_names_are_trusted_on_request_only() -> None:
    assert not onnxpad.fix(BORROWED, dynamic="auto-pad").changed
    result = onnxpad.fix(BORROWED, dynamic="auto-pad", trust_dim_names=True)
    (change,) = result.changes
    assert change.after == "Conv auto_pad=SAME_UPPER"
    assert change.certificate.assumptions == (Assumption.EQUAL_NAMES,)
    for height, width in ((7, 8), (1, 1), (12, 5)):
        feeds = {
            "x": np.random.default_rng(0).integers(-8, 9, (1, 2, height, width)).astype(np.float32),
            "z": np.ones((1, 1, height, width), np.float32),
        }
        np.testing.assert_array_equal(run(BORROWED, feeds)[0], run(result.model, feeds)[0])


def test_facts_limit_the_symbols_that_the_windows_are_told_in() -> None:
    proto = one(
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        inputs="float[N, 2, s, s] x",
        initializers=W,
    )
    even = {"first": 2, "last": 64, "step": 2}
    (change,) = onnxpad.fix(proto, dims={"s": "2..64:2"}, trust_dim_names=True).changes
    facts: Any = change.certificate.facts
    assert [axis["windows"] for axis in facts["axes"]] == ["s/2", "s (x[3])/2"]
    assert facts["sizes"] == {"s": even, "s (x[3])": even}
    (change,) = onnxpad.fix(BORROWED, dynamic="auto-pad", trust_dim_names=True).changes
    assert "sizes" not in change.certificate.facts


def test_strict_refuses_what_rests_on_names() -> None:
    result = onnxpad.fix(BORROWED, dynamic="auto-pad", trust_dim_names=True, strict=True)
    assert not result.changed
    (undone,) = result.undone
    assert Assumption.EQUAL_NAMES in undone.reason


def test_what_does_not_rest_on_names_does_not_say_so() -> None:
    proto = onnx.ModelProto()
    proto.CopyFrom(BORROWED)
    shape = proto.graph.node[0]
    shape.input[0] = "x"
    result = onnxpad.fix(proto, dynamic="auto-pad", trust_dim_names=True, strict=True)
    assert [change.certificate.assumptions for change in result.changes] == [()]


def test_a_trusted_name_is_fixed_wherever_it_stands() -> None:
    model = onnxpad.fix(BORROWED, shapes={"x": "1,2,9,8"}, trust_dim_names=True).model
    assert declared(model) == [[1, 2, 9, 8], [1, 1, 9, 8]]
    model = onnxpad.fix(BORROWED, shapes={"x": "1,2,9,8"}).model
    assert declared(model) == [[1, 2, 9, 8], [1, 1, "height", "width"]]
    model = onnxpad.fix(BORROWED, dims={"height": 9}).model
    assert declared(model) == [[1, 2, 9, "width"], [1, 1, 9, "width"]]


# What cannot be

TWO = one("y = Relu (x) v = Relu (z)", inputs="float[N, height, ?] x, float[N, 4] z")

WRONG = [
    pytest.param({"x": "1,2"}, {}, ["'x'", "3 axes", "N,height,?", "has 2", "1,2"], id="rank"),
    pytest.param({"q": "1,2"}, {}, ["'q'", "'x', 'z'"], id="unknown input"),
    pytest.param({"": "1,2,3"}, {}, ["'x', 'z'; name the one that it is for"], id="which input"),
    pytest.param({"z": "1,5"}, {}, ["'z'", "4", "5"], id="declared otherwise"),
    pytest.param({"z": "0,4"}, {}, ["'z'", "'0'"], id="zero"),
    pytest.param({"z": (-2, 4)}, {}, ["'z'", "-2"], id="negative"),
    pytest.param({"z": "a,4"}, {}, ["'z'", "'a'"], id="no number"),
    pytest.param({"z": "1.5,4"}, {}, ["'1.5'"], id="no whole number"),
    pytest.param({"z": (True, 4)}, {}, ["True"], id="a truth value"),
    pytest.param({"z": 7}, {}, ["'z'", "7"], id="no list"),
    pytest.param({"z": f"{2**31},4"}, {}, [str(2**31)], id="a huge size"),
    pytest.param({"z": f"{'9' * 5000},4"}, {}, ["is no size"], id="a number beyond Python's"),
    pytest.param({"z": ""}, {}, ["has 0"], id="no sizes"),
    pytest.param({"z": "1x3,4"}, {}, ["'z'", "'1x3' is no size"], id="x and commas"),
    pytest.param({"z": "1x3,axb"}, {}, ["'z'", "'1x3' is no size"], id="x, commas and words"),
    pytest.param({"z": "3xx4"}, {}, ["'z'", "'3xx4' is no list of sizes"], id="x beside x"),
    pytest.param({"z": "3x"}, {}, ["'z'", "'3x' is no list of sizes"], id="x at the end"),
    pytest.param({"z": "3xb"}, {}, ["'z'", "'b' is no size; give a number"], id="x and a word"),
    pytest.param({"z": "3x0"}, {}, ["'z'", "'0' is no size"], id="x and zero"),
    pytest.param({"x": "1x2"}, {}, ["'x'", "3 axes", "has 2"], id="x and the rank"),
    pytest.param({}, {"q": 3}, ["'q'", "'N', 'height', 'x[2]'"], id="unknown dimension"),
    pytest.param({}, {"x[1]": 3}, ["'height'"], id="a place that has a name"),
    pytest.param({}, {"z[1]": 3}, ["axis 1", "'z'", "4"], id="a place that is fixed"),
    pytest.param({}, {"N": 0}, ["'N'", "0"], id="dimension zero"),
    pytest.param({}, {"N": "-3"}, ["'-3'"], id="dimension negative"),
    pytest.param({}, {"N": "?"}, ["'?'"], id="dimension open"),
    pytest.param({}, {"N": "9..4"}, ["'9..4'"], id="a range backwards"),
    pytest.param({}, {"N": "0..4"}, ["'0..4'"], id="a range from zero"),
    pytest.param({}, {"N": "1..4:0"}, ["'1..4:0'"], id="a step of zero"),
    pytest.param({}, {"N": "33..63:32"}, ["is no size", "33", "63"], id="no multiple"),
    pytest.param({}, {"N": "1..99999999"}, ["16711680"], id="a range too far"),
    pytest.param({}, {"N": "1..4:2:3"}, ["'1..4:2:3'"], id="no range"),
    pytest.param({"x": "2,3,4"}, {"height": 5}, ["axis 1", "'x'", "3", "5"], id="two sizes"),
    pytest.param({"x": "2,3,4"}, {"height": "1..5"}, ["3", "1..5"], id="a size and a range"),
]


@each_row(("shapes", "dims", "parts"), WRONG)
def test_what_cannot_be_is_said_in_one_line(
    shapes: Mapping[str, str], dims: Mapping[str, str], parts: list[str]
) -> None:
    for call in (onnxpad.fix, onnxpad.check):
        with pytest.raises(UsageError) as error:
            call(TWO, shapes=shapes, dims=dims)
        assert "\n" not in str(error.value)
        assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_fixed_model_has_no_dimension_to_name() -> None:
    fixed = one("y = Relu (x)", inputs="float[2, 3] x")
    with pytest.raises(UsageError):
        onnxpad.check(fixed, dims={"height": 3})
    assert not onnxpad.check(fixed, dims={"x[1]": 3}, shapes={"x": "2,3"}, ignore="PAD6").findings


def test_what_is_no_tensor_has_no_shape() -> None:
    proto = one("y = Relu (x)", inputs="float[2, 3] x, seq(float[2]) z")
    with pytest.raises(UsageError):
        onnxpad.check(proto, shapes={"z": "1,2"})


# The command


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "m.onnx"
    onnx.save(OPEN, file)
    return file


@pytest.mark.parametrize(
    "options",
    [
        ["--shape", "1,2,9,8"],
        ["--shape", "x=1,2,?,8", "--dim", "height=9"],
        ["--dim", "height=9", "--dim", "width=8", "--dim", "N=1"],
    ],
)
def test_the_command_fixes_sizes(path: Path, options: list[str]) -> None:
    result = onnxpad_runs("fix", path, *options)
    assert result.exit_code == 0, result.output
    assert "'x'" in result.stdout
    assert declared(onnx.load(path.with_name("m.fixed.onnx"))) == [[1, 2, 9, 8]]


def test_the_command_says_what_it_would_declare(path: Path) -> None:
    relu = one("y = Relu (x)", inputs="float[N, 4] x")
    onnx.save(relu, path)
    result = onnxpad_runs("fix", path, "--shape", "1,4", "--format", "json")
    assert result.exit_code == 0
    assert '"declared": {\n    "x": [\n      1,\n      4\n    ]\n  }' in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--shape", "q=1,2"],
        ["--shape", "=1,2,9,8"],
        ["--shape", "1,2,9,8", "--shape", "1,2,9,8"],
        ["--dim", "height"],
        ["--dim", "=3"],
        ["--dim", "height=9", "--dim", "height=8"],
        ["--dim", "height=x"],
        ["--dynamic", "never"],
    ],
)
@pytest.mark.parametrize("command", ["fix", "check"])
def test_the_command_refuses(path: Path, command: str, options: list[str]) -> None:
    result = onnxpad_runs(command, path, *options)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert not path.with_name("m.fixed.onnx").exists()


def test_check_demands_what_the_options_ask(path: Path) -> None:
    def code(*options: str) -> int:
        return onnxpad_runs("check", path, *options).exit_code

    assert code() == 0
    assert code("--dynamic", "pad") == 1
    assert code("--dim", "height=2..64:2", "--dim", "width=8") == 1
    assert code("--dim", "height=2..64:2") == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models of which each lacks something: a name, an input, an open size."""
    onnx.save(OPEN, tmp_path / "open.onnx")
    onnx.save(TWO, tmp_path / "two.onnx")
    same = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (q, w)'
    w = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
    onnx.save(one(same, inputs="float[1, 1, a, b] q", initializers=w), tmp_path / "same.onnx")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        ["--dim", "a=8", "--dim", "b=8"],
        ["--dim", "a=8..64:8", "--dim", "x[2]=8", "--dim", "b=16"],
        ["--shape", "q=1,1,8,8"],
        ["--shape", "q=1,1,8,8", "--dim", "height=8"],
        ["--shape", "q=1,1,?,8", "--dim", "a=8", "--dim", "width=8", "--shape", "z=4,4"],
    ],
)
def test_sizes_are_for_the_models_that_have_them(folder: Path, options: list[str]) -> None:
    result = onnxpad_runs("check", folder, *options)
    assert (result.exit_code, result.stderr) == (1, "")
    assert f"{folder / 'same.onnx'}: warning PAD101" in result.stdout
    assert result.stdout.startswith(str(folder))


@pytest.mark.parametrize(
    "options",
    [
        ["--dim", "q[3]=8"],
        ["--dim", "a=8", "--dim", "nowhere=8"],
        ["--shape", "nowhere=1,2"],
        ["--dim", "a=0"],
        ["--dim", "a"],
        ["--dim", "=8"],
        ["--shape", "q=1,x"],
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_sizes_for_no_model_are_bad_usage(folder: Path, options: list[str], form: str) -> None:
    (folder / "broken.onnx").write_bytes(b"no model")
    result = onnxpad_runs("check", folder, *options, "--format", form)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert bool(result.stdout) is (form == "json")


@pytest.mark.parametrize(
    "options",
    [
        ["--shape", "q=2,1,8,8"],
        ["--dim", "a=7"],
    ],
)
def test_sizes_that_one_model_contradicts_are_told_of_that_one(
    folder: Path, options: list[str]
) -> None:
    same = folder / "same.onnx"
    body = 'z = Concat <axis = 1> (q, k) y = Conv <auto_pad = "SAME_UPPER"> (z, w)'
    constants = f"{W}, float[1, 1, 8, 1] k = {{1, 2, 3, 4, 5, 6, 7, 8}}"
    onnx.save(one(body, inputs="float[1, 1, a, 1] q", initializers=constants), same)
    result = onnxpad_runs("check", folder, *options)
    assert result.exit_code == 2
    (_line,) = result.stderr.splitlines()
    assert "1 unreadable" in result.stdout


def test_an_input_has_one_shape(path: Path) -> None:
    with pytest.raises(UsageError):
        onnxpad.check(OPEN, shapes={"": "1,2,9,8", "x": "1,2,9,9"})


def test_a_range_in_a_shape_is_led_to_the_option_that_takes_it(folder: Path) -> None:
    result = onnxpad_runs("check", folder / "same.onnx", "--shape", "1,1,4..8,?")
    assert result.exit_code == 2
    assert "--dim NAME=32..1024" in result.stderr
    assert result.stderr.count("\n") == 1


def test_ranges_are_told_in_numbers_too(folder: Path) -> None:
    options = ["--dim", "a=5..64:2", "--diff", "--no-validate", "--format", "json"]
    result = onnxpad_runs("fix", folder / "same.onnx", *options)
    document = json.loads(result.stdout)
    assert document["dims"] == {"a": {"first": 6, "last": 64, "step": 2}}
    assert document["ranges"] == "a 6..64 in steps of 2"


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((1, 2, 32, 32), "size 32x32"),
        ((1, 2, 32, None), "size 32x?"),
    ],
)
def test_no_size_that_is_given_is_called_every_size(
    shape: tuple[int | None, ...], sizes: str
) -> None:
    model = one(
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 1]> (x, w)',
        inputs="float[b, 2, h, n] x",
        initializers=W,
    )
    result = onnxpad.fix(model, shapes=shape, validate=False)
    [change] = result.changes
    assert change.certificate.sizes == sizes


def test_an_amount_computed_from_a_declared_size_is_of_that_size() -> None:
    model = one(
        "s = Shape (x) h = Gather <axis = 0> (s, at) r = Mod (h, two) p = Concat <axis = 0>"
        ' (none, r, none, r) a = Pad <mode = "reflect"> (x, p) y = Relu (a)',
        inputs="float[1, 2, 33, n] x",
        initializers="int64[1] at = {2}, int64[1] two = {2}, int64[3] none = {0, 0, 0}",
    )
    [change] = onnxpad.fix(model, validate=False).changes
    assert (change.code, change.certificate.sizes) == ("PAD205", "size 33x?")


@each_row(
    ("given", "sizes"),
    [
        (range(1, 2), Sizes(1, 1)),
        (range(3, 9, 2), Sizes(3, 7, 2)),
        (range(7, 1, -2), Sizes(3, 7, 2)),
        (range(LARGEST_SIZE, LARGEST_SIZE + 1), Sizes(LARGEST_SIZE, LARGEST_SIZE)),
        (range(1, LARGEST_SIZE + 1), Sizes(1, LARGEST_SIZE)),
        *(
            (each, None)
            for each in (range(0), range(5, 5), range(3), range(-4, 0), range(3, -1, -1))
        ),
        (range(1, LARGEST_SIZE + 2), None),
        (range(LARGEST_SIZE + 1, LARGEST_SIZE + 2), None),
    ],
)
def test_a_range_of_python_holds_what_it_lists(given: range, sizes: Sizes | None) -> None:
    if sizes is not None:
        assert sizes_of("n", given) == sizes
    else:
        with pytest.raises(UsageError):
            sizes_of("n", given)


NO_SIZE = "is no size; give"


@each_row(
    ("given", "expected"),
    [
        ("1", Sizes(1, 1)), (" 16 ", Sizes(16, 16)), (8, Sizes(8, 8)), (NMAX, Sizes(NMAX, NMAX)),
        (NMAX + 1, NO_SIZE), ("0", NO_SIZE), (True, NO_SIZE), (8.0, NO_SIZE), ("8...9", NO_SIZE),
        ("8..16", Sizes(8, 16)), ("1..1", Sizes(1, 1)), ("8..16:4", Sizes(8, 16, 4)),
        ("5..16:4", Sizes(8, 16, 4)), ("1..3:4", NO_SIZE),
        ("1..7:4", Sizes(4, 4)), ("0..4", NO_SIZE), ("9..8", NO_SIZE), ("8..16:0", NO_SIZE),
        (f"1..{LARGEST_SIZE}", Sizes(1, LARGEST_SIZE)), (f"1..{LARGEST_SIZE + 1}", NO_SIZE),
        (range(2, 9), Sizes(2, 8)), (range(8, 1, -2), Sizes(2, 8, 2)), (range(3, 4), Sizes(3, 3)),
        (range(5, 50, 7), Sizes(5, 47, 7)), (range(0), NO_SIZE), (range(3), NO_SIZE),
        (range(1, LARGEST_SIZE + 1), Sizes(1, LARGEST_SIZE)), (range(1, LARGEST_SIZE + 2), NO_SIZE),
    ],
)  # fmt: skip
def test_what_the_size_of_a_dimension_may_be(given: Any, expected: Sizes | str) -> None:
    if isinstance(expected, Sizes):
        assert sizes_of("h", given) == expected
        return
    with pytest.raises(UsageError, match=f"dimension 'h': .*{expected}"):
        sizes_of("h", given)


@each_row(
    ("given", "expected"),
    [
        ("", ()), ("  ", ()), ("1,3,?,224", (1, 3, None, 224)), ("1,,3", (1, None, 3)),
        ("1x3x?x224", (1, 3, None, 224)), ("1X3", (1, 3)), ("-1,2", (None, 2)), ("3", (3,)),
        ([1, None, -1, "?", "", "4"], (1, None, None, None, None, 4)), ((NMAX,), (NMAX,)),
        ([NMAX + 1], NO_SIZE), ([0], NO_SIZE), ([2.5], NO_SIZE), ([True], NO_SIZE), ("a", NO_SIZE),
        ("1x", NO_SIZE), ("x1", NO_SIZE), ("1x2,3x4", NO_SIZE), ("8..16,3", NO_SIZE),
        ([range(1, 3)], NO_SIZE), (range(1, 3), NO_SIZE), (b"12", NO_SIZE), (5, NO_SIZE),
    ],
)  # fmt: skip
def test_what_a_shape_may_be(given: Any, expected: tuple[int | None, ...] | str) -> None:
    if not isinstance(expected, str):
        assert shape_of("x", given) == expected
        return
    with pytest.raises(UsageError):
        shape_of("x", given)
