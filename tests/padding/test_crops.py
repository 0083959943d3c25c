"""The forms that a crop of a transposed convolution has."""

import pytest

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.padding.crops import amounts_of, crop_of, form_of
from onnxpad.padding.padding import Padding, padding_of
from onnxpad.padding.write import changes
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.amounts import less
from onnxpad.semantics.read_nodes import TransposedOp, read_transposed
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


@each_row(
    ("begin", "end", "inside", "more", "rest"),
    [
        (0, 2, (0, 0), 0, (0, 2)),
        (1, 1, (1, 1), 0, (0, 0)),
        (3, 1, (3, 3), 2, (0, 0)),
        (4, 1, (1, 1), 0, (3, 0)),
        (2, -1, (0, 0), 1, (2, 0)),
        (1, -1, (1, 1), 2, (0, 0)),
    ],
)
def test_what_symmetric_pads_leave_to_crop(
    begin: int, end: int, inside: tuple[int, int], more: int, rest: tuple[int, int]
) -> None:
    crop = ((begin, end),)
    form = form_of(read()[1], crop, symmetric=True, sliced=True)
    assert form == Padding((inside,), output_padding=(more,))
    assert less(crop, form.crop) == (rest,)


@each_row(
    ("attributes", "words", "crop", "after"),
    [
        ("strides = [3]", "L 0+0, pads [0, 0]", (0, 0), {"pads": None}),
        ("pads = [1, 2], strides = [3]", "L 1+2, pads [1, 2]", (1, 2), {"pads": [1, 2]}),
        ("pads = [0, 0], strides = [3]", "L 0+0, pads [0, 0]", (0, 0), {"pads": [0, 0]}),
        ("output_padding = [2], strides = [3]", "L 0+0, pads [0, 0], output_padding [2]", (0, -2),
         {"pads": None}),
        ('auto_pad = "VALID", strides = [3]', "auto_pad=VALID", (0, 0),
         {"auto_pad": None, "pads": None}),
        ('auto_pad = "SAME_UPPER", strides = [2]', "auto_pad=SAME_UPPER", (0, 1),
         {"auto_pad": None, "pads": [0, 1]}),
        ('auto_pad = "SAME_LOWER", strides = [2]', "auto_pad=SAME_LOWER", (1, 0),
         {"auto_pad": None, "pads": [1, 0]}),
        ("output_shape = [9], strides = [3]", "output_shape [9]", None, {}),
        ("output_shape = [6], strides = [2], output_padding = [1]",
         "output_shape [6], output_padding [1]", None, {}),
    ],
)  # fmt: skip
def test_the_crop_that_is_written(
    attributes: str, words: str, crop: tuple[int, int] | None, after: dict[str, object]
) -> None:
    analysis, op = read(attributes)
    said = amounts_of(op).text
    assert said == words
    now = padding_of(op)
    assert (now is not None and said == amounts_of(now).text) is op.is_explicit
    if crop is not None:
        (found,) = crop_of(analysis, op)
        assert found == crop
        assert changes(op, form_of(op, (found,))) == after
