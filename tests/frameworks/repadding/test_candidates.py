"""Which paddings `match` tries for an operator, likelier mistakes first, and whole conventions."""

from typing import Any

from onnxpad.frameworks.repadding.candidates import (
    WHOLE,
    candidates,
    from_turns,
    in_turns,
    moved,
    resized,
)
from onnxpad.frameworks.repadding.sites import sites_of, with_pads
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.context import Context
from onnxpad.sites.reading import Site
from tests.support import parsed
from tests.support.rows import each_row

W = "float[1, 1, 3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
LINE = "float[1, 1, 1, 4] w = {1, 2, 3, 4}"
AVERAGE = "AveragePool <kernel_shape = [3, 3], strides = [2, 2]"
SITES = {
    "conv": ("Conv <pads = [1, 0, 2, 3], dilations = [1, 2], strides = [2, 1]> (x, w)", W),
    "line": ("Conv <pads = [0, 2, 0, 1]> (x, w)", LINE),
    "max": (
        "MaxPool <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 0, 1], ceil_mode = 1> (x)",
        "",
    ),
    "steady": ("MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)", ""),
    "average": (f"{AVERAGE}> (x)", ""),
    "same": (
        f'{AVERAGE}, auto_pad = "SAME_LOWER", count_include_pad = 1> (x)',
        "",
    ),
    "transposed": (
        "ConvTranspose <strides = [2, 3], pads = [1, 0, 0, 1], output_padding = [1, 0]> (x, w)",
        W,
    ),
    "sparse": ("ConvTranspose <strides = [5, 2], pads = [0, 0, 0, 0]> (x, w)", W),
    "cropped": ("ConvTranspose <strides = [2, 1], pads = [1, 1, 1, 1]> (x, w)", W),
    "valid": ('MaxPool <kernel_shape = [2, 2], auto_pad = "VALID"> (x)', ""),
    "pad": ("Pad (x, p)", "int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}"),
}


def site_of(name: str) -> Site:
    """The only operator of a small model."""
    node, weight = SITES[name]
    text = f"g (float[1, 1, 8, 9] x) => (float[a, b, c, d] y) <{weight}> {{ y = {node} }}"
    context = Context(Graph.from_proto(parsed(text.replace("<>", ""), opset=19)))
    (site,), left = with_pads(context, sites_of(context)[0])
    assert not left
    return site


def words(padding: Padding) -> str:
    """A padding such as `1+0 0+1 ceil`, begin and end of each axis, or `same end`."""
    pads = [f"{begin}+{end}" for begin, end in padding.pads or ()]
    said: list[Any] = pads or ["same", padding.odd]
    flags = ("undilated", "ceil", "counted")
    said += [flag for flag in flags if getattr(padding, flag)]
    return " ".join(
        [*said, *(["more", *map(str, padding.output_padding)] if padding.output_padding else [])]
    )


SAMES = [(0, "tensorflow-same", "same end"), (0, "onnx-same-lower", "same begin")]
DIVIDED = "same, as where the stride divides the size"
LOWER = "same, odd at the begin, as where the stride divides the size"
TRIED = {
    "conv": [
        (0, "as it is", "1+2 0+3"),
        (0, "tensorflow-same", "same end"),
        (0, "pytorch-half", "1+1 3+3"),
        (0, "onnx-same-lower", "same begin"),
        (0, "paddle-same", "same end undilated"),
        (0, "begin and end exchanged", "2+1 3+0"),
        (0, "begin and end in turns", "1+0 2+3"),
        (1, DIVIDED, "0+1 3+3"),
        (1, LOWER, "1+0 3+3"),
        (1, "valid", "0+0 0+0"),
        (1, "axes exchanged", "0+3 1+2"),
        (2, "moved by 1", "2+1 1+2"),
        (2, "moved by -1", "0+3 0+3"),
    ],
    "line": [
        (0, "as it is", "0+0 2+1"),
        (0, "tensorflow-same", "same end"),
        (0, "pytorch-half", "0+0 1+1"),
        (0, "onnx-same-lower", "same begin"),
        (0, "begin and end exchanged", "0+0 1+2"),
        (0, "begin and end in turns", "0+2 0+1"),
        (0, "keras-causal", "0+0 3+0"),
        (1, "half the kernel", "0+0 2+2"),
        (1, "valid", "0+0 0+0"),
        (1, "axes exchanged", "2+1 0+0"),
        (1, "all at the end", "0+0 0+3"),
    ],
    "max": [
        (0, "as it is", "1+0 0+1 ceil"),
        (0, "rounded down", "1+0 0+1"),
        (0, "tensorflow-same", "same end"),
        (0, "pytorch-half", "1+1 0+0"),
        (0, "onnx-same-lower", "same begin"),
        (0, "begin and end exchanged", "0+1 1+0"),
        (1, DIVIDED, "0+1 0+0"),
        (1, LOWER, "1+0 0+0"),
        (1, "half the kernel", "1+1 1+1"),
        (1, "valid", "0+0 0+0"),
        (1, "pytorch-half, rounded up (ceil)", "1+1 0+0 ceil"),
        (1, f"{DIVIDED}, rounded up (ceil)", "0+1 0+0 ceil"),
        (1, f"{LOWER}, rounded up (ceil)", "1+0 0+0 ceil"),
        (1, "half the kernel, rounded up (ceil)", "1+1 1+1 ceil"),
        (1, "valid, rounded up (ceil)", "0+0 0+0 ceil"),
        (1, "begin and end exchanged, rounded up (ceil)", "0+1 1+0 ceil"),
        (2, "moved by 1", "1+0 1+0"),
        (2, "moved by -1", "0+1 0+1"),
        (2, "moved by 1, rounded up (ceil)", "1+0 1+0 ceil"),
        (2, "moved by -1, rounded up (ceil)", "0+1 0+1 ceil"),
    ],
    "steady": [
        (0, "as it is", "1+1 1+1"),
        *SAMES,
        (1, "valid", "0+0 0+0"),
        (2, "moved by 1", "2+0 2+0"),
        (2, "moved by -1", "0+2 0+2"),
    ],
    "average": [
        (0, "as it is", "0+0 0+0"),
        (0, "rounded up (ceil)", "0+0 0+0 ceil"),
        (0, "padding counted", "0+0 0+0 counted"),
        (0, "tensorflow-same", "same end"),
        (0, "pytorch-half", "1+1 1+1"),
        (0, "onnx-same-lower", "same begin"),
        (1, DIVIDED, "0+1 0+1"),
        (1, LOWER, "1+0 1+0"),
        (1, "pytorch-half, rounded up (ceil)", "1+1 1+1 ceil"),
        (1, f"{DIVIDED}, rounded up (ceil)", "0+1 0+1 ceil"),
        (1, f"{LOWER}, rounded up (ceil)", "1+0 1+0 ceil"),
        (1, "tensorflow-same, padding counted", "same end counted"),
        (1, "pytorch-half, padding counted", "1+1 1+1 counted"),
        (1, "onnx-same-lower, padding counted", "same begin counted"),
        (1, f"{DIVIDED}, padding counted", "0+1 0+1 counted"),
        (1, f"{LOWER}, padding counted", "1+0 1+0 counted"),
    ],
    "same": [
        (0, "as it is", "same begin counted"),
        (0, "padding not counted", "same begin"),
        (0, "tensorflow-same", "same end counted"),
        (0, "pytorch-half", "1+1 1+1 counted"),
        (1, DIVIDED, "0+1 0+1 counted"),
        (1, LOWER, "1+0 1+0 counted"),
        (1, "valid", "0+0 0+0 counted"),
        (1, "pytorch-half, rounded up (ceil)", "1+1 1+1 ceil counted"),
        (1, f"{DIVIDED}, rounded up (ceil)", "0+1 0+1 ceil counted"),
        (1, f"{LOWER}, rounded up (ceil)", "1+0 1+0 ceil counted"),
        (1, "valid, rounded up (ceil)", "0+0 0+0 ceil counted"),
        (1, "tensorflow-same, padding not counted", "same end"),
        (1, "pytorch-half, padding not counted", "1+1 1+1"),
        (1, f"{DIVIDED}, padding not counted", "0+1 0+1"),
        (1, f"{LOWER}, padding not counted", "1+0 1+0"),
        (1, "valid, padding not counted", "0+0 0+0"),
    ],
    "transposed": [
        (0, "as it is", "1+0 0+1 more 1 0"),
        (0, "tensorflow-same", "0+1 0+1 more 0 0"),
        (0, "onnx-same-lower", "1+0 1+0 more 0 0"),
        (0, "tensorflow-valid", "0+0 0+0 more 0 0"),
        (0, "pytorch-half", "1+1 1+1 more 1 1"),
        (0, "begin and end exchanged", "0+1 1+0 more 1 0"),
        (0, "without output_padding", "1+0 0+1 more 0 0"),
        (1, "pytorch-half without output_padding", "1+1 1+1 more 0 0"),
        (1, "output_padding 1", "1+0 0+1 more 1 1"),
        (1, "output_padding 2", "1+0 0+1 more 2 2"),
        (1, "crop moved by 1", "1+0 1+0 more 1 0"),
        (1, "crop moved by -1", "0+1 0+1 more 1 0"),
        (2, "+1 cropped at the end", "1+1 0+2 more 1 0"),
        (2, "+1 cropped at the begin", "2+0 1+1 more 1 0"),
        (2, "-1 cropped at the end", "1+0 0+0 more 2 0"),
        (2, "+2 cropped at the end", "1+2 0+3 more 1 0"),
        (2, "+2 cropped at the begin", "3+0 2+1 more 1 0"),
        (2, "-2 cropped at the end", "1+0 0+0 more 3 1"),
    ],
    "sparse": [  # a stride above the kernel leaves elements that nothing writes
        (0, "as it is", "0+0 0+0 more 0 0"),
        (0, "tensorflow-same", "0+0 1+1 more 2 0"),
        (0, "tensorflow-valid", "0+0 0+0 more 2 0"),
        (0, "pytorch-half", "1+1 1+1 more 4 0"),
        (1, "pytorch-half without output_padding", "1+1 1+1 more 0 0"),
        *((1, f"output_padding {by}", f"0+0 0+0 more {by} {by}") for by in (1, 2, 3, 4)),
        (2, "+1 cropped at the end", "0+1 0+1 more 0 0"),
        (2, "+1 cropped at the begin", "1+0 1+0 more 0 0"),
        (2, "+2 cropped at the end", "0+2 0+2 more 0 0"),
        (2, "+2 cropped at the begin", "2+0 2+0 more 0 0"),
    ],
    "pad": [  # nothing slides over it: only what it has, in another order
        (0, "as it is", "1+3 2+4"),
        (0, "begin and end exchanged", "3+1 4+2"),
        (0, "begin and end in turns", "1+2 3+4"),
        (1, "axes exchanged", "2+4 1+3"),
    ],
}


@each_row("name", TRIED)
def test_what_is_tried(name: str) -> None:
    found = [(each.tier, each.name, words(each.padding)) for each in candidates(site_of(name))]
    assert found == TRIED[name]


WHOLES = {
    "conv": {
        "tensorflow": "same end",
        "pytorch": "1+1 3+3",
        "caffe": "1+1 3+3",
        "same, odd at the begin": "same begin",
        "paddle": "same end undilated",
        "begin and end exchanged": "2+1 3+0",
        "begin and end in turns": "1+0 2+3",
        "in turns read as ONNX's order": "1+0 2+3",
        "tensorflow everywhere": "same end",
        "pytorch everywhere": "1+1 3+3",
        "valid": "0+0 0+0",
        "convolutions: causal": "1+2 0+3",
        "pools: tensorflow": "1+2 0+3",
        "convolutions: tensorflow; pools: valid": "same end",
    },
    "line": {"convolutions: causal": "0+0 3+0", "pools: caffe": "0+0 2+1"},
    "max": {
        "tensorflow": "same end",
        "pytorch": "1+1 0+0",
        "caffe": "1+1 0+0 ceil",
        "same, odd at the begin": "same begin",
        "begin and end exchanged": "0+1 1+0 ceil",
        "valid": "0+0 0+0",
        "pools: rounding up": "1+0 0+1 ceil",
        "pools: rounding down": "1+0 0+1",
        "pools: padding counted": "1+0 0+1 ceil",
        "convolutions: valid": "1+0 0+1 ceil",
        "convolutions: tensorflow; pools: pytorch": "1+1 0+0",
    },
    "average": {  # pads nothing as it is
        "tensorflow": "0+0 0+0",
        "pytorch": "0+0 0+0",
        "caffe": "0+0 0+0 ceil counted",
        "tensorflow everywhere": "same end",
        "pytorch everywhere": "1+1 1+1",
        "pools: rounding up": "0+0 0+0 ceil",
        "pools: padding counted": "0+0 0+0 counted",
        "convolutions: causal": "0+0 0+0",
    },
    "same": {
        "tensorflow": "same end",
        "caffe": "1+1 1+1 ceil counted",
        "begin and end exchanged": "same begin counted",
        "valid": "0+0 0+0 counted",
        "pools: rounding up": "same begin counted",
        "pools: padding not counted": "same begin",
    },
    "transposed": {
        "tensorflow": "0+1 0+1 more 0 0",
        "same, odd at the begin": "1+0 1+0 more 0 0",
        "pytorch": "1+1 1+1 more 1 1",
        "caffe": "1+1 1+1 more 1 1",
        "valid": "0+0 0+0 more 1 0",
        "convolutions: causal": "1+0 0+1 more 1 0",
    },
    "sparse": {"tensorflow": "0+0 0+0 more 0 0", "tensorflow everywhere": "0+0 1+1 more 2 0"},
    "cropped": {"pytorch": "1+1 1+1 more 0 0"},  # the size asked for is too small for its crop
    "pad": {"tensorflow": "1+3 2+4", "begin and end exchanged": "1+3 2+4", "valid": "1+3 2+4"},
}


@each_row("name", WHOLES)
def test_whole_conventions(name: str) -> None:
    site = site_of(name)
    found = {each: words(WHOLE[each](site)) for each in WHOLES[name]}
    assert found == WHOLES[name]


def test_likely_conventions_of_a_whole_model_come_first() -> None:
    names = [*WHOLE]
    assert names[:3] == ["tensorflow", "pytorch", "caffe"]
    kinds = [("; " in name) + (":" in name) for name in names]
    assert kinds == sorted(kinds)
    assert "convolutions: tensorflow; pools: tensorflow" not in names


@each_row(
    ("name", "more", "at_end", "wanted"),
    [
        ("line", 1, True, "0+1 2+2"),
        ("line", 1, False, "1+0 3+1"),
        ("line", -1, True, None),  # what is not padded cannot be padded less
        ("steady", -1, False, "0+1 0+1"),
        ("steady", -1, True, "1+0 1+0"),
        ("transposed", 1, True, "1+0 0+0 more 2 0"),
        ("transposed", -1, True, "1+1 0+2 more 1 0"),
        ("transposed", -1, False, "2+0 1+1 more 1 0"),
        ("transposed", 1, False, None),
        ("same", 1, True, None),
    ],
)
def test_another_size_of_output(name: str, more: int, at_end: bool, wanted: str | None) -> None:
    found = resized(site_of(name), more, at_end=at_end)
    assert (found and words(found)) == wanted


def test_orders_of_three_axes() -> None:
    """Where one order was written and another one read: ONNX's has all begins first."""
    pads = ((1, 4), (2, 5), (3, 6))
    assert in_turns(pads) == ((1, 2), (3, 4), (5, 6))
    assert from_turns(pads) == ((1, 5), (4, 3), (2, 6))
    assert in_turns(from_turns(pads)) == from_turns(in_turns(pads)) == pads
    assert moved(((1, 0), (0, 1), (1, 1)), 1) == ((1, 0), (1, 0), (2, 0))
    assert moved(((1, 0), (0, 1), (1, 1)), -1) == ((0, 1), (0, 1), (0, 2))
