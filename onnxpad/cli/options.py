"""Options that several commands share, and how they are parsed.

Nothing heavy is imported before a command runs: `--help` needs no onnx.
"""

import enum
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from onnxpad.arguments import codes_given, sizes_by_name
from onnxpad.options import TYPED, Options, Unasked

if TYPE_CHECKING:
    from onnxpad.cli.configuration import Applied, Configuration

Command = TypeVar("Command", bound=Callable[..., object])


class Format(enum.StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"


class CheckFormat(enum.StrEnum):
    """How the report of `check` is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


class ExternalData(enum.StrEnum):
    """Choices for external data; the same values as `file.external.ExternalData`."""

    COPY = "copy"
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


ADVANCED = "Advanced"
"""The panel of a help's options that fewer people need; hidden ones are named below it."""

InputsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Inputs to run both models on: .npz, .npy, or a folder of ONNX test data.",
        parser=path,
        rich_help_panel=ADVANCED,
    ),
]
RelativeOption = Annotated[
    float | None,
    typer.Option(
        help="Allowed difference, relative to each element.",
        rich_help_panel=ADVANCED,
    ),
]
AbsoluteOption = Annotated[
    float | None,
    typer.Option(
        help="Allowed difference, absolute.",
        rich_help_panel=ADVANCED,
    ),
]
KeepInvalidOption = Annotated[
    bool,
    typer.Option(
        "--keep-invalid", help="Write the result although validation failed.", hidden=True
    ),
]
ExternalDataOption = Annotated[
    ExternalData,
    typer.Option(
        help="When the result is written to another folder, copy the files of weights beside "
        "the model. inline puts the weights inside the result, in any folder.",
        hidden=True,
    ),
]
RunTimeoutOption = Annotated[
    float | None,
    typer.Option(
        hidden=True,
        metavar="SECONDS",
        help="Give up a run of a model, or opening it, after so long.  [default: 60 for a model "
        "with a Loop that no constant stops]",
    ),
]
IsolatedOption = Annotated[
    bool,
    typer.Option(
        "--isolated",
        hidden=True,
        help="Read no configuration (onnxpad.toml, pyproject.toml).",
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

CHOSEN = ("select", "ignore")
"""Options that say which findings count."""
TARGETS = ("target", "target_only")
"""Options that say for which runtimes."""
HOW = tuple(name for name in TYPED if name not in (*CHOSEN, *TARGETS, "strict"))
"""Options that say what is written, and those of the sizes."""


def takes_options(**places: Sequence[str]) -> Callable[[Command], Command]:
    """A decorator for a command whose last parameter takes options of `Options` by name.

    Args:
        places: By parameter of the command, the options that its help lists after it.
    """

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command)
        *own, _ = signature.parameters.values()
        listed = ([each, *map(_parameter, places.get(each.name, ()))] for each in own)
        vars(command)["__signature__"] = signature.replace(parameters=[*chain(*listed)])
        return command

    return decorated


def _parameter(name: str) -> inspect.Parameter:
    """An option as a parameter of a command."""
    typed, usual = TYPED[name], getattr(Options(), name)
    kind, shown = typed.kind, cast("bool | str", True)
    if isinstance(usual, Unasked):  # so that it is known whether it was typed
        kind, shown, usual = kind | None, str(usual), ()
    option = typer.Option(
        typed.option,
        show_default=shown,
        help=typed.help,
        metavar=typed.metavar,
        rich_help_panel=None if name in _FIRST else ADVANCED,
        hidden=name in _RARE,
        autocompletion=completed(_COMPLETED[name]) if name in _COMPLETED else None,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None if usual == () else usual,
        annotation=Annotated[kind, option],
    )


_FIRST = {"style", "dynamic", "shapes", "dims", "target"}
"""Options that most people need."""
_RARE = {"symmetric_transpose", "trust_dim_names", "target_only"}
_COMPLETED = dict.fromkeys(CHOSEN, "codes") | {"target": "targets"}


def options_given(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `Options` by name, as the parameters of a command have them.

    Raises:
        UsageError: A name or a size is missing, a name is given twice, or a selector names no code.
    """
    read: dict[str, Callable[[str, Sequence[str]], Any]] = {
        "shapes": sizes_by_name,
        "dims": sizes_by_name,
        "select": codes,
        "ignore": codes,
        "target": lambda _, names: tuple(names),
    }
    usual = Options()
    return {
        name: read[name](TYPED[name].option, value or ())
        if name in read
        else getattr(usual, name)
        if value is None
        else value
        for name, value in typed.items()
    }


def words_typed(typed: Mapping[str, Any]) -> list[str]:
    """The words of options of `Options`, as the parameters of a command have them.

    >>> words_typed({"style": "pad", "strict": True, "ignore": ["PAD1"], "dynamic": None})
    ['--style', 'pad', '--strict', '--ignore', 'PAD1']
    """
    found: list[str] = []
    for name, value in typed.items():
        usual = getattr(Options(), name)
        if value is None or (value == usual and not isinstance(usual, Unasked)):
            continue
        option = TYPED[name].option
        for each in value if isinstance(value, list) else [value]:
            found += [option] if each is True else [option, str(each)]
    return found


def codes(option: str, selectors: Sequence[str]) -> tuple[str, ...]:
    """The codes that an option names, as `expand_codes` does; none if it is not given."""
    if not selectors:
        return ()
    from onnxpad.rewrite.registry import every_code

    return expand_codes(option, selectors, every_code())


def expand_codes(option: str, selectors: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The known codes that the selectors name, whole or by prefix, sorted.

    Args:
        option: The option they come from, for the message; empty for a positional argument.
        selectors: Codes or prefixes; a string may have several, separated by commas.
        known: Every code there is.

    Raises:
        UsageError: A selector names no code.

    >>> expand_codes("--select", ["PAD1,PAD201"], ["PAD101", "PAD102", "PAD201", "PAD202"])
    ('PAD101', 'PAD102', 'PAD201')
    """
    chosen = codes_given(option, selectors, known)
    return tuple(sorted(code for code in known if code.startswith(chosen)))


def configuration_of(model: Path, typed: Mapping[str, Any], *, isolated: bool) -> "Applied | None":
    """The part of the configuration nearest to a model that is about it, and for a command.

    The nearest is looked for upward from the model's folder, and then from the working folder.

    Args:
        model: The model, which need not be there.
        typed: The options that the command takes, by name; what was not typed is None, False,
            empty, or `Unasked`.
        isolated: Whether to read no configuration.

    Returns:
        What holds; None if there is no configuration, or nothing in it is for this command.

    Raises:
        UsageError: A configuration cannot be read, or is not as it should be.
    """
    return configurations_of([model], typed, isolated=isolated).get(model)


def configurations_of(
    models: Iterable[Path], typed: Mapping[str, Any], *, isolated: bool
) -> "dict[Path, Applied]":
    """The same for several models; each has the configuration that is nearest to it."""
    applied, known = dict[Path, "Applied"](), Known()
    for model in () if isolated else models:
        found = _nearest(model, known)
        said = None if found is None else found.applied(model, typed)
        if said is not None:
            applied[model] = said
    return applied


Known = dict[Path, "Configuration | None"]
"""The configuration that holds in each folder."""


def _nearest(model: Path, known: Known) -> "Configuration | None":
    """The configuration nearest to a model, or else to the working folder; None without one."""
    try:
        here, place = Path.cwd(), Path(os.path.normpath(model.absolute()))
    except OSError:  # the working folder was removed
        return None
    return _above(place.parent, known) or _above(here, known)


def _above(folder: Path, known: Known) -> "Configuration | None":
    """The configuration in a folder, or else the nearest in those above it."""
    passed, found = list[Path](), None
    for each in (folder, *folder.parents):
        if each in known:
            found = known[each]
            break
        passed.append(each)
        found = _configuration_in(each)
        if found is not None:
            break
    known.update(dict.fromkeys(passed, found))
    return found


_TABLES = tuple(b"\ntool" + end for end in (b".onnxpad", b"]", b"="))
"""How a line of a pyproject.toml with a table `tool.onnxpad` begins, but for what is `_LOOSE`."""
_LOOSE = b" \t\"'["

_LONGEST = 1 << 20
"""Bytes of a pyproject.toml; what is longer is refused where it is read."""


def _configuration_in(folder: Path) -> "Configuration | None":
    """The configuration in a folder; None, without an import, if no file there has one."""
    path = folder / "onnxpad.toml"
    if not os.path.lexists(path):
        path = folder / "pyproject.toml"
        if not os.path.isfile(path):  # noqa: PTH113  # Path.is_file raises where nobody may look
            return None
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        bare = b"\n" + data.translate(None, _LOOSE)
        if len(data) <= _LONGEST and not any(begin in bare for begin in _TABLES):
            return None
    from onnxpad.cli.configuration import read

    return read(path)
