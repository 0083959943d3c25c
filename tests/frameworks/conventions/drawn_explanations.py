"""Operators drawn, with what each framework's convention pads there, as lines of text.

`explanations.txt` keeps them: amounts, a group of conventions that agree, where they part, or how
one is written that is otherwise than before shows there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import onnxpad
from onnxpad.report.json import json_of
from tests.support.lines import Lines


def said(line: str) -> str:
    """The line with what is explained now."""
    asked = line.partition("  =>  ")[0]
    words = (each.split("=") for each in asked.split())
    given: dict[str, Any] = {name.replace("-", "_"): value for name, value in words}
    found = json.loads(json_of(onnxpad.explain(**given)))
    return f"{asked}  =>  {' | '.join(_told(found))}"


def _told(found: dict[str, Any]) -> Iterator[str]:
    """Amounts by convention, who agrees, who cannot, where they part, and how each is written."""
    for name, form in found["conventions"].items():
        if form is not None:
            pads = " ".join(f"{begin}+{end}" for begin, end in form["pads"])
            counts = " counted" * found["about"][name]["counts_padding"]
            yield f"{name} {pads} to {'x'.join(map(str, form['output']))}{counts}"
    yield from (f"agree {' '.join(names)}" for names in found["agree"])
    yield f"not {' '.join(found['refused'])}"
    if found["reach"]:
        yield f"reach {json.dumps(found['reach']['axes'])}"
    for each in found["periods"]:
        groups = ", ".join(" ".join(names) for names in each["agree"] if len(names) > 1)
        yield f"from {found['since']} at {each['remainders']} of {found['period']}: {groups}"
    for names in found["agree"]:
        about = found["about"][names[0]]
        yield from (f"{kind}: {about[kind]}" for kind in ("pytorch", "keras", "onnx"))


LINES: Final = Lines(Path(__file__).with_name("explanations.txt"), said)
BY_DAY: Final = 1
