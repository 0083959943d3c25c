"""When padding of pools moves between a `Pad` and `pads`: each condition, in each style.

The conditions are written here a second time, from the specification and from what onnxruntime
computes: the value of the `Pad`, the divisor, pads below the kernel, `ceil_mode`, windows that hold
no data.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import STYLES, assert_same, one
from tests.support.rows import one_in

SIZES = (9, 8)


@dataclass(frozen=True)
class Pool:
    """A pool behind a `Pad`.

    Attributes:
        op: The operator.
        kind: Its type in ONNX text.
        more: Further attributes.
        value: What the `Pad` fills in, as text.
        amounts: Those of the `Pad`: begins, then ends, of both spatial axes.
        own: The operator's own pads in the same order.
        kernel: The kernel, on both axes.
        ceil: Whether it rounds up.
        positive: Whether the data is not negative.
    """

    op: str
    kind: str
    more: str
    value: str
    amounts: tuple[int, int, int, int]
    own: tuple[int, int, int, int]
    kernel: int
    ceil: bool
    positive: bool

    @property
    def model(self) -> onnx.ModelProto:
        """The model; strides are 2 and 3, so that sizes leave remainders."""
        pads = ", ".join(map(str, (0, 0, *self.amounts[:2], 0, 0, *self.amounts[2:])))
        own = f"pads = [{', '.join(map(str, self.own))}], " if any(self.own) else ""
        rounds = "ceil_mode = 1, " if self.ceil else ""
        source = "r" if self.positive else "x"
        relu = "r = Relu (x) " if self.positive else ""
        model = one(
            f"{relu}a = Pad ({source}, p, c) y = {self.op} <{self.more}{rounds}{own}"
            f"kernel_shape = [{self.kernel}, {self.kernel}], strides = [2, 3]> (a)",
            inputs=f"{self.kind}[1, 2, {SIZES[0]}, {SIZES[1]}] x",
            outputs=f"{self.kind}[] y",
            initializers=f"int64[8] p = {{{pads}}}",
            opset=18,
        )
        kind = np.dtype({"float": "float32"}.get(self.kind, self.kind))
        fill = np.array(float(self.value)).astype(kind)
        model.graph.initializer.append(onnx.numpy_helper.from_array(fill, "c"))
        return model

    @property
    def counts(self) -> bool:
        """Whether its own padding counts in the divisor."""
        return "count_include_pad" in self.more

    def equals_own(self) -> bool:
        """Whether the value of the `Pad` is what the operator's own padding stands for."""
        if self.op == "LpPool":
            return self.value in {"0", "-0.0"}
        if self.op == "AveragePool":
            return self.value == "0" and (self.counts or not any(self.own))
        if self.kind in {"int8", "uint8"}:
            return self.value == {"int8": "-128", "uint8": "0"}[self.kind]
        return float(self.value) < -1e4 or (self.value == "0" and self.positive)

    def windows(self, inside: tuple[int, ...], outside: tuple[int, ...]) -> list[int]:
        """The number of windows on each axis, with these own pads and amounts of a `Pad`."""
        found = []
        for axis, (size, stride) in enumerate(zip(SIZES, (2, 3), strict=True)):
            line = size + outside[axis] + outside[axis + 2]
            span = line + inside[axis] + inside[axis + 2] - self.kernel
            count = (-(-span // stride) if self.ceil else span // stride) + 1
            if self.ceil and (count - 1) * stride >= line + inside[axis]:
                count -= 1  # a window that would start in the operator's own end padding
            found.append(count)
        return found

    def meets_data(self) -> bool:
        """Whether each window holds an element of the data: others differ between the forms."""
        total = [a + b for a, b in zip(self.own, self.amounts, strict=True)]
        counts = self.windows(self.own, self.amounts)
        each = zip(SIZES, (2, 3), total[:2], counts, strict=True)
        return max(total[:2]) < self.kernel and all(
            (count - 1) * stride - begin < size for size, stride, begin, count in each
        )

    def could_take(self, style: str) -> bool:
        """Whether any form of a style has the values of this one."""
        uncounted = self.op == "AveragePool" and any(self.own) and not self.counts
        return self.has(style) or (self.equals_own() and not uncounted)

    def has(self, style: str) -> bool:
        """Whether it has a style's form as it is."""
        inside, outside = self.form(style)
        return inside == self.own and outside == self.amounts

    def form(self, style: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The operator's own pads, and the amounts of a `Pad`, that a style wants."""
        total = tuple(a + b for a, b in zip(self.own, self.amounts, strict=True))
        least = [min(total[axis], total[axis + 2]) for axis in (0, 1)] * 2
        inside = {"fold": total, "pad": (0,) * 4, "symmetric": tuple(least)}[style]
        return inside, tuple(a - b for a, b in zip(total, inside, strict=True))

    def takes(self, style: str) -> bool:
        """Whether the operator and the `Pad` can have all their padding in a style's form."""
        inside, outside = self.form(style)
        return self.has(style) or (
            self.could_take(style)
            and (self.op != "MaxPool" or self.meets_data())
            and max(inside) < self.kernel
            and self.windows(self.own, self.amounts) == self.windows(inside, outside)
        )


KINDS = [
    ("MaxPool", "float", "", ("-inf", "-3.4028235e38", "0", "5")),
    ("MaxPool", "float16", "", ("-inf", "-65504", "0")),
    ("MaxPool", "int8", "", ("-128", "0")),
    ("MaxPool", "uint8", "", ("0", "3")),
    ("AveragePool", "float", "", ("0", "-0.0", "2")),
    ("AveragePool", "float", "count_include_pad = 1, ", ("0", "-0.0", "2")),
    ("LpPool", "float", "", ("0", "-0.0", "2")),
    ("LpPool", "float", "p = 1, ", ("0", "1")),
]
AMOUNTS = ((1, 1, 1, 1), (2, 0, 0, 3))
OWN = ((0, 0, 0, 0), (1, 0, 1, 1))

GIVEN = [
    (op, kind, more, value, positive)
    for op, kind, more, values in KINDS
    for value in values
    for positive in ((False, True) if (op, kind, value) == ("MaxPool", "float", "0") else (False,))
]
FORMS = list(product(AMOUNTS, OWN, (2, 3), (False, True)))

DRAWN = [
    (Pool(op, kind, more, value, *form, positive), STYLES[(row + column) % len(STYLES)])
    for row, (op, kind, more, value, positive) in enumerate(GIVEN)
    for column, form in enumerate(FORMS)
]
"""Each fill of each operator with all forms, each in one style: so that any two of them meet."""

# Windows of padding alone hold the least integer in both forms, which only some detours show.
POOLS = [(pool, style) for pool, style in DRAWN if "int" not in pool.kind or pool.meets_data()]


def in_style(model: onnx.ModelProto, style: str) -> bool:
    """Whether the pool and all `Pad`s in front of it have a style's form."""
    pads = [node for node in model.graph.node if node.op_type == "Pad"]
    (pool,) = [node for node in model.graph.node if node.op_type.endswith("Pool")]
    given: dict[str, Any] = {a.name: onnx.helper.get_attribute_value(a) for a in pool.attribute}
    own = given.get("pads", [0] * 4)
    held = {i.name: onnx.numpy_helper.to_array(i).tolist() for i in model.graph.initializer}
    around = [held[pad.input[1]] for pad in pads]
    left = [sum(each[axis] for each in around) for axis in (2, 3, 6, 7)]
    return {
        "fold": not pads,
        "pad": not any(own) and len(pads) == 1,
        "symmetric": len(pads) < 2
        and own[:2] == own[2:]
        and all(min(left[axis], left[axis + 2]) == 0 for axis in (0, 1)),
    }[style]


@pytest.mark.parametrize("start", one_in(4, zip(range(0, len(POOLS), 12))))
def test_padding_moves_where_it_may(start: int) -> None:
    for pool, style in POOLS[start : start + 12]:
        model = pool.model
        result = onnxpad.fix(model, style=style, validate=False)
        assert not result.undone, pool
        # Padding that no window reads may go, so that more forms than the plain ones are possible.
        taken = in_style(result.model, style)
        assert taken or not pool.takes(style), (pool, style)
        kept = result.model.graph.initializer[:1] == model.graph.initializer[:1]  # the amounts
        assert pool.could_take(style) or kept or not taken, (pool, style)
        assert_same(model, result.model)


def test_the_table_has_both() -> None:
    for style in STYLES:
        taken = [pool.takes(style) for pool, asked in POOLS if asked == style]
        assert min(np.mean(taken), 1 - np.mean(taken)) > 0.1
