"""The arguments and options of all commands, each told once; nothing heavy is imported for them."""

import enum
import functools
import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from onnxpad.arguments import codes_given, sizes_by_name
from onnxpad.errors import RUNTIME, UsageError
from onnxpad.options import TYPED, Options, Typed, Unasked

FILES = ("onnxpad.toml", "pyproject.toml")
"""Names of configurations; in one folder the first counts."""

Format = enum.StrEnum("Format", ["TEXT", "JSON"])
CheckFormat = enum.StrEnum("CheckFormat", ["TEXT", "JSON", "SARIF", "GITHUB"])


def path(text: str) -> Path:
    """A path as given, which must not be empty, as the working folder is, or `FILE/`."""
    if not text:
        raise typer.BadParameter("an empty name; give the name of a file")
    if text.endswith(("/", os.sep)) and (found := Path(text)).is_file():
        raise UsageError(f"{found} is a file, not a folder")
    return Path(text)


def _told(help_text: str, kind: Any, metavar: str | None = None, option: str = "") -> Typed:
    return Typed(help_text, option, kind, metavar)


def _numbers(help_text: str) -> Typed:
    return _told(help_text, str, "N[xN...]")


_LIST = list[str]
_TABLE: Mapping[str, Mapping[str, Typed]] = {
    "": {
        "model": _told("The model.", Path, "MODEL"),
        "paths": _told("Models, or folders to search for them.", list[Path], "PATH..."),
        "models": _told("Models, folders, or patterns as 'a/**/*.onnx'.", list[Path], "MODEL..."),
        "original": _told("The model to compare with.", Path, "ORIGINAL"),
        "rewritten": _told("The new model.", Path, "[REWRITTEN]"),
        "codes": _told("Codes, prefixes (PAD1), or words of reports.", _LIST, "[CODE]..."),
        "names": _told("Targets, as NAME[-VARIANT][@VERSION], or files.", _LIST, "[NAME]..."),
        "page": _told("The page to show; without it, all are listed.", str, "[PAGE]"),
    },
    "Files": {
        "output": _told("The file to write; replaces an older one.", Path, "FILE", "--output -o"),
        "in_place": Typed("Replace the model."),
        "inputs": _told("Inputs to run on: .npz, .npy, or a folder of test data.", Path, "PATH"),
        "references": _told(
            "A framework's inputs and outputs; repeatable.", list[Path], "PATH", "--reference"
        ),
        "counterexample": _told("Write inputs on which they differ.", Path, "FILE"),
        "keep_invalid": Typed("Write the result although it is invalid."),
    },
    "Operator": {
        "node": _told("The node of the model, or a pattern.", str, "NAME"),
        "nodes": _told("Show a node, Pad or tensor in full. Repeatable.", _LIST, "NAME", "--node"),
        "op": _told("conv, maxpool, avgpool or convtranspose.", str, "OP"),
        "size": _numbers("Elements of the data on each axis, as 224x160."),
        "kernel": _numbers("Size of the window: one number, or one per axis."),
        "stride": _numbers("The same for the stride.  [default: 1]"),
        "dilation": _numbers("The same for the dilation.  [default: 1]"),
        "padding": _numbers("The padding on both sides, where a convention leaves it to the user."),
        "output_padding": _numbers("What a convtranspose appends to its output."),
        "output_size": _numbers("Say which padding gives this output size, and who writes it."),
    },
    "Padding": {
        "to": _told(
            "tensorflow, keras, tflite, pytorch, caffe, cudnn, paddle, coreml, coreml-top-left, "
            "onnx-same-upper, onnx-same-lower, or valid to pad nothing.",
            str,
            "FRAMEWORK",
        ),
        "only": _told("Only these", _LIST, "NAMES"),
        "convention": _told(
            "Warn of operators that do not pad as this framework does, such as tensorflow or "
            "pytorch. (--select PAD6 says what fits.)",
            str,
            "NAME",
        ),
        **TYPED,
    },
    "Runs": {
        "no_validate": Typed("Do not run the models to compare them."),
        "provider": _told(
            "cpu, cuda, tensorrt, auto (CUDA where it runs), an installed plugin (openvino, "
            f"webgpu, tensorrt-rtx) or {RUNTIME}'s name of one; repeatable.  [default: cpu]",
            _LIST,
            "PROVIDER",
        ),
        "no_fallback": Typed("Fail where nodes fall back to the CPU."),
        "samples": _told("How many inputs to draw.  [default: 1]", int),
        "seed": _told("The seed of the first; the next count up.  [default: 0]", int),
        "seconds": _told("How long to search.  [default: 120]", float),
        "rtol": _told("Allowed difference, relative to each element.", float),
        "atol": _told("Allowed difference, absolute.", float),
    },
    "Many models": {
        "jobs": _told("How many models at once: a line for each, the worst first.", int),
        "time_limit": _told("Seconds after which a model is given up.", float, "SECONDS"),
        "resume": _told("Take from it what unchanged models gave; keep the rest.", Path, "FILE"),
    },
    "Report": {
        "form": Typed("Format of the report.  [default: text]", "--format", Format),
        "check_form": Typed("Format of the report.  [default: text]", "--format", CheckFormat),
        "html": _told("Write the report as a page, too.", Path, "FILE"),
        "quiet": Typed("No bar; no report but JSON where nothing needs attention.", "--quiet -q"),
        "verbose": Typed("Everything: every change, proof, reason and run.", "--verbose -v"),
        "loud": Typed(
            "Everything: every change, proof, reason and run; or no bar, and no report but JSON "
            "where nothing needs attention.",
            "--verbose/--quiet -v/-q",
            bool | None,
        ),
        "diff": Typed("Write nothing, print a diff of one model's nodes; exit 1 if any changes."),
        "fail_on": _told(
            "What fails: the least severity, codes or prefixes, with commas.  [default: warning]",
            _LIST,
            "WHAT",
        ),
        "schema": Typed("Print the JSON Schema of the reports of --format json."),
    },
}
"""Every argument and option of a command by its name, in the groups of a help.

The first group are the arguments. One that repeats is a list.
"""
_SINGLE = {
    name: (each.option or f"--{name.replace('_', '-')}").split()[0]
    for group, rows in _TABLE.items()
    for name, each in rows.items()
    if group and each.kind not in {bool, bool | None, _LIST, list[Path]}
}
"""The options that do not repeat, as they are typed."""
CHOSEN = ("select", "ignore")
"""Options that say which findings count."""
MANY = ("jobs", "time_limit", "resume")
"""Options of runs over many models."""
HOW = tuple(name for name in TYPED if name not in CHOSEN)
"""Options that say what is written, for which runtimes and sizes."""


class Asked(SimpleNamespace):
    """The arguments and options of one call of a command.

    What was not typed is None, False or empty; what the command does not take is None.
    """

    def __getattr__(self, name: str) -> Any:
        """None for an option that other commands take."""
        if not any(name in rows for rows in _TABLE.values()):
            raise AttributeError(f"there is no option {name!r}")
        return None

    def some(self, *names: str) -> dict[str, Any]:
        """These options by name."""
        return {name: getattr(self, name) for name in names}


def takes(*names: str, **more: str) -> Callable[[Callable[[Asked], int]], Callable[..., int]]:
    """A decorator that makes a command of a function: with arguments and options of the table.

    Args:
        names: Those that it takes; a `!` behind one that must be given.
        more: By name, what the help says of it beside the table.
    """
    parameters = [
        _parameter(name, group, more.get(name, ""), is_needed=f"{name}!" in names)
        for group, rows in _TABLE.items()
        for name in rows
        if name in names or f"{name}!" in names
    ]

    def decorated(command: Callable[[Asked], int]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(**given: Any) -> int:
            if "loud" in given:
                loud = given.pop("loud")
                given |= {"verbose": loud is True, "quiet": loud is False}
            return command(Asked(**{name: _once(name, each) for name, each in given.items()}))

        vars(called)["__signature__"] = inspect.Signature(parameters)
        return called

    return decorated


def _once(name: str, value: Any) -> Any:
    """The value of an option; of one that does not repeat, typed once, a parser has a list."""
    if not isinstance(value, list) or name not in _SINGLE:
        return value
    if value[1:]:
        raise UsageError(f"{_SINGLE[name]} is given {len(value)} times; give it once")
    return value[0] if value else None


def _parameter(name: str, group: str, more: str, *, is_needed: bool) -> inspect.Parameter:
    told = _TABLE[group][name]
    how: dict[str, Any] = {
        "help": f"{told.help} {more}".rstrip(),
        "metavar": told.metavar and (told.metavar.strip("[]") if is_needed else told.metavar),
        "parser": path if told.kind in {Path, list[Path]} else None,
        "autocompletion": _COMPLETED.get(name),
    }
    if group:
        usual = getattr(Options(), name) if name in TYPED else None
        said: Any = typer.Option(
            *(told.option or f"--{name.replace('_', '-')}").split(),
            show_default=f"{usual}, or as --target needs" if isinstance(usual, Unasked) else True,
            rich_help_panel=group,
            **how,
        )
    else:
        said = typer.Argument(**how)
    is_flag = told.kind is bool
    default = inspect.Parameter.empty if is_needed else False if is_flag else None
    kind: Any = list[told.kind] if name in _SINGLE else told.kind  # type: ignore[name-defined]
    kind = kind if is_needed or is_flag else kind | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, said]
    )


def _codes(incomplete: str) -> list[str]:
    """The codes of findings, for a shell; where some are given, with commas, those and one more."""
    from onnxpad.rewrite.registry import every_code

    given, comma, last = incomplete.rpartition(",")
    return [f"{given}{comma}{code}" for code in every_code() if code.startswith(last)]


def _targets(incomplete: str) -> list[str]:
    from onnxpad.targets.known_targets import known

    return [each for each in known() if each.startswith(incomplete)]


_COMPLETED = {**dict.fromkeys((*CHOSEN, "codes"), _codes), "target": _targets, "names": _targets}


def options_given(asked: Asked) -> dict[str, Any]:
    """The options of `Options` that were typed, by name.

    Raises:
        UsageError: A name or a size is missing, a name is given twice, or a selector names no code.
    """
    given = {name: each for name in TYPED if (each := getattr(asked, name))}
    for name in given.keys() & {"shapes", "dims"}:
        given[name] = sizes_by_name(TYPED[name].option, given[name])
    for name in given.keys() & {*CHOSEN}:
        from onnxpad.rewrite.registry import every_code

        given[name] = codes_given(TYPED[name].option, given[name], every_code())
    return given


def above(model: Path) -> list[Path]:
    """The folders in which a model has its configuration: the nearest is the first that has one."""
    try:
        here, place = Path.cwd(), Path(os.path.normpath(model.absolute()))
    except OSError:  # the working folder was removed
        return []
    return [*place.parents, here, *here.parents]
