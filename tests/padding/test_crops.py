"""The forms that a crop of a transposed convolution has."""

import pytest

from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.padding.crops import form_of
from onnxpad.padding.padding import Padding
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.operators import TransposedOp, read_transposed
from tests.support import one
from tests.support.rows import each_row


def read(attributes: str = "strides = [3]") -> tuple[Analysis, TransposedOp]:
    """A transposed convolution over one axis of four elements, with windows of three."""
    weight = f"float[2, 3, 3] w = {{{', '.join(['1'] * 18)}}}"
    body = f"y = ConvTranspose <{attributes}> (x, w)"
    graph = Graph.from_proto(one(body, inputs="float[1, 2, 4] x", initializers=weight))
    analysis = Analysis(graph)
    return analysis, read_transposed(graph, analysis, *graph.nodes)


@pytest.mark.parametrize(
    ("begin", "end", "pads", "more"),
    [
        (0, 0, (0, 0), 0), (1, 2, (1, 2), 0), (2, 1, (2, 1), 0), (0, -1, (0, 0), 1),
        (1, -2, (1, 0), 2),
    ],
)  # fmt: skip
def test_the_form_of_a_crop(begin: int, end: int, pads: tuple[int, int], more: int) -> None:
    assert form_of(read()[1], ((begin, end),)) == Padding((pads,), output_padding=(more,))


@each_row(
    ("begin", "end", "pads", "more"),
    [(0, 0, (0, 0), 0), (1, 1, (1, 1), 0), (2, 1, (2, 2), 1), (2, 0, (2, 2), 2),
     (1, -1, (1, 1), 2), (0, -2, (0, 0), 2)],
)  # fmt: skip
def test_the_form_with_equal_pads(begin: int, end: int, pads: tuple[int, int], more: int) -> None:
    assert form_of(read()[1], ((begin, end),), symmetric=True) == Padding(
        (pads,), output_padding=(more,)
    )


@each_row(
    ("begin", "end", "symmetric"),
    [(-1, 0, False), (-2, 0, True), (0, -3, False), (0, -3, True), (0, 1, True), (1, 2, True),
     (3, 0, True), (1, -2, True)],
)  # fmt: skip
def test_a_crop_without_a_form(begin: int, end: int, symmetric: bool) -> None:
    with pytest.raises(RefusalError) as refused:
        form_of(read()[1], ((begin, end),), symmetric=symmetric)
    assert refused.value.code == Reason.CROPS
    assert refused.value.facts == {"axis": 2, "crop": [begin, end]}
