"""The conventions that operators fit, as sites have them."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from onnxpad.frameworks.fitting.padded import Padded
from onnxpad.inventory.padding_site import FITS_NONE, FITS_SOMETIMES
from onnxpad.operators.amounts import onnx_order

_SHORT: Final = {
    "none": "",
    "either": "TensorFlow, PyTorch",
    "same": "TensorFlow",
    "symmetric": "PyTorch",
    "lower": "SAME_LOWER",
    "causal": "causal",
    "sometimes": FITS_SOMETIMES,
    "other": FITS_NONE,
}
"""Conventions in short, by what padding is like."""
_MOST_TITLES: Final = 2


class Fitted(NamedTuple):
    """The conventions that an operator fits.

    Attributes:
        names: Frameworks whose padding it has at every size.
        short: The same in short, for a table.
        pads: The padding that fits them, in ONNX's order; None where it depends on a size.
    """

    names: tuple[str, ...]
    short: str
    pads: tuple[int, ...] | None


NOTHING: Final = Fitted((), "", None)
"""No convention, as of what pads nothing."""


def fitted(operators: Iterable[Padded]) -> dict[int, Fitted]:
    """The conventions that operators fit, by identity of the node."""
    known: dict[int, Fitted] = {}
    found = {}
    for each in operators:
        case = each.case
        if id(case) not in known:
            short = _SHORT[case.likeness] if case.is_padded else ""
            if case.fits and case.likeness in {"other", "sometimes"}:  # of fewer models' frameworks
                short = ", ".join(case.titles[:_MOST_TITLES])
            known[id(case)] = Fitted(case.fits, short, None)
        pads = each.pads
        order = None if pads is None else tuple(onnx_order(pads))
        found[id(each.site.node)] = known[id(case)]._replace(pads=order)
    return found
