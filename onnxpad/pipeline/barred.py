"""Rewrites that must not be made in one model, and why.

`fix` takes a rewrite back where the runtime fails on the model as a whole. The model's metadata
records it, so that `check` and the next `fix` do not make it either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from onnxpad.graph import Graph
from onnxpad.messages import RUNTIME
from onnxpad.reasons import Reason

Key: TypeAlias = tuple[str, str]
"""A rewrite: the code of its rule, and the output of the node that it rewrites."""
Barred: TypeAlias = Mapping[Key, str]
"""The rewrites that are barred, each with the code of the reason."""

NOTHING: Final[Barred] = MappingProxyType({})

METADATA: Final = "onnxpad.barred"
"""Key of the metadata: a JSON list of [output, code, code of the reason]."""

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
        Reason.BARRED: f"the model's metadata bars it ({METADATA})",
    }
)
"""The words for each code."""


def code_of(reason: str) -> Reason:
    """The reason that a text in the metadata names; `BARRED` for any other text."""
    return next((each for each in Reason if each == reason and each in REASONS), Reason.BARRED)


def reason_text(reason: str) -> str:
    """A reason in words."""
    return REASONS[code_of(reason)]


def noted(graph: Graph) -> dict[Key, str]:
    """The rewrites that a model's metadata bars; none where it is malformed."""
    text = graph.model.metadata(METADATA)
    try:
        entries = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return {}
    if not isinstance(entries, list):
        return {}
    return {
        (entry[1], entry[0]): entry[2]
        for entry in entries
        if isinstance(entry, list) and len(entry) == 3 and all(isinstance(e, str) for e in entry)
    }


def note(graph: Graph, barred: Barred) -> None:
    """Replaces the rewrites that the model's metadata bars; without any, it stays as it is."""
    entries = [[output, code, reason] for (code, output), reason in sorted(barred.items())]
    if entries:
        graph.model.set_metadata(METADATA, json.dumps(entries))
