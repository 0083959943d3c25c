"""Each exported model, fixed in every style, against what its framework computed, and all else.

A model and a style are one item, which asks every question of `QUESTIONS` and says which ones fail.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.arithmetic.size import Size
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.reasons import Reason
from tests.exported.results import (
    EXACTNESS,
    FEW_NAMES,
    HIDDEN,
    NAMES,
    ROUNDING,
    distance,
    fixed,
    fixed_model,
    original,
    outputs,
    recorded,
)
from tests.exported.test_readme import its_rows_are_in_the_readme
from tests.facts.agreement import compare
from tests.support import REFUSED, STYLES, attributes, silent
from tests.support.rows import one_in

TRANSPOSED: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("transposed.toml").read_text(encoding="utf-8")
)

UNKNOWN_LENGTH: Final = {"deconv1d_open_tensorflow": {"unk__157": range(3, 4097)}}
"""Lengths by input axis without which a ConvTranspose takes nothing, by model.

A series of 1 or 2 elements becomes an empty one, which no ConvTranspose computes.
"""


def it_computes_what_the_framework_computed(name: str, style: str) -> None:
    assert {each.node for each in fixed(name, style).undone} == HIDDEN.get(name, set())
    _, expected = recorded(name)
    before, after = outputs(name), outputs(name, style)
    limit = EXACTNESS.get(name, 1e-5)
    assert distance(after, expected) <= limit
    assert (before is None) == (name in REFUSED)
    if before is not None:
        assert distance(before, expected) <= limit
        assert distance(after, before) <= ROUNDING


def padding_has_the_style_or_a_reason(name: str, style: str) -> None:
    result, model = fixed(name, style), fixed_model(name, style)
    assert not list(silent(model, result.findings, style))
    told = {finding.node for finding in (*result.findings, *result.undone)}
    for node in model.graph.node:
        if node.name in told or node.op_type not in {"Conv", "MaxPool", "AveragePool"}:
            continue
        given = attributes(node)
        assert given.get("auto_pad", b"NOTSET") == b"NOTSET"
        begins, ends = np.reshape(given.get("pads", [0, 0]), (2, -1))
        assert style != "symmetric" or (begins == ends).all()
        assert style != "pad" or not (begins.any() or ends.any())


def a_check_of_it_says_what_remains_and_fails_nothing(name: str, style: str) -> None:
    found = onnxpad.check(fixed_model(name, style), style=style)
    assert not found.failing()
    left = [
        each
        for each in found.findings
        if not each.code.startswith("PAD6") and each.reason_code != Reason.SHAPE_REFUSED
    ]
    assert left == list(fixed(name, style).findings)
    assert all(finding.reason and not finding.fixable for finding in found.findings)


def fixing_it_again_changes_nothing(name: str, style: str) -> None:
    once = fixed_model(name, style)
    again = onnxpad.fix(once, style=style, validate=False)
    assert not again.changed
    assert again.model == once


def transposed_convolutions_take_what_crops_and_pads_them(name: str, style: str) -> None:
    if style == "fold" and name not in UNKNOWN_LENGTH:
        takes_what_crops_and_pads_it(name, fixed_model(name, style))


def takes_what_crops_and_pads_it(name: str, model: onnx.ModelProto) -> None:
    """Holds a model in style `fold` against `transposed.toml`."""
    wanted, nodes = TRANSPOSED.get(name, {}), {node.name: node for node in model.graph.node}
    for label, (pads, appended) in wanted.get("written", {}).items():
        given = attributes(nodes[label])
        assert given.get("auto_pad", b"NOTSET") == b"NOTSET"
        assert not given.get("output_shape")
        assert given.get("pads", [0] * len(pads)) == pads
        assert given.get("output_padding", [0] * len(appended)) == appended
    assert nodes.keys().isdisjoint(wanted.get("gone", ()))
    assert nodes.keys() >= {*wanted.get("stays", ())}


def the_readme_has_its_rows(name: str, style: str) -> None:
    if style == "fold":
        its_rows_are_in_the_readme(name)


def plain(node: onnx.NodeProto) -> bytes:
    """The node without the empty last input that keeps onnxruntime from folding a `Pad`."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    if copy.op_type == "Pad" and copy.input and not copy.input[-1]:
        del copy.input[-1]
    return bytes(copy.SerializeToString())


def what_no_change_is_about_stays(name: str, style: str) -> None:
    before, after, result = original(name), fixed_model(name, style), fixed(name, style)
    assert result.changed == bool(result.changes)
    assert result.changed or after == before
    about = {label for each in result.changes for label in (each.node, *each.removed)}
    nodes = {node.output[0]: node for node in after.graph.node}
    there = {each for node in after.graph.node for each in node.output}
    there |= {each.name for each in (*after.graph.input, *after.graph.initializer)} | {""}
    for node in before.graph.node:
        kept, label = nodes.get(node.output[0]), f"{node.op_type} {node.name!r} > "
        if kept is None or kept.op_type != node.op_type:
            assert result.changed
            continue
        assert (kept.doc_string, kept.metadata_props) == (node.doc_string, node.metadata_props)
        is_inside = any(each.startswith(label) for each in about)
        if node.name not in about and not is_inside and there.issuperset(node.input):
            assert plain(kept) == plain(node)
    held = {tensor.name: tensor for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        assert held.get(tensor.name, tensor) == tensor
    assert all(value in before.graph.value_info for value in after.graph.value_info)
    for model in (one := onnx.ModelProto(), other := onnx.ModelProto()):
        model.CopyFrom(before if model is one else after)
        for field in ("node", "initializer", "value_info"):
            model.graph.ClearField(field)
        for function in model.functions:
            function.ClearField("node")
    assert one == other


QUESTIONS: Final[tuple[Callable[[str, str], None], ...]] = (
    it_computes_what_the_framework_computed,
    padding_has_the_style_or_a_reason,
    a_check_of_it_says_what_remains_and_fails_nothing,
    fixing_it_again_changes_nothing,
    what_no_change_is_about_stays,
    transposed_convolutions_take_what_crops_and_pads_them,
    the_readme_has_its_rows,
)


def by_day(place: int, name: str) -> str:
    """The style of a model in the gate: `fold` for one of each kind; of the others, half."""
    return "fold" if name in FEW_NAMES else (*STYLES, "", "", "")[place % 6]


@pytest.mark.parametrize(
    ("name", "style"),
    [
        pytest.param(name, style, marks=pytest.mark.night if style != by_day(at, name) else ())
        for at, name in enumerate(NAMES)
        for style in STYLES
    ],
)
def test_all_questions(name: str, style: str) -> None:
    wrong = []
    for question in QUESTIONS:  # each, whatever came of those before
        try:
            question(name, style)
        except Exception as error:
            error.add_note(f"asked: {question.__name__}")
            wrong.append(error)
    if wrong:
        raise ExceptionGroup(", ".join(error.__notes__[-1] for error in wrong), wrong)


@pytest.mark.parametrize("name", UNKNOWN_LENGTH)
def test_a_series_that_becomes_empty_is_rewritten_only_if_its_length_is_given(name: str) -> None:
    (node,) = [n for n in fixed(name, "fold").model.graph.node if n.name == "conv1d_transpose"]
    assert not any(attributes(node).get("pads", ()))
    result = onnxpad.fix(original(name), dims=UNKNOWN_LENGTH[name])
    assert result.ok
    takes_what_crops_and_pads_it(name, result.model)


@pytest.mark.parametrize("name", one_in(8, zip(NAMES)))
def test_what_is_known_of_its_sizes_is_what_onnxruntime_gives(name: str) -> None:
    graph = Graph.from_proto(original(name))
    analysis = Analysis(graph)
    shapes = (analysis.shape(graph.tensor(each)) or () for each in graph.inputs)
    names = {each.symbols[0].name for shape in shapes for each in shape if isinstance(each, Size)}
    sizes = [dict.fromkeys(names, size) for size in (4, 5, 7, 8)] if names else [{}]
    assert compare(original(name), sizes).wrong == []


@pytest.mark.parametrize(
    ("name", "style"),
    one_in(30, ((name, style) for style in STYLES for name in NAMES if name in FEW_NAMES))
    + one_in(30, ((name, STYLES[0]) for name in NAMES if name not in FEW_NAMES)),
)
def test_probes_and_validation_agree_with_the_proofs(name: str, style: str) -> None:
    result = onnxpad.fix(original(name), style=style)
    assert {each.node for each in result.undone} == HIDDEN.get(name, set())
    assert (result.validation is not None) == result.changed
    assert result.validation is None or result.validation.ok
    # Where a probe has run, more Pads may be guarded than the result needs.
    pairs = zip(result.model.graph.node, fixed_model(name, style).graph.node, strict=True)
    assert all(plain(one) == plain(other) for one, other in pairs)
    assert result.findings == fixed(name, style).findings
