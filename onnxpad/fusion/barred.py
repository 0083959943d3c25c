"""Rewrites that are not to be made in one model, and why.

What `fix` took back because of what onnxruntime made of the model as a whole is kept in the model's
own metadata, so that `check` and the next `fix` leave it alone too.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from onnxpad.graph import Graph
from onnxpad.reasons import Reason

Key: TypeAlias = tuple[str, str]
"""Code of the rule, and name of the output of the node that it rewrites."""
Barred: TypeAlias = Mapping[Key, str]
"""What is barred, and the code of the reason."""

NOTHING: Final[Barred] = MappingProxyType({})

METADATA: Final = "onnxpad.barred"
"""Key of the metadata: a JSON list of [output, code, code of the reason]."""

LAYS_OPEN: Final = Reason.LAYS_PAD_OPEN

_BACK: Final = "fix took it back: with it the model"

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        LAYS_OPEN: "with it onnxruntime's optimiser would fold a Pad where it must not, and "
        "nothing could keep it from that",
        Reason.DIFFERS: f"{_BACK} computes something else on onnxruntime",
        Reason.DIFFERS_OPTIMISED: f"{_BACK} computes something else on onnxruntime at full "
        "optimisation",
        Reason.STOPS: f"{_BACK} does not run on onnxruntime",
        Reason.STOPS_OPTIMISED: f"{_BACK} does not run on onnxruntime at full optimisation",
        Reason.BARRED: "the model's metadata bars it (onnxpad.fusion.barred)",
    }
)
"""What is said of each code."""


def code_of(reason: str) -> Reason:
    """The code of a reason that metadata gives, which may be any text."""
    return next((each for each in Reason if each == reason and each in REASONS), Reason.BARRED)


def told(reason: str) -> str:
    """A reason in words."""
    return REASONS[code_of(reason)]


def noted(graph: Graph) -> dict[Key, str]:
    """What a model's metadata bars; nothing where that cannot be read."""
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
    """Has the model's metadata bar rewrites, those that it bars already among them."""
    entries = [[output, code, reason] for (code, output), reason in sorted(barred.items())]
    if entries:
        graph.model.set_metadata(METADATA, json.dumps(entries))
