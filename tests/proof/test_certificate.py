"""What a certificate says: the weakest assumptions, what was read, and that in bodies too."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from msgspec.structs import replace

import onnxpad
from onnxpad.arithmetic.quasi_affine import Sizes
from onnxpad.facts import Analysis
from onnxpad.facts.feasible import AnalysedDomain, SizeDomain, analysed_domains
from onnxpad.finding import Assumption, Certificate
from onnxpad.graph import Graph
from onnxpad.proof.certificate import Prover
from onnxpad.proof.term import DiffersError
from tests.proof.bodies import model
from tests.support import assert_same, named, run
from tests.support.rows import each_row


def prover_of(graph: Graph, **sizes: Any) -> Prover:
    """A prover for a main graph, at some sizes."""
    domains = analysed_domains(graph, SizeDomain(**sizes) if sizes else None)
    return Prover(graph, domains)


def proved(proto: onnx.ModelProto, edit: Callable[[Graph], object], **sizes: Any) -> Certificate:
    """The certificate of `y` after an edit that leaves it in its place."""
    graph = Graph.from_proto(proto)
    prover = prover_of(graph, **sizes)
    prover.begin()
    mark, y = graph.mark(), graph.tensor("y")
    prover.roots(y)
    edit(graph)
    graph.sweep()
    (found,) = prover.settle(graph.touched(mark), {y: y})
    return found


def setting(**attributes: Any) -> Callable[[Graph], object]:
    """An edit that gives the node of `y` the data of the `Pad` before it, and attributes."""

    def edit(graph: Graph) -> None:
        node = graph.tensor("y").producer
        assert node is not None
        above = node.inputs[0].producer
        if above is not None and above.op == "Pad":
            graph.set_input(node, 0, above.inputs[0])
        graph.set_attributes(node, attributes)

    return edit


def test_a_window_is_told_by_axis() -> None:
    body = "a = Pad (short, p_1_0) y = Conv <strides = [2]> (a, w2)"
    found = proved(model(body), setting(pads=[1, 0]))
    axis = {
        "axis": 2,
        "start": -1,
        "windows": 2,
        "size": 3,
        "kernel": 2,
        "stride": 2,
        "dilation": 1,
    }
    expected = {"kind": "windows", "root": "short", "axes": [axis], "outside": [0], "repair": False}
    assert dict(found.facts) == expected
    assert (found.assumptions, found.limits, found.data) == ((), "", (3,))
    assert "'short'" in found.statement


def test_a_fill_is_said_alike_whichever_of_equal_ones_was_read_first() -> None:
    windows = "y = Conv <strides = [2]> (a, w2)"
    for pad in ("Pad (short, p_7_0, zero)", "Pad (short, p_7_0)"):
        facts = proved(model(f"a = {pad} {windows}"), setting(pads=[7, 0])).facts
        assert json.dumps(facts["outside"]) == "[0]"


def test_the_weakest_sizes_that_are_enough_are_named() -> None:
    """All, if that is enough; else those that the user gave."""
    body, even = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w{})', Sizes(2, 100, 2)
    odd = setting(pads=[0, 1], auto_pad=None)
    with pytest.raises(DiffersError):
        proved(model(body.format(3)), odd)
    found = proved(model(body.format(3)), odd, given={"L": even})
    assert found.limits
    assert found.within == {"L": even.as_data()}
    whole = proved(model(body.format(2)), odd, given={"L": even})
    assert (whole.limits, whole.within) == ("", {})


def test_what_is_proved_at_some_sizes_is_not_taken_for_proved_at_all() -> None:
    conv = '= Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w3)'
    graph = Graph.from_proto(model(f"y {conv} z {conv}"))
    prover = prover_of(graph, given={"L": Sizes(2, 100, 2)})
    for name in ("y", "z"):
        tensor, mark = graph.tensor(name), graph.mark()
        prover.begin()
        assert tensor.producer is not None
        graph.set_attributes(tensor.producer, {"pads": [0, 1], "auto_pad": None})
        (found,) = prover.settle(graph.touched(mark), {tensor: tensor})
        assert found.limits


@pytest.mark.parametrize("last", ["Relu", "Reciprocal"])
def test_a_sign_that_is_lost_behind_one_tensor_may_show_behind_another(last: str) -> None:
    pool = "MaxPool <kernel_shape = [2]>"
    body = f"h = Relu (x) a = Pad (h, p_1_1) b = Pad (h, p_1_1) m = {pool} (a) n = {pool} (b)"
    proto = model(f"{body} y = Conv (m, w2) z = {last} (n)")
    graph = Graph.from_proto(proto)
    prover = prover_of(graph)
    for name in ("m", "n"):
        tensor, mark = graph.tensor(name), graph.mark()
        prover.begin()
        node = tensor.producer
        assert node is not None
        graph.set_input(node, 0, graph.tensor("h"))
        graph.set_attributes(node, {"pads": [1, 1]})
        if name == "n" and last == "Reciprocal":
            with pytest.raises(DiffersError):
                prover.settle(graph.touched(mark), {tensor: tensor})
        else:
            prover.settle(graph.touched(mark), {tensor: tensor})


@each_row(
    ("body", "behind", "roots"),
    [
        ("a = Pad (x, p_1_1) y = Conv (a, w3)", False, ["x"]),
        ("n = Neg (x) a = Pad (n, p_1_1) i = Identity (a) y = Conv (i, w3)", False, ["n"]),
        ("a = Pad (x, p_1_1) n = Neg (a) y = Conv (n, w3)", False, ["n"]),
        ("a = Pad (x, p_1_1) n = Neg (a) y = Conv (n, w3)", True, ["x"]),
        ("a = Pad (x, p_1_1) n = Neg (a) y = Relu (n)", False, ["x"]),
        ("n = Neg (x) y = Relu (n)", False, ["n"]),
        ("a = Pad (x, p_1_1) b = Neg (x) c = Pad (b, p_1_1) y = Concat <axis = 1> (a, c)", False,
         ["x", "b"]),
        ("a = ConvTranspose (x, t) y = Pad (a, p_0_1)", False, ["a"]),
        ('a = Pad <mode = "edge"> (x, p_1_1) y = Conv (a, w3)', False, ["a"]),
    ],
)  # fmt: skip
def test_the_roots_from_which_a_tensor_is_padded(body: str, behind: bool, roots: list[str]) -> None:
    graph = Graph.from_proto(model(body))
    prover = prover_of(graph)
    prover.begin()
    assert [*prover.roots(graph.tensor("y"), behind=behind)] == roots


# Options of `fix` that rest on what a certificate assumes.


def pool(attributes: str, data: str = "x") -> str:
    return f"y = MaxPool <kernel_shape = [3]{attributes}> ({data})"


FINITE = [
    f"a = Pad (x, p_1_2, low) {pool('', 'a')}",
    f"a = Pad (x, p_1_2, lowest) {pool('', 'a')}",
    f"n = Relu (x) a = Pad (n, p_1_2) {pool('', 'a')}",
    'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [2]> (x)',
]


@each_row("body", FINITE)
def test_strict_undoes_what_rests_on_an_assumption(body: str) -> None:
    before = model(body)
    kept = onnxpad.fix(before, strict=True)
    assert not kept.changed
    assert not kept.changes
    assert kept.model == before
    changes = onnxpad.fix(before).changes
    assert [change.certificate.assumptions for change in changes] == [(Assumption.FINITE_DATA,)]


def test_strict_keeps_what_rests_on_none() -> None:
    body = f"a = Pad (x, p_1_2) c = Conv (a, w3) b = Pad (c, p_1_1, low) {pool('', 'b')}"
    result = onnxpad.fix(model(body), strict=True)
    assert [change.op_type for change in result.changes] == ["Conv"]
    assert [node.op_type for node in result.model.graph.node] == ["Conv", "Pad", "MaxPool"]
    assert len(result.undone) == 1


@each_row(
    "body",
    [
        pool(', auto_pad = "SAME_UPPER", strides = [2]', "short"),
        pool(', auto_pad = "SAME_LOWER", strides = [2]', "short"),
        pool(', auto_pad = "SAME_UPPER"'),
        'y = MaxPool <auto_pad = "VALID", kernel_shape = [1], strides = [2]> (x)',
    ],
)
def test_pads_that_the_same_kernel_gets_need_no_assumption(body: str) -> None:
    before = model(body)
    result = onnxpad.fix(before, strict=True)
    assert [change.certificate.assumptions for change in result.changes] == [()]
    name = before.graph.input[0].name
    data = {name: np.full((1, 2, 3 if name == "short" else 8), -np.inf, np.float32)}
    np.testing.assert_array_equal(run(before, data)[0], run(result.model, data)[0])


# Bodies and functions.

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


def folded(text: str, pads: list[int]) -> Graph:
    """The main graph of a model after the `Pad` of a body or a function was folded.

    Raises:
        DiffersError: That is not proved.
    """
    main = Graph.from_proto(onnx.parser.parse_model(text))

    scope = next(scope for scope in main.inside() if any(node.op == "Conv" for node in scope.nodes))
    domains = analysed_domains(main)
    if scope.parent is None:
        inner = tuple(replace(each, analysis=Analysis(scope)) for each in domains)
    else:
        inner = tuple(
            AnalysedDomain(each.domain, Analysis(scope, outer=each.analysis)) for each in domains
        )
    prover = Prover(scope, inner)
    prover.begin()
    mark, c = scope.mark(), scope.tensor("c")
    assert prover.roots(c) == ("x",)
    conv, pad = named(scope, "conv"), named(scope, "pad")
    scope.set_attribute(conv, "pads", pads)
    scope.set_input(conv, 0, pad.inputs[0])
    scope.sweep()
    (found,) = prover.settle(scope.touched(mark), {c: c})
    assert (found.assumptions, found.facts["root"]) == ((), "x")
    return main


def test_a_pad_folded_in_a_body_is_certified() -> None:
    after = folded(IF, [1, 1, 1, 1]).model.to_proto()
    onnx.checker.check_model(after)
    assert_same(onnx.parser.parse_model(IF), after)


@pytest.mark.parametrize(
    ("text", "pads"),
    [
        *((IF, pads) for pads in ([1, 1, 1, 0], [0, 1, 1, 1], [2, 2, 2, 2])),
        (FUNCTION, [1, 1, 1, 1]),  # whose inputs are of any rank, as its callers give them
    ],
)
def test_what_is_not_so_for_a_body_or_for_each_caller_is_not(text: str, pads: list[int]) -> None:
    with pytest.raises(DiffersError):
        folded(text, pads)
