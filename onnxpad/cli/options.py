"""What several commands are told, and how it is read.

Nothing heavy is imported before a command runs: `--help` needs no onnx.
"""

import enum
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from onnxpad.arguments import codes_given
from onnxpad.errors import UsageError


class Style(enum.StrEnum):
    """Where constant padding goes; the values of `site.STYLES`, without importing it."""

    FOLD = "fold"
    PAD = "pad"
    SYMMETRIC = "symmetric"


class Dynamic(enum.StrEnum):
    """What becomes of padding that depends on an open size; the values of `dynamic.DYNAMIC`."""

    KEEP = "keep"
    PAD = "pad"
    AUTO_PAD = "auto-pad"


class Format(enum.StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"


class ExternalData(enum.StrEnum):
    """What becomes of external data; the values that `copy_external` has for it."""

    COPY = "copy"
    LINK = "link"
    INLINE = "inline"


def path(text: str) -> Path:
    """A path as it is given: an empty one would be the folder that one is in, and is a mistake."""
    if not text:
        raise typer.BadParameter("an empty name; give the name of a file")
    return Path(text)


StyleOption = Annotated[
    Style,
    typer.Option(
        help="Where constant padding goes: into the operator (fold), into a Pad node (pad), or the "
        "part equal on both sides into the operator and the rest into a Pad node (symmetric)."
    ),
]
DynamicOption = Annotated[
    Dynamic,
    typer.Option(
        help="What becomes of padding that depends on an open size: it stays (keep), goes into a "
        "Pad that computes it (pad), or, where a computed Pad is SAME, into that attribute "
        "(auto-pad)."
    ),
]
ShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[INPUT=]SIZES",
        help="Fix sizes of an input, as input=1,3,224,224; ? leaves one open. Repeatable.",
    ),
]
DimOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=SIZE",
        help="Fix a named dimension, as height=224, or prove for a range of it, as "
        "height=32..1024, or for the multiples of 32 in it, height=32..1024:32. Repeatable.",
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-dim-names", help="Take axes whose dimensions have one name to have one size."
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Refuse rewrites that take anything for granted.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How the report is written.")]


def given(option: str, texts: Sequence[str]) -> dict[str, str]:
    """What `name=sizes` says, by name; without a name, which `--shape` allows, that is empty.

    Raises:
        UsageError: A name is missing, or there twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, sizes = text.rpartition("=")
        if option == "--dim" and text and not equals:
            raise UsageError(f"--dim {text!r} lacks a size; give it as {text}=...")
        if not name and (equals or option == "--dim"):
            raise UsageError(f"{option} {text!r} lacks a name; give it as NAME=...")
        if name in found:
            raise UsageError(f"{option} is there twice{f' for {name!r}' if name else ''}")
        found[name] = sizes
    return found


def codes(option: str, selectors: Sequence[str]) -> tuple[str, ...]:
    """The codes that an option names, as `expand_codes` does; none where it is not given."""
    if not selectors:
        return ()
    from onnxpad.pipeline.catalogue import catalogue

    return expand_codes(option, selectors, catalogue().keys())


def expand_codes(option: str, selectors: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The known codes that the selectors name, whole or by prefix, sorted.

    Args:
        option: The option they come from, for the message.
        selectors: Codes or prefixes, several to a string with commas between them.
        known: Every code there is.

    Raises:
        UsageError: When a selector names no code.

    >>> expand_codes("--select", ["PAD1,PAD201"], ["PAD101", "PAD102", "PAD201", "PAD202"])
    ('PAD101', 'PAD102', 'PAD201')
    """
    chosen = codes_given(option, selectors, known)
    return tuple(sorted(code for code in known if code.startswith(chosen)))
