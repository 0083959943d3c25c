"""Records in the metadata of a model of changes that rest on the specification alone.

Where the runtime reads the original otherwise, the result differs from it there, on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from onnxpad.graph import Graph
from onnxpad.messages import RUNTIME

TRUSTED: Final = "onnxpad.trusts_spec"
"""Key of the metadata: a JSON list of outputs of operators which `--trust spec` decided."""


def record(graph: Graph, outputs: Iterable[str]) -> None:
    """Adds outputs of operators that the specification decided to the metadata of a model."""
    names = dict.fromkeys((*recorded(graph), *outputs))
    graph.model.set_metadata(TRUSTED, json.dumps(list(names)))


def recorded(graph: Graph) -> tuple[str, ...]:
    """The outputs that the metadata of a model names; none where it is malformed."""
    try:
        found: Any = json.loads(graph.model.metadata(TRUSTED) or "[]")
    except (ValueError, RecursionError):
        return ()
    listed = found if isinstance(found, list) else []
    return tuple(name for name in listed if isinstance(name, str))


def decision_lines(original: Graph, rewritten: Graph) -> Iterator[str]:
    """A line on the operators by which a model differs from its original on purpose."""
    names = [name for name in recorded(rewritten) if name not in recorded(original)]
    if names:
        yield (
            f"the rewritten model's metadata ({TRUSTED}) names {', '.join(map(repr, names))}: "
            f"written as specified (--trust spec), where {RUNTIME} reads the original otherwise, "
            "so a difference from there on was asked for"
        )
