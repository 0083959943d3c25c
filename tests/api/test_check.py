"""What `check` says of a model is what `fix` makes of it, for every model and all options."""

import random
from itertools import product
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.passes.auto_pad import DropValid
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.passes.pads import MergePads
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.run import Run
from tests.broken import Lost
from tests.random_models.draw import draw_model
from tests.support import one
from tests.support.rows import one_in

COMBINATIONS = list(
    product(("fold", "pad", "symmetric"), ("keep", "pad", "auto-pad"), (False, True), (False, True))
)


SEEDS = (
    7, 8, 12, 15, 17, 19, 20, 28, 29, 30, 32, 33, 36, 37, 46, 48, 53, 60, 63, 66, 68, 71, 75, 76,
    79, 84, 87, 89, 92, 93, 100, 105, 108, 122, 129, 132, 133, 148, 151, 154, 157, 161, 165, 166,
    178, 181, 182, 186, 196, 197,
)  # fmt: skip
"""Random models, of 200, that reach together what all of them reach."""

REPORTS = {"PAD701", "PAD901", "PAD903"}


def told_truly(model: onnx.ModelProto, **options: Any) -> tuple[Finding, ...]:
    """What `check` finds in a model, held against what `fix` does to it."""
    kept = model.SerializeToString()
    found = onnxpad.check(model, **options)
    result = onnxpad.fix(model, validate=False, **options)
    assert model.SerializeToString() == kept
    assert bool(found.failing()) == bool(result.changes)
    stays = {(each.code, each.node, each.message) for each in (*result.findings, *result.undone)}
    changed = {(change.code, change.node) for change in result.changes}
    fixable = {(each.code, each.node) for each in found.findings if each.fixable}
    for each in found.findings:
        if each.fixable:
            assert (each.code, each.node, each.message) not in stays
        else:
            assert each.severity is Severity.INFO
            assert (each.code, each.node) not in changed - fixable
    # What stays is what fix leaves, in nodes of the original; reports are about it as it is.
    left = [each for each in stays if each[0] not in REPORTS]
    still = [each for each in found.findings if not each.fixable and each.code not in REPORTS]
    before, after = names(model), names(result.model)
    whys = {(code, message) for code, _, message in left}  # a part may stay in another node
    gone = [e for e in still if (e.code, e.message) not in whys and " > " not in e.node]
    assert {each.node for each in gone} <= after
    told = {(each.code, each.node) for each in still}
    assert not [each for each in left if each[1] in before and each[:2] not in told]
    assert not onnxpad.check(result.model, **options).failing()
    return found.findings


def names(model: onnx.ModelProto) -> set[str]:
    """The labels of the nodes of the main graph."""
    return {node.name or f"<{node.output[0]}>" for node in model.graph.node}


def told_truly_so(model: onnx.ModelProto, seed: int) -> None:
    """Holds what `check` says against what `fix` does, with options that a seed draws."""
    for style, dynamic, strict, no_ceil in random.Random(seed).sample(COMBINATIONS, 2):
        told_truly(model, style=style, dynamic=dynamic, strict=strict, no_ceil=no_ceil)


@pytest.mark.parametrize("seed", one_in(10, zip(SEEDS)))
def test_random_models(seed: int) -> None:
    told_truly_so(draw_model(random.Random(seed)).model, seed)


UNPROVED = [
    pytest.param(
        one(
            "a = Pad (x, p) s = Shape (a) g = Gather <axis = 0> (s, i) o = Mod (g, i)"
            " m = Mul (o, q) t = Add (m, r) b = Pad (a, t) c = Pad (b, u) z = Identity (c)"
            " y = Conv <strides = [2]> (c, w)",
            inputs="float[batch, 2, n] x",
            outputs="float[] y, float[] z",
            initializers="int64[6] p = {0, 0, 1, 0, 0, 2}, int64[1] i = {2},"
            " int64[6] q = {0, 0, 0, 0, 0, 1}, int64[6] r = {0, 0, 0, 0, 0, -1},"
            " int64[6] u = {0, 0, 2, 0, 0, 0}, float[1, 2, 3] w = {-2, -1, -1, -1, -1, 1}",
        ),
        "keep",
        id="a Pad behind one that is padded with other zeros",
    ),
    pytest.param(
        one(
            "s = Shape (x) g = Gather <axis = 0> (s, i) m = Mul (g, q) a = Pad (x, m, v, axes)"
            ' y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2, 2]> (a, w)',
            inputs="float[2, 1, m, n, k] x",
            initializers="int64[1] i = {4}, int64[10] q = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1},"
            " float v = {-1}, int64[5] axes = {-2, 1, 4, -5, -3},"
            f" float[2, 1, 3, 2, 5] w = {{{', '.join(['1'] * 60)}}}",
            opset=19,
        ),
        "pad",
        id="sizes that are too much to follow through a computed Pad",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 2, 1, 0, 0, 1, 1]> (x)"
            " b = Pad <pads = [0, 0, 0, 0, 0, 0, 0, 1], value = -9.0> (a)"
            " c = Pad <pads = [0, 0, 0, 1, 0, 0, 0, 0], value = -9.0> (b)"
            ' d = Conv <auto_pad = "SAME_UPPER", dilations = [1, 2], strides = [1, 5]> (c, w)'
            " t = Transpose <perm = [0, 1, 3, 2]> (d)"
            ' e = Pad <mode = "edge", pads = [0, 0, 0, 1, 0, 0, 0, 2]> (t)'
            " y = Conv <dilations = [1, 2], pads = [2, 1, 2, 1], strides = [2, 2]> (e, w)",
            inputs="float[1, 2, 8, 8] x",
            initializers=f"float[2, 2, 3, 2] w = {{{', '.join(['1'] * 24)}}}",
            opset=7,
            ir=4,
        ),
        "keep",
        id="two fills before SAME with dilation",
    ),
]


@pytest.mark.parametrize(("model", "dynamic"), UNPROVED)
def test_what_cannot_be_certified_stays(model: onnx.ModelProto, dynamic: str) -> None:
    for strict in (False, True):
        told_truly(model, dynamic=dynamic, strict=strict)


LOW = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float low = {-3.4028235e38}"
DOUBTFUL = one(
    "a = Pad (x, p, low) y = MaxPool <kernel_shape = [3, 3]> (a)"
    ' z = Conv <auto_pad = "VALID"> (x, w)',
    outputs="float[] y, float[] z",
    initializers=f"{LOW}, float[1, 2, 1, 1] w = {{1, 2}}",
)


def test_what_rests_on_an_assumption_names_it() -> None:
    valid, pool = told_truly(DOUBTFUL)
    assert (valid.code, valid.assumptions) == ("PAD102", ())
    assert (pool.code, pool.severity, pool.assumptions) == (
        "PAD201",
        Severity.WARNING,
        ("finite data",),
    )
    valid, pool = told_truly(DOUBTFUL, strict=True)
    assert (valid.severity, pool.severity) == (Severity.WARNING, Severity.INFO)


W = "float[1, 2, 3, 3] w = {" + ", ".join(map(str, range(18))) + "}"


@pytest.mark.parametrize(
    ("model", "fixable"),
    [
        pytest.param(
            one(
                "a = Pad (x, p) y = Conv (a, w) b = Pad (a, p) z = Relu (b)",
                outputs="float[] y, float[] z",
                initializers=f"int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}, {W}",
            ),
            True,
            id="read once when the other reader has folded it",
        ),
        pytest.param(
            one(
                "a = Pad (x, p) b = Pad (a, none) c = Pad (b, more) y = Relu (c)",
                initializers="int64[8] p = {0, 0, 0, -1, 0, 0, 0, -1},"
                " int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0},"
                " int64[8] more = {0, 0, 0, 2, 0, 0, 0, 2}",
            ),
            False,
            id="behind a Pad of nothing another that it cannot be merged with",
        ),
    ],
)
def test_what_the_others_make_of_it_is_foretold(model: onnx.ModelProto, fixable: bool) -> None:
    alone = [match.finding for match in MergePads().find(Context(Graph.from_proto(model)))][-1]
    last = [finding for finding in told_truly(model) if finding.code == "PAD203"][-1]
    assert (last.fixable, alone.fixable) == (fixable, not fixable)
    assert last.node == alone.node


class Waiting(Lost):
    """Folds as it should only where no VALID is left."""

    def rewrite(self, match: Match, context: Context) -> None:
        waits = any(node.attrs.get("auto_pad") == "VALID" for node in context.graph.nodes)
        rewrite = Lost.rewrite if waits else FoldPad.rewrite
        rewrite(self, match, context)


class Spoiling(Lost):
    """Folds as it should only as long as some VALID is left."""

    def rewrite(self, match: Match, context: Context) -> None:
        fine = any(node.attrs.get("auto_pad") == "VALID" for node in context.graph.nodes)
        rewrite = FoldPad.rewrite if fine else Lost.rewrite
        rewrite(self, match, context)


PADDED = one(
    'z = Conv <auto_pad = "VALID"> (x, w) a = Pad (x, p) y = Conv (a, w)',
    outputs="float[] y, float[] z",
    initializers=f"int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}, {W}",
)


@pytest.mark.parametrize(
    ("passes", "codes"),
    [
        pytest.param((Waiting, DropValid), ["PAD201", "PAD102"], id="tried once more"),
        pytest.param((DropValid, Spoiling), ["PAD102"], id="undone after another"),
        pytest.param((DropValid, Lost), ["PAD102"], id="undone alone"),
    ],
)
def test_a_change_is_judged_as_it_comes_out_beside_the_others(
    passes: tuple[type[Pass], ...], codes: list[str]
) -> None:
    found = Run(Graph.from_proto(PADDED), Options(), passes=passes).find()
    assert sorted(finding.code for finding in found if finding.fixable) == sorted(codes)
    outcome = Run(Graph.from_proto(PADDED), Options(), passes=passes).rewrite()
    assert sorted(change.code for change in outcome.changes) == sorted(codes)
    assert [finding for finding in found if not finding.fixable] == outcome.undone


def test_the_graph_comes_out_as_it_went_in() -> None:
    graph = Graph.from_proto(PADDED)
    assert any(finding.fixable for finding in Run(graph, Options()).find())
    assert not graph.model.changed
    assert graph.model.to_bytes() == PADDED.SerializeToString()
