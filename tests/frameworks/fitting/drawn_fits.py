"""Window operators drawn, with the conventions that their padding fits, as lines of text.

`fits.txt` keeps them: padding that fits others than before, or is told otherwise, shows there.
"""

import re
from pathlib import Path
from typing import Final

import onnxpad
from tests.proof.pairs import model_of
from tests.support.lines import Lines, facts

_LINE: Final = re.compile(r"opset (\d+), length (\w+)(?:, as (\S+))?: (.*)")


def said(line: str) -> str:
    """The line with what is told now."""
    asked = line.partition("  =>  ")[0]
    found = _LINE.fullmatch(asked)
    assert found
    opset, length, convention, body = found.groups()
    proto = model_of(body, "float", length, int(opset))
    told = onnxpad.check(proto, select="PAD6", convention=convention).findings
    says = [f"{each.code} {each.node} {facts(each.evidence)}" for each in told]
    return f"{asked}  =>  {' | '.join(says) or 'nothing'}"


LINES: Final = Lines(Path(__file__).with_name("fits.txt"), said)
BY_DAY: Final = 1
