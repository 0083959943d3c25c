"""Each exported model, fixed in every style, against what its framework computed, and all else.

A model and a style are one item, which asks every question of `QUESTIONS` and says which ones fail.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from onnxpad.options import Options
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.json import json_of
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
from tests.exported.test_transposed import UNKNOWN_LENGTH, takes_what_crops_and_pads_it
from tests.report.test_diff import applied, of_main_graph, shown
from tests.support import STYLES, Array, attributes, inner_graphs, silent


def constants(model: onnx.ModelProto) -> dict[str, Array]:
    """Initializers and Constant nodes, by name."""
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and "value" in attributes(node):
            held[node.output[0]] = numpy_helper.to_array(attributes(node)["value"])
    return held


def without_effect(model: onnx.ModelProto) -> Iterator[str]:
    """The `Pad`s before a Conv that plainly could be its pads: 0, known, spatial, not negative.

    A SAME that stays takes none: its pads depend on the padded size.
    """
    held = constants(model)
    read = {
        node.input[0]
        for node in model.graph.node
        if node.op_type == "Conv" and not attributes(node).get("auto_pad", b"").startswith(b"SAME")
    }
    for node in model.graph.node:
        if node.op_type != "Pad" or node.output[0] not in read:
            continue
        given = attributes(node)
        inputs = [*node.input, "", ""]
        pads = given.get("pads", held.get(inputs[1]))
        value = given.get("value", held.get(inputs[2], 0.0 if not inputs[2] else None))
        if given.get("mode", b"constant") != b"constant" or pads is None or value != 0:
            continue
        amounts = np.reshape(pads, (2, -1))
        if amounts.min() >= 0 and not amounts[:, :2].any():
            yield node.name


def it_computes_what_the_framework_computed(name: str, style: str) -> None:
    assert {each.node for each in fixed(name, style).undone} == HIDDEN.get(name, set())
    _, expected = recorded(name)
    before, after = outputs(name), outputs(name, style)
    limit = EXACTNESS.get(name, 1e-5)
    assert distance(after, expected) <= limit
    if before is not None:
        assert distance(before, expected) <= limit
        assert distance(after, before) <= ROUNDING


def no_pad_is_left_that_could_be_folded(name: str, style: str) -> None:
    assert style != "fold" or not list(without_effect(fixed_model(name, style)))


def padding_has_the_style_or_a_reason(name: str, style: str) -> None:
    model = fixed_model(name, style)
    result = fixed(name, style)
    told = {finding.node for finding in (*result.findings, *result.undone)}
    held = constants(model)
    for node in model.graph.node:
        given = attributes(node)
        if node.name in told:
            continue
        if node.op_type == "Pad":
            readers = {n.op_type for n in model.graph.node if node.output[0] in n.input}
            assert style != "fold" or readers.isdisjoint({"Conv", "MaxPool", "AveragePool"})
            assert "pads" in given or node.input[1] in held
        elif node.op_type in {"Conv", "MaxPool", "AveragePool"}:
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


def every_reason_has_a_code(name: str, style: str) -> None:
    given = onnxpad.check(original(name)).findings if style == "fold" else ()
    given += fixed(name, style).findings
    for finding in given:
        assert bool(finding.reason_code) == bool(finding.reason)
        assert not finding.reason_code or finding.reason_code in set(Reason)
    file = FileReport("", given)
    json.loads(json_of(CheckReport(Options(), onnxpad.Severity.INFO, (file,))))


def fixing_it_again_changes_nothing(name: str, style: str) -> None:
    once = fixed_model(name, style)
    again = onnxpad.fix(once, style=style, validate=False)
    assert not again.changed
    assert again.model == once


def no_padding_is_left_unsaid(name: str, style: str) -> None:
    assert not list(silent(fixed_model(name, style), fixed(name, style).findings, style))


def its_diff_leads_from_one_to_the_other(name: str, style: str) -> None:
    result, names = fixed(name, style), ("a.onnx", "b.onnx")
    diff = result.diff(names)
    assert bool(diff) == result.changed
    diff = of_main_graph(diff)
    listed, saved = original(name).graph, result.model.graph
    assert applied(shown(listed), diff) == shown(saved)
    unchanged = sum(node in saved.node for node in listed.node)
    removed = len(re.findall(r"^-(?!--)", diff, re.MULTILINE))
    moved = style == "symmetric"  # nodes that also stay may stand elsewhere
    assert moved or removed <= len(listed.node) - unchanged


def transposed_convolutions_take_what_crops_and_pads_them(name: str, style: str) -> None:
    if style == "fold" and name not in UNKNOWN_LENGTH:
        takes_what_crops_and_pads_it(name, fixed_model(name, style))


def the_readme_has_its_rows(name: str, style: str) -> None:
    if style == "fold":
        its_rows_are_in_the_readme(name)


def unguarded(kept: onnx.NodeProto, node: onnx.NodeProto) -> onnx.NodeProto:
    """The node without the empty third input that keeps onnxruntime from folding a `Pad`."""
    plain = onnx.NodeProto()
    plain.CopyFrom(kept)
    if kept.op_type == "Pad" and list(kept.input) == [*node.input, ""]:
        del plain.input[-1]
    return plain


def what_no_change_is_about_stays(name: str, style: str) -> None:
    before, after, result = original(name), fixed_model(name, style), fixed(name, style)
    assert result.changed == bool(result.changes)
    assert result.changed or after == before
    removed = {node for change in result.changes for node in change.removed}
    touched = {change.node for change in result.changes}
    gone = {
        output
        for place, listed, _ in inner_graphs(before)
        for node in listed
        if (f"{place} > {node.op_type} {node.name!r}" if place else node.name) in removed
        for output in node.output
    }
    graphs = {place: nodes for place, nodes, _ in inner_graphs(after)}
    written = {output for nodes in graphs.values() for node in nodes for output in node.output}
    gone -= written
    for place, originals, _ in inner_graphs(before):
        names = {node.name for node in graphs[place]}
        nodes = {node.output[0]: node for node in graphs[place]}  # names may not be unique
        for node in originals:
            label = f"{place} > {node.op_type} {node.name!r}" if place else node.name
            if label in removed:
                assert node.name not in names
                continue
            named = [each for each in graphs[place] if node.name and each.name == node.name]
            kept = named[0] if len(named) == 1 else nodes[node.output[0]]
            assert (kept.doc_string, kept.metadata_props) == (node.doc_string, node.metadata_props)
            assert (kept.domain, kept.op_type) == (node.domain, node.op_type)
            if kept.output != node.output:
                # A transposed convolution, or a step behind it, took the place of this one.
                assert {change.code for change in result.changes} & {"PAD402", "PAD404"}
                gone |= {*node.output} - written
                continue
            around = f"{place} > " * bool(place) + f"{node.op_type} {node.name!r} > "
            inside = any(change.node.startswith(around) for change in result.changes)
            if label not in touched and not inside and gone.isdisjoint(node.input):
                assert unguarded(kept, node).SerializeToString() == node.SerializeToString()

    held = {tensor.name: tensor for tensor in after.graph.initializer}
    read = {value for node in after.graph.node for value in node.input}
    for tensor in before.graph.initializer:
        assert tensor.name in held or tensor.name not in read
        assert held.get(tensor.name, tensor) == tensor
    gone |= {tensor.name for tensor in before.graph.initializer} - held.keys()
    stated = [value for value in before.graph.value_info if value.name not in gone]
    assert list(after.graph.value_info) == stated
    for model in (one := onnx.ModelProto(), other := onnx.ModelProto()):
        model.CopyFrom(before if model is one else after)
        for field in ("node", "initializer", "value_info"):
            model.graph.ClearField(field)
        for function in model.functions:
            function.ClearField("node")
    assert one == other


Question: TypeAlias = Callable[[str, str], None]

QUESTIONS: Final[tuple[Question, ...]] = (
    it_computes_what_the_framework_computed,
    no_pad_is_left_that_could_be_folded,
    padding_has_the_style_or_a_reason,
    a_check_of_it_says_what_remains_and_fails_nothing,
    every_reason_has_a_code,
    fixing_it_again_changes_nothing,
    no_padding_is_left_unsaid,
    what_no_change_is_about_stays,
    its_diff_leads_from_one_to_the_other,
    transposed_convolutions_take_what_crops_and_pads_them,
    the_readme_has_its_rows,
)


def ask(questions: Iterable[Question], name: str, style: str) -> None:
    """Asks each question, whatever came of those before, and raises all failures together."""
    wrong = []
    for question in questions:
        try:
            question(name, style)
        except Exception as error:
            error.add_note(f"asked: {question.__name__}")
            wrong.append(error)
    if wrong:
        raise ExceptionGroup(", ".join(error.__notes__[-1] for error in wrong), wrong)


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
    fixed(name, style)
    ask(QUESTIONS, name, style)


def test_each_question_that_fails_is_told() -> None:
    def fails(name: str, style: str) -> None:
        raise AssertionError(name, style)

    with pytest.raises(ExceptionGroup) as told:
        ask((fails, its_diff_leads_from_one_to_the_other, fails), "zeropad_opset10", "pad")
    assert [error.args for error in told.value.exceptions] == [("zeropad_opset10", "pad")] * 2


def test_there_was_something_to_fold() -> None:
    found = Counter({name: len(list(without_effect(original(name)))) for name in NAMES})
    assert found["zeropad_opset10"] == 4
    assert found["mobilenet_keras"] == 1
