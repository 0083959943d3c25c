"""The steps that may stand between a `Pad` and a window operator, and what comes before both.

Each takes a tensor to another, or gives None where it does not apply.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from tests.random_models.writer import ELEMENTS, FLOATS, Axis, Inverse, Tensor, Writer

Step: TypeAlias = Callable[[Writer, Tensor], Tensor | None]


def step(writer: Writer, tensor: Tensor) -> Tensor:
    """One random step; the tensor itself where none that was tried applies."""
    for _ in range(6):
        (chosen,) = writer.rng.choices(list(STEPS), list(STEPS.values()))
        result = chosen(writer, tensor)
        if result is not None:
            if writer.scope is writer.main:
                writer.between[result.name] = result
            return result
    return tensor


def producer(writer: Writer, tensor: Tensor) -> Tensor:
    """What comes before a `Pad`: often something that is never negative."""
    for _ in range(4):
        (chosen,) = writer.rng.choices(list(PRODUCERS), list(PRODUCERS.values()))
        result = chosen(writer, tensor)
        if result is not None:
            return result
    return tensor


# Layout


def to_other_layout(writer: Writer, tensor: Tensor) -> Tensor | None:
    """Channels first to channels last, or back."""
    if tensor.channels_first:
        return writer.transpose(tensor, [0, *range(2, tensor.rank), 1])
    if tensor.channels_last:
        return writer.transpose(tensor, [0, tensor.rank - 1, *range(1, tensor.rank - 1)])
    return None


def swap_axes(writer: Writer, tensor: Tensor) -> Tensor | None:
    if len(tensor.spaces) < 2:
        return None
    order = list(range(tensor.rank))
    one, other = writer.rng.sample(tensor.spaces, 2)
    order[one], order[other] = other, one
    return writer.transpose(tensor, order)


def any_order(writer: Writer, tensor: Tensor) -> Tensor | None:
    if tensor.rank < 2:
        return None
    order = list(range(tensor.rank))
    writer.rng.shuffle(order)
    return writer.transpose(tensor, order)


def add_axis(writer: Writer, tensor: Tensor) -> Tensor | None:
    if len(tensor.spaces) > 2 or tensor.rank > 4:
        return None
    return writer.unsqueeze(tensor, [writer.rng.randint(0, tensor.rank)])


def _units(writer: Writer, tensor: Tensor) -> list[int]:
    units = [i for i in tensor.spaces if tensor.axes[i].unit]
    if writer.chance(25):
        units = [i for i, axis in enumerate(tensor.axes) if axis.unit]
    return units if tensor.rank > 2 else []


def drop_axis(writer: Writer, tensor: Tensor) -> Tensor | None:
    units = _units(writer, tensor)
    return writer.squeeze(tensor, [writer.rng.choice(units)]) if units else None


def reshape(writer: Writer, tensor: Tensor) -> Tensor | None:
    """A Reshape that drops some unit axes and adds others."""
    if writer.opset < 5:
        return None
    units = _units(writer, tensor)
    dropped = writer.rng.sample(units, writer.rng.randint(0, len(units)))
    axes = [axis for i, axis in enumerate(tensor.axes) if i not in dropped]
    if writer.chance(60) and sum(axis.role == "space" for axis in axes) < 3:
        axes.insert(writer.rng.randint(0, len(axes)), Axis("space", 1))
    if not axes or (axes == list(tensor.axes) and writer.chance(80)):
        return None
    return writer.reshape(tensor, axes)


def flatten(writer: Writer, tensor: Tensor) -> Tensor | None:
    """A Flatten that only drops or adds unit axes."""
    places = []
    for at in range(1, tensor.rank):
        front, back = tensor.axes[:at], tensor.axes[at:]
        if all(sum(not axis.unit for axis in side) < 2 for side in (front, back)):
            places.append(at)
    if not places:
        return None
    at = writer.rng.choice(places)
    sides = (tensor.axes[:at], tensor.axes[at:])
    axes = []
    for side in sides:
        large = [axis for axis in side if not axis.unit]
        axes.append(large[0] if large else side[-1])
    name = writer.node("Flatten", [tensor.name], axis=at)
    return tensor.through(name, axes=tuple(axes))


# Element types


def quantize(writer: Writer, tensor: Tensor) -> Tensor | None:
    """To 8 bits, with one scale or one per channel."""
    if tensor.kind != "float" or not tensor.exact or writer.opset < 10 or tensor.infinite:
        return None
    kind = writer.rng.choice(["uint8", "int8"])
    scale, zero, attributes, back = _quantisation(writer, tensor, kind)
    name = writer.node("QuantizeLinear", [tensor.name, scale, zero], **attributes)
    return tensor.through(name, back, kind=kind)


def dequantize(writer: Writer, tensor: Tensor) -> Tensor | None:
    if tensor.kind not in ("uint8", "int8") or writer.opset < 10:
        return None
    scale, zero, attributes, inverse = _quantisation(writer, tensor, tensor.kind, back=True)
    given = [tensor.name, scale, zero]
    if tensor.kind == "uint8" and writer.chance(5):
        del given[2]
    name = writer.node("DequantizeLinear", given, **attributes)
    return tensor.through(name, inverse, kind="float")


def _quantisation(
    writer: Writer, tensor: Tensor, kind: str, *, back: bool = False
) -> tuple[str, str, dict[str, Any], Inverse]:
    """Scale, zero point, attributes, and what must go in for what must come out."""
    rng = writer.rng
    dtype = ELEMENTS[kind][0]
    middle = {"uint8": [0, 3, 128], "int8": [0, 0, -3]}[kind]
    channel = tensor.channel
    attributes: dict[str, Any] = {}
    scale = np.asarray(rng.choice([0.25, 0.5, 1.0, 1.0]), np.float32)
    zero = np.asarray(rng.choice(middle), dtype)
    if channel is not None and writer.opset >= 13 and writer.chance(30):
        count = tensor.axes[channel].size
        scale = np.asarray([rng.choice([0.25, 0.5, 1.0]) for _ in range(count)], np.float32)
        zero = np.full(count, zero, dtype)
        if writer.chance(30):
            zero = np.asarray([rng.choice(middle) for _ in range(count)], dtype)
        attributes["axis"] = channel - writer.chance(30) * tensor.rank
    factor, offset = float(scale.flat[0]), int(zero.flat[0])
    names = writer.constant(scale, "scale"), writer.operand(zero, "zero")
    if back:
        return *names, attributes, lambda value: value / factor + offset
    return *names, attributes, lambda value: (value - offset) * factor


def cast(writer: Writer, tensor: Tensor) -> Tensor | None:
    if writer.opset < 6 or tensor.infinite:
        return None
    kinds = {
        "float": ["half", "double", "float", "float"],
        "half": ["float"],
        "double": ["float"],
        "int8": ["float", "int32"],
        "uint8": ["float", "int32"],
        "int32": ["float"],
    }[tensor.kind]
    kind = writer.rng.choice(kinds)
    writer.half |= kind == "half"
    name = writer.node("Cast", [tensor.name], to=ELEMENTS[kind][1])
    return tensor.through(name, kind=kind)


# Pointwise


def _unary(
    op: str,
    since: int,
    back: Inverse,
    *,
    exact: bool = True,
    kinds: tuple[str, ...] = FLOATS,
    bounded: bool = False,
    **attributes: Any,
) -> Step:
    def apply(writer: Writer, tensor: Tensor) -> Tensor | None:
        if writer.opset < since or tensor.kind not in kinds or (bounded and tensor.infinite):
            return None
        name = writer.node(op, [tensor.name], **attributes)
        return tensor.through(name, back, exact=tensor.exact and exact)

    apply.__name__ = op
    return apply


def _zero(value: float) -> float | None:
    return 0.0 if value == 0 else None


def _not_below_zero(value: float) -> float | None:
    return value if value >= 0 else None


def _never(_: float) -> None:
    return None


def dropout(writer: Writer, tensor: Tensor) -> Tensor | None:
    if tensor.kind not in FLOATS or writer.opset < 7:
        return None
    inputs = [tensor.name]
    attributes: dict[str, Any] = {}
    if writer.chance(50):
        if writer.opset < 12:
            attributes["ratio"] = 0.3
        else:
            inputs.append(writer.constant(np.asarray(0.3, np.float32)))
            if writer.chance(40):
                inputs.append(writer.constant(np.asarray(False)))
    return tensor.through(writer.node("Dropout", inputs, **attributes))


def clip(writer: Writer, tensor: Tensor) -> Tensor | None:
    if tensor.kind not in FLOATS or writer.opset < 6:
        return None
    low = writer.rng.choice([0.0, -4.0, -1.0, None, 1.0])
    high = writer.rng.choice([6.0, 4.0, None])

    def back(value: float) -> float | None:
        inside = (low is None or low <= value) and (high is None or value <= high)
        return value if inside else None

    if writer.opset < 11:
        bounds = {"min": low, "max": high}
        given: dict[str, Any] = {key: bound for key, bound in bounds.items() if bound is not None}
        name = writer.node("Clip", [tensor.name], **given)
    else:
        inputs = [tensor.name]
        for bound in (low, high):
            made = bound is not None
            inputs.append(writer.constant(np.asarray(bound, tensor.dtype)) if made else "")
        while not inputs[-1]:
            inputs.pop()
        name = writer.node("Clip", inputs)
    return tensor.through(name, back)


def extreme(writer: Writer, tensor: Tensor) -> Tensor | None:
    """Min or Max with a constant."""
    if tensor.kind not in FLOATS or writer.opset < 8:
        return None
    op = writer.rng.choice(["Min", "Max"])
    name, bounds, axes = _operand(writer, tensor, [-4, -1, 0, 0, 2, 4])
    if axes is None:
        return None
    bound = float(bounds.flat[0])

    def back(value: float) -> float | None:
        beyond = value > bound if op == "Min" else value < bound
        return None if beyond else value

    given = [tensor.name, name]
    if writer.chance(30):
        given.reverse()
    return tensor.through(writer.node(op, given), back, axes=axes)


def arithmetic(writer: Writer, tensor: Tensor) -> Tensor | None:
    """Mul, Div, Add or Sub with a constant."""
    if tensor.kind not in FLOATS or writer.opset < 7:
        return None
    op = writer.rng.choice(["Mul", "Div", "Add", "Sub"])
    numbers: list[float] = [1, 2, 4, 0.5, -1, -2, 1] if op in ("Mul", "Div") else [0, 1, 2, -3, 0.5]
    name, values, axes = _operand(writer, tensor, numbers, divides=op == "Div")
    if axes is None:
        return None
    factor = float(values.flat[0])
    given = [tensor.name, name]
    turned = op != "Div" and writer.chance(25)
    if turned:
        given.reverse()
    inverse: dict[str, Inverse] = {
        "Mul": lambda value: value / factor,
        "Div": lambda value: value * factor,
        "Add": lambda value: value - factor,
        "Sub": (lambda value: factor - value) if turned else (lambda value: value + factor),
    }
    uniform = bool(np.all(values == values.flat[0]))
    back = inverse[op] if uniform else (_zero if op in ("Mul", "Div") else _never)
    return tensor.through(writer.node(op, given), back, axes=axes)


def _operand(
    writer: Writer, tensor: Tensor, numbers: list[float], *, divides: bool = False
) -> tuple[str, np.ndarray[Any, Any], tuple[Axis, ...] | None]:
    """A constant operand, its values, and the axes of the result; None if there are none."""
    rng = writer.rng
    kind = rng.choice(["scalar"] * 5 + ["one", "one", "channel", "channel", "full", "wide", "rank"])
    shape: list[int] = []
    axes = list(tensor.axes)
    if kind == "one":
        shape = [1] * rng.randint(1, tensor.rank)
    elif kind == "channel":
        if tensor.channel is None:
            return "", np.zeros(1), None
        shape = [tensor.axes[tensor.channel].size] + [1] * (tensor.rank - 1 - tensor.channel)
    elif kind == "full":
        static = [i for i in tensor.spaces if not tensor.axes[i].open]
        if not static:
            return "", np.zeros(1), None
        axis = rng.choice(static)
        shape = [tensor.axes[axis].size] + [1] * (tensor.rank - 1 - axis)
    elif kind == "wide":
        units = [i for i in tensor.spaces if tensor.axes[i].unit]
        if not units:
            return "", np.zeros(1), None
        axis = rng.choice(units)
        shape = [2] + [1] * (tensor.rank - 1 - axis)
        axes[axis] = replace(axes[axis], size=2)
    elif kind == "rank":
        if len(tensor.spaces) > 2 or writer.chance(60):
            return "", np.zeros(1), None
        shape = [1] * (tensor.rank + 1)
        axes.insert(0, Axis("space", 1))
    values = np.full(shape, rng.choice(numbers), tensor.dtype)
    if writer.chance(50):
        values = np.asarray(rng.choices(numbers, k=values.size), tensor.dtype).reshape(shape)
    return writer.operand(values, "operand", divides=divides), values, tuple(axes)


def normalise(writer: Writer, tensor: Tensor) -> Tensor | None:
    """BatchNormalization, with mean and bias 0 half the time."""
    if tensor.kind != "float" or tensor.channel != 1 or writer.opset < 7 or tensor.infinite:
        return None
    count = tensor.axes[1].size
    numbers = np.random.default_rng(writer.rng.randrange(1 << 30))
    plain = writer.chance(50)
    bias = np.zeros(count) if plain else numbers.integers(-1, 2, count)
    mean = np.zeros(count) if plain else numbers.integers(-1, 2, count)
    given = [numbers.choice([0.5, 1.0, 2.0], count), bias, mean, numbers.choice([1.0, 4.0], count)]
    names = [writer.constant(each.astype(np.float32), "norm") for each in given]
    eps: dict[str, Any] = {"epsilon": 0.0} if writer.chance(30) else {}
    name = writer.node("BatchNormalization", [tensor.name, *names], **eps)
    return tensor.through(name, _zero if plain else _never, exact=False)


def neutral(writer: Writer, tensor: Tensor) -> Tensor | None:
    """A node without effect, which an optimiser takes away."""
    kind = writer.rng.randrange(3)
    if kind == 0 and writer.opset >= 8:
        return tensor.through(writer.node("Expand", [tensor.name, writer.integers([1])]))
    if kind == 1 and writer.opset >= 10:
        ends = [writer.integers([0]), writer.integers([2**63 - 1])]
        return tensor.through(writer.node("Slice", [tensor.name, *ends]))
    if kind == 2 and tensor.rank > 1:
        order = list(range(tensor.rank))
        writer.rng.shuffle(order)
        turned = writer.transpose(tensor, order)
        return writer.transpose(turned, [order.index(i) for i in range(tensor.rank)])
    return None


def floor(writer: Writer, tensor: Tensor) -> Tensor | None:
    """Whole numbers again, of what is exact: else they tell roundings apart that fusions change."""
    if tensor.kind != "float" or not tensor.exact or writer.opset < 6 or tensor.infinite:
        return None
    return tensor.through(writer.node("Floor", [tensor.name]))


RELU: Final = _unary("Relu", 6, _not_below_zero)
IDENTITY: Final = _unary("Identity", 1, lambda value: value, kinds=tuple(ELEMENTS))

STEPS: Final[dict[Step, int]] = {
    to_other_layout: 16,
    swap_axes: 3,
    any_order: 2,
    add_axis: 6,
    drop_axis: 8,
    reshape: 7,
    flatten: 4,
    quantize: 5,
    dequantize: 12,
    cast: 5,
    IDENTITY: 4,
    dropout: 3,
    RELU: 5,
    _unary("LeakyRelu", 6, lambda y: y if y >= 0 else y / 0.25, alpha=0.25): 3,
    _unary("Neg", 6, lambda value: -value): 3,
    _unary("Abs", 6, _not_below_zero): 3,
    _unary("Tanh", 6, _zero, exact=False): 2,
    _unary("Sin", 7, _zero, exact=False, bounded=True): 2,
    _unary("HardSwish", 14, _zero, exact=False, bounded=True): 2,
    _unary("Sigmoid", 6, _never, exact=False): 2,
    clip: 5,
    extreme: 4,
    arithmetic: 12,
    normalise: 4,
    neutral: 3,
}
"""The steps, each with its share."""


# Producers


def _nothing(_: Writer, tensor: Tensor) -> Tensor:
    return tensor


def softmax(writer: Writer, tensor: Tensor) -> Tensor | None:
    if tensor.kind != "float" or tensor.infinite:
        return None
    return tensor.through(
        writer.node("Softmax", [tensor.name], axis=writer.rng.randrange(tensor.rank)), exact=False
    )


def joined_signs(writer: Writer, tensor: Tensor) -> Tensor | None:
    """A sum or product of two results that are often not negative."""
    if tensor.kind != "float" or writer.opset < 7:
        return None
    one, other = RELU(writer, tensor), producer(writer, tensor)
    if one is None or other.axes != tensor.axes:
        return None
    name = writer.node(writer.rng.choice(["Add", "Mul", "Max"]), [one.name, other.name])
    return tensor.through(name, exact=one.exact and other.exact)


def joined_channels(writer: Writer, tensor: Tensor) -> Tensor | None:
    """A Concat of two results that are often not negative."""
    channel = tensor.channel
    one, other = RELU(writer, tensor), producer(writer, tensor)
    if one is None or channel is None or one.kind != other.kind or other.axes != tensor.axes:
        return None
    axes = list(tensor.axes)
    axes[channel] = replace(axes[channel], size=2 * axes[channel].size)
    if axes[channel].size > 8:
        return None
    name = writer.node("Concat", [one.name, other.name], axis=channel)
    return tensor.through(name, axes=tuple(axes), exact=one.exact and other.exact)


PRODUCERS: Final[dict[Step, int]] = {
    _nothing: 30,
    RELU: 22,
    _unary("Sigmoid", 6, _never, exact=False): 3,
    _unary("Exp", 6, _never, exact=False, kinds=("float",)): 1,
    _unary("Abs", 6, _not_below_zero): 3,
    _unary("Neg", 6, lambda value: -value): 5,
    IDENTITY: 4,
    clip: 4,
    softmax: 2,
    joined_signs: 5,
    joined_channels: 5,
    quantize: 8,
    dequantize: 5,
    floor: 2,
}
