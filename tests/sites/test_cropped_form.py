"""The forms that a crop of a transposed convolution has, and the ends of what lies behind one."""

import pytest

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.operators.read import TransposedOp, read_transposed
from onnxpad.padding.padding import Padding, padding_of
from onnxpad.padding.write import changes
from onnxpad.reasons import Reason, RefusalError
from onnxpad.sites.cropped_form import (
    amounts_of,
    crop_of,
    form_of,
    form_text,
    symmetric_form,
)
from onnxpad.sites.crops_behind import End
from tests.support import one
from tests.support.rows import each_row


def read(attributes: str = "strides = [3]") -> tuple[Analysis, TransposedOp]:
    """A transposed convolution over one axis of four elements, with windows of three."""
    weight = f"float[2, 3, 3] w = {{{', '.join(['1'] * 18)}}}"
    body = f"y = ConvTranspose <{attributes}> (x, w)"
    graph = Graph.from_proto(one(body, inputs="float[1, 2, 4] x", initializers=weight))
    analysis = Analysis(graph)
    (node,) = graph.nodes
    return analysis, read_transposed(graph, analysis, node)


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
    ("begin", "end", "symmetric", "why"),
    [
        (-1, 0, False, "it would have to prepend 1 element on axis 2, and pads cannot be negative"),
        (-2, 0, True, "it would have to prepend 2 elements on axis 2, and pads cannot be negative"),
        (0, -3, False, ("it would have to append 3 elements on axis 2, and output_padding must "
         "stay below the stride 3")),
        (0, -3, True, ("it would have to append 3 elements on axis 2, and output_padding must "
         "stay below the stride 3")),
        (0, 1, True, "no symmetric pads crop axis 2 by 0+1"),
        (1, 2, True, "no symmetric pads crop axis 2 by 1+2"),
        (3, 0, True, ("with pads of 3 at both ends it would have to append 3 elements on axis 2, "
         "and output_padding must stay below the stride 3")),
        (1, -2, True, ("with pads of 1 at both ends it would have to append 3 elements on axis 2, "
         "and output_padding must stay below the stride 3")),
    ],
)  # fmt: skip
def test_a_crop_without_a_form(begin: int, end: int, symmetric: bool, why: str) -> None:
    with pytest.raises(RefusalError) as refused:
        form_of(read()[1], ((begin, end),), symmetric=symmetric)
    assert str(refused.value) == why
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
    assert symmetric_form(read()[1], ((begin, end),)) == (
        Padding((inside,), output_padding=(more,)),
        (rest,),
    )


@each_row(
    ("attributes", "words", "crop", "after"),
    [
        ("strides = [3]", "L 0+0, pads [0, 0]", (0, 0), {"pads": None, "output_padding": None}),
        ("pads = [1, 2], strides = [3]", "L 1+2, pads [1, 2]", (1, 2),
         {"pads": [1, 2], "output_padding": None}),
        ("pads = [0, 0], strides = [3]", "L 0+0, pads [0, 0]", (0, 0),
         {"pads": [0, 0], "output_padding": None}),
        ("output_padding = [2], strides = [3]", "L 0+0, pads [0, 0], output_padding [2]", (0, -2),
         {"pads": None, "output_padding": [2]}),
        ('auto_pad = "VALID", strides = [3]', "auto_pad=VALID", (0, 0),
         {"auto_pad": None, "pads": None, "output_padding": None}),
        ('auto_pad = "SAME_UPPER", strides = [2]', "auto_pad=SAME_UPPER", (0, 1),
         {"auto_pad": None, "pads": [0, 1], "output_padding": None}),
        ('auto_pad = "SAME_LOWER", strides = [2]', "auto_pad=SAME_LOWER", (1, 0),
         {"auto_pad": None, "pads": [1, 0], "output_padding": None}),
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
    assert (now is not None and said == form_text(now)) is op.is_explicit
    if crop is not None:
        (found,) = crop_of(analysis, op)
        assert found == crop
        assert changes(op, form_of(op, (found,))) == after


REFUSAL = RefusalError(Reason.FILL_DIFFERS, "another number")
CUT = "it pads axis 2 where elements were cropped before"


@each_row(
    ("end", "amount", "fill", "crop", "foreign", "why"),
    [
        (End(0), 0, None, 0, 0, ""),
        (End(0), 2, None, -2, 0, ""),
        (End(0), 2, REFUSAL, -2, 2, "another number"),
        (End(-1), 2, None, -3, 0, ""),
        (End(1), 2, None, -1, 2, CUT),
        (End(1), 2, REFUSAL, -1, 2, CUT),
        (End(1), -2, REFUSAL, 3, 0, ""),
        (End(-2, 2, REFUSAL), -1, None, -1, 1, "another number"),
        (End(-2, 2, REFUSAL), -2, None, 0, 0, "another number"),
        (End(-2, 2, REFUSAL), -3, None, 1, 0, "another number"),
        (End(-2, 2, REFUSAL), 1, None, -3, 3, "another number"),
        (End(1, 2, REFUSAL), 1, None, 0, 3, "another number"),
    ],
)
def test_an_end_behind_a_slice_or_pad(
    end: End, amount: int, fill: RefusalError | None, crop: int, foreign: int, why: str
) -> None:
    found = end.after(amount, 2, fill)
    assert (found.crop, found.foreign, str(found.why or "")) == (crop, foreign, why)
