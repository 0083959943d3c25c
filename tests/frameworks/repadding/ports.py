"""Networks whose padding a port got wrong, and networks that differ by something else.

`python -m tests.frameworks.repadding.ports` runs `match` on all of them and lists what it makes of
each; names as arguments choose some. `wrong()` are ports with the right weights and other padding,
which `match` has to find. `perturbed()` have the right padding and another weight, activation or
input, which no padding explains.
"""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import onnxpad
from tests.support import Array, run

Pads: TypeAlias = list[tuple[int, int]]


class Place(NamedTuple):
    """A window operator while its network is built.

    Attributes:
        number: How many came before it.
        kind: `conv`, `pool`, `average` or `up` (transposed).
        sizes: The sizes of its data.
        kernel: The kernel, the same on all axes.
        stride: The stride.
        dilation: The dilation.
        wanted: The sizes that a transposed one should give.
    """

    number: int
    kind: str
    sizes: tuple[int, ...]
    kernel: int
    stride: int
    dilation: int
    wanted: tuple[int, ...] = ()


class Padding(NamedTuple):
    """How a place is padded: attributes of the operator."""

    pads: Pads
    more: Mapping[str, Any] = MappingProxyType({})


Style: TypeAlias = Callable[[Place], Padding]


def same(place: Place, *, odd: int = 1) -> Padding:
    """TensorFlow's SAME; `odd` is the end that has more."""
    pads: Pads = []
    for size in place.sizes:
        extent = (place.kernel - 1) * place.dilation + 1
        if place.kind == "up":
            total = max(extent - place.stride, 0)
        else:
            total = max((-(-size // place.stride) - 1) * place.stride + extent - size, 0)
        pair = (total // 2, total - total // 2)
        pads.append(pair if odd else pair[::-1])
    return Padding(pads)


def lower(place: Place) -> Padding:
    """SAME with the odd element at the begin."""
    return same(place, odd=0)


def symmetric(place: Place) -> Padding:
    """PyTorch's half the kernel; an even kernel, whose half keeps no size, as a port would."""
    half = place.dilation * (place.kernel - 1) // 2
    pads: Pads = [(half, half) for _ in place.sizes]
    if place.kind != "up":
        return Padding(pads)
    fitting = place.stride + 2 * half - (place.dilation * (place.kernel - 1) + 1)
    return Padding(pads, {"output_padding": [max(fitting, 0)] * len(place.sizes)})


def symmetric_short(place: Place) -> Padding:
    """Half the kernel, and no output_padding: transposed ones have another total."""
    return Padding(symmetric(place).pads)


def uncropped(place: Place) -> Padding:
    """SAME; of transposed ones what PyTorch gives without `padding`."""
    return Padding([(0, 0)] * len(place.sizes)) if place.kind == "up" else same(place)


def exchanged(place: Place) -> Padding:
    """SAME with begin and end exchanged."""
    return Padding([(end, begin) for begin, end in same(place).pads])


def caffe(place: Place) -> Padding:
    """Half the kernel, and pools that round up."""
    more: dict[str, Any] = {"ceil_mode": 1} if place.kind in {"pool", "average"} else {}
    return Padding(symmetric(place).pads, more)


def causal(place: Place) -> Padding:
    """All of it at the begin."""
    extent = (place.kernel - 1) * place.dilation
    return Padding([(extent, 0)]) if place.kind == "conv" else same(place)


def own(place: Place) -> Padding:
    """Amounts of no convention: odd ones at the begin of strided ones, and crops of 1 and 2."""
    found = same(place)
    if place.kind == "up":
        return Padding([(1, 2)] * len(place.sizes))
    return Padding([(b + 1, e) for b, e in found.pads]) if place.stride > 1 else found


def own_symmetric(place: Place) -> Padding:
    """Those made symmetric, of a total that is 1 less."""
    return Padding([((b + e) // 2,) * 2 for b, e in own(place).pads])


def own_exchanged(place: Place) -> Padding:
    """Those with begin and end exchanged."""
    return Padding([(e, b) for b, e in own(place).pads])


def across(place: Place) -> Padding:
    """SAME; transposed ones of kernel 3 reach the sizes of the other way by output_padding."""
    if place.kind != "up":
        return same(place)
    more = [wanted - 2 * size + 1 for wanted, size in zip(place.wanted, place.sizes, strict=True)]
    return Padding([(1, 1)] * len(more), {"output_padding": more})


def mixed(*styles: Style) -> Style:
    """One style after the other."""
    return lambda place: styles[place.number % len(styles)](place)


def drawn(seed: int, *styles: Style) -> Style:
    """One of some styles for each place, at random."""
    source = np.random.default_rng(seed)
    order = source.integers(len(styles), size=500)
    return lambda place: styles[order[place.number]](place)


class Net:
    """A network while it is built, with seeded weights that its padding does not touch."""

    def __init__(self, style: Style, shape: Sequence[int], seed: int = 0, **twist: Any) -> None:
        """Begins with an input of a shape; `twist` has what is perturbed."""
        self._style, self._twist = style, twist
        self._draw = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self.shape = tuple(shape)
        self._count = self._windows = 0
        self.shapes: dict[str, tuple[int, ...]] = {"x": tuple(shape)}

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node; its output has the shape of its first input."""
        self._count += 1
        name = f"{op}{self._count}"
        self._nodes.append(helper.make_node(op, inputs, [name], f"n_{name}", **attributes))
        self.shapes[name] = self.shapes.get(inputs[0], ())
        return name

    def weight(self, values: Array) -> str:
        """An initializer."""
        name = f"w{len(self._weights)}"
        if self._twist.get("scaled") == len(self._weights):
            values = values * np.float32(1.2)
        self._weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def _window(
        self,
        op: str,
        inputs: Sequence[str],
        kernel: int,
        stride: int,
        dilation: int = 1,
        wanted: tuple[int, ...] = (),
        **attributes: Any,
    ) -> str:
        """A window operator, padded as the style has it."""
        sizes = self.shapes[inputs[0]][2:]
        kind = {"Conv": "conv", "ConvTranspose": "up", "MaxPool": "pool"}.get(op, "average")
        place = Place(self._windows, kind, sizes, kernel, stride, dilation, wanted)
        self._windows += 1
        found, rank = self._style(place), len(sizes)
        attributes |= {"kernel_shape": [kernel] * rank, "strides": [stride] * rank}
        attributes["pads"] = [*[p[0] for p in found.pads], *[p[1] for p in found.pads]]
        return self.add(op, *inputs, **attributes, **({} if op == "Conv" else found.more))

    def conv(
        self,
        data: str,
        channels: int,
        kernel: int = 3,
        stride: int = 1,
        dilation: int = 1,
        group: int = 1,
        act: str = "Relu",
    ) -> str:
        """A convolution with bias and activation; the right one keeps size / stride."""
        into, *sizes = self.shapes[data][1:]
        fan = into // group * kernel ** len(sizes)
        shape = channels, into // group, *[kernel] * len(sizes)
        weights = [self._draw.normal(size=shape) * (2 / fan) ** 0.5]
        weights.append(self._draw.normal(size=channels) * 0.2)
        del weights[1 + (self._twist.get("unbiased") != self._windows) :]
        names = [data, *map(self.weight, weights)]
        more: dict[str, Any] = {"dilations": [dilation] * len(sizes), "group": group}
        name = self._window("Conv", names, kernel, stride, dilation, **more)
        self.shapes[name] = (1, channels, *(-(-size // stride) for size in sizes))
        if self._twist.get("act") == self._windows - 1:
            act = "Tanh"
        return self.add(act, name) if act else name

    def up(self, data: str, channels: int, kernel: int = 4, stride: int = 2, like: str = "") -> str:
        """A transposed convolution; the right one gives size * stride, or the sizes of another."""
        into, *sizes = self.shapes[data][1:]
        wanted = self.shapes[like][2:] if like else tuple(size * stride for size in sizes)
        w = self._draw.normal(size=(into, channels, *[kernel] * len(sizes)))
        w *= (2 / (into * (kernel / stride) ** len(sizes))) ** 0.5
        inputs = [data, self.weight(w)]
        name = self._window("ConvTranspose", inputs, kernel, stride, wanted=wanted)
        self.shapes[name] = (1, channels, *wanted)
        return self.add("Relu", name)

    def pool(self, data: str, kernel: int = 3, stride: int = 2, op: str = "MaxPool") -> str:
        """A pool."""
        name = self._window(op, [data], kernel, stride)
        channels, *sizes = self.shapes[data][1:]
        self.shapes[name] = (1, channels, *(-(-size // stride) for size in sizes))
        return name

    def norm(self, data: str) -> str:
        """Batch normalisation."""
        count = self.shapes[data][1]
        parts = [self._draw.uniform(0.8, 1.2, count), self._draw.normal(size=count) * 0.1]
        parts += [self._draw.normal(size=count) * 0.1, self._draw.uniform(0.5, 1.5, count)]
        names = [self.weight(part) for part in parts]
        epsilon = self._twist.get("epsilon", 1e-5)
        return self.add("BatchNormalization", data, *names, epsilon=epsilon)

    def join(self, *data: str) -> str:
        """A concatenation of channels."""
        name = self.add("Concat", *data, axis=1)
        channels = sum(self.shapes[each][1] for each in data)
        self.shapes[name] = (1, channels, *self.shapes[data[0]][2:])
        return name

    def scales(self) -> str:
        """What a Resize takes to double both sizes."""
        return self.weight(np.array([1, 1, 2, 2]))

    def resize(self, data: str, scales: str, like: str) -> str:
        """Twice the size, which is that of another tensor."""
        name = self.add("Resize", data, "", scales, mode="nearest")
        self.shapes[name] = self.shapes[like]
        return name

    def head(self, data: str, classes: int = 10) -> str:
        """Mean and dense."""
        mean = self.add("GlobalAveragePool", data)
        flat = self.add("Flatten", mean)
        w = self._draw.normal(size=(self.shapes[data][1], classes))
        return self.add("MatMul", flat, self.weight(w))

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The model; sizes of its outputs are not declared."""
        graph = helper.make_graph(
            self._nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self._weights,
        )
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


Build: TypeAlias = Callable[..., onnx.ModelProto]


def _network(name: str, lines: Sequence[str]) -> Build:
    """A network of `ports.txt`: its input, a step a line, and its outputs."""
    (_, *shape), *steps, (_, *outputs) = (line.split() for line in lines)

    def built(style: Style, **twist: Any) -> onnx.ModelProto:
        net = Net(style, [*map(int, shape)], **twist)
        names = {"x": "x"}
        for result, _, step, *given in steps:
            pairs = [each.rpartition("=")[::2] for each in given]
            values = [int(v) if v.isdigit() else names.get(v, v) for _, v in pairs]
            told = [*zip((key for key, _ in pairs), values, strict=True)]
            positional = [value for key, value in told if not key]
            names[result] = getattr(net, step)(*positional, **{k: v for k, v in told if k})
        return net.model(*(names[each] for each in outputs))

    built.__name__ = name
    return built


_TEXT = Path(__file__).with_name("ports.txt").read_text(encoding="utf-8")
*_NETWORKS, (_, *_PORTS) = map(str.splitlines, _TEXT.split("\n\n"))
NETWORKS: dict[str, Build] = {
    name: _network(name, lines)
    for title, *lines in _NETWORKS
    for name in [title.removeprefix("# ").partition(":")[0]]
}
resnet, mobilenet, efficientnet, nasnet, inception, densenet, unet, unet3d, autoencoder = (
    *[*NETWORKS.values()][:9],
)
hourglass, hifigan, series, deeplab, vgg, unet_odd, unet_even, autoencoder3d, autoencoder1d = (
    *[*NETWORKS.values()][9:],
)


class Port(NamedTuple):
    """A port: its name, the model as it came, inputs and outputs as they should be."""

    name: str
    model: onnx.ModelProto
    reference: dict[str, Array]


def recorded(model: onnx.ModelProto, data: Array) -> dict[str, Array]:
    """The inputs and outputs of a model."""
    names = [output.name for output in model.graph.output]
    return {"x": data, **dict(zip(names, run(model, {"x": data}), strict=True))}


def data_for(model: onnx.ModelProto, seed: int = 0) -> Array:
    """Inputs as of an image or a sound: neighbours are alike, and the mean is not 0."""
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    values = np.random.default_rng(seed).normal(size=shape)
    for axis in range(2, len(shape)):
        values = values + 0.7 * np.roll(values, 1, axis)
    return (values * 0.5 + 0.3).astype(np.float32)


BUILDS: tuple[Build, ...] = (*NETWORKS.values(),)[:14]
"""All but variants of others."""
_STYLES: dict[str, Style] = {
    each.__name__: each for each in (same, lower, symmetric, symmetric_short, exchanged, caffe,
                                     causal, across, uncropped)
}  # fmt: skip


def _wrong(line: str) -> tuple[str, tuple[Build, Style, Style]]:
    """A line of the last block of `ports.txt`."""
    title, _, words = line.partition(" = ")
    network, right, *port = words.split()
    styles = [_STYLES[each] for each in port]
    wrong = styles[0] if len(styles) == 1 else mixed(*styles)
    return title, (NETWORKS[network], _STYLES[right], wrong)


WRONG: dict[str, tuple[Build, Style, Style]] = {
    **dict(map(_wrong, _PORTS)),
    **{
        f"{build.__name__} of its own, {port.__name__}": (build, own, port)
        for build in (autoencoder, autoencoder3d, autoencoder1d, hifigan, vgg)
        for port in (own_symmetric, own_exchanged)
    },
    **{
        f"{build.__name__} half of its own, {port.__name__}": (build, own, mixed(own, port))
        for build in (autoencoder, autoencoder3d, autoencoder1d, hifigan)
        for port in (own_symmetric, own_exchanged)
    },
    **{
        f"{build.__name__} drawn {seed}": (
            build,
            drawn(seed, same, lower),
            drawn(seed + 50, same, symmetric, symmetric_short, exchanged),
        )
        for build in (*BUILDS, autoencoder3d, autoencoder1d, unet_even)
        for seed in (1, 2)
    },
    **{
        f"{build.__name__} drawn short {seed}": (
            build,
            drawn(seed, same, lower, symmetric),
            drawn(seed + 50, symmetric, symmetric_short, uncropped),
        )
        for build in (unet, unet3d, unet_even, autoencoder, autoencoder3d, autoencoder1d, hifigan)
        for seed in (3, 4)
    },
}
"""The network, the right padding, and that of the port."""


CHOSEN = (
    "resnet half symmetric",
    "nasnet exchanged",
    "unet 3d short",
    "autoencoder uncropped",
    "autoencoder half of its own, own_symmetric",
    "hifigan of its own, own_symmetric",
    "unet odd symmetric",
    "unet drawn 2",
)
"""Some that take little time."""


def wrong(names: Sequence[str] = tuple(WRONG)) -> Iterator[Port]:
    """Ports with the right weights and other padding."""
    for name in names:
        build, right, port = WRONG[name]
        meant = build(right)
        yield Port(name, build(port), recorded(meant, data_for(meant)))


TWISTS: dict[str, dict[str, Any]] = {
    "a weight scaled": {"scaled": 0},
    "a later weight scaled": {"scaled": 4},
    "other weights": {"seed": 9},
    "another activation": {"act": 1},
    "a bias removed": {"unbiased": 0},
    "another epsilon": {"epsilon": 1e-2},
    "the input scaled": {},
    "noise": {},
}


def perturbed(
    builds: Sequence[Build] = BUILDS, names: Collection[str] = tuple(TWISTS)
) -> Iterator[Port]:
    """Models with the right padding whose reference differs by something else."""
    for build in builds:
        for name, twist in ((name, TWISTS[name]) for name in TWISTS if name in names):
            model = build(same)
            data = data_for(model)
            twisted = build(same, **twist)
            if twist and twisted == build(same):
                continue
            scale = 1.02 if name == "the input scaled" else 1.0
            reference = recorded(twisted, data * np.float32(scale))
            reference["x"] = data
            if name == "noise":
                draw = np.random.default_rng(1)
                for key in [*reference][1:]:
                    spread = float(np.ptp(reference[key]))
                    noise = 1e-3 * spread * np.asarray(draw.normal(size=reference[key].shape))
                    reference[key] = reference[key] + noise.astype(np.float32)
            yield Port(f"{build.__name__}: {name}", model, reference)


def main() -> None:
    """Runs `match` on all ports, or on those whose names contain an argument."""
    asked = sys.argv[1:] or [""]
    for kind, ports in (("wrong", wrong()), ("perturbed", perturbed())):
        for port in ports:
            if not any(each in f"{kind} {port.name}" for each in asked):
                continue
            begin = time.process_time(), time.perf_counter()
            found = onnxpad.match(port.model, port.reference, seconds=30)
            seconds = time.perf_counter() - begin[1]
            print(
                f"{kind:9} {port.name:34} {found.outcome:15} {found.matching.runs:6} runs "
                f"{seconds:6.1f} s  {found.matching.before:.2g} -> {found.matching.after:.2g}  "
                f"{len(found.changes)} changes  {found.reason}",
                flush=True,
            )


if __name__ == "__main__":
    main()
