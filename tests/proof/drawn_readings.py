"""Windows and `Pad`s drawn, with what the proof reads of each, or why it reads nothing.

`readings.txt` keeps them: an attribute, a default or a limit read otherwise shows there.
"""

from pathlib import Path
from typing import Final

from tests.proof.test_readings import pad_said, window_said

READINGS: Final = Path(__file__).with_name("readings.txt")


def kept() -> list[str]:
    """All lines."""
    return READINGS.read_text(encoding="utf-8").splitlines()


def said(line: str) -> str:
    """The line with what is read now."""
    asked = line.partition("  =>  ")[0]
    opset, _, body = asked.removeprefix("opset ").partition(": ")
    read = pad_said if body.startswith("Pad") else window_said
    return f"{asked}  =>  {read(body, int(opset))}"


def keep() -> None:
    """Keeps what is read anew."""
    READINGS.write_text("".join(f"{said(line)}\n" for line in kept()), encoding="utf-8")
