"""The command line: parse, call the library, render, exit.

Everything heavy is imported where it is used: `--help` needs no onnx, `check` no onnxruntime.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from onnxpad import __version__
from onnxpad.cli.output import INTERRUPTED, INTERRUPTION, explained, report_failure
from onnxpad.errors import UsageError
from onnxpad.process import was_interrupted

_COMPLETION = frozenset({"--install-completion", "--show-completion"})
"""Options that ask for the script which a shell needs."""

COMMANDS = {
    "fix": ("fix_command", "Rewrite a model's padding, prove it, validate it, write it."),
    "check": (
        "check_command",
        "Report padding that fix would rewrite, and what stays and why.",
    ),
    "show": (
        "show_command",
        "Show every padding of a model, or one in full: where it comes from, why it stays.",
    ),
    "validate": (
        "validate_command",
        "Run two models, or one and a framework's outputs, and compare.",
    ),
    "match": (
        "match_command",
        "Find the padding with which a model reproduces recorded outputs.",
    ),
    "repad": (
        "repad_command",
        "Bring a model's padding to another framework's convention; results change.",
    ),
    "explain": (
        "explain_command",
        "Compare what each framework's padding convention pads and returns.",
    ),
    "rule": (
        "rule_commands",
        "Explain codes: what is found, why it matters, when a rewrite is exact.",
    ),
    "targets": ("rule_commands", "List the runtimes of which it is known what they take."),
    "docs": ("rule_commands", "Show the manual, page by page."),
    "doctor": (
        "rule_commands",
        "Try the packages, providers and CUDA libraries here; say how to mend what fails.",
    ),
}
"""The module of each command, and what it does in short."""


class _ByName(Mapping[str, Any]):
    """The commands, each imported when it is asked for: none needs the others."""

    def __getitem__(self, name: str) -> Any:
        module, short_help = COMMANDS[name]
        function = getattr(importlib.import_module(f"onnxpad.cli.{module}"), name)
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command(short_help=short_help)(function)
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """The commands; every failure becomes one line on stderr and an exit code."""

    def __init__(self, **options: Any) -> None:
        """Takes what typer gives a group."""
        super().__init__(**options)
        self.commands: Any = _ByName()

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # escape characters that the console cannot show
                stream.reconfigure(errors="backslashreplace")
        words = sys.argv[1:] if args is None else list(args)
        extra["standalone_mode"] = False
        asks_for_script = bool(words) and words[0] in _COMPLETION
        if asks_for_script:  # the script names the program, not python -m
            extra["prog_name"] = "onnxpad"
        try:
            code = super().main(args, *others, **extra)
            if code == 1 and asks_for_script:
                raise UsageError(
                    "completion is for bash, zsh, fish and PowerShell, and none of them started "
                    "this command"
                )
        except Exception as error:
            failure = INTERRUPTION if was_interrupted() else explained(error)
            code = failure.code
            if code != INTERRUPTED:
                report_failure(failure, words)
        if code == INTERRUPTED:
            report_failure(INTERRUPTION, words)
        sys.exit(code or 0)


app = typer.Typer(
    cls=_Commands,
    add_completion=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> int:
    """Finds, fixes and proves the padding of exported ONNX graphs."""
    if version:
        typer.echo(f"onnxpad {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
    return 0
