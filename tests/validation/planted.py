"""Faults planted in models, and whether they are found: `python -m tests.validation.planted`.

Each is one edit of one node: pads moved to the other side, SAME's side exchanged, ceil_mode
flipped, or the amounts or the value of a `Pad` changed; in the main graph, in branches, in bodies
of Loop and Scan, and in functions. One that `validate` passes counts as planted only if onnxruntime
shows it on data drawn here, without any code of the product.
"""

import argparse
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper

import onnxpad
from tests import natural, run_command
from tests.support import EXPORTED, parsed, run

T: Final = "float[1, 2, 9, 9]"
CONV: Final = "Conv <pads = [0, 1, 1, 0]> ({}, w)"
WINDOWS: Final = {
    "conv": CONV,
    "same": """Conv <auto_pad = "SAME_UPPER", kernel_shape = [2, 2]> ({}, w2)""",
    "pool": 'AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], auto_pad = "NOTSET"> ({})',
    "ceil": "MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> ({})",
    "pad": "Pad ({}, m, k)",
    "deconv": "ConvTranspose <pads = [0, 1, 1, 1]> ({}, w3)",
}
"""A window by name, of data of any size."""

PLACES: Final = {
    "branch": """y = If (c) <then_branch = a () => (float[] p) {{ p = {w} }},
        else_branch = b () => (float[] q) {{ r = Neg (x) q = {w} }}>""",
    "nested": """y = If (c) <then_branch = a () => (float[] p) {{ p = Neg (x) }},
        else_branch = b () => (float[] q) {{ e = Equal (n, seven)
            q = If (e) <then_branch = d () => (float[] r) {{ r = {w} }},
                else_branch = f () => (float[] s) {{ s = Abs (x) }}> }}>""",
    "loop": f"""i, y = Loop (n, , x) <
        body = l (int64 j, bool g, {T} s) => (bool o, {T} v, float[] u) {{{{
            o = Identity (g) v = Neg (s) h = Add (s, x) u = {{w}} }}}}>""",
    "scan": """y = Scan <num_scan_inputs = 1, body = l (float[2, 9, 9] s) => (float[] u) {{
        z = Constant <value_ints = [0]> () h = Unsqueeze (s, z) u = {w} }}> (x)""",
    "function": "y = own.F (x, c, w, w2, w3, m, k)",
    "main": "a = Relu (x) b = {w} y = Tanh (b)",
}
"""Where a window stands; what each reads is `x`, or `h` in a Loop or Scan."""


def drawn(window: str, place: str) -> onnx.ModelProto:
    """A small model with a window at a place."""
    reads = "h" if place in ("loop", "scan") else "a" if place == "main" else "x"
    text = WINDOWS[window].format(reads)
    own = f"""<opset_import: ["" : 17], domain: "own"> F (x, c, w, w2, w3, m, k) => (y) {{
        r = {WINDOWS[window].format("x")} y = Mul (r, r) }}"""
    return parsed(f"""<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g ({T} x, bool c, int64 n) => (float[] y)
        <float[2, 2, 3, 3] w = {{{numbers(36)}}}, float[2, 2, 2, 2] w2 = {{{numbers(16)}}},
         float[2, 2, 3, 3] w3 = {{{numbers(36)}}}, int64[8] m = {{0, 0, 1, 2, 0, 0, 2, 1}},
         float k = {{0}}, int64 seven = {{7}}> {{ {PLACES[place].format(w=text)} }}
        {own if place == "function" else ""}""")


def numbers(count: int) -> str:
    """As many weights."""
    return ", ".join(str(each % 7 - 3) for each in range(count))


@dataclass(frozen=True)
class Planted:
    """A model with one fault."""

    name: str
    place: str
    right: onnx.ModelProto
    number: int
    fault: "Fault"

    def wrong(self) -> onnx.ModelProto:
        """The model with the fault."""
        wrong = onnx.ModelProto()
        wrong.CopyFrom(self.right)
        node, _, held = nodes(wrong)[self.number]
        assert self.fault(node, held)
        return wrong

    def judged(self) -> str:
        """`found`, `passed`, `nothing compared`, or `no fault` where outputs cannot show it."""
        wrong = self.wrong()
        outcome = onnxpad.validate(self.right, wrong).validation.outcome
        if outcome == "failed":
            return "found"
        return outcome if shows(self.right, wrong) else "no fault"


def moved(node: onnx.NodeProto, _: object) -> bool:
    """Pads by one on the other side of an axis."""
    pads = attribute(node, "pads")
    return pads is not None and node.op_type != "Pad" and exchanged(pads.ints)


def exchanged(ints: Any) -> bool:
    """One element moves from one side of the last axis that has any to the other."""
    half = len(ints) // 2
    axes = [axis for axis in range(half) if ints[axis] > 0 or ints[axis + half] > 0]
    for axis in axes[-1:]:
        begin = ints[axis] > 0
        ints[axis] += -1 if begin else 1
        ints[axis + half] += 1 if begin else -1
    return bool(axes)


def other_side(node: onnx.NodeProto, _: object) -> bool:
    sides = {b"SAME_UPPER": b"SAME_LOWER", b"SAME_LOWER": b"SAME_UPPER"}
    side = attribute(node, "auto_pad")
    if side is None or side.s not in sides:
        return False
    side.s = sides[side.s]
    return True


def rounded(node: onnx.NodeProto, _: object) -> bool:
    if node.op_type not in ("MaxPool", "AveragePool", "LpPool"):
        return False
    same = attribute(node, "auto_pad")
    if same is not None and same.s.startswith(b"SAME"):
        return False
    ceil = attribute(node, "ceil_mode")
    if ceil is None:
        node.attribute.append(onnx.helper.make_attribute("ceil_mode", 1))
    else:
        ceil.i = 1 - ceil.i
    return True


Held = Callable[[str], onnx.TensorProto | None]
Fault = Callable[[onnx.NodeProto, Held], bool]


def amounts(node: onnx.NodeProto, held: Held) -> bool:
    if node.op_type != "Pad":
        return False
    pads = attribute(node, "pads") or attribute(node, "paddings")
    if pads is not None:
        return exchanged(pads.ints)
    tensor = held(node.input[1])
    if tensor is None:
        return False
    ints = numpy_helper.to_array(tensor).tolist()
    there = exchanged(ints)
    tensor.CopyFrom(numpy_helper.from_array(np.array(ints, np.int64), tensor.name))
    return there


def filled(node: onnx.NodeProto, held: Held) -> bool:
    tensor = held(node.input[2]) if node.op_type == "Pad" and len(node.input) > 2 else None
    if tensor is None or not np.isfinite(value := numpy_helper.to_array(tensor)).all():
        return False
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(value + 1, value.dtype), tensor.name))
    return True


FAULTS: Final[tuple[Fault, ...]] = (moved, other_side, rounded, amounts, filled)


def attribute(node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    return next((each for each in node.attribute if each.name == name), None)


def nodes(model: onnx.ModelProto) -> list[tuple[onnx.NodeProto, str, Held]]:
    """Every node of a model, with what it stands in, and the constants that it sees."""
    found: list[tuple[onnx.NodeProto, str, Held]] = []

    def visit(of: Any, place: str, outer: Held) -> None:
        known = {each.name: each for each in getattr(of, "initializer", ())}
        for node in of.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                known[node.output[0]] = node.attribute[0].t

        def held(name: str) -> onnx.TensorProto | None:
            return known.get(name) or outer(name)

        for node in of.node:
            found.append((node, place, held))
            for each in node.attribute:
                for body in (*([each.g] if each.HasField("g") else ()), *each.graphs):
                    visit(body, node.op_type, held)

    visit(model.graph, "main", lambda _: None)
    for function in model.functions:
        visit(function, "function", lambda _: None)
    return found


def of_model(name: str, right: onnx.ModelProto) -> Iterator[Planted]:
    """Every fault of a model."""
    tried = onnx.ModelProto()
    tried.CopyFrom(right)
    for number, (node, place, held) in enumerate(nodes(tried)):
        for fault in FAULTS:
            if fault(node, held):
                label = f"{name}: {fault.__name__} {node.op_type} {node.name or number}"
                yield Planted(label, place, right, number, fault)


def of_drawn() -> Iterator[Planted]:
    """Every fault of the small models, but for those outside of what they are drawn for."""
    for window, place in itertools.product(WINDOWS, PLACES):
        yield from of_model(f"{window} in {place}", drawn(window, place))


def of_models() -> Iterator[Planted]:
    """Every fault of the models in `models/`."""
    for path in EXPORTED:
        yield from of_model(path.stem, onnx.load(path))


def shows(right: onnx.ModelProto, wrong: onnx.ModelProto) -> bool:
    """Whether onnxruntime without optimisation gives other outputs on any data drawn here."""
    return any(apart(right, wrong, feeds) for feeds in feeds_of(right))


def feeds_of(model: onnx.ModelProto) -> Iterator[dict[str, Any]]:
    """Data of three sizes and both signs, with several values for whole numbers and bools."""
    held = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in held]
    for size, chosen, sign in itertools.product((33, 64, 224), (0, 1, 2, 7), (0, -1)):
        generator = np.random.default_rng(size + chosen)
        feeds = {}
        for each in inputs:
            kind = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
            shape = [
                dim.dim_value or (size if axis > 1 else 3 if axis else 1)
                for axis, dim in enumerate(each.type.tensor_type.shape.dim)
            ]
            data: Any = generator.standard_normal(shape)
            if kind.kind in "iub" and kind.itemsize > 1 - (kind.kind == "b"):
                data = np.full(shape, chosen)
            elif kind.kind in "iu":
                data = generator.integers(-99, 99, shape)
            feeds[each.name] = np.asarray(data if not sign else -np.abs(data)).astype(kind)
        yield feeds


def apart(right: onnx.ModelProto, wrong: onnx.ModelProto, feeds: dict[str, Any]) -> bool:
    try:
        ours = run(right, feeds)
    except Exception:  # whatever onnxruntime raises
        return False
    try:
        theirs = run(wrong, feeds)
    except Exception:
        return True
    return not all(
        one.shape == other.shape
        and np.allclose(
            one, other, rtol=1e-3, atol=1e-3 * np.abs(one).max(initial=0), equal_nan=True
        )
        for one, other in zip(ours, theirs, strict=True)
        if isinstance(one, np.ndarray) and one.dtype.kind in "fiub"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.validation.planted", description=__doc__)
    parser.add_argument(
        "--sample", type=natural, default=100, metavar="N", help="how many to plant"
    )
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--small", action="store_true", help="all of the small models instead")
    options = parser.parse_args(arguments)
    every = [*of_drawn()] if options.small else by_turns([*of_models(), *of_drawn()], options.seed)
    told, planted = Counter[str](), 0
    for each in every:
        outcome = each.judged()
        told[f"{each.place}: {outcome}"] += 1
        planted += outcome != "no fault"
        if outcome not in ("found", "no fault"):
            print(f"{outcome}: {each.name} ({each.place})", flush=True)
        if planted == options.sample and not options.small:
            break
    found = sum(count for outcome, count in told.items() if outcome.endswith(": found"))
    print(*(f"{count} {outcome}" for outcome, count in sorted(told.items())), sep="\n")
    print(f"{found} of {planted} found (seed {options.seed})")
    return int(found < planted)


def by_turns(every: list[Planted], seed: int) -> Iterator[Planted]:
    """All in an order of a seed, each kind and place as often as the others while there are."""
    random.Random(seed).shuffle(every)
    groups: dict[tuple[str, str], list[Planted]] = {}
    for each in every:
        groups.setdefault((each.place, each.name.split(": ")[1].split()[0]), []).append(each)
    for some in itertools.zip_longest(*groups.values()):
        yield from filter(None, some)


if __name__ == "__main__":
    run_command(main)
