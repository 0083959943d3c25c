"""By what a finding is known in another export of the model."""

import pickle
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.finding import Finding, Location, Severity
from onnxpad.reasons import Reason
from tests.pipeline.test_locations import MODEL
from tests.support import MODELS, one, parsed
from tests.support.exports import exported_anew

EXPORTS = ("steps_torchscript", "branches_torchscript", "functions_onnxscript", "deconv_paddle")
ASKED: list[dict[str, Any]] = [
    *({}, {"style": "pad"}, {"select": ("PAD6",)}),
    *({"convention": "tensorflow"}, {"target": "opencv@4"}),
]


def known(model: onnx.ModelProto, **options: Any) -> Counter[str]:
    return Counter(each.fingerprint for each in onnxpad.check(model, **options).findings)


@pytest.mark.parametrize("name", EXPORTS)
def test_another_export_of_one_network_has_the_same_ones(name: str) -> None:
    model = onnx.load(MODELS / f"{name}.onnx")
    other = exported_anew(model)
    for options in ASKED:
        assert known(model, **options) == known(other, **options), options
    assert known(model)


def test_so_it_has_with_bodies_and_functions_and_another_batch() -> None:
    model = parsed(MODEL)
    other = exported_anew(model)
    assert {each.name for each in model.graph.node}.isdisjoint(e.name for e in other.graph.node)
    (batch, *_) = other.graph.input[0].type.tensor_type.shape.dim
    for says in ({"dim_value": 8}, {"dim_param": "batch"}):
        batch.MergeFrom(onnx.TensorShapeProto.Dimension(**says))
        assert known(model) == known(other)


SITE = (
    'a = Relu (x) y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], '
    "strides = [2, 2]> (a)"
)
CONV = 'a = Relu (x) b = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w) y = Relu (b)'
PAD = "a = Relu (x) b = Pad (a, p) c = Conv (b, w) y = Relu (c)"
CROP = "a = ConvTranspose <strides = [2, 2]> (x, t) y = Slice (a, begin, end, axes)"
OWN = 'a = Relu (x) y = own.Roll <auto_pad = "SAME_UPPER", strides = [2, 2]> (a)'


def weight(name: str, *shape: int) -> str:
    values = ", ".join(["1"] * int(np.prod(shape)))
    return f"float[{', '.join(map(str, shape))}] {name} = {{{values}}}"


GIVEN = [
    *(weight("w", 4, 4, 3, 3), weight("u", 5, 4, 3, 3), weight("k", 4, 4, 5, 3)),
    *(weight("v", 4, 2, 3, 3), weight("t", 4, 4, 3, 3), weight("s", 4, 4, 5, 3)),
    *("int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}", "int64[8] q = {0, 0, 1, 1, 0, 0, 1, 2}"),
    *("float f = {1.5}", "int64[1] begin = {1}", "int64[1] end = {-1}", "int64[1] less = {2}"),
    "int64[1] axes = {2}",
]


def only(body: str, **options: Any) -> Finding:
    """The one finding about some nodes."""
    inputs = "float[1, 4, 9, 8] x, int64[8] open"
    model = one(body, inputs=inputs, outputs="y", initializers=", ".join(GIVEN))
    (found,) = onnxpad.check(model, **options).findings
    return found


def changed(body: str, *changes: tuple[str, str]) -> list[tuple[str, str]]:
    return [(body, body.replace(*each)) for each in changes]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *changed(
            SITE,
            ("[3, 3]", "[3, 5]"),
            ("[2, 2]", "[2, 3]"),
            ("UPPER", "LOWER"),
            ("kernel", "ceil_mode = 1, kernel"),
            ("kernel", "dilations = [2, 2], kernel"),
            ("MaxPool", "AveragePool"),
        ),
        *changed(
            SITE.replace("Max", "Average"),
            ("kernel", "count_include_pad = 1, kernel"),
        ),
        *changed(
            CONV,
            ("(a, w)", "(a, u)"),
            ("(a, w)", "(a, k)"),
            ("strides", "group = 2, strides"),
        ),
        *changed(
            PAD,
            ("(a, p)", "(a, q)"),
            ("(a, p)", "(a, p, f)"),
            ("(a, p)", "(a, open)"),
            ("Pad (", 'Pad <mode = "edge"> ('),
            ("Conv", "Conv <strides = [2, 2]>"),
            ("(b, w)", "(b, u)"),
            ("Conv (b, w)", "Conv <group = 2> (b, v)"),
        ),
        *changed(CROP, ("begin", "less"), ("(a, begin", "(a, end")),
        *changed(OWN, ("UPPER", "LOWER"), ("[2, 2]", "[3, 3]"), ("own", "theirs")),
    ],
)
def test_padding_that_is_written_otherwise_has_another(before: str, after: str) -> None:
    first, second = only(before), only(after)
    assert first.fingerprint[:8] != second.fingerprint[:8]
    assert first.fingerprint[8:] == second.fingerprint[8:]


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        (("a = Relu (x)", "a = Sigmoid (x)"), slice(12, 16)),
        (("Relu (b)", "Sigmoid (b)"), slice(8, 12)),
        (("y = Relu (b)", "y = Relu (b) z = Neg (b)"), slice(8, 12)),
    ],
)
def test_the_operators_next_to_it_have_digits_of_their_own(
    change: tuple[str, str], stays: slice
) -> None:
    first, second = only(CONV).fingerprint, only(CONV.replace(*change)).fingerprint
    assert first[:8] == second[:8]
    assert first[stays] == second[stays]
    assert first != second


def test_no_word_and_no_place_enters_it() -> None:
    found = only(CONV)
    other = replace(
        found, message="other", reason="words", node="n", location=Location(("s",), "renamed", "a")
    )
    assert other.fingerprint == found.fingerprint
    assert replace(found, code="PAD999").fingerprint != found.fingerprint
    assert pickle.loads(pickle.dumps(found)).fingerprint == found.fingerprint


def test_one_without_a_graph_has_one_too() -> None:
    found = Finding("OWN101", Severity.INFO, "n", "Conv", "a message")
    assert len(found.fingerprint) == 16
    assert int(found.fingerprint, 16)
    assert replace(found, op_type="MaxPool").fingerprint != found.fingerprint


def test_what_was_asked_enters_but_no_version_of_a_target() -> None:
    found = only(PAD.replace("(a, p)", "(a, open)"), select=("PAD7",), target="opencv@4")
    newer = replace(found, evidence={**found.evidence, "target": "opencv@9.1"})
    other = replace(found, evidence={**found.evidence, "target": "tract@4"})
    assert found.fingerprint == newer.fingerprint != other.fingerprint


def test_a_pad_in_front_enters_where_all_padding_is_judged() -> None:
    def at(amounts: str, **options: Any) -> str:
        body = f"b = Pad (x, {amounts}) y = Conv <strides = [2, 2]> (b, w)"
        model = one(body, inputs="float[1, 4, 9, 8] x", outputs="y", initializers=", ".join(GIVEN))
        found = onnxpad.check(model, **options).findings
        return next(each.fingerprint for each in found if each.op_type == "Conv")

    assert at("p", convention="tensorflow")[:8] != at("q", convention="tensorflow")[:8]


def test_findings_about_a_whole_model_are_about_no_operator() -> None:
    def about(*conventions: str) -> Finding:
        reason = Reason.FRAMEWORK_CONVENTION
        facts = {"conventions": {name: ["first"] for name in conventions}}
        found = only(CONV)
        return replace(
            found, code="PAD602", severity=Severity.INFO, reason_code=reason, evidence=facts
        )

    first = about("PyTorch's", "SAME")
    assert (
        first.fingerprint == replace(about("SAME", "PyTorch's"), form=only(SITE).form).fingerprint
    )
    assert first.fingerprint != about("SAME", "causal").fingerprint
    warned = replace(first, severity=Severity.WARNING)
    assert warned.fingerprint != replace(warned, form=only(SITE).form).fingerprint


def test_readers_count_in_no_order() -> None:
    """Three kinds of readers at most are told; which of more are does not matter."""
    each = "c = Conv (b, w) d = Relu (b) e = Neg (b) f = MaxPool <kernel_shape = [2, 2]> (b)"
    body = f"b = Pad (x, open) {each} y = Identity (c)"
    model = one(
        body,
        inputs="float[1, 4, 9, 8] x, int64[8] open",
        outputs="y, d, e, f",
        initializers=", ".join(GIVEN[:6]),
    )
    for seed in range(4):
        assert known(model) == known(exported_anew(model, seed))
