"""Damaged models end in findings or in one `OnnxpadError`, whoever reads them.

`python -m tests.malformed` looks for more of what comes to grief, with other seeds and for longer.
"""

import contextlib
import random
from pathlib import Path

import onnx
import pytest

import onnxpad
from tests.malformed.__main__ import case
from tests.malformed.bases import bases
from tests.malformed.readers import failures
from tests.support import BORDER, W, one, onnxpad_runs, parsed
from tests.support.rows import one_in


def test_models_are_valid_before_they_are_damaged() -> None:
    for model in bases()[0]:
        onnx.checker.check_model(model)
        assert onnxpad.check(model).findings


@pytest.mark.parametrize("block", one_in(8, [(block,) for block in range(8)]))
def test_nothing_but_an_error_of_ours_comes_of_damage(block: int) -> None:
    for seed in range(12 * block, 12 * block + 12):
        model, done = case(seed)
        assert not failures(model, random.Random(seed)), f"seed {seed}: {done}"


def test_what_is_raised_once_is_told_by_its_site() -> None:
    assert not failures(case(701_446)[0], random.Random(701_446))


def renamed(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model with a name that is not UTF-8 in place of another one of three letters."""
    data = model.SerializeToString().replace(name.encode(), b"\xff\xfea")
    found: onnx.ModelProto = onnx.ModelProto.FromString(data)
    return found


def typed(model: onnx.ModelProto, dtype: int) -> onnx.ModelProto:
    """The model with another element type of its first input."""
    model.graph.input[0].type.tensor_type.elem_type = dtype
    return model


def broken() -> dict[str, onnx.ModelProto]:
    """Models that ended with a traceback once, by what is wrong with them."""
    held = f"{W}, {BORDER}, int64 two = {{2}}, int64[1] z = {{0}}, float[4] r = {{1, 1, 1e38, 2}}"
    same = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    computed = (
        "s = Shape (x) d = Gather <axis = 0> (s, two) m = Mod (d, two) n = Sub (two, m)"
        " u = Unsqueeze (n, z) q = Concat <axis = 0> (z, z, z, z, z, z, u, z)"
    )
    pool = (
        "y = AveragePool <strides = [2, 1], pads = [1, 1, 1, 1], ceil_mode = 1,"
        " kernel_shape = [3, 3], count_include_pad = 1> (a)"
    )

    def of(body: str, *, opset: int = 17) -> onnx.ModelProto:
        return one(body, inputs="float[1, 2, Qdm, 9] x", initializers=held, opset=opset)

    transposed = of("y = ConvTranspose <output_padding = [1]> (x, w)")
    transposed.graph.node[0].attribute[0].ref_attr_name = "none"
    sparse, weight, outputs = of(f"a = Relu (x) {same}"), of(CONV), of(f"o = Constant () {CONV}")
    loop = of("y = Loop (x, , x) <b = some (int64 i, bool t) => (bool u) { u = Identity (t) }>")
    loop.opset_import[0].version = 2**31
    untyped = one(
        "k = Constant <value = float[1, 1, 1, 1] {1}> () c = ConvTranspose <strides = [2, 4],"
        " dilations = [2, 2], output_padding = [0, 1]> (x, k) s = Shape (c) r = Shape (x)"
        " m = nowhere.Mul (r, by) d = Sub (s, m) n = Mul (d, last) b = Max (n, zero)"
        " h = Div (b, two) g = Sub (b, h) e = Sub (s, g) y = Slice (c, h, e)",
        inputs="float[1, 2, m, m] x",
        initializers="int64[1] two = {2}, int64[4] last = {0, 0, 1, 1},"
        "int64[4] by = {1, 1, 2, 4}, int64 zero = {0}",
        opset=13,
    )
    kernel = untyped.graph.node[0].attribute[0].t
    kernel.CopyFrom(onnx.TensorProto(dims=[2, 2, 3, 3]))  # of no type, and without elements
    cut = (
        "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 2]> (x) l = Slice <starts = [0, 1], ends = [9, 9],"
        " axes = [2, 3]> (a) y = MaxPool <kernel_shape = [3, 3]> (l)"
    )
    crop = "a = Pad <pads = [0, 0, 1, -2, 0, 0, 0, -2]> (x) b = Relu (a)"
    crop += "y = MaxPool <kernel_shape = [2, 2]> (b)"
    sparse.graph.node[1].attribute[1].type = onnx.AttributeProto.SPARSE_TENSOR
    weight.graph.initializer[0].data_type = 99
    outputs.graph.node[0].ClearField("output")
    outputs.graph.node[0].attribute.append(
        onnx.helper.make_attribute("value", onnx.helper.make_tensor("o", 7, [1], [0]))
    )
    return {
        "mode of a Pad": of(f'a = Pad <mode = "constants"> (x, p) {pool}'),
        "computed axes": of(f"{computed} a = Squeeze (x, q) {same}"),
        "scale without end": of(f'a = Resize <mode = "nearest"> (x, , r) {same}', opset=19),
        "sparse attribute": sparse,
        "reference outside a function": transposed,
        "list of no type": of(
            "a = Pad (x, p) q = Squeeze <axes: floats = []> (a) y = Conv (q, w)", opset=11
        ),
        "input of an unknown type": typed(of(CONV), 99),
        "input of four bits": typed(of("a = Pad (x, p) n = Neg (a) y = Conv (n, w)"), 22),
        "input of complex numbers": typed(of("a = Pad (x, p) n = Neg (a) y = Conv (n, w)"), 14),
        "weight of an unknown type": weight,
        "cast to an unknown type": of("c = Cast <to = 99> (x) a = Pad (c, p) y = Conv (a, w)"),
        "name of a node": renamed(of("[Qnm] a = Pad (x, p) y = Conv (a, w)"), "Qnm"),
        "name of an operator": renamed(of("a = Pad (x, p) y = Qop (a, w)"), "Qop"),
        "name of a dimension": renamed(of(CONV), "Qdm"),
        "name of a tensor": renamed(of("Qtn = Pad (x, p) y = Conv (Qtn, w)"), "Qtn"),
        "constant without an output": outputs,
        "opset of more than 31 bits": loop,
        "kernel of no type, before a crop": untyped,
        "fewer axes than amounts": one(cut, inputs="float x", opset=9),
        "a window over other axes": of(
            "a = Pad (x, p) b = Abs (a) y = MaxPool <kernel_shape = [2, 2, 2]> (b)"
        ),
        "a crop of fewer axes": one(crop, inputs="float x", opset=7),
    }


CONV = "a = Pad (x, p) y = Conv (a, w)"
BROKEN = broken()


@pytest.mark.parametrize("model", BROKEN.values(), ids=BROKEN)
def test_what_ended_with_a_traceback_once(model: onnx.ModelProto) -> None:
    assert not failures(model, random.Random(0))
    with contextlib.suppress(onnxpad.OnnxpadError):
        onnxpad.check(model, convention="tensorflow").to_html()
    with contextlib.suppress(onnxpad.OnnxpadError):
        onnxpad.repad(model, to="tensorflow")
    with contextlib.suppress(onnxpad.OnnxpadError):
        onnxpad.validate(model, model)


@pytest.mark.parametrize("words", [("fix", "--diff", "--no-validate"), ("show",), ("check",)])
def test_commands_end_with_a_report_or_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    for number, model in enumerate(BROKEN.values()):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(model.SerializeToString())
        command, *options = words
        result = onnxpad_runs(command, path, *options)
        assert result.exit_code in (0, 1, 2), result.stderr
        if result.exit_code == 2:
            [line] = result.stderr.splitlines()
            assert line.startswith("error: ")


TEXTS = f'{W}, {BORDER}, string[3] names = {{"a", "b", "c"}}'


@pytest.mark.parametrize(
    ("body", "outputs", "inputs"),
    [
        ("i = ArgMax <axis = 1, keepdims = 0> (y) t = Gather (names, i)", "string[?, ?, ?] t", ""),
        ("t = Identity (s)", "string[?] t, float[?, ?, ?, ?] y", ", string[N] s"),
        ("t = SequenceConstruct (names, names)", "seq(string[3]) t, float[?, ?, ?, ?] y", ""),
        ("t = Optional (y)", "optional(float[?, ?, ?, ?]) t", ""),
    ],
    ids=["labels", "input", "sequence", "optional"],
)
def test_text_is_compared_like_anything_else(body: str, outputs: str, inputs: str) -> None:
    text = f"g (float[1, 2, 9, 8] x{inputs}) => ({outputs}) <{TEXTS}> {{ {CONV} {body} }}"
    result = onnxpad.fix(parsed(text, opset=18))
    assert result.ok
    assert [change.code for change in result.changes] == ["PAD201"]
    assert result.validation is not None
    assert result.validation.outcome == "passed"


def test_other_text_is_a_difference() -> None:
    label = "i = ArgMax <axis = 1, keepdims = 0> (y) t = Gather (names, i)"
    text = f"g (float[1, 2, 9, 8] x) => (string[?, ?, ?] t) <{TEXTS}> {{ {CONV} {label} }}"
    before, after = parsed(text), parsed(text.replace('"c"', '"z"'))
    found = onnxpad.validate(before, after)
    assert found.outcome == "failed"
    assert "c became z" in str(found)


def test_a_size_of_nothing_that_no_convention_answers_is_explained() -> None:
    model = one(
        "[c] y = Conv <dilations = [3, 2]> (x, w)", inputs="float[1, 2, 0, 1] x", initializers=W
    )
    answer = onnxpad.explain(model, node="c")
    assert not answer.agree


def test_a_difference_at_a_reference_that_is_none_is_told() -> None:
    """onnxruntime runs it: the value beside the reference counts."""
    before, after = (one(f"y = LeakyRelu <alpha = {slope}> (x)") for slope in (0.5, 0.1))
    for model in (before, after):
        model.graph.node[0].attribute[0].ref_attr_name = "none"
    found = onnxpad.validate(before, after)
    assert found.outcome == "failed"
    assert "alpha=0.1" in str(found)
