"""Records of changes in the metadata of a model, for later runs.

Which are barred: `fix` takes a rewrite back where the runtime fails on the model as a whole, and
`check` and the next `fix` do not make it either. And which rest on the specification where the
runtime reads the original otherwise: the result differs from the original there, on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from onnxpad.finding import Location
from onnxpad.graph import Graph
from onnxpad.messages import RUNTIME
from onnxpad.reasons import Reason

Key: TypeAlias = tuple[str, str]
"""A rewrite: the code of its rule, and the output of the node that it rewrites, or `at` a place."""
Barred: TypeAlias = Mapping[Key, str]
"""The rewrites that are barred, each with the code of the reason."""

NOTHING: Final[Barred] = MappingProxyType({})

BARRED: Final = "onnxpad.barred"
"""Key of the metadata: a JSON list of [output, code, code of the reason]."""
IGNORED: Final = "onnxpad.ignore"
"""Key of the metadata: a JSON list of findings to ignore, with reasons; see `pipeline.ignores`."""
EVERYWHERE: Final = "\0"
"""In a key, all places of a code."""
TRUSTED: Final = "onnxpad.trusts_spec"
"""Key of the metadata: a JSON list of outputs of operators which `--trust spec` decided."""

LAYS_OPEN: Final = Reason.LAYS_PAD_OPEN
JOINS_NEIGHBOURS: Final = Reason.JOINS_NEIGHBOURS

_BACK: Final = "fix took it back: with it the model"

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        LAYS_OPEN: f"with it {RUNTIME}'s optimiser would fold a Pad where it must not, and "
        "nothing could prevent that",
        JOINS_NEIGHBOURS: f"with it {RUNTIME}'s optimiser would wrongly fuse operators that the "
        "padding keeps apart",
        Reason.DIFFERS: f"{_BACK} computes something else on {RUNTIME}",
        Reason.DIFFERS_OPTIMISED: f"{_BACK} computes something else on {RUNTIME} at full "
        "optimisation",
        Reason.STOPS: f"{_BACK} does not run on {RUNTIME}",
        Reason.STOPS_OPTIMISED: f"{_BACK} does not run on {RUNTIME} at full optimisation",
        Reason.BARRED: f"the model's metadata bars it ({BARRED})",
        Reason.IGNORED: f"the model's metadata ignores it ({IGNORED})",
    }
)
"""The words for each code."""


def at(place: Location) -> str:
    """A place as keys have it."""
    return "\0".join((*place.scope, place.name, place.output))


def code_of(reason: str) -> Reason:
    """The reason that a text in the metadata names; `BARRED` for any other text."""
    return next((each for each in Reason if each == reason and each in REASONS), Reason.BARRED)


def reason_text(reason: str) -> str:
    """A reason in words."""
    return REASONS[code_of(reason)]


def noted(graph: Graph) -> dict[Key, str]:
    """The rewrites that a model's metadata bars; none where it is malformed."""
    return {
        (entry[1], entry[0]): entry[2]
        for entry in _listed(graph, BARRED)
        if isinstance(entry, list) and len(entry) == 3 and all(isinstance(e, str) for e in entry)
    }


def note(graph: Graph, barred: Barred) -> None:
    """Replaces the rewrites that the model's metadata bars; without any, it stays as it is."""
    entries = [[output, code, reason] for (code, output), reason in sorted(barred.items())]
    if entries:
        graph.model.set_metadata(BARRED, json.dumps(entries))


def record(graph: Graph, outputs: Iterable[str]) -> None:
    """Adds outputs of operators that the specification decided to the metadata of a model."""
    names = dict.fromkeys((*recorded(graph), *outputs))
    graph.model.set_metadata(TRUSTED, json.dumps(list(names)))


def recorded(graph: Graph) -> tuple[str, ...]:
    """The outputs that the metadata of a model names; none where it is malformed."""
    return tuple(name for name in _listed(graph, TRUSTED) if isinstance(name, str))


def decision_lines(original: Graph, rewritten: Graph) -> Iterator[str]:
    """A line on the operators by which a model differs from its original on purpose."""
    names = [name for name in recorded(rewritten) if name not in recorded(original)]
    if names:
        yield (
            f"the rewritten model's metadata ({TRUSTED}) names {', '.join(map(repr, names))}: "
            f"written as specified (--trust spec), where {RUNTIME} reads the original otherwise, "
            "so a difference from there on was asked for"
        )


def _listed(graph: Graph, key: str) -> list[Any]:
    """A list in the metadata of a model; empty where it is malformed."""
    try:
        found = json.loads(graph.model.metadata(key) or "[]")
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []
