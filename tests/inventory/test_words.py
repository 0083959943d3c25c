"""The words of a site: amounts by part and axis, where they come from, and who reads a `Pad`."""

from typing import Any, Final

import pytest

import onnxpad
from onnxpad.arithmetic.size import Unknown, symbol
from onnxpad.inventory.collect import (
    _brief_value,
    amounts_text,
    flat_order,
    known_number,
    pad_written,
    range_text,
    size_text,
)
from onnxpad.inventory.padding_site import AxisPadding, OuterPad, PathNode
from onnxpad.sites.reading import added
from tests.support import BORDER, W, one
from tests.support.rows import each_row

DATA: Final = "float[1, 2, 9, 8] x"
OPEN: Final = "float[1, 2, h, 8] x"
UNEVEN: Final = "int64[8] q = {0, 0, 1, 0, 0, 0, 0, 2}"


def sites(body: str, inputs: str = DATA, given: str = UNEVEN, **kept: Any) -> tuple[Any, ...]:
    initializers = ", ".join(filter(None, (W, BORDER, given)))
    return onnxpad.show(one(body, inputs=inputs, initializers=initializers, **kept)).sites


@each_row(
    ("body", "inputs", "given", "expected"),
    [
        pytest.param(
            "t = Pad (x, p) r = Relu (t) y = Conv <pads = [1, 0, 0, 2]> (r, w)", DATA, "",
            ("Pad upstream + pads", "H 2+1, W 1+3", "H 1+0, W 0+2",
             "a Pad upstream, constant amounts, and its own pads"), id="both parts",
        ),
        pytest.param(
            "t = Pad (x, p) u = Pad (t, q, c) y = Conv (u, w)", DATA, f"{UNEVEN}, float c = {{3}}",
            ("Pad + Pad of 3.0", "H 2+1, W 1+3", "none",
             "a Pad in front, constant amounts, and a Pad in front, constant amounts"),
            id="of another number",
        ),
        pytest.param(
            'y = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, w)', OPEN, "",
            ("auto_pad=SAME_LOWER", "H 1+1, W 1+0", "H 1+1, W 1+0", "auto_pad=SAME_LOWER"),
            id="SAME that is one number at all sizes",
        ),
        pytest.param(
            "t = Pad (x, a) y = Conv (t, w)", f"{DATA}, int64[8] a", "",
            ("computed Pad", "not known", "none", "a Pad in front, amounts given by 'a'"),
            id="amounts of run time",
        ),
        pytest.param(
            "t = Pad (x, p, c) y = Conv (t, w)", f"{DATA}, float c", "",
            ("Pad of ?", "H 1+1, W 1+1", "none", "a Pad in front, constant amounts"),
            id="a number of run time",
        ),
        pytest.param(
            "t = Pad (x, a) u = Transpose <perm = [0, 3, 1, 2]> (t) y = Conv (u, w)",
            "float[1, 9, 8, 2] x", "int64[8] a = {0, 1, 2, 0, 0, 3, 4, 0}",
            ("Pad upstream", "H 1+3, W 2+4", "none", "a Pad upstream, constant amounts"),
            id="a Transpose between",
        ),
        pytest.param(
            "t = Pad (x, a) u = Unsqueeze (t, z) y = Conv (u, w)", "float[2, 9, 8] x",
            "int64[6] a = {0, 1, 2, 0, 3, 4}, int64[1] z = {0}",
            ("Pad upstream", "H 1+3, W 2+4", "none", "a Pad upstream, constant amounts"),
            id="a new axis between",
        ),
        pytest.param(
            "t = Pad (x, p) d = Dropout (t) y = Conv (d, w)", DATA, "",
            ("Pad upstream", "H 1+1, W 1+1", "none", "a Pad upstream, constant amounts"),
            id="a copy between",
        ),
        pytest.param(
            "t = Pad (x, a) y = Conv <pads = [1, 1, 1, 1]> (t, w)", DATA,
            "int64[8] a = {0, 0, -1, 0, 0, 0, 0, -1}",
            ("Pad + pads", "H 0+1, W 1+0", "H 1+1, W 1+1",
             "a Pad in front, constant amounts, and its own pads"), id="a Pad that crops",
        ),
        pytest.param(
            "y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 0, 0], ceil_mode = 1> (x)",
            DATA, "", ("pads + ceil_mode", "H 1+0, W 1+0", "H 1+0, W 1+0", "its own pads"),
            id="rounding up",
        ),
    ], at_once=4)  # fmt: skip
def test_parts(body: str, inputs: str, given: str, expected: tuple[str, ...]) -> None:
    (site,) = sites(body, inputs, given)
    assert (site.kind, site.problem) == ("window", "")
    assert (site.written, site.amounts, site.own, site.origin) == expected


COMPUTED: Final = (
    "s = Shape <start = 2, end = 4> (x) z = Div (s, two) "
    "a = Concat <axis = 0> (zero, z, zero, z) t = Pad (x, a) y = Conv (t, w)"
)


def test_amounts_that_depend_on_a_size() -> None:
    (site,) = sites(COMPUTED, OPEN, "int64[2] two = {2, 2}, int64[2] zero = {0, 0}")
    formula = "the begin is floor(n/2), and the end is floor(n/2) with n the size it reads"
    high, wide = site.axes
    assert (high.name, high.begin, high.end, high.size, high.told_size) == ("H", *[None] * 3, "h")
    assert (high.formula, high.range) == (formula, "?+?")
    assert (wide.begin, wide.end, wide.size, wide.formula) == (4, 4, 8, "")
    assert (site.pads, site.own_pads, site.amounts) == (None, (0, 0, 0, 0), "H ?+?, W 4+4")
    (outer,) = site.outer
    size = "'h' (axis 2 of input 'x')"
    assert (outer.amounts, outer.source) == ("computed", f"amounts computed by 3 nodes from {size}")
    assert outer.formula == f"its amounts depend on the size {size}: on axis 2 {formula}"
    assert site.advice == ("onnxpad fix MODEL --dim h=N",)


def test_computed_amounts_that_no_window_reads() -> None:
    given = "int64[2] two = {2, 2}, int64[2] zero = {0, 0}"
    site = sites(COMPUTED.replace("Conv (t, w)", "Sigmoid (t)"), OPEN, given)[0]
    assert (site.amounts, site.own, site.pads) == ("axis 2 ?+?, axis 3 4+4", "computed", None)
    assert [axis.range for axis in site.axes] == ["?+?", "4+4"]
    unknown = sites("t = Pad (x, a) y = Sigmoid (t)", f"{DATA}, int64[8] a", "")[0]
    assert (unknown.amounts, unknown.own, unknown.axes) == ("computed", "computed", ())


def test_same_of_a_size_of_which_nothing_is_known() -> None:
    (site,) = sites(
        'r = Reshape (x, s) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 1]> (r, w)',
        f"{DATA}, int64[4] s",
    )
    high, wide = site.axes
    assert (high.begin, high.end, high.told_size, high.range) == (None, 1, "open", "0..1+1")
    assert high.formula.startswith("the begin is 0 when the size it reads is even, 1 when odd")
    assert (wide.begin, wide.end, wide.formula) == (1, 1, "")


def test_the_nearest_pad_is_the_last() -> None:
    (site,) = sites("t = Pad (x, p) r = Relu (t) u = Pad (r, q) y = Conv (u, w)")
    far, near = site.outer
    assert (far.node, [step.node for step in far.steps]) == ("<t>", ["<r>"])
    assert (near.node, near.steps, near.pads) == ("<u>", (), (0, 0, 1, 0, 0, 0, 0, 2))
    assert [step.node for step in site.path] == ["<t>", "<r>", "<u>", "<y>"]
    assert (site.tensor, site.pads) == ("x", (2, 1, 1, 3))
    assert {"<t>", "<u>", "<y>"} <= {*site.names}
    assert {"x", "t", "u", "y"} <= {*site.tensors}


@pytest.mark.parametrize(
    ("body", "axes", "readers"),
    [
        ('y = Pad <mode = "edge"> (x, q)', "axis 2 1+0, axis 3 0+2", ["an output of the graph"]),
        ("t = Pad (x, q) y = Add (t, t)", "axis 2 1+0, axis 3 0+2", ["Add '<y>'"] * 2),
        ("t = Pad (w, q) y = Conv (x, t)", "axis 2 1+0, axis 3 0+2", ["Conv '<y>' (input 1)"]),
    ],
)
def test_a_pad_that_no_window_reads(body: str, axes: str, readers: list[str]) -> None:
    site = sites(body)[0]
    assert (site.kind, site.amounts, site.own, [*site.readers]) == ("pad", axes, axes, readers)
    assert [axis.axis for axis in site.axes] == [2, 3]


def test_many_readers_are_counted() -> None:
    nodes = " ".join(f"y{i} = Sigmoid (t)" for i in range(11))
    (site,) = sites(
        f"t = Pad (x, p) {nodes}", outputs=", ".join(f"float[] y{i}" for i in range(11))
    )
    assert site.readers == (*(f"Sigmoid '<y{i}>'" for i in range(8)), "3 more")


@pytest.mark.parametrize(
    ("body", "kind", "written", "problem"),
    [
        (
            "y = com.microsoft.Foo <pads = [1, 1], output_padding = [1]> (x)", "other",
            "output_padding=[1], pads=[1, 1]", "onnxpad does not cover Foo of com.microsoft",
        ),
        (
            "y = DeformConv <pads = [1, 1, 1, 1]> (x, w, x)", "other", "pads=[1, 1, 1, 1]",
            "onnxpad does not cover DeformConv",
        ),
        (
            f"y = com.microsoft.Foo <pads = {[*range(14)]}> (x)", "other",
            f"pads=[{', '.join(map(str, range(12)))}, ...]",
            "onnxpad does not cover Foo of com.microsoft",
        ),
        (
            "y = Conv <pads = [1, 1, 1]> (x, w)", "malformed", "pads=[1, 1, 1]",
            "Conv '<y>': pads has 3 values, but needs 4",
        ),
    ],
)  # fmt: skip
def test_what_is_not_read(body: str, kind: str, written: str, problem: str) -> None:
    (site,) = sites(body)
    assert (site.kind, site.written, site.problem) == (kind, written, problem)
    assert (site.amounts, site.pads, site.axes, site.outer) == ("", None, (), ())


def test_what_a_pool_hands_on_is_not_padded() -> None:
    pool, conv = sites("t = Pad (x, p) m = MaxPool <kernel_shape = [2, 2]> (t) y = Conv (m, w)")
    assert (pool.amounts, pool.kernel) == ("H 1+1, W 1+1", (2, 2))
    assert (conv.amounts, conv.outer) == ("none", ())
    assert [axis.size for axis in conv.axes] == [10, 9]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([1, 2], "[1, 2]"),
        ([*range(12)], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"),
        ([*range(13)], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...]"),
        ("SAME_UPPER", "SAME_UPPER"),
    ],
)
def test_an_attribute_in_words(value: object, told: str) -> None:
    assert _brief_value(value) == told


def test_amounts_and_sizes_in_words() -> None:
    n = symbol("n")
    assert [range_text(each) for each in (0, 3, n % 2, n % 1025, n % 1026, n)] == [
        "0", "3", "0..1", "0..1024", "", "",
    ]  # fmt: skip
    assert range_text(Unknown("why")) == ""
    assert [size_text(each) for each in (7, n, Unknown("why"))] == ["7", "n", "open"]
    assert size_text(symbol("a" * 48)) == "a" * 48
    assert size_text(symbol("a" * 49)) == "open"
    assert added(((1, 2), (n, 0)), ((3, 4), (1, 5))) == ((4, 6), (n + 1, 5))
    assert flat_order([(1, 2), (3, 4)]) == (1, 3, 2, 4)
    assert flat_order([(1, n)]) is None
    assert flat_order(None) is None
    assert flat_order([]) == ()
    assert [known_number(each) for each in (3, 0, n, Unknown("why"))] == [3, 0, None, None]


def axis(begin: int | None, end: int | None, *ranges: str) -> AxisPadding:
    return AxisPadding(2, "H", begin, end, 9, "9", "", (ranges[0], ranges[1]))


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ([], "none"),
        ([axis(0, 0, "0", "0"), axis(0, 0, "0", "0")], "none"),
        ([axis(0, 0, "0", "0"), axis(0, 1, "0", "1")], "H 0+0, H 0+1"),
        ([axis(None, None, "", "")] * 2, "not known"),
        ([axis(None, None, "", ""), axis(0, 0, "0", "0")], "H ?+?, H 0+0"),
    ],
)
def test_padding_of_axes_in_words(axes: list[AxisPadding], told: str) -> None:
    assert amounts_text(axes) == told


@each_row(
    ("pad", "told"),
    [
        (OuterPad("p", "constant", 0, (1, 1), None, "H 1+1", "constant amounts"), "Pad"),
        (OuterPad("p", "", 0.0, (1, 1), None, "H 1+1", "constant amounts"), "Pad"),
        (OuterPad("p", "constant", 3, (1, 1), None, "H 1+1", "s"), "Pad of 3"),
        (OuterPad("p", "constant", None, (1, 1), None, "H 1+1", "s"), "Pad of ?"),
        (OuterPad("p", "edge", None, (1, 1), None, "H 1+1", "s"), "Pad edge"),
        (OuterPad("p", "constant", 0, None, None, "computed", "s"), "computed Pad"),
        (OuterPad("p", "constant", 0, None, None, "given", "s"), "Pad"),
        (OuterPad("p", "constant", 0, (1,), None, "computed", "s"), "Pad"),
        (
            OuterPad("p", "wrap", 0, (1,), None, "H", "s", "", (PathNode("a", "Relu"),)),
            "Pad wrap upstream",
        ),
    ],
)
def test_how_a_pad_is_written(pad: OuterPad, told: str) -> None:
    assert pad_written(pad) == told
