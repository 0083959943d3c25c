"""Asks onnxruntime which `Pad`s its optimiser folds in a graph.

In a working copy, long constants become inputs and every `Pad` gets a unique name. onnxruntime
optimises it with PadFusion on. If a `Pad` is not in the result, it does so once more with PadFusion
off: those that are there then were folded, and it is the graph that PadFusion saw, so it shows
whether the fold was right.

The model is run by other versions too: one that folds less than others is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import onnx
from msgspec.structs import replace

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, operators, unfolds
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes import pool
from onnxpad.runtimes.onnxruntime.departures import folds_as_any
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed
from onnxpad.runtimes.sessions import optimised
from onnxpad.runtimes.worker import DEPLOYED
from onnxpad.semantics.rows import UnreadError

_NAME: Final = "onnxpad asks about Pad"
# Names of rules; others are silently ignored.
_FUSION: Final = "Pad_Fusion"
_EQUALS: Final = "CommonSubexpressionElimination"
_FOLDING: Final = "ConstantFolding"
_COPIED: Final = "the tensor that it reads is also an output"
_UNSEEN: Final = "the operator that it is folded into is unknown"


def misfolded(context: Context) -> list[Exposed] | None:
    """`Pad`s that onnxruntime folds wrongly; None where onnxruntime cannot be asked.

    There may be more of them as long as there are any.
    """
    model = context.graph.working_copy(context.sites.fusion.is_fed)
    names = _named(model)
    if not names:
        return []
    if unfolds(model) or not _folds_as_any(model, context.graph.opset):
        return None
    # onnxruntime merges equal nodes and computes constants before or after PadFusion, so try it
    # without that too: amounts may have to be computed, while the weight that a Pad pads is left.
    beside: list[tuple[str, ...]] = [()]
    if len(names) > 1:
        beside.insert(0, (_EQUALS,))
    if any(not context.sites.fusion.is_fed(pad.data) for pad in context.pads()):
        beside.append((_FOLDING,))
    path = context.graph.model.path
    folder = path.parent if path is not None else None
    seen: list[bytes] = []
    for others in beside:
        last = _optimised(model, folder, *others)
        if last in seen:  # merging, say, changes nothing in the end
            continue
        left = None if last is None else _left(onnx.load_model_from_string(last), names)
        if left != names.keys():
            first = _optimised(model, folder, _FUSION, *others)
            if first is None:
                return None
            found = _misfolded(context, names, onnx.load_model_from_string(first), left)
            if found or found is None:
                return found
        seen += [] if last is None else [last]
    return []


def _misfolded(
    context: Context, names: Mapping[str, str], first: onnx.ModelProto, left: set[str] | None
) -> list[Exposed] | None:
    """The same of one answer of the optimiser.

    Args:
        context: Our graph.
        names: The outputs of our `Pad`s, by their names in the working copy.
        first: The graph that PadFusion saw.
        left: The names of the `Pad`s that it leaves; None where it keeps the model from loading.
    """
    seen = _left(first, names)
    taken = seen if left is None else seen - left
    if not taken:
        return []
    try:
        met = Context(Graph.from_proto(first))
    except ModelError:
        return None
    return _ours(context, met, names, taken, every=left is None)


def _folds_as_any(model: onnx.ModelProto, opset: int) -> bool:
    """Whether the installed version folds `Pad`s wherever another one would."""
    ops = {*operators(model.graph.node, model.functions)}
    return folds_as_any(pool.about(DEPLOYED.version), ops, opset)


def _named(model: onnx.ModelProto) -> dict[str, str]:
    """Gives each `Pad` a unique name; returns the names of their outputs by these."""
    names = {}
    for number, node in enumerate(model.graph.node):
        if node.op_type == "Pad" and node.domain in DEFAULT_DOMAINS:
            node.name = f"{_NAME} {number}"
            names[node.name] = node.output[0]
    return names


def _optimised(model: onnx.ModelProto, folder: Path | None, *disabled: str) -> bytes | None:
    """The model as onnxruntime optimises it; None where it does not load it."""
    try:
        return optimised(model, optimisation="basic", disabled=disabled, folder=folder)
    except ModelError:
        return None


def _left(model: onnx.ModelProto, names: Mapping[str, str]) -> set[str]:
    """The names of `Pad`s of the working copy that are in a model."""
    return {node.name for node in model.graph.node if node.name in names}


def _ours(
    context: Context, met: Context, names: Mapping[str, str], taken: set[str], *, every: bool
) -> list[Exposed]:
    """The `Pad`s of our graph that PadFusion folds wrongly.

    Args:
        context: Our graph.
        met: The graph that PadFusion saw.
        names: The outputs of our `Pad`s, by their names in the working copy.
        taken: The names of those that it folds.
        every: Whether any of them may be folded: where PadFusion made the model fail to load,
            there is no second result.
    """
    fusion = met.sites.fusion
    judged = fusion.exposed() if every else fusion.judged(lambda pad: pad.node.name in taken)
    wrong = {each.pad.node.name: each for each in judged if each.why}
    same = {each.pad.node.name for each in judged if not each.why}
    for pad in met.pads():
        name = pad.node.name
        if every and name in taken and met.graph.is_output(pad.data):
            wrong.setdefault(name, Exposed(pad, pad.node, (), _COPIED))
        elif not every and name in taken and name not in same:
            wrong.setdefault(name, Exposed(pad, pad.node, (), _UNSEEN))
    wrong = {name: each for name, each in wrong.items() if name in taken}
    outputs = {names[name] for name in taken}
    reached = context.sites.fusion.judged(lambda pad: pad.node.outputs[0].name in outputs)
    return [
        ours
        for name, each in wrong.items()
        for ours in _as_ours(context, names[name], each, reached)
    ]


def _as_ours(
    context: Context, output: str, met: Exposed, reached: Sequence[Exposed]
) -> list[Exposed]:
    """A wrong fold in terms of our graph: one for each operator that may take the `Pad`."""
    graph = context.graph
    node = graph.tensor(output).producer
    pad = None if node is None else context.pad(node)
    if node is None or pad is None or isinstance(pad, UnreadError):
        return []
    if pad.value is None:  # take the value that onnxruntime's constant folding found
        pad = replace(pad, value=met.pad.value)
    windows = {id(each.window): each for each in reached if each.pad.node is node}
    if not windows:
        return [Exposed(pad, node, (), met.why)]
    return [replace(each, pad=pad, why=met.why) for each in windows.values()]
