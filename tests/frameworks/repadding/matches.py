"""Small models with references of another padding, and what a search for that padding finds.

Numpy computes the models, so that no session is opened. Told is what is found, in how many runs,
and what is said where nothing is.
"""

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from msgspec.structs import replace

from onnxpad.errors import OnnxpadError
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding import matching
from onnxpad.frameworks.repadding.candidates import conventions
from onnxpad.frameworks.repadding.comparing import Closeness
from onnxpad.frameworks.repadding.matching import match_graph
from onnxpad.frameworks.repadding.results import Matching
from onnxpad.frameworks.repadding.sites import sites_of
from onnxpad.frameworks.repadding.working_copy import WorkingCopy, working_copy
from onnxpad.graph import Graph, Node
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import read_proto
from onnxpad.validation.lab import Execution, Result
from tests.support import Array, one


def matched(size: str, body: str, right: str, further: str = "") -> str:
    """What is found and written: of the sizes and nodes of a model, with the right conventions."""
    words = further.split()
    inputs = ", ".join(f"float[1, 1, {size}] {name}" for name in ("x", "x2") if name in body)
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=_weights(body)))
    reference = [_reference(graph, right, words, seed) for seed in range(1 + ("two" in words))]
    steps: list[int] = []
    try:
        with _by_numpy(graph, words):
            found = match_graph(
                graph,
                reference,
                None,
                Closeness(),
                0.0 if "late" in words else 600.0,
                progress=lambda _, done, __: steps.append(done),
            )
    except OnnxpadError as error:
        return type(error).__name__
    written = [f"{node.op}{dict(sorted(node.attrs.items()))}" for node in graph.nodes]
    assert steps[: found.runs] == [*range(1, found.runs + 1)]
    return f"{_told(found)} [{zlib.crc32(repr(written).encode()):08x}]"


def _told(found: Matching) -> str:
    parts = [
        f"{found.outcome} in {found.runs} runs, {found.before:.3g} to {found.after:.3g}",
        f"by {found.by}" if found.by else "",
        f"first {found.first}" if found.first else "",
        *(f"{each.node} {each.name} {dict(each.attributes)}"
          for each in found.changes),
        *("note" for _ in found.notes),
        *(f"left: {label}" for label, _ in found.left),
    ]  # fmt: skip
    rest = [(each.name, f"{each.error:.3g}", each.operators) for each in found.tried]
    return f"{'; '.join(filter(None, parts))}; {len(rest)} tried [{_sum(rest)}]"


def _sum(value: object) -> str:
    return f"{zlib.crc32(repr(value).encode()):08x}"


def _weights(body: str) -> str:
    """Weights that a body names: `w3` has 3 elements."""
    found = []
    for name in (name for name in ("w1", "w2", "w3", "w4", "w5") if name in body):
        values = ", ".join(f"{math.cos(3 * each + 1):.3f}" for each in range(int(name[1:])))
        found.append(f"float[1, 1, {name[1:]}] {name} = {{{values}}}")
    return ", ".join(found)


def _reference(graph: Graph, right: str, words: Sequence[str], seed: int) -> dict[str, Array]:
    """The inputs, and outputs of the model with a convention for each operator."""
    context = Context(graph)
    sites, _ = sites_of(context)
    names = right.split("; ")
    names = names * len(sites) if len(names) == 1 else names
    chosen = {
        id(site.node): conventions(site).get(name) or _padding(site, name)
        for site, name in zip(sites, names, strict=True)
    }
    numbers = np.random.default_rng(seed)
    size = {value.name: _size(value) for value in graph.model.skeleton.light.graph.input}
    fed = {name: _noise(numbers, (1, 1, size[name])) for name in ("x", "x2") if name in size}
    values = _computed(graph, sites, chosen, fed)
    names = ["y", *(word.removeprefix("inner-") for word in words if word.startswith("inner-"))]
    outputs: dict[str, Array] = {name: values[name] for name in names}
    if "scaled" in words:
        outputs = {name: value * np.float32(1.5) for name, value in outputs.items()}
    if "noisy" in words:
        outputs = {
            name: value + _noise(numbers, value.shape) * np.float32(0.02)
            for name, value in outputs.items()
        }
    if "rounded" in words:
        outputs = {name: value * np.float32(1 + 2e-4) for name, value in outputs.items()}
    if "wide" in words:
        outputs["y"] = np.repeat(outputs["y"], 2, axis=1)
    if "short" in words:
        outputs["y"] = outputs["y"][..., :-1]
    if "unlike" in words:
        outputs["y"] = _noise(numbers, outputs["y"].shape)
    if "alone" in words:
        del outputs["y"]
    return {**fed, **outputs}


def _noise(numbers: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(numbers.normal(size=shape)).astype(np.float32)


def _size(value: onnx.ValueInfoProto) -> int:
    """The size of the one spatial axis of an input."""
    return int(value.type.tensor_type.shape.dim[-1].dim_value)


def _padding(site: Site, text: str) -> Padding:
    """A padding by its amounts, such as `1+2`, for all axes alike, or by what pools do."""
    if text.startswith("pools"):
        counted = site.leaves_padding_out and "counted" in text
        ceil = site.padding.ceil or (site.is_pool and "up" in text)
        return replace(site.padding, ceil=ceil, counted=site.padding.counted or counted)
    begin, _, end = text.partition("+")
    return Padding(((int(begin), int(end)),) * len(site.windows))


@contextmanager
def _by_numpy(graph: Graph, words: Sequence[str]) -> Iterator[None]:
    """All runs of the search are computed by numpy; optimised, `by-2` doubles the outputs."""
    by = [np.float32(word.removeprefix("by-")) for word in words if word.startswith("by-")]

    def ask(model: Any, draws: Any, _: str, level: str, **__: object) -> Execution:
        written = Graph.from_proto(read_proto(model))
        sites = sites_of(Context(written))[0]
        chosen = {id(site.node): site.padding for site in sites}
        try:
            told = [_computed(written, sites, chosen, draw.feeds) for draw in draws]
        except EngineError:
            return tuple(Result({}, 1.0) for _ in draws), {}
        factor = math.prod(by) if level == "full" else 1
        return tuple(Result({n: v * factor for n, v in e.items()}, 1.0) for e in told), {}

    copies: list[WorkingCopy] = []

    def copied(*parts: Any) -> WorkingCopy:
        copies.append(working_copy(*parts))
        return copies[0]

    with (
        patch.object(matching, "working_copy", copied),
        patch.object(matching, "open_session", lambda *_, **__: _Session(graph, copies[0], words)),
        patch.object(matching, "ask", ask),
    ):
        yield


class _Session:
    """A session of the working copy that numpy computes."""

    def __init__(self, graph: Graph, copy: WorkingCopy, words: Sequence[str]) -> None:
        self._graph, self.copy, self._words = graph, copy, words

    def __enter__(self) -> "_Session":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, feeds: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
        chosen = {id(site.node): _fed(feeds, place) for place, site in enumerate(self.copy.sites)}
        sizes: dict[int, int] = {}
        if "endless" in self._words:
            raise LimitError("it does not end")
        values = _computed(self._graph, self.copy.sites, chosen, feeds, sizes)
        for place, name in enumerate(self.copy.probes):
            values[name] = np.array([1, 1, sizes[id(self.copy.sites[place].node)]], np.float32)
        return {name: values[name] for name in names}


def _fed(feeds: Mapping[str, Array], place: int) -> Padding:
    """The padding that the inputs of a working copy tell."""
    pads = int(feeds[f"onnxpad_begin_{place}"][-1]), int(feeds[f"onnxpad_end_{place}"][-1])
    upper, lower, ceil, counted = (
        bool(np.any(feeds.get(f"onnxpad_{flag}_{place}", 0)))
        for flag in ("upper", "lower", "ceil", "counted")
    )
    odd: Any = "begin" if lower else "end"
    return Padding(None if upper or lower else (pads,), odd=odd, ceil=ceil, counted=counted)


def _computed(
    graph: Graph,
    sites: Sequence[Site],
    chosen: Mapping[int, Padding],
    feeds: Mapping[str, Array],
    sizes: dict[int, int] | None = None,
) -> dict[str, Array]:
    """The tensors of a model of one spatial axis, with a padding for each operator."""
    by_node = {id(site.node): site for site in sites}
    values = {name: np.asarray(value, np.float64) for name, value in feeds.items()}
    for node in graph.nodes:
        given = [values[each.name] for each in node.inputs if each.name in values]
        if id(node) in by_node:
            if sizes is not None:
                sizes[id(node)] = given[0].shape[-1]
            padding = chosen.get(id(node), by_node[id(node)].padding)
            found = _window(graph, node, by_node[id(node)], padding, given[0][0, 0])
        else:
            found = _plain(node, given)
        values[node.outputs[0].name] = found
    return {name: value.astype(np.float32) for name, value in values.items()}


def _plain(node: Node, given: Sequence[Array]) -> Array:
    try:
        match node.op:
            case "Relu":
                return np.maximum(given[0], 0)
            case "Sign":
                return np.sign(given[0])
            case "Add":
                return np.asarray(given[0] + given[1])
    except ValueError:
        raise EngineError("shapes differ", (node.outputs[0].name,)) from None
    raise AssertionError(node.op)


def _window(graph: Graph, node: Node, site: Site, padding: Padding, data: Array) -> Array:
    (window,) = site.windows
    size = len(data)
    ((begin, end),) = padding.amounts((size,), site.windows)
    reach = end
    if site.is_pool:
        if size + begin + end < window.extent:
            raise EngineError("the window does not fit")
        ((_, reach),) = padding.reached((size,), site.windows)
    fill = -np.inf if node.op == "MaxPool" else 0.0
    padded = np.pad(data, (begin, reach), constant_values=fill)
    counts = np.pad(np.ones(size), (begin, end), constant_values=float(padding.counted))
    counts = np.pad(counts, (0, reach - end))
    starts = [*range(0, len(padded) - window.extent + 1, window.stride)]
    if not starts:
        raise EngineError("the window does not fit", (node.outputs[0].name,))
    taps = window.dilation * np.arange(window.kernel)
    seen = np.array([padded[start + taps] for start in starts])
    if node.op == "MaxPool":
        return np.asarray(seen.max(axis=1))[None, None]
    if node.op == "AveragePool":
        shares = np.array([max(counts[start + taps].sum(), 1.0) for start in starts])
        return np.asarray(seen.sum(axis=1) / shares)[None, None]
    if node.op == "LpPool":
        return np.asarray(np.abs(seen).sum(axis=1))[None, None]
    weight = graph.constant(node.inputs[1])
    assert weight is not None
    return np.asarray((seen * weight[0, 0]).sum(axis=1))[None, None]
