"""The operators and `Pad`s whose padding can be varied, why others cannot, and what is written."""

from typing import Any

import onnx
import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding import sites
from onnxpad.frameworks.repadding.sites import has_padding_to_vary, sites_of, with_pads
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import attributes
from onnxpad.rewrite.pass_api import Context
from tests.support import one
from tests.support.rows import each_row

W = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
P = "int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}, int64[8] q = {0, 1, 1, 2, 0, 0, 3, 4}"
A = "int64[2] axes = {2, 3}, int64[4] few = {1, 2, 3, 4}, int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}"
X = "float[1, 1, 8, n] x"


def read(body: str, inputs: str = X, opset: int = 18) -> tuple[Context, list[Site], Any]:
    """The sites of a graph, its `Pad`s among them, and what cannot be varied, by its output."""
    model = one(body, inputs=inputs, initializers=f"{W}, {P}, {A}", opset=opset)
    context = Context(Graph.from_proto(model))
    windows, left = sites_of(context)
    sites, others = with_pads(context, windows)
    named = {context.label(node): why for node, why in left}
    return context, sites, named | dict(others)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("y = Conv (x, v)", "the size of its kernel is known only at run time"),
        ("y, i = MaxPool <kernel_shape = [2, 2]> (x)", "it gives indices"),
        (
            'y = ConvTranspose <auto_pad = "SAME_UPPER"> (x, w)',
            "its output_shape or auto_pad cannot be written as pads",
        ),
        ("s = Shape (x) t = Concat <axis = 0> (s, s) y = Pad (x, t)", "its amounts are computed"),
        ("y = Pad (u, few, , axes)", "the rank of its data is unknown"),
    ],
)
def test_what_cannot_be_varied(body: str, why: str) -> None:
    inputs = f"{X}, float[1, 1, j, k] v, float[] u"
    _, sites, left = read(body, inputs)
    assert (sites, list(left.values())) == ([], [why])


def test_what_is_in_a_body_cannot_be_varied() -> None:
    pool = "MaxPool <kernel_shape = [3, 3]> (x)"
    branch = f"g () => (float[] b) {{ b = {pool} }}"
    branches = f"then_branch = {branch}, else_branch = {branch.replace('b', 'c')}"
    _, sites, left = read(f"y = If <{branches}> (some) z = {pool}", f"{X}, bool some")
    assert [site.node.op for site in sites] == ["MaxPool"]
    assert [*left.values()] == ["it is in a body or a function"] * 2


PAIRS = ((1, 3), (2, 4))
STILL, THREE = (Window(1), Window(1)), (Window(3), Window(3))


@each_row(
    ("body", "axes", "windows", "padding", "sizes"),
    [
        ("a = Pad (x, p) y = Conv (a, w)", (2, 3), THREE, PAIRS, (8, None)),
        ("y = Pad (x, p)", (2, 3), STILL, PAIRS, (8, None)),
        ("a = Pad (x, p) y = Conv (a, w) z = Relu (a)", (2, 3), STILL, PAIRS, (8, None)),
        ("a = Pad (x, p) y = ConvTranspose (a, w)", (2, 3), STILL, PAIRS, (8, None)),
        ("a = Pad (x, few, , axes) y = Conv (a, w)", (2, 3), THREE, ((1, 3), (2, 4)), (8, None)),
        (
            "y = Pad (x, q)",
            (1, 2, 3),
            (Window(1),) * 3,
            ((1, 0), *PAIRS),
            (1, 8, None),
        ),
        (
            "a = Pad (x, q) y = MaxPool <kernel_shape = [3, 3]> (a)",  # channels too: not its own
            (1, 2, 3),
            (Window(1),) * 3,
            ((1, 0), *PAIRS),
            (1, 8, None),
        ),
    ],
)
def test_a_pad_is_a_site_with_the_window_that_reads_it(
    body: str, axes: Any, windows: Any, padding: Any, sizes: Any
) -> None:
    _, found, left = read(body)
    pad = next(site for site in found if site.node.op == "Pad")
    assert not left
    assert (pad.axes, pad.windows, pad.padding.pads, pad.known_sizes) == (
        axes,
        windows,
        padding,
        sizes,
    )
    assert pad.rank == 4
    assert pad.is_still == (windows[0].kernel == 1)
    assert [pad.is_pool, pad.is_transposed, pad.leaves_padding_out] == [False] * 3


def test_a_pad_of_nothing_is_no_site() -> None:
    _, sites, left = read("y = Pad (x, none)")
    assert (sites, left) == ([], {})


@each_row(
    ("node", "padding"),
    [
        ("Conv <pads = [1, 0, 2, 3]> (x, w)", Padding(((1, 2), (0, 3)))),
        ('Conv <auto_pad = "VALID"> (x, w)', Padding(((0, 0), (0, 0)))),
        ('Conv <auto_pad = "SAME_UPPER", strides = [1, 2]> (x, w)', Padding(None)),
        ('Conv <auto_pad = "SAME_LOWER"> (x, w)', Padding(None, odd="begin")),
        (
            "MaxPool <kernel_shape = [3, 3], ceil_mode = 1, strides = [2, 2]> (x)",
            Padding(((0, 0), (0, 0)), ceil=True),
        ),
        (
            "AveragePool <kernel_shape = [3, 3], count_include_pad = 1> (x)",
            Padding(((0, 0), (0, 0)), counted=True),
        ),
        (
            'AveragePool <kernel_shape = [3, 3], count_include_pad = 1, auto_pad = "VALID"> (x)',
            Padding(((0, 0), (0, 0)), counted=True),
        ),
        (
            'AveragePool <kernel_shape = [3, 3], auto_pad = "SAME_LOWER"> (x)',
            Padding(None, odd="begin"),
        ),
        (
            "ConvTranspose <strides = [2, 2], pads = [1, 0, 0, 1], output_padding = [1, 0]> (x, w)",
            Padding(((1, 0), (0, 1)), output_padding=(1, 0)),
        ),
    ],
)
def test_how_an_operator_pads(node: str, padding: Padding) -> None:
    context, (site,), left = read(f"y = {node}")
    assert not left
    assert (site.padding, site.axes, site.rank, site.known_sizes) == (padding, (2, 3), 4, (8, None))
    assert not site.is_still
    assert has_padding_to_vary(context)


@pytest.mark.parametrize(
    ("body", "varies"),
    [
        ("y = MaxPool <kernel_shape = [1, 1]> (x)", False),
        ("y = MaxPool <kernel_shape = [1, 2]> (x)", True),
        ("y = Relu (x)", False),
        ("y = Pad (x, none)", True),
    ],
)
def test_whether_there_is_anything_to_vary(body: str, varies: bool) -> None:
    assert has_padding_to_vary(read(body)[0]) is varies


ONES, NONE = ((1, 1), (1, 1)), ((0, 0), (0, 0))


@each_row(
    ("strides", "padding", "pads", "wanted", "words"),
    [
        ("1, 2", Padding(None), ONES, {"auto_pad": "SAME_UPPER"}, "SAME_UPPER, here H 1+1, W 1+1"),
        ("1, 2", Padding(None, odd="begin"), ONES, {"auto_pad": "SAME_LOWER"},
         "SAME_LOWER, here H 1+1, W 1+1"),
        ("2, 1", Padding(None), ONES, {"pads": [1, 1, 1, 1]}, "pads H 1+1, W 1+1"),
        ("1, 2", Padding(None, undilated=True), ONES, {"pads": [1, 1, 1, 1]}, "pads H 1+1, W 1+1"),
        ("1, 2", Padding(NONE), NONE, {}, "pads H 0+0, W 0+0"),
        ("1, 2", Padding(ONES, ceil=True), ONES, {"pads": [1, 1, 1, 1], "ceil_mode": 1},
         "pads H 1+1, W 1+1, rounded up (ceil_mode)"),
        ("1, 2", Padding(((1, 2), (3, 4)), counted=True), ((1, 2), (3, 4)),
         {"pads": [1, 3, 2, 4], "count_include_pad": 1},
         "pads H 1+2, W 3+4, padding counted (count_include_pad)"),
        ("1, 2", Padding(NONE, output_padding=(0, 1)), NONE, {"output_padding": [0, 1]},
         "pads H 0+0, W 0+0, output_padding [0, 1]"),
        ("1, 2", Padding(NONE, output_padding=(0, 0)), NONE, {}, "pads H 0+0, W 0+0"),
    ],
)  # fmt: skip
def test_what_is_written(
    strides: str, padding: Padding, pads: Any, wanted: Any, words: str
) -> None:
    """The height is known and the width open."""
    node = f"AveragePool <kernel_shape = [3, 3], strides = [{strides}], pads = [9, 9, 9, 9]> (x)"
    context, (site,), _ = read(f"y = {node}")
    assert attributes(sites.settled(site, padding, pads)) == wanted
    assert sites.written_as(site, padding, pads) == words
    assert sites.stays_open(site, padding) == ("auto_pad" in wanted)
    sites.write(context.graph, site, padding, pads)
    kept = {"kernel_shape", "strides"}
    found = {name: value for name, value in site.node.attrs.items() if name not in kept}
    assert {name: [*v] if isinstance(v, tuple) else v for name, v in found.items()} == wanted


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        ("y = Pad (x, p)", 18),
        ("y = Pad (x, few, , axes)", 18),
        ("y = Pad <pads = [0, 0, 1, 2, 0, 0, 3, 4]> (x)", 10),
    ],
)
def test_the_amounts_of_a_pad_are_written_for_all_axes(body: str, opset: int) -> None:
    context, (site,), _ = read(body, opset=opset)
    sites.write(context.graph, site, Padding(((5, 6), (7, 8))), ((5, 6), (7, 8)))
    model = context.graph.model.to_proto()
    (pad,) = model.graph.node
    amounts = [0, 0, 5, 7, 0, 0, 6, 8]
    if opset < 11:
        assert [*pad.attribute[0].ints] == amounts
        return
    values = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    assert values[pad.input[1]].tolist() == amounts
    assert len(pad.input) == 2
