"""Why a padding stays is the proof's verdict: no other module gives the reasons that it gives."""

import ast
from pathlib import Path
from typing import Final

from tests.support import ROOT

DECIDING: Final = ("proof", "semantics")
ELSEWHERE: Final = {
    # There is no padding to propose, whatever the proof would say of it.
    "COPIES_DATA": {"site", "report_pad"},
    "CROPS": {"site", "crops", "pads"},
    "FILL_DIFFERS": {"pads"},
    "MAY_BE_EMPTY": {"crops"},
    # The numbers of both engines, in words.
    "ENGINES_DISAGREE": {"departures", "crops"},
    "AUTO_PAD_AND_PADS": {"site"},
    "SIZE_DEPENDENT": {"site", "words", "crops"},
    # What the proof could not read.
    "NOT_CERTIFIED": {"write"},
}
"""Modules that give a reason of the proof's, by reason."""


def given(path: Path) -> set[str]:
    """The reasons that a module makes an error of."""
    calls = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
    errors = [each for each in calls if ast.unparse(each.func).endswith("Error")]
    inside = [node for each in errors for arg in each.args for node in ast.walk(arg)]
    found = [node for node in inside if isinstance(node, ast.Attribute)]
    return {node.attr for node in found if ast.unparse(node.value) == "Reason"}


def test_no_other_module_gives_the_proofs_reasons() -> None:
    ours = ROOT / "onnxpad"
    files = [each for each in ours.rglob("*.py") if each.parts[len(ours.parts)] != "passes"]
    files += (ROOT / "passes").glob("*.py")
    deciding = [each for each in files if each.parts[len(ours.parts)] in DECIDING]
    theirs = set[str]().union(*map(given, deciding))
    elsewhere: dict[str, set[str]] = {}
    for path in files:
        for reason in given(path) & theirs if path not in deciding else ():
            elsewhere.setdefault(reason, set()).add(path.stem)
    assert elsewhere == ELSEWHERE
    assert {"INDICES_READ", "PADS_NOT_BELOW_KERNEL", "WINDOW_IN_PADDING"} < theirs
