"""The intent that is read from the numbers of an operator, and only where they admit just one."""

import re

import pytest

from onnxpad.frameworks.conventions.table import INTENTS, AbsentError
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.sites import sites_of
from onnxpad.frameworks.repadding.towards import intent_of, op_of
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from tests.support import parsed
from tests.support.rows import each_row


def site_of(node: str, size: str, kernel: int) -> Site:
    """The operator of a graph whose weight has this kernel on each axis."""
    axes = size.count(",") + 1
    shape = ", ".join(["1", "1", *[str(kernel)] * axes])
    weight = f"float[{shape}] w = {{{', '.join(['1'] * kernel**axes)}}}"
    output = "float[a, b, c] y" if axes == 1 else "float[a, b, c, d] y"
    text = f"g (float[1, 1, {size}] x) => ({output}) <{weight}> {{ y = {node} }}"
    (site,), left = sites_of(Context(Graph.from_proto(parsed(text))))
    assert not left
    return site


NEITHER = NO_CROP = "those of no framework"


@each_row(
    ("node", "size", "kernel", "wanted"),
    [
        ("Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)", "8, 8", 3, "same"),
        ("Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)", "8, 8", 3, "same"),
        ("Conv <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)", "8, 8", 3, "same"),
        ("Conv <pads = [0, 1, 1, 1], strides = [2, 2]> (x, w)", "8, 8", 3, NEITHER),
        ("Conv <pads = [0, 0, 0, 0], strides = [2, 2]> (x, w)", "8, 8", 3, "valid"),
        ("Conv <pads = [1, 0, 1, 0]> (x, w)", "8, 8", 3, NEITHER),
        ("Conv <pads = [1, 1, 1, 1]> (x, w)", "8, 8", 4, "same"),
        ("Conv <pads = [2, 2, 2, 2]> (x, w)", "8, 8", 4, "same"),
        ("Conv <pads = [1, 1, 2, 2]> (x, w)", "8, 8", 4, "same"),
        ("Conv <pads = [3, 3, 3, 3]> (x, w)", "8, 8", 4, NEITHER),
        ("Conv <pads = [1, 1, 1, 1]> (x, w)", "8, 8", 5, NEITHER),
        ("Conv <pads = [0, 0, 3, 3]> (x, w)", "8, 8", 4, NEITHER),
        ("Conv <strides = [3, 3]> (x, w)", "9, 9", 3, "SAME and VALID are the same here"),
        ("Conv (x, w)", "8", 1, "SAME and VALID are the same here"),
        ("Conv <strides = [2]> (x, w)", "n", 1, "SAME and VALID are the same here"),
        ("Conv <pads = [3, 0]> (x, w)", "8", 4, "causal"),
        ("Conv <pads = [6, 0], dilations = [2]> (x, w)", "9", 4, "causal"),
        ("Conv <pads = [0, 3]> (x, w)", "8", 4, NEITHER),
        ("Conv <pads = [1, 0]> (x, w)", "8", 2, "may be causal or same"),
        ("Conv <pads = [1, 1, 0, 0]> (x, w)", "8, 8", 2, "same"),
        ("Conv <pads = [1, 0], strides = [3]> (x, w)", "9", 4, "same"),
        ("Conv <pads = [1, 1], strides = [3]> (x, w)", "n", 4, "same"),
        ("Conv <pads = [1, 2]> (x, w)", "n", 4, "same"),
        ("Conv <pads = [1, 0], strides = [3]> (x, w)", "n", 4, NEITHER),
        ("Conv <pads = [2, 1], strides = [3]> (x, w)", "n", 4, NEITHER),
        ("Conv <pads = [3, 1], strides = [3]> (x, w)", "n", 4, NEITHER),
        ("Conv <pads = [2, 0], strides = [2]> (x, w)", "n", 4, NEITHER),
        ("Conv <pads = [0, 0, 1, 0], strides = [3, 2]> (x, w)", "n, 8", 4, NEITHER),
        ("Conv <pads = [0, 1, 1, 1], strides = [3, 2]> (x, w)", "n, 8", 4, NEITHER),
        ("MaxPool <kernel_shape = [4], pads = [3, 0]> (x)", "8", 1, NEITHER),
        ("MaxPool <kernel_shape = [4], pads = [2, 1]> (x)", "8", 1, "same"),
        ('AveragePool <kernel_shape = [3], auto_pad = "SAME_LOWER"> (x)', "8", 1, "same"),
        ("ConvTranspose <strides = [2], pads = [0, 1]> (x, w)", "8", 3, "same"),
        ("ConvTranspose <strides = [2], pads = [1, 0]> (x, w)", "8", 3, "same"),
        ("ConvTranspose <strides = [2], pads = [1, 1], output_padding = [1]> (x, w)", "8", 3,
         "same"),
        ("ConvTranspose <strides = [1], pads = [2, 2]> (x, w)", "8", 5, "same"),
        ("ConvTranspose <strides = [1], pads = [4, 0]> (x, w)", "8", 5, NO_CROP),
        ("ConvTranspose <strides = [2], pads = [1, 1]> (x, w)", "8", 3, NO_CROP),
        ("ConvTranspose <strides = [2], pads = [0, 0]> (x, w)", "8", 3, "valid"),
        ("ConvTranspose <strides = [5], output_padding = [1]> (x, w)", "8", 3, NO_CROP),
        ("ConvTranspose <strides = [5]> (x, w)", "8", 3, "valid"),
        ("ConvTranspose <strides = [5], output_padding = [2]> (x, w)", "8", 3,
         "SAME and VALID are the same here"),
    ],
)  # fmt: skip
def test_what_is_read(node: str, size: str, kernel: int, wanted: str) -> None:
    site = site_of(node, size, kernel)
    op = op_of(site)
    assert op is not None
    if wanted in INTENTS:
        assert intent_of(site, op) == wanted
    else:
        with pytest.raises(AbsentError, match=re.escape(wanted)):
            intent_of(site, op)


@pytest.mark.parametrize(
    ("node", "op"),
    [
        ("Conv (x, w)", "conv"),
        ("ConvTranspose (x, w)", "convtranspose"),
        ("MaxPool <kernel_shape = [3]> (x)", "maxpool"),
        ("AveragePool <kernel_shape = [3]> (x)", "avgpool"),
        ("LpPool <kernel_shape = [3]> (x)", None),
    ],
)
def test_the_operator_that_conventions_are_asked_for(node: str, op: str | None) -> None:
    assert op_of(site_of(node, "8", 3)) == op


@each_row(
    ("one", "other", "alike"),
    [
        (Padding(((0, 1),)), Padding(((0, 0),)), True),  # no window reaches the last element
        (Padding(((0, 1),), counted=True), Padding(((0, 0),), counted=True), False),
        (Padding(((0, 0),), counted=True), Padding(((0, 0),)), True),
        (Padding(((1, 0),)), Padding(((0, 1),)), False),
        (Padding(((0, 2),)), Padding(((0, 1),), ceil=True), True),
        (Padding(((0, 1),), ceil=True), Padding(((0, 1),)), False),
        (Padding(None), Padding(((0, 2),)), False),
        (Padding(None), Padding(((1, 1),)), True),
        (Padding(((0, 0),), output_padding=(1,)), Padding(((0, 0),), output_padding=(0,)), False),
        (Padding(((0, 1),), output_padding=(0,)), Padding(((0, 0),), output_padding=(0,)), False),
    ],
)
def test_choices_that_compute_the_same(one: Padding, other: Padding, alike: bool) -> None:
    """A window of 3 that slides by 2 over 7 elements, of which the last two fit no further one."""
    windows = site_of("MaxPool <kernel_shape = [3], strides = [2]> (x)", "7", 1).windows
    assert (one.effect((7,), windows) == other.effect((7,), windows)) is alike


def test_amounts_of_same_and_what_is_read_beyond_them() -> None:
    conv = "Conv <strides = [2], dilations = [2]> (x, w)"
    (window,) = site_of(conv, "8", 3).windows  # 5 elements long
    assert Padding(None).amounts((8,), (window,)) == ((1, 2),)
    assert Padding(None, odd="begin").amounts((8,), (window,)) == ((2, 1),)
    assert Padding(((1, 0),)).amounts((8,), (window,)) == ((1, 0),)
    assert Padding(((1, 0),)).reached((8,), (window,)) == ((1, 0),)
    assert Padding(((1, 1),), ceil=True).reached((8,), (window,)) == ((1, 2),)
