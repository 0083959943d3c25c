"""What is proved in the main graph is proved in bodies and functions too."""

from collections.abc import Iterator
from dataclasses import replace

import onnx
import onnx.parser
import pytest

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph
from onnxpad.proof.certify import UncertifiedError
from onnxpad.proof.prove import Prover
from onnxpad.sizes.analysed import AnalysedDomain, analysed_domains
from tests.support import assert_same, named

IF = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 1, h, 5] x, bool on) => (float[1, 1, h, 5] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
{
    y = If (on) <
        then_branch = t () => (float[] c) { [pad] a = Pad (x, p) [conv] c = Conv (a, w) },
        else_branch = e () => (float[] c) { c = Identity (x) }
    >
}
"""

FUNCTION = """
<ir_version: 9, opset_import: ["" : 17, "f" : 1]>
g (float[1, 1, h, 5] x, float[1, 1, 3, 3] w) => (float[] y) { y = f.blur (x, w) }
<domain: "f", opset_import: ["" : 17]> blur (x, w) => (c) {
    p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()
    [pad] a = Pad (x, p)
    [conv] c = Conv (a, w)
}
"""


def scope_of(main: Graph) -> Graph:
    """The graph of a model that has the Conv."""

    def each() -> Iterator[Graph]:
        yield from main.inside()
        yield from main.functions()

    return next(scope for scope in each() if any(node.op == "Conv" for node in scope.nodes))


def prover_of(main: Graph, scope: Graph) -> Prover:
    """A prover for a body of the main graph, or for a function."""
    if scope.parent is None:
        domains = tuple(replace(each, analysis=Analysis(scope)) for each in analysed_domains(main))
        return Prover(scope, domains, Signs(scope, domains[-1].analysis))
    domains = tuple(
        AnalysedDomain(each.domain, Analysis(scope, outer=each.analysis), each.feasible)
        for each in analysed_domains(main)
    )
    around = Signs(main, analysed_domains(main)[-1].analysis)
    return Prover(scope, domains, Signs(scope, domains[-1].analysis, around))


def fold(scope: Graph, pads: list[int]) -> None:
    conv, pad = named(scope, "conv"), named(scope, "pad")
    scope.set_attribute(conv, "pads", pads)
    scope.set_input(conv, 0, pad.inputs[0])
    scope.sweep()


def test_a_pad_folded_in_a_body_is_certified() -> None:
    model = onnx.parser.parse_model(IF)
    main = Graph.from_proto(model)
    scope = scope_of(main)
    prover, conv, c = prover_of(main, scope), named(scope, "conv"), scope.tensor("c")
    before = prover.read(conv, c)
    assert before.roots == ("x",)
    fold(scope, [1, 1, 1, 1])
    certificate, _ = prover.certify(before, prover.read(conv, c, before))
    assert not certificate.assumptions
    onnx.checker.check_model(main.model.to_proto())
    assert_same(model, main.model.to_proto())


@pytest.mark.parametrize("pads", [[1, 1, 1, 0], [0, 1, 1, 1], [2, 2, 2, 2]])
def test_a_pad_folded_wrongly_in_a_body_is_not(pads: list[int]) -> None:
    main = Graph.from_proto(onnx.parser.parse_model(IF))
    scope = scope_of(main)
    prover, conv, c = prover_of(main, scope), named(scope, "conv"), scope.tensor("c")
    before = prover.read(conv, c)
    fold(scope, pads)
    with pytest.raises(UncertifiedError):
        prover.certify(before, prover.read(conv, c, before))


def test_in_a_function_data_of_unknown_rank_proves_nothing() -> None:
    """Its inputs are whatever its callers give."""
    main = Graph.from_proto(onnx.parser.parse_model(FUNCTION))
    scope = scope_of(main)
    prover, conv, c = prover_of(main, scope), named(scope, "conv"), scope.tensor("c")
    with pytest.raises(UncertifiedError):
        prover.read(conv, c)
