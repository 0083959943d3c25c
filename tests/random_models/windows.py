"""Window operators with random attributes, each where its element type and layout allow it."""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from tests.random_models.steps import floor
from tests.random_models.writer import ELEMENTS, MICROSOFT, Axis, Tensor, Writer
from tests.support import Array

_SINCE: Final[dict[str, dict[str, int]]] = {
    "MaxPool": {"dilations": 10, "ceil_mode": 10},
    "AveragePool": {"dilations": 19, "ceil_mode": 10, "count_include_pad": 7},
    "LpPool": {"dilations": 18, "ceil_mode": 18},
    "NhwcMaxPool": {"dilations": 1, "ceil_mode": 1},
    "QLinearAveragePool": {"ceil_mode": 1, "count_include_pad": 1},
}
CONVS: Final = ("Conv", "FusedConv", "ConvInteger", "QLinearConv")
CHOICES: Final = {
    "float": ("Conv",) * 7 + ("MaxPool",) * 4 + ("AveragePool",) * 3 + ("LpPool", "FusedConv"),
    "half": ("Conv", "MaxPool", "AveragePool"),
    "double": ("MaxPool",),
    "int8": ("MaxPool", "ConvInteger", "QLinearConv", "QLinearConv", "QLinearAveragePool"),
    "uint8": ("MaxPool", "ConvInteger", "QLinearConv", "QLinearConv", "QLinearAveragePool"),
}


def window(writer: Writer, tensor: Tensor) -> Tensor | None:
    """A window operator on this tensor, which is brought into its layout; None if none is."""
    if tensor.kind not in CHOICES or tensor.leaked:
        return None
    op = writer.rng.choice(CHOICES[tensor.kind])
    last = False
    if tensor.kind in ("int8", "uint8") and tensor.channels_last and writer.chance(60):
        last = True
        op = writer.rng.choice(["QLinearConv", "QLinearAveragePool", "NhwcMaxPool"])
        last = len(tensor.spaces) < 4
    if not last:
        arranged = arrange(writer, tensor)
        if arranged is None:
            return None
        tensor = arranged
    if tensor.infinite:
        op = "MaxPool"
    if writer.opset < 7 and op == "AveragePool":
        op = "Conv"
    if writer.opset < 12 and tensor.kind != "float" and op == "MaxPool":
        return None
    attributes, sizes = _slides(writer, op, [tensor.axes[i] for i in tensor.spaces])
    make = _conv if op in CONVS else _pool
    return make(_Sliding(writer, op, tensor, attributes, sizes, last))


@dataclass
class _Sliding:
    """A window operator in the making: what it is, reads, and leaves of each spatial axis.

    `last` says whether the channels are the last axis, for operators that have a choice.
    """

    writer: Writer
    op: str
    tensor: Tensor
    attributes: dict[str, Any]
    sizes: list[int]
    last: bool

    @property
    def channels(self) -> int:
        assert self.tensor.channel is not None
        return self.tensor.axes[self.tensor.channel].size

    def axes(self, channels: int | None = None) -> tuple[Axis, ...]:
        """The axes of the result."""
        axes = list(self.tensor.axes)
        for i, size in zip(self.tensor.spaces, self.sizes, strict=True):
            axes[i] = replace(axes[i], size=size)
        if channels is not None and self.tensor.channel is not None:
            axes[self.tensor.channel] = Axis("channels", channels)
        return tuple(axes)

    def settle(self, value: float) -> None:
        """Now and then make the fills upstream arrive as the window's own padding."""
        for fill in self.tensor.fills:
            if self.writer.chance(80):
                fill.settle(value)

    def zero(self) -> int:
        """A zero point."""
        return self.writer.rng.choice([0, 3, 128] if self.tensor.kind == "uint8" else [0, 0, -3])

    def quantised(self) -> tuple[list[str], int]:
        """Names of a scale and a zero point, and the zero point."""
        zero, writer = self.zero(), self.writer
        scale = writer.rng.choice([0.25, 0.5, 1.0])
        scales = writer.constant(np.asarray(scale, np.float32), "scale")
        return [scales, writer.operand(np.asarray(zero, self.tensor.dtype), "zero")], zero

    def node(self, inputs: list[str], domain: str = "", **more: Any) -> str:
        return self.writer.node(self.op, inputs, domain, **self.attributes, **more)


def arrange(writer: Writer, tensor: Tensor) -> Tensor | None:
    """The tensor as batch, channels and one to three spatial axes."""
    for role in ("batch", "channels"):
        if role not in tensor.roles:
            place = 0 if role == "batch" else int(tensor.roles[:1] == ("batch",))
            tensor = writer.unsqueeze(tensor, [place], "batch" if role == "batch" else "channels")
    units = [i for i in tensor.spaces if tensor.axes[i].unit]
    excess = len(tensor.spaces) - 3
    if excess > len(units):
        return None
    if excess > 0:
        tensor = writer.squeeze(tensor, units[:excess])
    if not tensor.spaces:
        tensor = writer.unsqueeze(tensor, [tensor.rank])
    order = [tensor.roles.index("batch"), tensor.roles.index("channels"), *tensor.spaces]
    if order != list(range(tensor.rank)):
        tensor = writer.transpose(tensor, order)
    return tensor


def _slides(writer: Writer, op: str, axes: list[Axis]) -> tuple[dict[str, Any], list[int]]:
    """Attributes of a window, and the sizes that it leaves where open sizes are as drawn."""
    rng, chance = writer.rng, writer.chance
    since = _SINCE.get(op, {})
    kernel = [rng.choice([k for k in (1, 2, 2, 3, 3, 3, 4, 5) if k <= a.size]) for a in axes]
    strides = [rng.choice([1, 1, 1, 2, 2, 3]) for _ in axes]
    dilations = [1] * len(axes)
    attributes: dict[str, Any] = {}
    if op not in CONVS or chance(60):
        attributes["kernel_shape"] = kernel
    if max(strides) > 1 or chance(30):
        attributes["strides"] = strides
    if op in CONVS or writer.opset >= since.get("dilations", 99):
        if chance(18):
            dilations = [
                rng.choice([1, 2, 3]) if k < 2 or (k - 1) * 3 < a.size else 1
                for k, a in zip(kernel, axes, strict=True)
            ]
            attributes["dilations"] = dilations
        elif chance(10):
            attributes["dilations"] = dilations
    ceil = chance(25) and writer.opset >= since.get("ceil_mode", 99)
    if ceil:
        attributes["ceil_mode"] = 1
    if writer.opset >= since.get("count_include_pad", 99) and chance(40):
        attributes["count_include_pad"] = rng.randint(0, 1)
    auto = "NOTSET"
    if chance(30):
        same = ["SAME_UPPER", "SAME_LOWER"] * (op not in CONVS or max(dilations) == 1)
        auto = attributes["auto_pad"] = rng.choice([*same, "VALID", "VALID", "NOTSET"])
    pads = [0] * 2 * len(axes)
    if auto == "NOTSET" and chance(45):
        most = [2] * len(axes) if op in CONVS else [min(k - 1, 2) for k in kernel]
        pads = attributes["pads"] = [rng.randint(0, top) for top in most * 2]
    sizes = []
    for i, axis in enumerate(axes):
        extent = (kernel[i] - 1) * dilations[i] + 1
        whole = axis.size + pads[i] + pads[i + len(axes)]
        if auto.startswith("SAME"):
            sizes.append(-(-axis.size // strides[i]))
        elif ceil:
            sizes.append(-(-(whole - extent) // strides[i]) + 1)
        else:
            sizes.append((whole - extent) // strides[i] + 1)
    attributes["kernel"] = kernel
    return attributes, [max(size, 1) for size in sizes]


def _pool(slide: _Sliding) -> Tensor:
    writer, op, tensor = slide.writer, slide.op, slide.tensor
    del slide.attributes["kernel"]
    axes = slide.axes()
    if op in ("MaxPool", "NhwcMaxPool"):
        lowest = {"uint8": 0.0, "int8": -128.0}.get(tensor.kind, -np.inf)
        if writer.chance(60):
            slide.settle(lowest)
        if op == "NhwcMaxPool":
            return Tensor(slide.node([tensor.name], MICROSOFT), tensor.kind, axes, tensor.exact)
        count = 1 + (writer.opset >= 8 and tensor.exact and writer.chance(10))
        if count == 2 and writer.chance(30):
            slide.attributes["storage_order"] = 1
        first, *indices = writer.nodes(op, [tensor.name], count, **slide.attributes)
        for each in indices:
            writer.output(each)
        made = Tensor(first, tensor.kind, axes, tensor.exact, infinite=tensor.infinite)
        return replace(made, leaked=tensor.infinite)
    if op == "QLinearAveragePool":
        given, zero = slide.quantised()
        slide.settle(zero)
        result, _ = slide.quantised()
        if slide.last or writer.chance(20):
            slide.attributes["channels_last"] = int(slide.last)
        return Tensor(slide.node([tensor.name, *given, *result], MICROSOFT), tensor.kind, axes)
    slide.settle(0.0)
    if op == "LpPool":
        slide.attributes["p"] = writer.rng.choice([1, 1, 2])
    slid = Tensor(slide.node([tensor.name]), tensor.kind, axes, tensor.exact)
    whole = floor(writer, slid) if tensor.exact and writer.chance(60) else None
    return whole or replace(slid, exact=False)


def _conv(slide: _Sliding) -> Tensor:
    writer, op, tensor, rng = slide.writer, slide.op, slide.tensor, slide.writer.rng
    kernel, channels = slide.attributes.pop("kernel"), slide.channels
    group = rng.choice([g for g in (1, 1, 1, 2, 4) if channels % g == 0])
    if writer.chance(20):
        group = channels
    if group > 1:
        slide.attributes["group"] = group
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    filters = group * rng.choice([1, 2])
    axes = slide.axes(filters)
    floats = op in ("Conv", "FusedConv")
    kind = tensor.kind if floats or writer.chance(70) else rng.choice(["int8", "uint8"])
    low = 0 if kind == "uint8" else -2
    shape = (filters, channels // group, *kernel)
    weight = numbers.integers(low, 3, shape).astype(ELEMENTS[kind][0])
    name = writer.operand(weight, "w") if op != "QLinearConv" else writer.constant(weight, "w")
    if floats:
        return _float_conv(slide, axes, name)
    if op == "ConvInteger":
        return _integer_conv(slide, axes, name, kind)
    given, zero = slide.quantised()
    slide.settle(zero)
    scale = np.asarray(0.5, np.float32)
    weight_zero = np.asarray(0, ELEMENTS[kind][0])
    if writer.chance(40):
        scale, weight_zero = np.full(filters, scale), np.full(filters, weight_zero)
    weights = [name, writer.constant(scale, "scale"), writer.constant(weight_zero, "zero")]
    result, _ = slide.quantised()
    inputs = [tensor.name, *given, *weights, *result]
    if writer.chance(30):
        inputs.append(writer.constant(_bias(numbers, filters, np.int32), "b"))
    if slide.last or writer.chance(15):
        slide.attributes["channels_last"] = int(slide.last)
        return Tensor(slide.node(inputs, MICROSOFT), tensor.kind, axes)
    return Tensor(slide.node(inputs), tensor.kind, axes)


def _bias(numbers: np.random.Generator, filters: int, dtype: Any) -> Array:
    return numbers.integers(-3, 4, filters).astype(dtype)


def _float_conv(slide: _Sliding, axes: tuple[Axis, ...], weight: str) -> Tensor:
    writer, tensor = slide.writer, slide.tensor
    slide.settle(0.0)
    inputs = [tensor.name, weight]
    exact = tensor.exact and tensor.kind != "half"
    if writer.chance(30):
        numbers = np.random.default_rng(writer.rng.randrange(1 << 30))
        inputs.append(writer.constant(_bias(numbers, axes[1].size, tensor.dtype), "b"))
    if slide.op == "Conv":
        return Tensor(slide.node(inputs), tensor.kind, axes, exact)
    activation = writer.rng.choice(["Relu", "Tanh", "LeakyRelu", "Clip", "Sigmoid"])
    parameters: dict[str, list[float]] = {"LeakyRelu": [0.25], "Clip": [0.0, 6.0]}
    if activation in parameters:
        slide.attributes["activation_params"] = parameters[activation]
    name = slide.node(inputs, MICROSOFT, activation=activation)
    return Tensor(name, "float", axes, exact and activation not in ("Tanh", "Sigmoid"))


def _integer_conv(slide: _Sliding, axes: tuple[Axis, ...], weight: str, kind: str) -> Tensor:
    writer, zero = slide.writer, 0
    inputs = [slide.tensor.name, weight]
    if writer.chance(70):
        zero = slide.zero()
        inputs.append(writer.operand(np.asarray(zero, slide.tensor.dtype), "zero"))
        if writer.chance(30):
            inputs.append(writer.constant(np.asarray(0, ELEMENTS[kind][0]), "zero"))
    slide.settle(zero)
    name = writer.node("Cast", [slide.node(inputs)], to=ELEMENTS["float"][1])
    return Tensor(name, "float", axes)
