"""The command line: parse, call the library, render, exit.

Everything heavy is imported where it is used: `--help` needs no onnx, `check` no onnxruntime.
"""

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from onnxpad import __version__
from onnxpad.cli.output import INTERRUPTED, explained, interruption, report_beside, tell_as_json
from onnxpad.process import was_interrupted

COMMANDS = {
    **{name: f"onnxpad.cli.{name}_command" for name in ("fix", "check")},
    "show": "onnxpad.cli.padding_commands",
    **dict.fromkeys(("validate", "prove"), "onnxpad.cli.validate_command"),
    **dict.fromkeys(("match", "repad", "explain"), "onnxpad.cli.padding_commands"),
    **dict.fromkeys(("rule", "targets", "docs", "doctor"), "onnxpad.cli.rule_commands"),
}
"""The module of each command."""


class _Commands(TyperGroup):
    """The commands; every failure becomes one line on stderr and an exit code."""

    def __init__(self, **options: Any) -> None:
        """Takes what typer gives a group."""
        super().__init__(**options)
        self.commands = dict.fromkeys(COMMANDS, typer.core.TyperCommand(None))

    def get_command(self, _: Any, cmd_name: str) -> Any:
        """A command, imported when it is asked for: none needs the others."""
        if cmd_name not in COMMANDS:
            return None
        function = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command(short_help=function.__doc__.partition("\n")[0])(function)
        return typer.main.get_command(alone)

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # escape characters that the console cannot show
                stream.reconfigure(errors="backslashreplace")
        extra |= {"standalone_mode": False, "prog_name": "onnxpad"}
        failure: Exception | None = None
        try:
            code = super().main(args, *others, **extra)
        except Exception as error:
            failure, code = error, None
        if failure is not None or code == INTERRUPTED:
            told = interruption() if failure is None or was_interrupted() else explained(failure)
            report_beside(f"error: {told[1]}")
            tell_as_json(told, sys.argv[1:] if args is None else list(args))
            code = told[2]
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
