"""Asks onnxruntime which `Pad`s its optimiser folds in a graph.

In a working copy, long constants become inputs and every `Pad` gets a unique name. onnxruntime
optimises it with PadFusion on. If a `Pad` is not in the result, it does so once more with PadFusion
off: those that are there then were folded, and it is the graph that PadFusion saw, so it shows
whether the fold was right.

The model is run by other versions too: one that folds less than others is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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

_NAME = "onnxpad asks about Pad"
# Names of rules; others are silently ignored.
_FUSION = "Pad_Fusion"
_EQUALS = "CommonSubexpressionElimination"
_FOLDING = "ConstantFolding"
_COPIED = "the tensor that it reads is also an output"
_UNSEEN = "the operator that it is folded into is unknown"


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
    before: list[bytes | None] = []
    for others in beside:
        last = _optimised(model, folder, *others)
        if last is not None and last in before:  # merging, say, changes nothing in the end
            continue
        before.append(last)
        left = _left(last, names)
        if left == names.keys():
            continue
        first = _optimised(model, folder, _FUSION, *others)
        taken = _left(first, names) - left
        if first is None:
            return None
        try:
            met = Context(Graph.from_proto(onnx.load_model_from_string(first))) if taken else None
        except ModelError:
            return None
        found = [] if met is None else _ours(context, met, names, taken, every=last is None)
        if found:
            return found
    return []


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


def _left(serialised: bytes | None, names: Mapping[str, str]) -> set[str]:
    """The names of `Pad`s of the working copy that are in a model; none where it does not load."""
    if serialised is None:
        return set()
    nodes = onnx.load_model_from_string(serialised).graph.node
    return {node.name for node in nodes if node.name in names}


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
    found = fusion.exposed() if every else fusion.judged(lambda pad: pad.node.name in taken)
    wrong = {each.pad.node.name: each for each in found if each.why}
    same = {each.pad.node.name for each in found if not each.why}
    for pad in met.pads():
        name = pad.node.name
        if not every and name not in same:
            wrong.setdefault(name, Exposed(pad, pad.node, (), _UNSEEN))
        elif every and met.graph.is_output(pad.data):
            wrong.setdefault(name, Exposed(pad, pad.node, (), _COPIED))
    outputs = {names[name]: each for name, each in wrong.items() if name in taken}
    reached = context.sites.fusion.judged(lambda pad: pad.node.outputs[0].name in outputs)
    ours: list[Exposed] = []
    for output, each in outputs.items():
        node = context.graph.tensor(output).producer
        own = None if node is None else context.pad(node)
        if node is None or own is None or isinstance(own, UnreadError):
            continue
        if own.value is None:  # take the value that onnxruntime's constant folding found
            own = replace(own, value=each.pad.value)
        windows = {id(one.window): one for one in reached if one.pad.node is node}
        ours += [replace(one, pad=own, why=each.why) for one in windows.values()]
        if not windows:
            ours.append(Exposed(own, node, (), each.why))
    return ours
