"""The changes that rest on the specification where the runtime reads the original otherwise.

They are made first. Validation then compares the result with the model that these changes leave,
since the runtime cannot compute what the original means. The model's metadata names them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from onnxpad.graph import Graph
from onnxpad.messages import RUNTIME
from onnxpad.passes.resolve_auto_pad import ResolveAutoPad
from onnxpad.passes.resolve_transposed import ResolveTransposed
from onnxpad.passes.round_down import RoundDown
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Match, Pass

METADATA: Final = "onnxpad.trusts_spec"
"""Key of the metadata that names outputs of operators which `--trust spec` decided, as JSON."""


def record(graph: Graph, outputs: Iterable[str]) -> None:
    """Adds outputs of operators that the specification decided to the metadata of a model."""
    names = dict.fromkeys((*recorded(graph), *outputs))
    graph.model.set_metadata(METADATA, json.dumps(list(names)))


def recorded(graph: Graph) -> tuple[str, ...]:
    """The outputs that the metadata of a model names; none where it is malformed."""
    try:
        names = json.loads(graph.model.metadata(METADATA) or "[]")
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if type(names) is list else ()


def decision_lines(original: Graph, rewritten: Graph) -> Iterator[str]:
    """A line on the operators by which a model differs from its original on purpose."""
    names = [name for name in recorded(rewritten) if name not in recorded(original)]
    if names:
        yield (
            f"the rewritten model's metadata ({METADATA}) names {', '.join(map(repr, names))}: "
            f"written as specified (--trust spec), where {RUNTIME} reads the original otherwise, "
            "so a difference from there on was asked for"
        )


def deciding(kind: type[Pass]) -> type[Pass]:
    """A pass that finds only what the trusted engine decides."""

    class Deciding(kind):  # type: ignore[misc, valid-type]
        def find(self, context: Context) -> Iterator[Match]:
            return (match for match in super().find(context) if match.decides)

    return Deciding


DECIDING: Final = tuple(map(deciding, (ResolveAutoPad, ResolveTransposed, RoundDown)))
