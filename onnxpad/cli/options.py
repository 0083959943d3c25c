"""Options that several commands share, and how they are parsed.

Nothing heavy is imported before a command runs: `--help` needs no onnx.
"""

import enum
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from onnxpad.arguments import codes_given
from onnxpad.errors import UsageError
from onnxpad.finding import Trust
from onnxpad.messages import RUNTIME
from onnxpad.options import Dynamic, Style
from onnxpad.process import may_have_entry_points


class Format(enum.StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"


class ExternalData(enum.StrEnum):
    """Choices for external data; the same values as `file.copy_external.ExternalData`."""

    COPY = "copy"
    LINK = "link"
    INLINE = "inline"


def completed(values: str) -> Callable[[str], list[str]]:
    """A function that lists values of an option for a shell: that of this name in `completion`."""

    def listed(incomplete: str) -> list[str]:
        from onnxpad.cli import completion

        found: list[str] = getattr(completion, values)(incomplete)
        return found

    return listed


def path(text: str) -> Path:
    """A path as given; an empty one, which `Path` takes for the working folder, is an error."""
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
        help="Padding that depends on an open size: keep it, write it as a Pad with computed "
        "amounts (pad), or replace a computed Pad that equals SAME by auto_pad (auto-pad)."
    ),
]
ShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[INPUT=]SIZES",
        help="Fix sizes of an input, such as input=1,3,224,224 or 1x3x224x224; ? leaves one open. "
        "Repeatable.",
    ),
]
DimOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=SIZE",
        help="Fix a named dimension (height=224), or prove for a range (height=32..1024) or for "
        "the multiples of 32 in a range (height=32..1024:32). Repeatable.",
    ),
]
TrustDimNamesOption = Annotated[
    bool,
    typer.Option(
        "--trust-dim-names", help="Assume that dimensions of the same name have the same size."
    ),
]
NoCeilOption = Annotated[
    bool,
    typer.Option(
        "--no-ceil",
        help="Write pools that round up (ceil_mode) as pools that round down and have end pads, "
        "where that is exact.",
    ),
]
TrustOption = Annotated[
    Trust | None,
    typer.Option(
        "--trust",
        help=f"Where {RUNTIME} and the specification compute different things, write what this "
        "one computes. Without it such padding stays.",
    ),
]
SymmetricTransposeOption = Annotated[
    bool,
    typer.Option(
        "--symmetric-transpose",
        help="Make the pads of a ConvTranspose equal at both ends, with output_padding or a Slice "
        f"for the rest: {RUNTIME}'s CUDA provider runs no others.",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Refuse rewrites that rest on an assumption.")
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODES",
        autocompletion=completed("codes"),
        help="Only these codes or prefixes (PAD1), with commas.",
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODES",
        autocompletion=completed("codes"),
        help="All but these codes or prefixes, with commas.",
    ),
]
RunTimeoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Give up a run of a model, or opening it, after so long.  [default: 60 for a model "
        "with a Loop that no constant stops]",
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="No progress bar, and no report unless something needs attention. JSON is written "
        "all the same.",
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Everything: every change, proof, reason and run."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Format of the report.")]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Also write the report as a page with pictures, which needs no other file.",
        parser=path,
    ),
]


def given(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Sizes by name, from texts `NAME=SIZES`; `--shape` may omit the name, which is then empty.

    Raises:
        UsageError: A name or a size is missing, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, sizes = text.rpartition("=")
        if option == "--dim" and text and not equals:
            raise UsageError(f"--dim {text!r} lacks a size; give it as {text}=...")
        if not name and (equals or option == "--dim"):
            raise UsageError(f"{option} {text!r} lacks a name; give it as NAME=...")
        if name in found:
            raise UsageError(f"{option} is given twice{f' for {name!r}' if name else ''}")
        found[name] = sizes
    return found


def codes(option: str, selectors: Sequence[str]) -> tuple[str, ...]:
    """The codes that an option names, as `expand_codes` does; none if it is not given."""
    if not selectors:
        return ()
    from onnxpad.pipeline.registry import every_code

    return expand_codes(option, selectors, every_code())


def expand_codes(option: str, selectors: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The known codes that the selectors name, whole or by prefix, sorted.

    Args:
        option: The option they come from, for the message.
        selectors: Codes or prefixes; a string may have several, separated by commas.
        known: Every code there is.

    Raises:
        UsageError: A selector names no code.

    >>> expand_codes("--select", ["PAD1,PAD201"], ["PAD101", "PAD102", "PAD201", "PAD202"])
    ('PAD101', 'PAD102', 'PAD201')
    """
    chosen = codes_given(option, selectors, known)
    return tuple(sorted(code for code in known if code.startswith(chosen)))


def take_extensions() -> None:
    """Registers the passes and declarations that installed packages offer."""
    if may_have_entry_points("onnxpad"):
        from onnxpad.api.extensions import register_entry_points

        register_entry_points()
