"""One session of a copy computes what each choice computes once it is written into the model."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.candidates import options_of
from onnxpad.frameworks.repadding.sites import (
    redeclared,
    settled,
    sites_of,
    write,
)
from onnxpad.frameworks.repadding.working_copy import working_copy
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import open_session
from tests.support import Array, parsed
from tests.support.rows import each_row, one_in

CONV = """
    g (float[1, 2, {h}, {w}] x) => (float[n, c, y, z] y)
    <float[3, 2, 3, 4] w = {{{weights}}}, float[3] b = {{1, -2, 3}}>
    {{ y = Conv <strides = [2, {s}], pads = [1, 1, 1, 2], dilations = [1, {d}]> (x, w, b) }}
"""
POOL = """
    g (float[1, 2, {h}, {w}] x) => (float[n, c, y, z] y)
    {{ y = {op} <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 0, 1]{more}> (x) }}
"""
TRANSPOSED = """
    g (float[1, 2, {h}, {w}] x) => (float[n, c, y, z] y)
    <float[2, 3, 3, 4] w = {{{weights}}}, float[3] b = {{1, -2, 3}}>
    {{
        y = ConvTranspose <strides = [2, 3], pads = [1, 0, 0, 1], output_padding = [1, 0]>
            (x, w, b)
    }}
"""
QUANTISED = """
    g (uint8[1, 2, {h}, {w}] x) => (uint8[n, c, y, z] y)
    <float s = {{0.5}}, uint8 z = {{7}}, int8[3, 2, 3, 4] w = {{{weights}}}, int8 wz = {{0}}>
    {{ y = QLinearConv <strides = [2, 1], pads = [1, 1, 1, 2]> (x, s, z, w, s, wz, s, z) }}
"""
PAD = """
    g (float[1, 2, {h}, {w}] x) => (float[n, c, y, z] y)
    <int64[8] p = {{0, 0, 1, 0, 0, 0, 0, 1}}>
    {{
        q = Pad (x, p)
        y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (q)
    }}
"""
WEIGHTS = ", ".join(str(each % 7 - 3) for each in range(72))
CASES = {
    "conv": (CONV, 17),
    "conv of opset 8": (CONV, 8),
    "conv with dilation": (CONV.replace("{d}", "2").replace("{s}", "1"), 17),
    "steady": (CONV.replace("{d}", "2").replace("{s}", "1").replace("[2, 1]", "[1, 1]"), 17),
    "max pool": (POOL.replace("{op}", "MaxPool").replace("{more}", ""), 17),
    "max pool of bytes": (
        POOL.replace("{op}", "MaxPool").replace("{more}", "").replace("float[", "int8["),
        12,
    ),
    "max pool, ceil": (POOL.replace("{op}", "MaxPool").replace("{more}", ", ceil_mode = 1"), 12),
    "average pool": (POOL.replace("{op}", "AveragePool").replace("{more}", ""), 19),
    "average pool, counted": (
        POOL.replace("{op}", "AveragePool").replace("{more}", ", count_include_pad = 1"),
        19,
    ),
    "power pool": (POOL.replace("{op}", "LpPool").replace("{more}", ", p = 2"), 18),
    "transposed": (TRANSPOSED, 17),
    "quantised": (QUANTISED, 17),
    "pad": (PAD, 17),
}


def built(name: str, height: int, width: int) -> onnx.ModelProto:
    text, opset = CASES[name]
    filled = text.format(h=height, w=width, weights=WEIGHTS, s=2, d=1)
    return parsed(filled, opset=opset)


def fed(model: onnx.ModelProto) -> dict[str, Array]:
    (value,) = model.graph.input
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    data = np.random.default_rng(0).integers(0, 9, size=shape)
    return {"x": data.astype(kind) if kind == np.uint8 else (data - 4).astype(kind)}


def choices(site: Site) -> Iterator[Padding]:
    """Every choice that `match` may try, each once."""
    yield from (each.padding for each in options_of(site)[0])


@pytest.mark.parametrize(("height", "width"), one_in(2, [(7, 11), (8, 9)]))
@pytest.mark.parametrize("name", CASES)
def test_the_copy_computes_what_is_written(name: str, height: int, width: int) -> None:
    model = built(name, height, width)
    graph = Graph.from_proto(model)
    context = Context(graph)
    sites, left = sites_of(context)
    assert not left
    copy = working_copy(model, sites, context.analysis.dtype)
    assert not copy.left
    data = fed(model)
    compared = 0
    with open_session(copy.model) as session:
        for place, site in enumerate(sites):
            for padding in choices(site):
                mine = [each.padding for each in sites]
                mine[place] = padding
                try:
                    found = session.run({**data, **copy.feeds(mine)}, ["y", *copy.probes])
                except EngineError:
                    continue
                sizes = copy.sizes(found)[place]
                written = Graph.from_proto(model)
                here = Context(written)
                one = sites_of(here)[0][place]
                with redeclared(written) as changed:
                    write(written, one, settled(one, padding, sizes, written.opset))
                    changed.append(one.node)
                value = np.asarray(found["y"])
                try:
                    with open_session(written.model.to_proto()) as plain:
                        (wanted,) = plain.run(data).values()
                except EngineError:
                    continue  # pads that no pool of onnxruntime may have
                assert isinstance(wanted, np.ndarray)
                assert value.shape == wanted.shape, padding
                np.testing.assert_allclose(
                    value, wanted, rtol=1e-5, atol=1e-5, err_msg=str(padding)
                )
                compared += 1
    assert compared > 4


@each_row(
    ("name", "padding", "fed"),
    [
        ("conv", Padding(((1, 0), (2, 3))), [[0, 0, 1, 2], [0, 0, 0, 3], 0, 0, 0, 0]),
        ("conv", Padding(None), [[0] * 4, [0] * 4, 1, 0, 0, 0]),
        ("steady", Padding(None, odd="begin"), [[0] * 4, [0] * 4, 0, 1, 0, 0]),
        ("average pool", Padding(None, counted=True), [[0] * 4, [0] * 4, 1, 0, 0, 1]),
        ("max pool", Padding(((1, 0), (0, 1)), ceil=True),
         [[0, 0, 1, 0], [0, 0, 0, 1], 0, 0, 1, 0]),
        ("transposed", Padding(((1, 0), (0, 2)), output_padding=(0, 1)),
         [[0, 0, -1, 0], [0, 0, 0, -1], 0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_what_is_fed(name: str, padding: Padding, fed: list[Any]) -> None:
    """Amounts, of a transposed convolution output_padding too; then flags."""
    model = built(name, 8, 9)
    context = Context(Graph.from_proto(model))
    sites = sites_of(context)[0]
    copy = working_copy(model, sites, lambda _: onnx.TensorProto.FLOAT)
    assert [array.tolist() for array in copy.feeds([padding]).values()] == fed


def test_the_opset_is_that_of_onnx_s_own_operators() -> None:
    model = built("conv", 8, 9)
    model.opset_import.insert(0, onnx.helper.make_opsetid("com.microsoft", 1))
    sites = sites_of(Context(Graph.from_proto(model)))[0]
    assert not working_copy(model, sites, lambda _: onnx.TensorProto.FLOAT).left
    del model.opset_import[1]
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx", 17))
    assert not working_copy(model, sites, lambda _: onnx.TensorProto.FLOAT).left


def test_inner_tensors_are_outputs_too() -> None:
    model = built("pad", 8, 9)
    context = Context(Graph.from_proto(model))
    sites = sites_of(context)[0]
    copy = working_copy(model, sites, lambda _: onnx.TensorProto.FLOAT, ["q"])
    with open_session(copy.model) as session:
        found = session.run({**fed(model), **copy.feeds([site.padding for site in sites])})
    assert {"y", "q"} <= {*found}


def test_same_follows_the_size_of_the_run() -> None:
    """Behind a Conv that pads less, SAME is that of the smaller data."""
    model = parsed(
        """
        g (float[1, 1, 8, 8] x) => (float[n, c, y, z] y) <float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6,
        7, 8, 9}>
        {
            h = Conv <pads = [1, 1, 1, 1]> (x, w)
            y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (h, w)
        }
        """
    )
    context = Context(Graph.from_proto(model))
    sites = sites_of(context)[0]
    copy = working_copy(model, sites, context.analysis.dtype)
    same = replace(sites[1].padding, pads=None)
    with open_session(copy.model) as session:
        for pads, size in (((1, 1), 8), ((0, 1), 7), ((0, 0), 6)):
            first = Padding((pads, pads))
            found = session.run({**fed(model), **copy.feeds([first, same])})
            assert copy.sizes(found)[1] == (size, size)
            begin = {8: 0, 7: 1, 6: 0}[size]
            assert same.amounts((size, size), sites[1].windows)[0][0] == begin
            assert np.asarray(found["y"]).shape[2:] == (-(-size // 2),) * 2


def test_an_output_is_redeclared() -> None:
    """A padding with another output size leaves no wrong size behind."""
    model = parsed(
        """
        g (float[1, 1, 8, 8] x) => (float[1, 1, 4, 4] y)
        { y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }
        """
    )
    graph = Graph.from_proto(model)
    (site,) = sites_of(Context(graph))[0]
    with redeclared(graph) as changed:
        write(graph, site, Padding(((0, 0), (0, 0))))
        changed.append(site.node)
    (value,) = graph.model.to_proto().graph.output
    assert [dim.dim_value for dim in value.type.tensor_type.shape.dim] == [1, 1, 3, 3]
    onnx.checker.check_model(graph.model.to_proto(), full_check=True)
    graph.rollback(0)
    assert graph.model.to_bytes() == model.SerializeToString()


@pytest.mark.parametrize("pads", ["0, 0, 0, 0", "1, 0, 0, 1", "1, 1, 1, 1"])
def test_no_choice_crops_less_than_nothing(pads: str) -> None:
    """onnxruntime refuses negative pads; an end that is extended is appended."""
    text = TRANSPOSED.replace("pads = [1, 0, 0, 1]", f"pads = [{pads}]")
    model = parsed(text.format(h=5, w=6, weights=WEIGHTS), opset=17)
    (site,), _ = sites_of(Context(Graph.from_proto(model)))
    found = [each.padding for each in options_of(site)[0]]
    assert all(min(map(min, padding.pads or ())) >= 0 for padding in found)
    assert any(padding.output_padding > site.padding.output_padding for padding in found)
