"""One session of a copy computes what each choice computes once it is written into the model."""

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from onnxpad.frameworks.repadding.candidates import options_of
from onnxpad.frameworks.repadding.sites import redeclared, settled, sites_of, write
from onnxpad.frameworks.repadding.working_copy import working_copy
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import open_session
from tests.support import Array, parsed
from tests.support.rows import each_row, one_in

X = "g (float[1, 2, HEIGHT, WIDTH] x) => (float[n, c, y, z] y)"
WEIGHTS = ", ".join(str(each % 7 - 3) for each in range(72))
GIVEN = f"<float[3, 2, 3, 4] w = {{{WEIGHTS}}}, float[2, 3, 3, 4] v = {{{WEIGHTS}}},"
GIVEN += " float[3] b = {1, -2, 3}>"
POOL = "<kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 0, 1]"
CONV = (
    f"{X} {GIVEN} {{ y = Conv <strides = [2, 2], pads = [1, 1, 1, 2], dilations = [1, 1]>"
    " (x, w, b) }"
)
WIDE = CONV.replace("[1, 1]>", "[1, 2]>")
TRANSPOSED = (
    f"{X} {GIVEN} {{ y = ConvTranspose <strides = [2, 3], pads = [1, 0, 0, 1],"
    " output_padding = [1, 0]> (x, v, b) }"
)
FLAT = (
    f"{X} <float[2, 1, 3, 1] v = {{3, 1, 2, 5, 1, 4}}> {{ y = ConvTranspose <strides = [2, 3],"
    " output_padding = [0, 1]> (x, v) }"
)
QUANTISED = (
    f"{X.replace('float', 'uint8')} <int8[3, 2, 3, 4] w = {{{WEIGHTS}}}, float s = {{0.5}},"
    " uint8 z = {7}, int8 k = {0}> { y = QLinearConv <strides = [2, 1], pads = [1, 1, 1, 2]>"
    " (x, s, z, w, s, k, s, z) }"
)
INTEGERS = (
    f"{X.replace('float', 'uint8', 1).replace('float', 'int32')}"
    f" <uint8[3, 2, 3, 4] w = {{{WEIGHTS.replace('-', '')}}}>"
    " { y = ConvInteger <strides = [2, 1], pads = [1, 1, 1, 2]> (x, w) }"
)
CASES = {
    "conv": (CONV, 17),
    "conv of opset 8": (CONV, 8),
    "conv with dilation": (WIDE.replace("strides = [2, 2]", "strides = [2, 1]"), 17),
    "steady": (WIDE.replace("strides = [2, 2]", "strides = [1, 1]"), 17),
    "max pool": (f"{X} {{ y = MaxPool {POOL}> (x) }}", 17),
    "max pool of bytes": (f"{X} {{ y = MaxPool {POOL}> (x) }}".replace("float[", "int8["), 12),
    "max pool, ceil": (f"{X} {{ y = MaxPool {POOL}, ceil_mode = 1> (x) }}", 12),
    "average pool": (f"{X} {{ y = AveragePool {POOL}> (x) }}", 19),
    "average, counted": (f"{X} {{ y = AveragePool {POOL}, count_include_pad = 1> (x) }}", 19),
    "power pool": (f"{X} {{ y = LpPool {POOL}, p = 2> (x) }}", 18),
    "transposed": (TRANSPOSED, 17),
    "transposed, flat": (FLAT, 17),
    "quantised": (QUANTISED, 17),
    "integers": (INTEGERS, 17),
}


def sized(text: str, height: int, width: int, opset: int = 17) -> onnx.ModelProto:
    filled = text.replace("HEIGHT", str(height)).replace("WIDTH", str(width))
    return parsed(filled, opset=opset)


def fed(model: onnx.ModelProto) -> dict[str, Array]:
    (value,) = model.graph.input
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    data = np.random.default_rng(0).integers(0, 9, size=shape)
    return {"x": data.astype(kind) if kind == np.uint8 else (data - 4).astype(kind)}


@pytest.mark.parametrize(("height", "width"), one_in(2, [(7, 11), (8, 9)]))
@pytest.mark.parametrize("name", CASES)
def test_the_copy_computes_what_is_written(name: str, height: int, width: int) -> None:
    text, opset = CASES[name]
    model = sized(text, height, width, opset)
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
            for padding in (each.padding for each in options_of(site)[0]):
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
    ("name", "opset", "kind", "is_left"),
    [
        ("conv", 17, "FLOAT", False), ("conv", 17, "UNDEFINED", True),
        ("conv", 10, "FLOAT", False), ("conv", 10, "DOUBLE", True), ("conv", 11, "DOUBLE", False),
        ("average pool", 9, "FLOAT", False), ("average pool", 8, "FLOAT", True),
        ("average pool", 17, "UINT8", True), ("max pool", 12, "INT8", False),
    ],
)  # fmt: skip
def test_what_varies_depends_on_the_type_and_on_the_opset_of_onnx_s_own_operators(
    name: str, opset: int, kind: str, is_left: bool
) -> None:
    model, dtype = sized(CASES[name][0], 8, 9, opset), onnx.TensorProto.DataType.Value(kind)
    sites = sites_of(Context(Graph.from_proto(model)))[0]
    model.graph.output.append(onnx.helper.make_tensor_sequence_value_info("s", 1, None))
    model.opset_import[0].domain = "ai.onnx"
    for beside in (0, 1):
        copy = working_copy(model, sites, lambda _: dtype or None)
        assert bool(copy.left) == is_left
        assert copy.model.graph.output[1] == model.graph.output[1]
        domains = [each.domain for each in copy.model.opset_import]
        assert domains.count("com.microsoft") == (beside or opset < 11)
        pads = {e.domain for e in copy.model.graph.node if e.op_type == "Pad"}
        assert is_left or pads == {"com.microsoft" if opset < 11 else ""}
        model.opset_import.insert(0, onnx.helper.make_opsetid("com.microsoft", 1))


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
    copy = working_copy(model, sites, context.analysis.dtype, ["h"])
    same = replace(sites[1].padding, pads=None)
    with open_session(copy.model) as session:
        for pads, size in (((1, 1), 8), ((0, 1), 7), ((0, 0), 6)):
            first = Padding((pads, pads))
            found = session.run({**fed(model), **copy.feeds([first, same])})
            assert copy.sizes(found)[1] == (size, size)
            begin = {8: 0, 7: 1, 6: 0}[size]
            assert same.amounts((size, size), sites[1].windows)[0][0] == begin
            assert np.asarray(found["y"]).shape[2:] == (-(-size // 2),) * 2
            assert np.asarray(found["h"]).shape[2:] == (size, size)
