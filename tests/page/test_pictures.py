"""Pictures of a page: the nodes around a change, windows over an axis, tables by remainder."""

import html
import re
from typing import Any, Final

import pytest

import onnxpad
from onnxpad.page.pages import fix_page, show_page
from tests.support import BORDER, LOW, MODELS, W, one
from tests.support.rows import each_row

DATA: Final = "float[1, 2, 9, 8] x"
CONV: Final = "Conv, kernel 3x3"
BOTH: Final = "H 1+1, W 1+1"
OWN: Final = f"{BOTH}, pads [1, 1, 1, 1]"


def described(page: str) -> list[str]:
    """The descriptions of all pictures, which say in words what is drawn."""
    return [html.unescape(each) for each in re.findall("<desc>(.*?)</desc>", page)]


def page_of(body: str, inputs: str = DATA, given: str = "", **asked: Any) -> str:
    initializers = ", ".join(filter(None, (W, BORDER, given)))
    result = onnxpad.fix(
        one(body, inputs=inputs, initializers=initializers), validate=False, **asked
    )
    return fix_page(result)


def shown(body: str, inputs: str = DATA) -> str:
    return show_page(onnxpad.show(one(body, inputs=inputs, initializers=f"{W}, {BORDER}"), ["*"]))


def rows(page: str) -> list[list[str]]:
    """The cells of all rows of numbers in tables by remainder."""
    tables = [each for each in re.findall("<table>.*?</table>", page, re.S) if "modulo" in each]
    lines = [each for table in tables for each in re.findall("<tr>(.*?)</tr>", table, re.S)]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in lines]
    return [[html.unescape(cell) for cell in line] for line in cells]


@pytest.mark.parametrize(
    ("body", "asked", "before", "after"),
    [
        pytest.param(
            "t = Pad (x, p) y = Conv (t, w)", {},
            f"Pad, {BOTH}, goes away, after data; {CONV}, without pads, after Pad",
            f"{CONV}, {OWN}, changed, after data", id="a Pad that folds",
        ),
        pytest.param(
            "y = Conv <pads = [1, 1, 1, 1]> (x, w)", {"style": "pad"},
            f"{CONV}, {OWN}, after data",
            f"Pad, {BOTH}, new, after data; {CONV}, without pads, changed, after Pad",
            id="a new Pad",
        ),
        pytest.param(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)', {},
            f"{CONV}, stride 2x2, auto_pad=SAME_UPPER, after data",
            f"{CONV}, stride 2x2, H 1+1, W 0+1, pads [1, 0, 1, 1], changed, after data",
            id="auto_pad",
        ),
        pytest.param(
            "t = Pad (x, p, c) y = MaxPool <kernel_shape = [3, 3], dilations = [2, 1]> (t)", {},
            f"Pad, {BOTH}, with -inf, goes away, after data; "
            "MaxPool, kernel 3x3, dilation 2x1, without pads, after Pad",
            f"MaxPool, kernel 3x3, dilation 2x1, {OWN}, changed, after data", id="a value",
        ),
        pytest.param(
            "t = Pad (x, p) y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], "
            "ceil_mode = 1, count_include_pad = 1> (t)", {},
            f"Pad, {BOTH}, goes away, after data; AveragePool, kernel 3x3, stride 2x2, "
            "without pads ceil_mode, after Pad",
            f"AveragePool, kernel 3x3, stride 2x2, {OWN} counted ceil_mode, changed, after data",
            id="flags",
        ),
    ],
)  # fmt: skip
def test_the_nodes_around_a_change(
    body: str, asked: dict[str, Any], before: str, after: str
) -> None:
    was, now, *_ = described(page_of(body, given=LOW, **asked))
    assert (was, now) == (f"data; {before}", f"data; {after}")


def test_a_change_of_what_another_change_made_is_drawn_too() -> None:
    body = "t = Pad (x, p) r = Relu (t) y = Conv <dilations = [2, 2]> (r, w)"
    pad, conv = "Pad, axis 2 1+1, axis 3 1+1", f"{CONV}, dilation 2x2"
    assert described(page_of(body))[:2] == [
        f"data; {pad}, goes away, after data; Relu, after Pad; {conv}, without pads, after Relu",
        f"data; Relu, after data; {CONV}, dilation 2x2, {OWN}, changed, after Relu",
    ]


def test_a_crop_downstream() -> None:
    given = "int64[2] s = {1, 1}, int64[2] e = {-1, -1}, int64[2] a = {2, 3}"
    body = "t = ConvTranspose <strides = [2, 2]> (x, w) y = Slice (t, s, e, a)"
    was, now = described(page_of(body, "float[1, 3, 4, 4] x", given))[:2]
    kind, none = "ConvTranspose, kernel 3x3, stride 2x2", OWN.replace("1", "0")
    assert was == f"data; {kind}, {none}, after data; Slice, goes away, after ConvTranspose"
    assert now == f"data; {kind}, {OWN}, changed, after data"


@each_row(
    ("body", "pad"),
    [
        pytest.param('t = Pad <mode = "reflect"> (x, p)', f"reflect {BOTH}", id="a mode"),
        pytest.param("t = Pad (x, p, c)", f"{BOTH} with 5.0", id="a value"),
        *(
            pytest.param(
                f"k = Constant <{given}> () t = Pad (x, p, k)", f"{BOTH} with 5.0", id=given
            )
            for given in ("value = float {5}", "value_float = 5.0", "value_floats = [5.0]")
        ),
        pytest.param("t = Pad (x, q)", "(computed)", id="amounts of run time"),
    ],
    at_once=8,
)
def test_a_pad_that_stays_is_drawn_with_its_reader(body: str, pad: str) -> None:
    given = "float c = {5}"
    page = page_of(f"{body} y = Conv (t, w)", f"{DATA}, int64[8] q", given)
    # A Pad that becomes a guarded one is a change, too; what stays comes last.
    assert described(page)[-1] == f"data; Pad, {pad}, after data; {CONV}, without pads, after Pad"


def test_what_reads_a_pad_twice_is_drawn_once() -> None:
    drawn = "data; Pad, axis 2 1+1, axis 3 1+1, after data; Add, after Pad"
    assert described(page_of("t = Pad (x, p) y = Add (t, t)")) == [drawn]


def test_amounts_as_attributes() -> None:
    body = "t = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 2.0> (x) y = Conv (t, w)"
    result = onnxpad.fix(one(body, inputs=DATA, initializers=W, opset=10, ir=5), validate=False)
    page = fix_page(result)
    drawn = f"data; Pad, {BOTH} with 2.0, after data; {CONV}, without pads, after Pad"
    assert described(page) == [drawn]


def test_the_nodes_of_a_function() -> None:
    result = onnxpad.fix(MODELS / "functions_onnxscript.onnx", validate=False)
    was, now, *_ = described(fix_page(result))
    up = f"{CONV}, stride 2x2"
    assert was == f"data; Pad, H 0+1, W 0+1, goes away, after data; {up}, without pads, after Pad"
    assert now == f"data; {up}, H 0+1, W 0+1, pads [0, 0, 1, 1], changed, after data"


def test_boxes_stand_below_what_feeds_them() -> None:
    page = page_of("t = Pad (x, p) r = Relu (t) y = Conv <dilations = [2, 2]> (r, w)")
    for picture in re.findall('<svg role="img".*?</svg>', page, re.S)[:2]:
        (size,) = re.findall('viewBox="0 0 ([0-9.]+) ([0-9.]+)"', picture)
        width, height = map(float, size)
        bottom = 0.0
        places = re.findall(
            '<rect class="([a-z]+)" x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)" rx="(.*?)"',
            picture,
        )
        texts = [float(y) for y in re.findall('<text x=".*?" y="(.*?)"', picture)]
        for state, *numbers in places:
            left, top, wide, high, round_ = map(float, numbers)
            assert top > bottom, "it would cover the one above"
            bottom = top + high
            assert left > 0
            assert left + wide < width
            assert round_ == (high / 2 if state == "tensor" else 7)
            assert any(top < y < bottom for y in texts)
        assert bottom < height < bottom + 10
        assert len(re.findall('class="edge"', picture)) == len(places) - 1


def test_windows_over_axes() -> None:
    page = page_of('y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)')
    high, wide = described(page)[2:]
    reach = "they reach {} before the data and 1 past it"
    assert high == f"Axis 2: 9 elements, 5 windows of 3, stride 2; {reach.format(1)}"
    assert wide == f"Axis 3: 8 elements, 4 windows of 3, stride 2; {reach.format(0)}"
    alike = described(page_of("t = Pad (x, p) y = Conv (t, w)", "float[1, 2, 9, 9] x"))
    assert alike[2:] == [f"Axes 2 and 3: 9 elements, 9 windows of 3; {reach.format(1)}"]


def test_windows_of_an_open_kernel_are_not_drawn() -> None:
    page = page_of("t = Pad (x, p) y = Conv (t, v)", f"{DATA}, float[3, 2, k, 3] v")
    assert described(page)[2:] == [
        "Axis 3: 8 elements, 8 windows of 3; they reach 1 before the data and 1 past it"
    ]


def test_windows_with_gaps_and_windows_that_end_before_the_data_does() -> None:
    body = "t = Pad (x, p) y = Conv <strides = [3, 1], dilations = [1, 2]> (t, w)"
    high, wide = described(page_of(body))[2:]
    reach = "they reach 1 before the data and {} past it"
    assert high == f"Axis 2: 9 elements, 3 windows of 3, stride 3; {reach.format(0)}"
    assert wide == f"Axis 3: 8 elements, 6 windows of 3, dilation 2; {reach.format(1)}"


def test_an_open_size_is_drawn_by_remainder() -> None:
    body = "t = Pad (x, p) y = Conv <strides = [2, 2]> (t, w)"
    page = page_of(body, "float[1, 2, h, v] x")
    of = "windows of 3, stride 2; they reach 1 before the data and"
    assert described(page)[2:] == [
        f"Axes 2 and 3: size mod 2 is 0, for example 8 elements, 4 {of} 0 past it",
        f"Axes 2 and 3: size mod 2 is 1, for example 9 elements, 5 {of} 1 past it",
    ]
    assert "The size of axes 2 and 3 is open: &#x27;h&#x27; and &#x27;v&#x27;." in page
    assert rows(page) == [
        ["size mod 2", "reach before", "past it", "windows, such as"],
        ["0", "1", "0", "4 at size 8"],
        ["1", "1", "1", "5 at size 9"],
    ]


@pytest.mark.parametrize(
    ("side", "even", "third"), [("UPPER", ["0", "1"], "01"), ("LOWER", ["1", "0"], "10")]
)
def test_same_of_an_open_size_by_remainder(side: str, even: list[str], third: str) -> None:
    page = shown(
        f'y = Conv <auto_pad = "SAME_{side}", strides = [2, 3]> (x, w)', "float[1, 2, h, v] x"
    )
    head = ["before", "after"]
    assert rows(page) == [
        ["size mod 2", *head], ["0", *even], ["1", "1", "1"],
        ["size mod 3", *head], ["0", "0", "0"], ["1", "1", "1"], ["2", *third],
    ]  # fmt: skip


def test_an_axis_is_drawn_as_far_as_it_can_be_seen() -> None:
    page = shown("t = Pad (x, p) y = Conv <strides = [2, 2]> (t, w)", "float[1, 2, 9, 300] x")
    assert described(page) == [
        "H: 9 elements, 5 windows of 3, stride 2; padded 1 before and 1 after",
        "W: 300 elements, 150 windows of 3, stride 2; padded 1 before and 1 after",
    ]
    high, wide = re.findall('<svg role="img".*?</svg>', page, re.S)
    assert [_cells(high, kind) for kind in ("padding", "data", "taps")] == [2, 9, 15]
    assert re.findall('class="number"[^>]*>([0-9]+)<', high) == ["0", "8"]
    assert _cells(wide, "padding") == 2
    assert 20 < _cells(wide, "data") < 32, "the middle is left out"
    assert re.findall('class="number"[^>]*>([0-9]+)<', wide) == ["0", "299"]


def _cells(picture: str, kind: str) -> int:
    """How many squares or points of a kind are drawn."""
    (path,) = re.findall(f'<path class="{kind}"[^>]* d="([^"]*)"', picture)
    return len(re.findall("M", path))
