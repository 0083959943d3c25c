"""Transposed convolutions with random attributes, and the crops and `Pad`s downstream of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from tests.random_models.steps import dequantize
from tests.random_models.windows import arrange
from tests.random_models.writer import Axis, Tensor, Writer, about
from tests.support import Array

LARGEST: Final = 8000
"""How many elements one channel of a result may have."""


@dataclass(frozen=True)
class Scattered:
    """A ConvTranspose of the model.

    Attributes:
        tensor: Its result.
        source: What it reads.
        strides: Its strides.
        bias: Its bias where that is one number, 0 where it has none.
    """

    tensor: Tensor
    source: Tensor
    strides: tuple[int, ...]
    bias: float | None

    def scaled(self, axis: int) -> int:
        """The size of a spatial axis of the source times the stride."""
        return self.source.axes[axis].size * self.strides[axis - 2]


def scatter(writer: Writer, tensor: Tensor) -> Scattered | None:
    """A ConvTranspose of this tensor, which is brought into its layout; None if none fits."""
    floats = dequantize(writer, tensor) if tensor.kind in ("int8", "uint8") else tensor
    kinds = ("float", "half") if writer.opset >= 11 else ("float",)
    if floats is None or floats.kind not in kinds or floats.infinite or floats.leaked:
        return None
    source = arrange(writer, floats)
    if source is None:
        return None
    rng, chance = writer.rng, writer.chance
    attributes, kernel, sizes, strides = _slides(writer, [source.axes[i] for i in source.spaces])
    channels = source.axes[1].size
    group = rng.choice([g for g in (1, 1, 1, 2, 4, channels) if channels % g == 0])
    if group > 1 or chance(10):
        attributes["group"] = group
    filters = group * rng.choice([1, 1, 2])
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    top = 2 if len(kernel) < 3 else 1
    weight = numbers.integers(-top, top + 1, (channels, filters // group, *kernel))
    inputs = [source.name, _weight(writer, weight.astype(source.dtype))]
    bias: float | None = 0.0
    if chance(40):
        drawn = numbers.integers(-3, 4, filters)
        if chance(50):
            drawn = np.full(filters, rng.choice([0, 1, 2, -1]))
        bias = float(drawn[0]) if np.all(drawn == drawn[0]) else None
        inputs.append(writer.operand(drawn.astype(source.dtype), "b"))
    axes = [source.axes[0], Axis("channels", filters)]
    axes += [replace(source.axes[i], size=n) for i, n in zip(source.spaces, sizes, strict=True)]
    name = writer.node("ConvTranspose", inputs, **attributes)
    exact = source.exact and source.kind != "half"
    result = Tensor(name, source.kind, tuple(axes), exact)
    if writer.scope is writer.main:
        writer.between[name] = result
    return Scattered(result, source, tuple(strides), bias)


def _slides(
    writer: Writer, axes: Sequence[Axis]
) -> tuple[dict[str, Any], list[int], list[int], list[int]]:
    """Attributes, kernel, and for each axis the size of the result and the stride."""
    rng, chance = writer.rng, writer.chance
    kernel = [rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5)) for _ in axes]
    strides = [rng.choice((1, 2, 2, 2, 3, 4)) for _ in axes]
    if math.prod(a.size * s for a, s in zip(axes, strides, strict=True)) > LARGEST:
        strides = [1] * len(axes)
    dilations = [rng.choice((1, 2, 3)) for _ in axes] if chance(18) else [1] * len(axes)
    more = [rng.randrange(s) for s in strides] if chance(30) else [0] * len(axes)
    written = {"strides": (strides, 1), "dilations": (dilations, 1), "output_padding": (more, 0)}
    attributes: dict[str, Any] = {
        name: values
        for name, (values, default) in written.items()
        if set(values) != {default} or chance(10)
    }
    if chance(60):
        attributes["kernel_shape"] = kernel
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    natural = [
        (axis.size - 1) * s + extent + m
        for axis, s, extent, m in zip(axes, strides, extents, more, strict=True)
    ]
    shapeable = not any(axis.open for axis in axes) or chance(20)
    kinds = ["none"] * 3 + ["pads"] * 7 + ["same"] * 4 + ["VALID"] + ["output_shape"] * 3
    kind = rng.choice(kinds)
    if kind == "output_shape" and shapeable:
        sizes = _output_shape(writer, natural, strides, more, attributes)
    elif kind == "same":
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_UPPER", "SAME_LOWER"])
        totals = [max(0, e + m - s) for e, m, s in zip(extents, more, strides, strict=True)]
        sizes = [size - total for size, total in zip(natural, totals, strict=True)]
    elif kind == "pads":
        pairs = _pads(writer, natural, extents)
        attributes["pads"] = [b for b, _ in pairs] + [e for _, e in pairs]
        sizes = [size - sum(pair) for size, pair in zip(natural, pairs, strict=True)]
    else:
        sizes = natural
        if kind == "VALID" or chance(10):
            attributes["auto_pad"] = "VALID" if kind == "VALID" else "NOTSET"
    if "pads" in attributes and chance(15):
        attributes["auto_pad"] = "NOTSET"
    return attributes, kernel, sizes, strides


def _pads(writer: Writer, natural: Sequence[int], extents: Sequence[int]) -> list[tuple[int, int]]:
    """Pads that leave something: on both sides alike or not, now and then beyond the kernel."""
    rng = writer.rng
    alike, large = writer.chance(50), writer.chance(15)
    pairs = []
    for size, extent in zip(natural, extents, strict=True):
        top = extent + 1 if large else min(extent, 3)
        begin = min(rng.randint(0, top), (size - 1) // 2)
        end = begin if alike else min(rng.randint(0, top), (size - 1) // 2)
        pairs.append((begin, end))
    return pairs


def _output_shape(
    writer: Writer,
    natural: Sequence[int],
    strides: Sequence[int],
    more: Sequence[int],
    attributes: dict[str, Any],
) -> list[int]:
    """Sizes by `output_shape`, shorter or longer than without it."""
    rng = writer.rng
    sizes = []
    for size, stride, already in zip(natural, strides, more, strict=True):
        longer = rng.randrange(stride - already) if writer.chance(35) else 0
        sizes.append(size + longer or size)
        if not longer:
            sizes[-1] = max(1, size - rng.choice((0, 0, 1, 1, 2, 3)))
    attributes["output_shape"] = sizes
    auto = rng.choice(["", "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if auto:
        attributes["auto_pad"] = auto
    if auto in ("", "NOTSET") and writer.chance(35):
        attributes["pads"] = [rng.randint(0, 2) for _ in range(2 * len(sizes))]
    return sizes


def _weight(writer: Writer, weight: Array) -> str:
    """A weight: a constant, or computed from one, or what only the run decides."""
    roll = writer.rng.randrange(100)
    if roll < 4:
        return writer.input(weight, "w", about(weight))
    if roll < 8 and writer.ir >= 4:
        return writer.overridable(weight, "w", about(weight))
    if roll < 14:
        turned = writer.constant(np.swapaxes(weight, 0, 1).copy(), "w")
        order = [1, 0, *range(2, weight.ndim)]
        return writer.node("Transpose", [turned], perm=order)
    if roll < 17:
        return writer.node("Neg", [writer.constant(-weight, "w")])
    return writer.constant(weight, "w")


# Downstream


def crop(writer: Writer, tensor: Tensor, made: Scattered) -> Tensor:
    """A Slice that crops this tensor, in one of the forms in which exporters write it."""
    rng = writer.rng
    aligned = tensor.roles == made.source.roles
    if aligned and writer.opset >= 12 and writer.chance(25):
        return _to_scaled(writer, tensor, made)
    cuts = _cuts(writer, tensor)
    if not cuts:
        return tensor
    form = rng.randrange(10)
    if form < 2:  # one Slice for each axis
        for axis, cut in cuts.items():
            tensor = writer.slice(tensor, {axis: cut})
        return tensor
    if form < 4 and writer.opset >= 10:
        return _from_shape(writer, tensor, cuts)
    if form == 4 and not any(tensor.axes[axis].open for axis in cuts):
        return _from_the_end(writer, tensor, cuts)
    if form == 5 and writer.chance(40):
        return _strided(writer, tensor, next(iter(cuts)))
    return writer.slice(tensor, cuts)


def _cuts(writer: Writer, tensor: Tensor) -> dict[int, tuple[int, int]]:
    """How much to cut off axes, on both sides alike or not; now and then nothing."""
    rng = writer.rng
    alike, empty = writer.chance(40), writer.chance(8)
    cuts = {}
    for axis in tensor.spaces:
        begin = rng.choice((0, 0, 1, 1, 2, 3))
        end = begin if alike else rng.choice((0, 1, 1, 2, 3))
        if empty:
            cuts[axis] = (0, 0)
        elif (begin or end) and begin + end < tensor.axes[axis].size:
            cuts[axis] = (begin, end)
    return cuts


def _shortened(tensor: Tensor, cuts: dict[int, tuple[int, int]]) -> tuple[Axis, ...]:
    return tuple(
        replace(axis, size=axis.size - sum(cuts.get(i, (0, 0))))
        for i, axis in enumerate(tensor.axes)
    )


def _from_shape(writer: Writer, tensor: Tensor, cuts: dict[int, tuple[int, int]]) -> Tensor:
    """Ends that are computed from the size."""
    axes = writer.integers(list(cuts), "axes")
    shape = writer.node("Shape", [tensor.name])
    sizes = writer.node("Gather", [shape, axes], axis=0)
    ends = writer.node("Sub", [sizes, writer.integers([end for _, end in cuts.values()])])
    starts = writer.integers([begin for begin, _ in cuts.values()])
    if writer.chance(30):
        starts = writer.node("Sub", [writer.node("Add", [starts, sizes]), sizes])
    name = writer.node("Slice", [tensor.name, starts, ends, axes])
    return tensor.through(name, axes=_shortened(tensor, cuts))


def _from_the_end(writer: Writer, tensor: Tensor, cuts: dict[int, tuple[int, int]]) -> Tensor:
    """Starts that are counted from the end."""
    sizes = [tensor.axes[axis].size for axis in cuts]
    starts = [begin - size for (begin, _), size in zip(cuts.values(), sizes, strict=True)]
    ends = [size - end for (_, end), size in zip(cuts.values(), sizes, strict=True)]
    if writer.opset < 10:
        name = writer.node("Slice", [tensor.name], starts=starts, ends=ends, axes=list(cuts))
    else:
        kind = np.int32 if writer.chance(30) else np.int64
        given = [writer.constant(np.asarray(v, kind)) for v in (starts, ends, list(cuts))]
        name = writer.node("Slice", [tensor.name, *given])
    return tensor.through(name, axes=_shortened(tensor, cuts))


def _strided(writer: Writer, tensor: Tensor, axis: int) -> Tensor:
    """A Slice that is no crop: every other element, or all of them in reverse."""
    if writer.opset < 10:
        return tensor
    step = writer.rng.choice([2, -1])
    bounds = (0, 2**63 - 1) if step > 0 else (-1, -(2**63) + 1)
    given = [writer.integers([number]) for number in (*bounds, axis, step)]
    axes = list(tensor.axes)
    axes[axis] = replace(axes[axis], size=-(-axes[axis].size // abs(step)))
    return tensor.through(writer.node("Slice", [tensor.name, *given]), axes=tuple(axes))


def _beyond(writer: Writer, tensor: Tensor, made: Scattered, *, over: bool) -> tuple[str, str]:
    """The names of a shape, and of what it is over or short of the source's times the strides."""
    factors = [1, 1, *made.strides]
    full = writer.node("Shape", [tensor.name])
    source = writer.node("Shape", [made.source.name])
    scaled = writer.node("Mul", [source, writer.integers(factors)])
    difference = writer.node("Sub", [full, scaled] if over else [scaled, full])
    spaces = writer.integers([int(axis.role == "space") for axis in tensor.axes])
    difference = writer.node("Mul", [difference, spaces])
    zero = writer.constant(np.asarray(0, np.int64))
    return full, writer.node("Max", [difference, zero])


def _to_scaled(writer: Writer, tensor: Tensor, made: Scattered) -> Tensor:
    """Crop to the size of the source times the stride, as exporters of TensorFlow do.

    This cuts nothing, whatever the size, where the kernel is no longer than the stride.
    """
    full, over = _beyond(writer, tensor, made, over=True)
    begin = writer.rng.choice([0, 1, 2])  # all at the end, half at each, all at the begin
    starts = over
    if begin == 0:
        starts = writer.node("Sub", [over, over])
    elif begin == 1:
        starts = writer.node("Div", [over, writer.integers([2])])
    ends = writer.node("Sub", [full, writer.node("Sub", [over, starts])])
    axes = list(tensor.axes)
    for axis in tensor.spaces:
        axes[axis] = replace(axes[axis], size=min(axes[axis].size, made.scaled(axis)))
    return tensor.through(writer.node("Slice", [tensor.name, starts, ends]), axes=tuple(axes))


def filled_to_scaled(writer: Writer, tensor: Tensor, made: Scattered) -> Tensor | None:
    """A `Pad` at the end to the size of the source times the stride; None where none is written.

    It adds nothing, whatever the size, where the kernel is no shorter than the stride.
    """
    if writer.opset < 12 or tensor.roles != made.source.roles or tensor.kind != "float":
        return None
    _, short = _beyond(writer, tensor, made, over=False)
    begins = writer.integers([0] * tensor.rank)
    pads = writer.node("Concat", [begins, short], axis=0)
    axes = list(tensor.axes)
    for axis in tensor.spaces:
        axes[axis] = replace(axes[axis], size=max(axes[axis].size, made.scaled(axis)))
    return tensor.through(writer.node("Pad", [tensor.name, pads]), axes=tuple(axes))


def amounts(
    writer: Writer, tensor: Tensor, made: Scattered
) -> tuple[list[tuple[int, int]], tuple[float | None, bool]]:
    """Amounts and fill of a `Pad` downstream of a ConvTranspose: it adds, or crops."""
    rng = writer.rng
    kind = rng.choice(["end", "end", "both", "crop", "crop", "mixed"])
    ranges = {"end": ((0, 0), (0, 2)), "both": ((0, 2), (0, 2)),
              "crop": ((-2, 0), (-3, 0)), "mixed": ((-2, 1), (-2, 2))}[kind]  # fmt: skip
    pairs = [(0, 0)] * tensor.rank
    for axis in tensor.spaces:
        begin, end = (rng.randint(*each) for each in ranges)
        if tensor.axes[axis].size + min(begin, 0) + min(end, 0) > 0:
            pairs[axis] = (begin, end)
    fills: list[float | None] = [None, None, 0.0, 0.0, 0.0, 1.0]
    if made.bias is not None:
        fills += [made.bias] * 2
    return pairs, (rng.choice(fills), False)
