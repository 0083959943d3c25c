"""The option to try next, in one line."""

from onnxpad.finding import NextOption
from onnxpad.report.text import shown


def next_line(found: NextOption, *, in_memory: bool = False) -> str:
    """The line about an option that would gain something.

    >>> from onnxpad.finding import Counts
    >>> before, after = Counts(pads=3, auto_pads=0, nodes=274), Counts(0, 3, 110)
    >>> print(next_line(NextOption("--dynamic auto-pad", {}, before, after)))
    Next: --dynamic auto-pad would turn 3 Pads into auto_pad (nodes 274 -> 110)
    """
    hint = f"; {found.hint}" if found.hint else ""
    option = shown(found.option)
    if in_memory:
        keywords = (f"{name}={value!r}" for name, value in found.keywords.items())
        option = f"fix(..., {shown(', '.join(keywords))})"
    return f"Next: {option} would {found.gain}{hint}"
