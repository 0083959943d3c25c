"""Operators drawn, with what each framework's convention pads there, as lines of text.

`explanations.txt` keeps them: an answer, a form or a word that is otherwise than before shows
there. Drawings are left out.
"""

import re
from pathlib import Path
from typing import Any, Final

import onnxpad
from tests.support.lines import Lines

_DRAWN: Final = re.compile(r"\n\n[^\n]*; x-x .*?(?=\n\n|\Z)", re.DOTALL)


def said(line: str) -> str:
    """The line with what is explained now."""
    asked = line.partition("  =>  ")[0]
    words = (each.split("=") for each in asked.split())
    given: dict[str, Any] = {name.replace("-", "_"): value for name, value in words}
    text = _DRAWN.sub("", str(onnxpad.explain(**given)))
    lines = (" ".join(each.split()) for each in text.splitlines())
    return f"{asked}  =>  {' | '.join(filter(None, lines))}"


LINES: Final = Lines(Path(__file__).with_name("explanations.txt"), said)
