"""The options of operators, those that compute the same, and how they are written."""

from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.candidates import (
    _key,
    conventions,
    options_of,
)
from onnxpad.frameworks.repadding.sites import settled, sites_of
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from tests.support import one
from tests.support.rows import each_row


def site_of(body: str, opset: int = 17) -> Site:
    given = f"float[1, 1, 3, 3] w = {{{', '.join(['1'] * 9)}}}"
    model = one(body, inputs="float[1, 1, h, k] x", initializers=given, opset=opset)
    (site,), _ = sites_of(Context(Graph.from_proto(model)))
    return site


def test_what_computes_the_same() -> None:
    conv = site_of("y = Conv <strides = [2, 2]> (x, w)")
    less, more = Padding(((0, 0), (0, 0))), Padding(((0, 1), (0, 1)))
    assert less.effect((9, 9), conv.windows) == more.effect((9, 9), conv.windows)  # none is read
    assert less.effect((8, 8), conv.windows) != more.effect((8, 8), conv.windows)
    assert _key(conv, less) != _key(conv, more)
    steady = site_of("y = Conv (x, w)")
    assert _key(steady, Padding(None)) == _key(steady, Padding(((1, 1), (1, 1))))
    assert _key(steady, Padding(None)) != _key(steady, less)


def test_options_and_conventions() -> None:
    steady = site_of("y = Conv (x, w)")
    known, whole = options_of(steady)
    assert [(each.name, each.padding.pads) for each in known][:2] == [
        ("as it is", ((0, 0), (0, 0))), ("tensorflow-same", ((1, 1), (1, 1))),
    ]  # fmt: skip
    keys = [_key(steady, each.padding) for each in known]
    assert len({*keys}) == len(keys)
    told = conventions(steady)
    assert whole.keys() == told.keys()
    for name, at in whole.items():
        assert keys[at] == _key(steady, told[name])


POOL = "MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)"
UP = Padding(((0, 0), (0, 0)), ceil=True)


@each_row(
    ("body", "opset", "padding", "sizes", "written"),
    [
        ("Conv <strides = [2, 2]> (x, w)", 17, Padding(None), (8, 9), Padding(None)),
        ("Conv <dilations = [2, 2]> (x, w)", 17, Padding(None), (8, 9), Padding(((2, 2), (2, 2)))),
        (POOL, 10, UP, (8, 9), UP),
        (POOL, 9, UP, (8, 9), Padding(((0, 1), (0, 0)))),
        (POOL, 9, UP, (), UP),
        (POOL.replace("Max", "Average"), 9, Padding(UP.pads, ceil=True, counted=True), (8, 9),
         Padding(UP.pads, ceil=True, counted=True)),
    ], at_once=4)  # fmt: skip
def test_a_choice_is_written_as_the_opset_can_tell_it(
    body: str, opset: int, padding: Padding, sizes: tuple[int, ...], written: Padding
) -> None:
    assert settled(site_of(f"y = {body}", opset), padding, sizes, opset) == written
