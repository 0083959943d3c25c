"""The parts of a search for a reference's padding, without onnxruntime: sizes are given."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.candidates import (
    WHOLE,
    _key,
    conventions_of,
    effect_of,
    options_of,
)
from onnxpad.frameworks.repadding.matching import _Task
from onnxpad.frameworks.repadding.references import Closeness
from onnxpad.frameworks.repadding.search import Trial
from onnxpad.frameworks.repadding.sites import sites_of, with_pads
from onnxpad.frameworks.repadding.working_copy import working_copy
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.validation.draw import Draw
from tests.support import one
from tests.support.rows import each_row

FLOAT = 1


class Shapes:
    """A session whose outputs have these shapes, at these sizes of the data of each operator."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], sizes: Sequence[int]) -> None:
        self.shapes = shapes
        self.sizes = sizes

    def run(self, feeds: object, names: Sequence[str]) -> dict[str, Any]:
        found = {name: np.zeros(self.shapes.get(name, ())) for name in names}
        probes = [name for name in names if name not in self.shapes]
        return found | {
            name: np.array([size, size]) for name, size in zip(probes, self.sizes, strict=True)
        }


def weight(name: str, size: int) -> str:
    return f"float[1, 1, {size}, {size}] {name} = {{{', '.join(['1'] * size * size)}}}"


def task(
    body: str,
    sizes: Sequence[int],
    wanted: tuple[int, ...] = (1, 1, 1, 1),
    shape: tuple[int, ...] = (1, 1, 1, 1),
    opset: int = 17,
) -> _Task:
    """A search about a model that gives an output of one shape, where another is wanted."""
    given = f"{weight('w', 3)}, {weight('v', 5)}, int64[8] p = {{0, 0, 1, 0, 0, 0, 0, 2}}"
    model = one(body, inputs="float[1, 1, h, k] x", initializers=given, opset=opset)
    graph = Graph.from_proto(model)
    context = Context(graph)
    sites, _ = with_pads(context, sites_of(context)[0])
    copy = working_copy(model, sites, {site.node.outputs[0].name: FLOAT for site in sites})
    known = [*map(options_of, copy.sites)]
    found = _Task(
        graph, copy, known, [Draw({}, "x")], [{"y": np.zeros(wanted)}], Closeness(), 60.0, None,
        lambda: {"y": Trial(True, 0.0, 0.0, None, 0.0)},
    )  # fmt: skip
    session: Any = Shapes({"y": shape}, sizes)
    found.session = session
    return found


LINE = "[one] h = Conv (x, w) [two] y = Conv (h, v)"


@pytest.mark.parametrize(
    ("padding", "known", "said"),
    [
        (Padding(None), False, "SAME_UPPER"),
        (Padding(None, odd="begin"), False, "SAME_LOWER"),
        (Padding(((1, 2), (0, 1))), False, "pads H 1+2, W 0+1"),
        (Padding(None), True, "pads H 1+1, W 1+1"),
        (Padding(((1, 2), (0, 1))), True, "pads H 1+2, W 0+1"),
    ],
)
def test_a_choice_is_told_also_where_the_model_does_not_run(
    padding: Padding, known: bool, said: str
) -> None:
    search = task(LINE, (10, 8))
    if known:
        search._outputs(search._point, 0, ())
    assert search._described(0, padding) == said


def test_operators_that_are_alike_are_a_group() -> None:
    search = task("a = Conv (x, w) b = Conv (a, v) c = Conv (b, w) y = Conv (c, v)", (20,) * 4)
    assert [*search._groups()] == [(0, 2), (1, 3)]
    assert [*task(LINE, (10, 8))._groups()] == []


def test_the_operators_upstream_of_a_goal() -> None:
    search = task("a = Conv (x, w) b = Relu (a) c = Conv (b, w) d = Conv (x, v) y = Add (c, d)",
                  (9,) * 3)  # fmt: skip
    search._wanted = [{name: np.zeros(1) for name in "ybacd"}]
    goals = [(names, {*upstream}) for names, upstream in search._goals()]
    assert goals == [
        (("b", "a"), {0}), (("d",), {2}), (("c",), {0, 1}), (("y",), {0, 1, 2}),
    ]  # fmt: skip
    assert (search._label("x"), search._label("a")) == ("x", "Conv <a>")


def sites(body: str, opset: int = 17) -> list[Site]:
    given = f"{weight('w', 3)}, {weight('v', 5)}, int64[8] p = {{0, 0, 1, 0, 0, 0, 0, 2}}"
    context = Context(
        Graph.from_proto(one(body, inputs="float[1, 1, h, k] x", initializers=given, opset=opset))
    )
    return with_pads(context, sites_of(context)[0])[0]


def test_what_computes_the_same() -> None:
    (conv,) = sites("y = Conv <strides = [2, 2]> (x, w)")
    less, more = Padding(((0, 0), (0, 0))), Padding(((0, 1), (0, 1)))
    assert effect_of(conv, less, (9, 9)) == effect_of(conv, more, (9, 9))  # no window reaches it
    assert effect_of(conv, less, (8, 8)) != effect_of(conv, more, (8, 8))
    assert _key(conv, less) != _key(conv, more)
    (pad,) = (site for site in sites("a = Pad (x, p) y = Conv <strides = [2, 2]> (a, w)")
              if site.operator is None)  # fmt: skip
    assert effect_of(pad, less, (9, 9)) != effect_of(
        pad, more, (9, 9)
    )  # its reader may pad further
    (steady,) = sites("y = Conv (x, w)")
    assert _key(steady, Padding(None)) == _key(steady, Padding(((1, 1), (1, 1))))
    assert _key(steady, Padding(None)) != _key(steady, less)


def test_options_and_conventions() -> None:
    (steady,) = sites("y = Conv (x, w)")
    known = options_of(steady)
    assert [(each.name, each.padding.pads) for each in known][:2] == [
        ("as it is", ((0, 0), (0, 0))), ("tensorflow-same", None),
    ]  # fmt: skip
    keys = [_key(steady, each.padding) for each in known]
    assert len({*keys}) == len(keys)
    found = conventions_of([steady], [known])
    assert found.keys() == WHOLE.keys()
    for name, (at,) in found.items():
        assert keys[at] == _key(steady, WHOLE[name](steady))


@each_row(
    ("body", "opset", "padding", "sizes", "written"),
    [
        ("Conv <strides = [2, 2]> (x, w)", 17, Padding(None), (8, 9), Padding(None)),
        ("Conv <dilations = [2, 2]> (x, w)", 17, Padding(None), (8, 9), Padding(((2, 2), (2, 2)))),
        ("MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)", 10,
         Padding(((0, 0), (0, 0)), ceil=True), (8, 9), Padding(((0, 0), (0, 0)), ceil=True)),
        ("MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)", 9,
         Padding(((0, 0), (0, 0)), ceil=True), (8, 9), Padding(((0, 1), (0, 0)))),
        ("MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)", 9,
         Padding(((0, 0), (0, 0)), ceil=True), (), Padding(((0, 0), (0, 0)), ceil=True)),
        ("AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (x)", 9,
         Padding(((0, 0), (0, 0)), ceil=True, counted=True), (8, 9),
         Padding(((0, 0), (0, 0)), ceil=True, counted=True)),
    ], at_once=4)  # fmt: skip
def test_a_choice_is_written_as_the_opset_can_tell_it(
    body: str, opset: int, padding: Padding, sizes: tuple[int, ...], written: Padding
) -> None:
    search = task(f"y = {body}", (8,), opset=opset)
    (site,) = search._copy.sites
    assert search._writable(site, padding, sizes) == written


def test_a_trial_knows_sizes_and_how_far_it_is() -> None:
    search = task(LINE, (10, 8), (1, 1, 4, 4), (1, 1, 4, 4))
    found = search._trial(search._point, ["y", "z"], [0])
    assert (found.solved, found.gap, found.error, found.greatest) == (True, 0, 0, 0)
    assert search._sizes == {(0, 0): [(10, 10), (8, 8)]}
    other = task(LINE, (10, 8), (1, 1, 2, 4), (1, 1, 4, 4))
    assert other._trial(other._point, ["y"], [0]).gap == pytest.approx(np.log(2))
