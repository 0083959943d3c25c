"""Random transposed convolutions: every form is drawn, and naive rewritings are told apart."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

from tests.random_models.draw import Drawn, draw_model
from tests.random_models.measure import Case, examine, observed, plain_pads
from tests.random_models.naive import NotFoldableError
from tests.random_models.naive_transposed import fold_site, layer_of, sites
from tests.random_models.observe import seen
from tests.support import Array, one

CONSTANTS = (
    "float[2, 1, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(18)) + "},"
    " float[1] b = {2}, float v = {2}, int64[2] o = {1, 1}, int64[2] e = {-1, -2},"
    " int64[2] k = {2, 3}, int64[2] z = {0, 0}, int64[2] f = {9223372036854775807, 99},"
    " int64[8] q = {0, 0, 0, 0, 0, 0, 0, 1}, int64[8] r = {0, 0, -1, 0, 0, 0, -2, -1},"
    " int64[8] m = {0, 0, 1, 0, 0, 0, 0, 0}, int64[1] u = {4}, int64[2] h = {1, 2},"
    " float[1, 1, 1, 1, 1] five = {1}, int64[2] five_k = {3, 4},"
    " int64[8] a1 = {0, 1, 0, 0, 0, 0, 0, 0}, int64[5] s = {1, 1, 17, -1, 1}"
)
PLAIN = "c = ConvTranspose <strides = [2, 2]> (x, w)"
UPSAMPLED = "y = ConvTranspose <strides = [2, 3]"
CROPPED = "c = ConvTranspose <strides = [2, 2], pads = [1, 0, 0, 1]> (x, w)"


def differences(body: str, inputs: str = "float[1, 2, 9, 8] x") -> dict[str, str]:
    """How each naive rewriting of a model differs from it, by the name of what it is about."""
    model = one(body, inputs=inputs, initializers=CONSTANTS)
    case = Case(Drawn(model, open="n" in inputs, exact=True, fed={}, sizes=(1, 2, 9, 8)), 0)
    assert case.runs
    known = observed(model, case)
    return {
        f"{each.what} {each.output}": case.differs(fold_site(model, each, known), signs=True)
        for each in sites(model)
    }


IN_BODY = (
    "g = Shape (x) i = Gather (g, z) j = ReduceSum (i) l = Cast <to = 9> (j) d = Squeeze (l)"
    f" y = If (d) <then_branch = yes () => (float[] a) {{ {PLAIN} a = Slice (c, o, e, k) }},"
    " else_branch = no () => (float[] b1) { b1 = Identity (x) }>"
)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"{PLAIN} y = Slice (c, o, e, k)", ["Slice y"]),
        (f"{PLAIN} y = Slice (c, z, f, k) t1 = Relu (c) y2 = Identity (t1)", ["Slice y"]),
        (f"{PLAIN} y = Pad (c, r)", ["Pad y"]),
        (f"{PLAIN} y = Pad (c, q)", ["Pad y"]),
        ("c = ConvTranspose <strides = [2, 2]> (x, w, b) y = Pad (c, q, v)", ["Pad y"]),
        (f"{CROPPED} a = Pad (c, q) y = Slice (a, o, e, k)", ["Slice y"]),
        (
            f"{PLAIN} a = Transpose <perm = [0, 2, 3, 1]> (c) d = Slice (a, o, e, h) y = Neg (d)",
            ["Slice d"],
        ),
        (
            f"{PLAIN} a = Slice (c, o, e, k) d = Reshape (a, s) g = Relu (d) y = Squeeze (g, u)",
            ["Slice a"],
        ),
        (
            f"{PLAIN} a = Slice (c, o, e, k) d = Add (a, five) y = Slice (d, o, e, five_k)",
            ["Slice y"],
        ),
        ('y = ConvTranspose <strides = [2, 2], auto_pad = "SAME_UPPER"> (x, w)', ["auto_pad y"]),
        (
            f'{UPSAMPLED}, auto_pad = "SAME_LOWER", dilations = [2, 1]> (x, w)',
            ["auto_pad y"],
        ),
        ('y = ConvTranspose <auto_pad = "VALID"> (x, w)', ["auto_pad y"]),
        (
            f"{UPSAMPLED}, pads = [1, 1, 1, 0], output_padding = [1, 2]> (x, w)",
            ["output_padding y"],
        ),
        (
            f"{UPSAMPLED}, pads = [1, 1, 1, 0], output_shape = [18, 25]> (x, w)",
            ["output_shape y"],
        ),
        (IN_BODY, ["Slice a"]),
    ],
)
def test_what_can_go_is_found_so(body: str, found: Sequence[str]) -> None:
    told = differences(body)
    assert {name: told[name] for name in found} == dict.fromkeys(found, "")


@pytest.mark.parametrize(
    ("body", "site", "how"),
    [
        (
            "c = ConvTranspose <strides = [2, 2]> (x, w, b) y = Pad (c, q)",
            "Pad y",
            "computes something else",
        ),
        (
            f"{PLAIN} a = Slice (c, o, e, k) y = Pad (a, q)",
            "Pad y",
            "computes something else",
        ),
        (f"{PLAIN} a = Sigmoid (c) y = Pad (a, q)", "Pad y", "computes something else"),
        ("c = ConvTranspose (x, w) y = Pad (c, q)", "Pad y", "no longer runs"),
    ],
)
def test_what_cannot_go_is_told_apart(body: str, site: str, how: str) -> None:
    assert differences(body)[site] == how


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"{PLAIN} y = Pad (c, m)", "at the begin"),
        (f"{PLAIN} a = Slice (c, o, e, k) d = Abs (c) i = Slice (d, o, e, k) y = Mul (a, i)",
         "something else"),
        (f"{PLAIN} y = Slice (c, o, f, k, h)", "no crop"),
        (f'{PLAIN} y = Pad <mode = "edge"> (c, q)', "copies"),
        (f"{PLAIN} d = Slice (c, o, e, k) y = Relu (c)", "nothing reads"),
        (f"{PLAIN} y = Pad (c, a1)", "on batch"),
    ],
)  # fmt: skip
def test_what_has_no_naive_rewriting(body: str, why: str) -> None:
    with pytest.raises(NotFoldableError, match=why):
        differences(body)


def test_a_crop_that_varies_with_the_size_stays() -> None:
    body = "g = Shape (x) i = Gather (g, k) c = ConvTranspose (x, w) y = Slice (c, z, i, k)"
    (told,) = differences(body, "float[1, 2, 9, 8] x").values()
    assert told == ""
    (told,) = differences(body, "float[1, 2, n, 8] x").values()
    assert told == ""
    odd = body.replace("c = ConvT", "j = Div (i, k) c = ConvT").replace("z, i, k", "z, j, k")
    with pytest.raises(NotFoldableError, match="vary"):
        differences(odd, "float[1, 2, n, 8] x")


def test_bodies_and_functions_are_seen() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[2, 1, 3] x) => (float[] y, float[] z, float[] l, float[] m)
        <float[1, 1, 2] w = {1, 2}, int64 n = {3}, bool true = {1}>
        {
          y = local.Up <strides = [2]> (x, w)
          z = If (true) <
            then_branch = yes () => (float[] a) { a = Neg (y) },
            else_branch = no () => (float[] b) { b = Relu (y) }>
          l = Loop (n, true, x) <body = again (int64 i, bool p, float[] s) => (bool q, float[] t)
            { q = Identity (p) t = Add (s, s) }>
          m = Scan <num_scan_inputs = 1, body = each (float[] e) => (float[] f) { f = Abs (e) }> (x)
        }
        <domain: "local", opset_import: ["" : 17]>
        Up <strides> (v, k) => (r)
        { c = ConvTranspose <strides: ints = @strides> (v, k) r = Neg (c) }
    """)
    x = np.arange(6, dtype=np.float32).reshape(2, 1, 3) - 2
    found: dict[str, Array] = {}
    for holder in seen(model, {"x": x}):
        found = {**holder.tensors, **found}
    assert found["c"].shape == (2, 1, 6)
    assert np.array_equal(found["a"], found["c"])
    assert np.array_equal(found["b"], np.maximum(-found["c"], 0))
    assert np.array_equal(found["t"], 2 * x)
    assert np.array_equal(found["l"], 8 * x)
    assert np.array_equal(found["f"], np.abs(x[0]))


@pytest.mark.parametrize(
    ("starts", "ends", "more", "layer"),
    [
        ([1], [-2], {}, ((-1, -2), (0, 0))),
        ([-3], [2**63 - 1], {"axes": [-1]}, ((0, 0), (-3, 0))),
        ([5], [3], {"axes": [1]}, ((0, 0), (-5, -1))),
        ([0, 1], [9, 5], {"axes": [1, 0], "steps": [1, 1]}, ((-1, 0), (0, 0))),
        ([0], [9], {"axes": [1], "steps": [2]}, None),
    ],
)
def test_what_a_slice_crops(
    starts: Sequence[int], ends: Sequence[int], more: Mapping[str, Any], layer: object
) -> None:
    node = onnx.helper.make_node("Slice", ["x"], ["y"], starts=starts, ends=ends, **more)
    assert layer_of(node, {"x": np.zeros((5, 6))}) == layer


def forms(model: onnx.ModelProto) -> set[str]:
    """Attributes of ConvTranspose and what is downstream."""
    found = {str(site.what) for site in sites(model)}
    for node in (each for holder in (model.graph, *model.functions) for each in holder.node):
        if node.op_type == "ConvTranspose":
            found.add(f"{len(node.input)} inputs")
            found |= {attribute.name for attribute in node.attribute}
            found |= {f"{a.name} {a.s.decode()}" for a in node.attribute}
            if node.input[1].startswith(("transpose", "neg")):
                found.add("computed weight")
    return found


def test_every_form_is_drawn() -> None:
    """Each in a model that onnxruntime runs."""
    wanted = {"Slice", "Pad", "2 inputs", "3 inputs", "strides", "dilations", "group", "pads"}
    wanted |= {"output_padding", "output_shape", "kernel_shape", "computed weight"}
    wanted |= {f"auto_pad {auto}" for auto in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")}
    for seed in range(500):
        if not wanted:
            break
        each = draw_model(random.Random(seed))
        if wanted & forms(each.model) and Case(each, seed).runs:
            wanted -= forms(each.model)
    assert not wanted


def test_pads_downstream_are_counted_apart() -> None:
    body = f"a = Pad (x, q) {PLAIN.replace('x', 'a')} y = Pad (c, q)"
    model = one(body, initializers=CONSTANTS)
    assert [place.name for place in plain_pads(model)] == ["<a>"]
    outcome = examine(Drawn(model, open=False, exact=True, fed={}, sizes=(1, 2, 9, 8)), 0)
    assert {each.place.name for each in outcome.kept if each.site is None} == {"<a>"}
    assert outcome.resolved + sum(each.site is not None for each in outcome.kept) == 1
