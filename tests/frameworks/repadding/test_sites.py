"""The operators and `Pad`s whose padding can be varied, why others cannot, and what is written."""

from typing import Any

import pytest

from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding import sites
from onnxpad.frameworks.repadding.sites import has_padding_to_vary, sites_of
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
    """The sites of a graph, and what cannot be varied, by its output."""
    model = one(body, inputs=inputs, initializers=f"{W}, {P}, {A}", opset=opset)
    context = Context(Graph.from_proto(model))
    sites, left = sites_of(context)
    return context, sites, {context.label(node): why for node, why in left}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("y = Conv (x, v)", "the size of its kernel is known only at run time"),
        ("y, i = MaxPool <kernel_shape = [2, 2]> (x)", "it gives indices"),
        (
            'y = ConvTranspose <auto_pad = "SAME_UPPER"> (x, w)',
            "its output_shape or auto_pad cannot be written as pads",
        ),
    ],
)
def test_what_cannot_be_varied(body: str, why: str) -> None:
    inputs = f"{X}, float[1, 1, j, k] v, float[] u"
    _, sites, left = read(body, inputs)
    assert (sites, list(left.values())) == ([], [why])


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
    assert has_padding_to_vary(context)


@pytest.mark.parametrize(
    ("body", "varies"),
    [
        ("y = MaxPool <kernel_shape = [1, 1]> (x)", False),
        ("y = MaxPool <kernel_shape = [1, 2]> (x)", True),
        ("y = Relu (x)", False),
    ],
)
def test_whether_there_is_anything_to_vary(body: str, varies: bool) -> None:
    assert has_padding_to_vary(read(body)[0]) is varies


ONES, NONE = ((1, 1), (1, 1)), ((0, 0), (0, 0))


@each_row(
    ("strides", "padding", "wanted", "words"),
    [
        ("1, 2", Padding(None), {"auto_pad": "SAME_UPPER"}, "SAME_UPPER, here H 1+1, W 1+1"),
        ("1, 2", Padding(None, odd="begin"), {"auto_pad": "SAME_LOWER"},
         "SAME_LOWER, here H 1+1, W 1+1"),
        ("2, 1", Padding(None), {"pads": [1, 1, 1, 1]}, "pads H 1+1, W 1+1"),
        ("1, 2", Padding(NONE), {}, "pads H 0+0, W 0+0"),
        ("1, 2", Padding(ONES, ceil=True), {"pads": [1, 1, 1, 1], "ceil_mode": 1},
         "pads H 1+1, W 1+1, rounded up (ceil_mode)"),
        ("1, 2", Padding(((1, 2), (3, 4)), counted=True),
         {"pads": [1, 3, 2, 4], "count_include_pad": 1},
         "pads H 1+2, W 3+4, padding counted (count_include_pad)"),
        ("1, 2", Padding(NONE, output_padding=(0, 1)), {"output_padding": [0, 1]},
         "pads H 0+0, W 0+0, output_padding [0, 1]"),
        ("1, 2", Padding(NONE, output_padding=(0, 0)), {}, "pads H 0+0, W 0+0"),
    ],
)  # fmt: skip
def test_what_is_written(strides: str, padding: Padding, wanted: Any, words: str) -> None:
    """The height is known and the width open."""
    node = f"AveragePool <kernel_shape = [3, 3], strides = [{strides}], pads = [9, 9, 9, 9]> (x)"
    context, (site,), _ = read(f"y = {node}")
    settled = sites.settled(site, padding, (7, 7), 18)
    assert attributes(settled) == wanted
    assert sites.described(settled, (7, 7), site.windows) == words
    sites.write(context.graph, site, settled)
    kept = {"kernel_shape", "strides"}
    found = {name: value for name, value in site.node.attrs.items() if name not in kept}
    assert {name: [*v] if isinstance(v, tuple) else v for name, v in found.items()} == wanted
