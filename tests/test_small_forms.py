"""All small forms of SAME and of transposed convolutions, and long chains, which no case lists."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.arithmetic.window import Window
from tests.oracles import walk
from tests.support import feeds_of, one, ran, run

WINDOWS = [
    (1, 4, 1), (1, 6, 1), (2, 5, 1), (2, 7, 1), (3, 1, 2), (2, 1, 2), (3, 2, 2), (3, 5, 3),
    (2, 3, 2),
]  # fmt: skip
"""Kernels, strides and dilations on which the engines disagree at some sizes."""

MEANS: Final[dict[str, Callable[[list[float]], float]]] = {
    "Conv": lambda values: sum(values),
    "MaxPool": lambda values: max(values, default=float(np.finfo(np.float64).min)),
    "AveragePool": lambda values: sum(values) / max(len(values), 1),
    "LpPool": lambda values: sum(each * each for each in values) ** 0.5,
}


def lines() -> Iterator[tuple[str, Window, bool, int, onnx.ModelProto]]:
    """Operators with SAME over lines of a few lengths."""
    for op, shape, lower, size in product(MEANS, WINDOWS, (False, True), (1, 5, 6, 8)):
        window = Window(*shape)
        if op == "Conv" and window.dilation > 1:
            continue
        kind = "double" if op == "MaxPool" else "float"
        same = f'auto_pad = "SAME_{"LOWER" if lower else "UPPER"}", kernel_shape = [{shape[0]}]'
        weight = ", w" if op == "Conv" else ""
        ones = ", ".join("1" * window.kernel)
        model = one(
            f"y = {op} <{same}, strides = [{shape[1]}], dilations = [{shape[2]}]> (x{weight})",
            inputs=f"{kind}[1, 1, {size}] x",
            outputs=f"{kind}[] y",
            initializers=f"float[1, 1, {window.kernel}] w = {{{ones}}}" if weight else "",
            opset=17 if weight else 19,
        )
        yield op, window, lower, size, model


def test_same_is_written_as_the_one_who_is_trusted_reads_it() -> None:
    """onnxruntime computes what it reads; a window that walks the line, what is specified."""
    compared = {"spec": 0, "onnxruntime": 0}
    for (op, window, lower, size, model), trust in product(lines(), compared):
        result = onnxpad.fix(model, trust=trust, validate=False)
        assert not result.undone
        feeds = feeds_of(model)
        expected = ran(model, feeds)
        if trust == "spec":
            if not result.changed:
                assert {f.reason_code for f in result.findings} == {"pads-not-below-kernel"}
            count = -(-size // window.stride)
            total = max(0, (count - 1) * window.stride + window.extent - size)
            reads = walk(window, (total + lower) // 2, count)
            data = feeds["x"].ravel()
            inside = [[float(data[at]) for at in read if 0 <= at < size] for read in reads]
            expected = [np.array([MEANS[op](values) for values in inside])]
        if result.changed and not isinstance(expected, str):  # else a repair
            found = run(result.model, feeds)[0]
            np.testing.assert_allclose(found.ravel(), expected[0].ravel(), rtol=1e-6)
            compared[trust] += any(c.certificate.facts.get("trusts") for c in result.changes)
    assert min(compared.values()) > 50


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
def test_every_small_form_of_a_transposed_convolution_stays_the_same(auto_pad: str) -> None:
    seen = 0
    for kernel, stride, dilation, more, wanted in product(
        (1, 2, 4), (1, 3), (1, 2), (0, 1), (None, 4, 9, 13)
    ):
        said = f'auto_pad = "{auto_pad}", strides = [{stride}], dilations = [{dilation}]'
        said += f", output_padding = [{more}]" * bool(more)
        said += f", output_shape = [{wanted}]" * (wanted is not None)
        taps = ", ".join(str(n % 7 - 3) for n in range(6 * kernel))
        model = one(
            f"y = ConvTranspose <{said}> (x, w)",
            inputs="float[1, 2, 5] x",
            initializers=f"float[2, 3, {kernel}] w = {{{taps}}}",
        )
        feeds = feeds_of(model)
        expected = ran(model, feeds)
        result = onnxpad.fix(model, validate=False)
        assert result.changed or result.model == model
        if result.changed and not isinstance(expected, str):
            np.testing.assert_array_equal(run(result.model, feeds)[0], expected[0], err_msg=said)
            seen += 1
    assert seen >= (0 if auto_pad == "NOTSET" else 20)


PADDED = (
    "float[3, 2, 3, 3] w = {" + ", ".join(str(n % 7 - 3) for n in range(54)) + "},"
    " int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float v0 = {0}, float v1 = {0.5}"
)


@pytest.mark.parametrize(("end", "left"), [("Conv (a60, w)", 0), ("Exp (a60)", 1)])
def test_a_chain_of_pads_and_steps_becomes_one(end: str, left: int) -> None:
    chain = [f"p{i} = Pad (a{i}, p, v{i % 2}) a{i + 1} = Add (p{i}, c{i % 2})" for i in range(60)]
    model = one(
        f"a0 = Neg (x) {' '.join(chain)} y = {end}",
        inputs="float[1, 2, 8, 8] x",
        initializers=f"{PADDED}, float c0 = {{0.5}}, float c1 = {{-0.5}}",
    )
    result = onnxpad.fix(model, validate=False)
    assert len(result.changes) == 61 - left
    assert [node.op_type for node in result.model.graph.node].count("Pad") == left


def test_the_proof_looks_only_so_far_up() -> None:
    pads = [f"b{i + 1} = Pad (b{i}, p, v{i % 2})" for i in range(100)]
    model = one(
        f"b0 = Relu (x) {' '.join(pads)} a = Pad (b100, p) t = Abs (a) y = Conv (t, w)",
        inputs="float[1, 2, h, i] x",
        initializers=PADDED,
    )
    result = onnxpad.fix(model, validate=False)
    assert [change.code for change in result.changes] == ["PAD207", "PAD201"]
    assert max(len(change.was.steps) for change in result.changes) < 20


def test_a_pad_before_many_branches_goes() -> None:
    branches = [f"t{i} = Abs (a) y{i} = Conv (t{i}, w)" for i in range(20)]
    every: Any = ", ".join(f"y{i}" for i in range(20))
    model = one(f"a = Pad (x, p) {' '.join(branches)} y = Sum ({every})", initializers=PADDED)
    result = onnxpad.fix(model, validate=False)
    assert "Pad" not in [node.op_type for node in result.model.graph.node]
