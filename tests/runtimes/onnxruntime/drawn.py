"""Drawn graphs, with what onnxruntime's optimiser is predicted to fold and fuse in each.

`predictions.txt` keeps them: a prediction that changes shows there.
"""

from pathlib import Path
from typing import Final

from tests.runtimes.onnxruntime.test_pad_fusion import neighbours, pads_before
from tests.support.lines import Lines


def said(line: str) -> str:
    """The line with what is predicted now."""
    asked = line.partition("  =>  ")[0]
    opset, _, body = asked.removeprefix("opset ").partition(": ")
    if not body.startswith("pads "):
        return f"{asked}  =>  {neighbours(body, int(opset)) or 'nothing'}"
    rightly, wrongly, surely = pads_before(body.removeprefix("pads "), int(opset))
    parts = {"rightly": rightly, "wrongly": wrongly, "for certain": surely}
    told = "; ".join(f"{name} {pads}" for name, pads in parts.items() if pads)
    return f"{asked}  =>  {told or 'nothing'}"


LINES: Final = Lines(Path(__file__).with_name("predictions.txt"), said)
