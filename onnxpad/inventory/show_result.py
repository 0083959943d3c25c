"""The result of `show`: every padding of a model, or those that were asked for."""

from dataclasses import dataclass

from onnxpad.finding import Finding
from onnxpad.inventory.padding_site import PaddingSite


@dataclass(frozen=True)
class ShowResult:
    """Every padding of a model.

    Attributes:
        sites: The operators that pad or could, with the `Pad`s in front of them, and the `Pad`s
            that stand alone, in file order; only those asked for, if any were.
        total: How many there are in the model.
        asked: The names and patterns asked for.
        conventions: Which framework's convention the padding fits, a line for each report.
        others: Findings of `check` about none of the sites.
        notes: The sizes that were taken from the model's metadata, in one line.
        is_checked: Whether `check` could read the model, so that findings say what `fix` does.
        warnings: What could not be worked out, in one line each.
        model: Path of the model as given; empty if it was given in memory.
    """

    sites: tuple[PaddingSite, ...]
    total: int
    asked: tuple[str, ...]
    conventions: tuple[str, ...]
    others: tuple[Finding, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    is_checked: bool
    model: str
