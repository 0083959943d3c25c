"""The options of all commands, each told once, and how they are parsed.

Nothing heavy is imported before a command runs: `--help` needs no onnx.
"""

import enum
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import typer

from onnxpad.arguments import codes_given, sizes_by_name
from onnxpad.errors import RUNTIME
from onnxpad.options import TYPED, Options, Typed, Unasked

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


def path(text: str) -> Path:
    """A path as given; an empty one, which `Path` takes for the working folder, is an error."""
    if not text:
        raise typer.BadParameter("an empty name; give the name of a file")
    return Path(text)


FILES, OPERATOR, PADDING, RUNS, REPORT = "Files", "Operator", "Padding", "Runs", "Report"
MANY = "Many models"
_NUMBERS = "N[xN...]"
_TABLE: Mapping[str, Mapping[str, Typed]] = {
    "": {
        "model": Typed("The model.", metavar="MODEL"),
        "paths": Typed("Models, or folders to search for them.", metavar="PATH..."),
        "models": Typed(
            "The model; or several, folders, and patterns such as 'exported/**/*.onnx'.",
            metavar="MODEL...",
        ),
        "original": Typed("The model to compare with, or a folder.", metavar="ORIGINAL"),
        "rewritten": Typed(
            "The model to check, or the folder of models at the same paths; or give --reference.",
            metavar="[REWRITTEN]",
        ),
        "codes": Typed(
            "Codes or prefixes of codes (PAD1), or words of a report (guarded, finite data).",
            metavar="[CODE]...",
        ),
        "names": Typed(
            "Targets to explain, as NAME[-VARIANT][@VERSION], or files of your own.",
            metavar="[NAME]...",
        ),
        "page": Typed("The page to show; without it, all are listed.", metavar="[PAGE]"),
    },
    FILES: {
        "output": Typed(
            "Where to write; replaces a file of that name.", "--output -o", metavar="FILE"
        ),
        "in_place": Typed("Replace the model."),
        "inputs": Typed(
            "Inputs to run on: .npz, .npy, or a folder of ONNX test data.", metavar="PATH"
        ),
        "reference": Typed(
            "A framework's inputs and outputs, to be reproduced: .npz, or a folder of ONNX test "
            "data.",
            metavar="PATH",
        ),
        "keep_invalid": Typed("Write the result although it is invalid."),
        "partial": Typed("Write also a padding that explains only a part of the difference."),
    },
    OPERATOR: {
        "node": Typed("The node of the model, or a pattern.", metavar="NAME"),
        "op": Typed("conv, maxpool, avgpool or convtranspose.", metavar="OP"),
        "size": Typed("Elements of the data on each axis, as 224x160.", metavar=_NUMBERS),
        "kernel": Typed("Size of the window: one number, or one per axis.", metavar=_NUMBERS),
        "stride": Typed("The same for the stride.  [default: 1]", metavar=_NUMBERS),
        "dilation": Typed("The same for the dilation.  [default: 1]", metavar=_NUMBERS),
        "padding": Typed(
            "The padding on both sides, for conventions that leave it to the user.",
            metavar=_NUMBERS,
        ),
        "output_padding": Typed("What a convtranspose appends to its output.", metavar=_NUMBERS),
        "output_size": Typed(
            "Say which padding gives this output size, and who writes it.", metavar=_NUMBERS
        ),
    },
    PADDING: {
        "to": Typed(
            "tensorflow, keras, tflite, pytorch, caffe, cudnn, paddle, coreml, coreml-top-left, "
            "onnx-same-upper, onnx-same-lower, or valid to pad nothing.",
            metavar="FRAMEWORK",
        ),
        "only": Typed("Only these", metavar="NAMES"),
        "convention": Typed(
            "Warn of operators that do not pad as this framework does: tensorflow, keras, pytorch, "
            "caffe, paddle, coreml, tflite and so on. (--select PAD6 says what fits.)",
            metavar="NAME",
        ),
        **TYPED,
    },
    RUNS: {
        "no_validate": Typed("Do not run the models to compare them."),
        "provider": Typed(
            "cpu, cuda, tensorrt, auto (CUDA where it runs), an installed plugin (openvino, "
            f"webgpu, tensorrt-rtx) or {RUNTIME}'s name of one; repeatable.  [default: cpu]",
            metavar="PROVIDER",
        ),
        "no_fallback": Typed("Fail where nodes fall back to the CPU."),
        "samples": Typed("How many inputs to draw.  [default: 1]"),
        "seed": Typed("The seed of the first; the next count up.  [default: 0]"),
        "seconds": Typed("How long to search."),
        "rtol": Typed("Allowed difference, relative to each element."),
        "atol": Typed("Allowed difference, absolute."),
    },
    MANY: {
        "jobs": Typed(
            "How many models at once, in processes of their own: a line for each, the worst first."
        ),
        "time_limit": Typed("Seconds after which a model is given up.", metavar="SECONDS"),
        "resume": Typed(
            "Take from this file what unchanged models have given, and keep the rest there.",
            metavar="FILE",
        ),
    },
    REPORT: {
        "form": Typed("Format of the report.", "--format"),
        "html": Typed(
            "Also write the report as a page with pictures, which needs no other file.",
            metavar="FILE",
        ),
        "quiet": Typed(
            "No progress bar, and no report unless something needs attention. JSON is written all "
            "the same.",
            "--quiet -q",
        ),
        "verbose": Typed("Everything: every change, proof, reason and run.", "--verbose -v"),
        "loud": Typed(
            "Everything: every change, proof, reason and run; or no progress bar, and no report "
            "unless something needs attention.",
            "--verbose/--quiet -v/-q",
        ),
        "diff": Typed(
            "Write nothing, and print a diff of the nodes that change; exit 1 if any does."
        ),
        "fail_on": Typed("The least severity that makes the check fail."),
        "schema": Typed("Print the JSON Schema of the reports of --format json."),
    },
}
"""Every argument and option of a command by its parameter, in the groups of a help.

The first group are the arguments.
"""
CHOSEN = ("select", "ignore")
"""Options that say which findings count."""
HOW = tuple(name for name in TYPED if name not in CHOSEN)
"""Options that say what is written, for which runtimes and sizes."""


def completed_codes(incomplete: str) -> list[str]:
    """The codes of findings, for a shell; where some are given, with commas, those and one more."""
    from onnxpad.rewrite.registry import every_code

    given, comma, last = incomplete.rpartition(",")
    return [f"{given}{comma}{code}" for code in every_code() if code.startswith(last)]


def completed_targets(incomplete: str) -> list[str]:
    """The targets, for a shell."""
    from onnxpad.targets.known_targets import known

    return [each for each in known() if each.startswith(incomplete)]


_COMPLETED = dict.fromkeys(("select", "ignore", "codes"), completed_codes) | dict.fromkeys(
    ("target", "names"), completed_targets
)


def takes(*options: str, **more: str) -> Callable[[Command], Command]:
    """A decorator for a command: tells its arguments and options, as the table has them.

    Help lists them by the groups of the table.

    Args:
        options: Those of `Options` that the command takes as further keywords.
        more: By parameter, what the help says of it beside the table.
    """

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        every = [*own, *map(_option, options)]
        told = [
            _parameter(each, group, more.get(each.name, ""))
            for group, names in _TABLE.items()
            for each in every
            if each.name in names
        ]
        vars(command)["__signature__"] = signature.replace(parameters=told)
        return command

    return decorated


def _option(name: str) -> inspect.Parameter:
    """An option of `Options` as a parameter of a command."""
    kind, usual = TYPED[name].kind, getattr(Options(), name)
    if isinstance(usual, Unasked):  # so that it is known whether it was typed
        kind = kind | None
    default = None if usual == () or isinstance(usual, Unasked) else usual
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _parameter(own: inspect.Parameter, group: str, more: str) -> inspect.Parameter:
    """A parameter of a command with what the table says of it."""
    told, name = _TABLE[group][own.name], own.name
    kind = own.annotation
    how: dict[str, Any] = {
        "help": f"{told.help} {more}".rstrip(),
        "metavar": told.metavar,
        "parser": path if {Path, list[Path]} & {kind, *get_args(kind)} else None,
        "autocompletion": _COMPLETED.get(name),
    }
    if group:
        usual = getattr(Options(), name) if name in TYPED else None
        said: Any = typer.Option(
            *(told.option or f"--{name.replace('_', '-')}").split(),
            show_default=str(usual) if isinstance(usual, Unasked) else True,
            rich_help_panel=group,
            **how,
        )
    else:
        said = typer.Argument(**how)
    place = own.KEYWORD_ONLY if group else own.POSITIONAL_OR_KEYWORD
    return own.replace(kind=place, annotation=Annotated[kind, said])


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

    >>> words_typed({"style": "pad", "no_ceil": True, "ignore": ["PAD1"], "dynamic": None})
    ['--style', 'pad', '--no-ceil', '--ignore', 'PAD1']
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


def configurations_of(models: Iterable[Path], typed: Mapping[str, Any]) -> "dict[Path, Applied]":
    """The parts of configurations that are about models, and for a command.

    The nearest is looked for upward from the model's folder, and then from the working folder.

    Args:
        models: The models, which need not be there.
        typed: The options that the command takes, by name; what was not typed is None, False,
            empty, or `Unasked`.

    Returns:
        What holds, by model; none where there is nothing.

    Raises:
        UsageError: A configuration cannot be read, or is not as it should be.
    """
    known: Known = {}
    found = {model: _nearest(model, known) for model in models}
    applied = {model: each.applied(model, typed) for model, each in found.items() if each}
    return {model: each for model, each in applied.items() if each}


Known = dict[Path, "Configuration | None"]
"""The configuration in each folder."""


def _nearest(model: Path, known: Known) -> "Configuration | None":
    """The configuration nearest to a model, or else to the working folder; None without one."""
    try:
        here, place = Path.cwd(), Path(os.path.normpath(model.absolute()))
    except OSError:  # the working folder was removed
        return None
    for folder in (*place.parents, here, *here.parents):
        if folder not in known:
            known[folder] = _configuration_in(folder)
        if (found := known[folder]) is not None:
            return found
    return None


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
