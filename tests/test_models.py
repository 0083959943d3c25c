"""What exporters wrote, fixed in every style, against what their frameworks computed.

A model that is added to models/ is tested without a line here. Its rows in models/README.md come
from `python models/scripts/remaining.py`.
"""

import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from onnxpad.finding import Severity
from tests.support import (
    EXPORTED,
    MODELS,
    QUANTISED,
    ROOT,
    Array,
    canonical,
    inner_graphs,
    onnxpad_runs,
    run,
    silent,
)

pytestmark = pytest.mark.slow

README = (MODELS / "README.md").read_text(encoding="utf-8")
NAMES = [path.stem for path in EXPORTED]
STYLES = ("fold", "pad", "symmetric")

ROUNDING = 1e-6
"""What another order of summation may change, of an output's greatest magnitude."""


WRONG = {"deconv_paddle", "gaps_keras_open"}
"""Models that their exporters got wrong."""

EXACTNESS = dict.fromkeys(WRONG, np.inf) | {name: 0.05 for name in NAMES if QUANTISED.search(name)}
"""How far from its framework an export is; 1e-5 where nothing is said. See models/README.md."""

REFUSED = {"aspp_tensorflow", "wavenet_torchscript"}
"""Models that onnxruntime 1.31 does not run as they were exported."""

MOVED = {"nasnet_keras"}
"""Models in which style `pad` moves a `Pad` past a crop, up to a pool that cannot take it."""

WIDENED = {"deconv1d_tensorflow", "trims_dynamo", "trims_torchscript", "upsampling_paddle"}
"""Models to which style `symmetric` gives `output_padding`, which stays beside equal pads."""

every_model = pytest.mark.parametrize("name", NAMES)
every_style = pytest.mark.parametrize("style", STYLES)


@cache
def original(name: str) -> onnx.ModelProto:
    return onnx.load(MODELS / f"{name}.onnx")


@cache
def recorded(name: str) -> tuple[dict[str, Array], list[Array]]:
    """What the framework was fed, and what it computed."""
    with np.load(MODELS / f"{name}.npz") as arrays:
        values = dict(arrays)
    expected = [values.pop(output.name) for output in original(name).graph.output]
    return values, expected


@cache
def fixed(name: str, style: str) -> onnxpad.FixResult:
    return onnxpad.fix(original(name), style=style)


@cache
def fixed_model(name: str, style: str) -> onnx.ModelProto:
    return fixed(name, style).model


@cache
def with_auto_pad(name: str) -> onnx.ModelProto:
    return onnxpad.fix(fixed_model(name, "fold"), dynamic="auto-pad", validate=False).model


@cache
def outputs(name: str, style: str | None = None) -> list[Array] | None:
    """What onnxruntime computes as the graph says; None for an original that it refuses."""
    feeds, _ = recorded(name)
    if style is not None:
        return run(fixed_model(name, style), feeds)
    try:
        return run(original(name), feeds)
    except Exception as error:
        if name in REFUSED and "Dilation not supported for AutoPadType" in str(error):
            return None
        raise


def distance(results: Sequence[Array] | None, expected: Sequence[Array] | None) -> float:
    """The greatest difference of two sets of outputs, of the greatest magnitude expected."""
    assert results is not None
    assert expected is not None
    pairs = list(zip(results, expected, strict=True))
    if any(result.shape != value.shape for result, value in pairs):
        return np.inf
    return max(float(np.abs(result - value).max() / np.abs(value).max()) for result, value in pairs)


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def with_few_amounts(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its computed amounts as style `pad` writes them: by the fewest nodes."""
    return onnxpad.fix(model, dynamic="pad", validate=False).model


def same_sizes(model: onnx.ModelProto) -> Counter[tuple[str, bytes]]:
    """The operators whose padding is SAME."""
    given = [(node.op_type, attributes(node).get("auto_pad", b"")) for node in model.graph.node]
    return Counter(each for each in given if each[1].startswith(b"SAME"))


def op_types(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


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


@every_style
@every_model
def test_it_computes_what_the_framework_computed(name: str, style: str) -> None:
    result = fixed(name, style)
    assert not result.undone
    assert (result.validation is not None) == result.changed == bool(result.changes)
    assert result.validation is None or result.validation.ok
    _, expected = recorded(name)
    before, after = outputs(name), outputs(name, style)
    limit = EXACTNESS.get(name, 1e-5)
    assert distance(after, expected) <= limit
    if before is not None:
        assert distance(before, expected) <= limit
        assert distance(after, before) <= ROUNDING


def test_refused_models_are_there_and_run_once_fixed() -> None:
    assert set(NAMES) >= REFUSED
    for name in REFUSED:
        errors = onnxpad.check(original(name)).failing(Severity.ERROR)
        assert errors
        assert all("auto_pad=SAME" in finding.message for finding in errors)


@every_model
def test_no_pad_is_left_that_could_be_folded(name: str) -> None:
    assert not list(without_effect(fixed_model(name, "fold")))


def test_there_was_something_to_fold() -> None:
    found = Counter({name: len(list(without_effect(original(name)))) for name in NAMES})
    assert found["zeropad_opset10"] == 4
    assert found["mobilenet_keras"] == 1


@every_style
@every_model
def test_padding_has_the_style_or_a_reason(name: str, style: str) -> None:
    model = fixed_model(name, style)
    told = {finding.node for finding in fixed(name, style).findings}
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


@every_style
@every_model
def test_a_check_of_the_result_says_what_remains_and_fails_nothing(name: str, style: str) -> None:
    result = fixed(name, style)
    found = onnxpad.check(fixed_model(name, style), style=style)
    assert not found.failing()
    assert [each for each in found.findings if not each.code.startswith("PAD6")] == list(
        result.findings
    )
    assert all(finding.reason and not finding.fixable for finding in found.findings)


@every_style
@every_model
def test_fixing_again_changes_nothing(name: str, style: str) -> None:
    once = fixed_model(name, style)
    again = onnxpad.fix(once, style=style, validate=False)
    assert not again.changed
    assert again.model == once


@pytest.mark.parametrize(("first", "then"), list(permutations(STYLES, 2)))
@every_model
def test_one_style_after_another(name: str, first: str, then: str) -> None:
    result = onnxpad.fix(fixed_model(name, first), style=then, validate=False)
    assert not result.undone
    model = result.model
    assert not onnxpad.fix(model, style=then, validate=False).changed
    assert distance(run(model, recorded(name)[0]), outputs(name, then)) <= ROUNDING
    if then == "fold":
        # A SAME of open sizes leaves style `pad` as a computed Pad, which is recognised as SAME.
        back = onnxpad.fix(model, dynamic="auto-pad", validate=False).model
        direct = with_auto_pad(name)
        assert same_sizes(back) == same_sizes(direct)
        if name in MOVED or (first == "symmetric" and name in WIDENED):
            assert op_types(back) == op_types(direct)
        else:
            assert canonical(with_few_amounts(back)) == canonical(with_few_amounts(direct))


def unguarded(kept: onnx.NodeProto, node: onnx.NodeProto) -> onnx.NodeProto:
    """The node without the empty third input that keeps onnxruntime from folding a `Pad`."""
    plain = onnx.NodeProto()
    plain.CopyFrom(kept)
    if kept.op_type == "Pad" and list(kept.input) == [*node.input, ""]:
        del plain.input[-1]
    return plain


@every_style
@every_model
def test_what_no_change_is_about_stays(name: str, style: str) -> None:
    before, after, result = original(name), fixed_model(name, style), fixed(name, style)
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


def test_some_models_have_metadata_to_keep() -> None:
    assert any(node.metadata_props for name in NAMES for node in original(name).graph.node)
    assert any(original(name).graph.metadata_props for name in NAMES)
    assert original("mobilenet_qdq").metadata_props
    assert fixed("mobilenet_qdq", "pad").changed


def test_doc_strings_stay() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(original("zeropad_torchscript"))  # no exporter here writes any on nodes
    for node in model.graph.node:
        node.doc_string = f"about {node.name}"
    kept = onnxpad.fix(model, validate=False).model.graph.node
    assert len(kept) < len(model.graph.node)
    assert all(node.doc_string == f"about {node.name}" for node in kept)


def copied(name: str, folder: Path) -> Path:
    for path in MODELS.glob(f"{name}.onnx*"):
        shutil.copy(path, folder)
    return folder / f"{name}.onnx"


@pytest.mark.parametrize("name", ["mobilenet_keras", "wavenet_torchscript"])
def test_the_command_writes_what_the_library_gives(name: str, tmp_path: Path) -> None:
    result = onnxpad_runs("fix", copied(name, tmp_path))
    assert result.exit_code == 0, result.output
    assert onnx.load(tmp_path / f"{name}.fixed.onnx") == fixed_model(name, "fold")


def test_the_command_on_a_model_with_external_data(tmp_path: Path) -> None:
    path = copied("unet_dynamo", tmp_path)
    command = [sys.executable, "-m", "onnxpad", "fix", str(path), "--style", "pad"]
    subprocess.run(command, check=True, capture_output=True, cwd=MODELS.parent)
    model = onnx.load(tmp_path / "unet_dynamo.fixed.onnx")
    feeds, _ = recorded("unet_dynamo")
    assert distance(run(model, feeds), outputs("unet_dynamo", "pad")) == 0


def tables() -> tuple[Mapping[str, tuple[str, ...]], Counter[tuple[str, ...]]]:
    """The README's two tables: a row by model, and what remains, with how often it is there."""
    section = README.split("\n## What onnxpad makes of them\n")[1].split("\n## ")[0]
    rows = [
        tuple(cell.strip("`") for cell in line[2:-2].split(" | "))
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    assert all(len(row) == 4 for row in rows)
    models = {row[0]: row[1:] for row in rows[: len(NAMES)]}
    return models, Counter(rows[len(NAMES) :])


def test_the_readme_tells_exactly_what_remains() -> None:
    _, told = tables()
    found: Counter[tuple[str, ...]] = Counter()
    for name in NAMES:
        found.update((name, f.node, f.code, f.reason) for f in fixed(name, "fold").findings)
    assert found == told, "python models/scripts/remaining.py writes the tables anew"


@every_style
@every_model
def test_no_padding_is_left_unsaid(name: str, style: str) -> None:
    assert not list(silent(fixed_model(name, style), fixed(name, style).findings, style))
    assert "| unreported |" not in README


def test_the_readme_tells_what_is_changed() -> None:
    models, told = tables()
    assert list(models) == NAMES
    for name, (changes, nodes, remaining) in models.items():
        result = fixed(name, "fold")
        counts = Counter(change.code for change in result.changes)
        assert changes == (", ".join(f"{counts[code]} {code}" for code in sorted(counts)) or "none")
        sizes = len(original(name).graph.node), len(fixed_model(name, "fold").graph.node)
        assert nodes == f"{sizes[0]} to {sizes[1]}"
        assert sum(map(int, re.findall(r"\b\d+(?= )", remaining))) == sum(
            count for row, count in told.items() if row[0] == name
        )


def test_the_script_writes_the_tables_that_are_there() -> None:
    script = runpy.run_path(str(MODELS / "scripts" / "remaining.py"))
    assert script["BEGIN"] + script["section"]() + script["END"] in README


def test_every_model_has_its_situation_told() -> None:
    section = README.split("\n## The situations\n")[1].split("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == NAMES


def test_the_readme_of_the_project_counts_what_is_left() -> None:
    counts = []
    for model in (original, lambda name: fixed_model(name, "fold")):
        nodes = [n for name in NAMES for _, inner, _ in inner_graphs(model(name)) for n in inner]
        same = [a for n in nodes for a in n.attribute if a.name == "auto_pad" and b"SAME" in a.s]
        counts.append((sum(n.op_type == "Pad" for n in nodes), len(same)))
    (pads, sames), (pads_left, sames_left) = counts
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"on the {len(NAMES)} exports in [models/](models/)" in text
    assert f"| | `Pad` left, of {pads} | SAME left, of {sames} | " in text
    assert f"| `onnxpad fix` | {pads_left} | {sames_left} | none |" in text
