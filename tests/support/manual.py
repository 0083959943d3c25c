"""README and the pages of the manual as one text, and the blocks in them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from tests.support.checkout import ROOT

DOCS: Final = ROOT / "onnxpad" / "docs"

ENVIRONMENTS: Final = (
    *("base", "torch", "tf", "simplifiers", "optimum", "cluster"),
    *("cuda", "shell", "output"),
)  # fmt: skip
"""Where a block runs: in the gate, with a package or device more, in a shell; or it is printed."""


class Block(NamedTuple):
    """A fenced block: the page that it is on, its language, its environment, and its text."""

    page: str
    language: str
    environment: str
    text: str


@cache
def pages() -> dict[str, str]:
    """Every page by its name, README first."""
    found = {"README": (ROOT / "README.md").read_text(encoding="utf-8")}
    found |= {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
    return found


def manual() -> str:
    """All of it."""
    return "\n".join(pages().values())


def blocks(language: str = "", environment: str = "", page: str = "") -> list[Block]:
    """The blocks, or those of a language, an environment or a page."""
    return [
        each
        for each in _every_block()
        if language in {"", each.language}
        and environment in {"", each.environment}
        and page in {"", each.page}
    ]


def _every_block() -> Iterator[Block]:
    for page, text in pages().items():
        for info, inside in re.findall(r"^```(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE):
            language, _, environment = info.partition(" ")
            yield Block(page, language, environment, inside)


def shell_lines() -> list[str]:
    """The lines that a user types into a shell."""
    return [line for block in blocks("sh") for line in block.text.splitlines()]


def onnxpad_lines() -> list[str]:
    """Those of them that run the program, each once."""
    return list(dict.fromkeys(line for line in shell_lines() if line.startswith("onnxpad ")))
