"""The command line: parse, call the library, render, exit.

Everything heavy is imported where it is used: `--help` needs no onnx, `check` no onnxruntime.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from onnxpad._version import __version__
from onnxpad.cli import completion
from onnxpad.cli.check_command import check
from onnxpad.cli.explain_command import explain
from onnxpad.cli.fix_command import fix
from onnxpad.cli.match_command import match
from onnxpad.cli.output import INTERRUPTED, INTERRUPTION, explained, report_failure
from onnxpad.cli.repad_command import repad
from onnxpad.cli.rule_commands import doctor, rule, rules
from onnxpad.cli.show_command import show
from onnxpad.cli.validate_command import validate
from onnxpad.errors import UsageError
from onnxpad.process import signals


class _Commands(TyperGroup):
    """The commands; every failure becomes one line on stderr and an exit code."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # escape characters that the console cannot show
                stream.reconfigure(errors="backslashreplace")
        words = sys.argv[1:] if args is None else list(args)
        extra["standalone_mode"] = False
        completion.rejoin()
        try:
            if completion.is_asked_for(words):  # the script names the program, not python -m
                extra["prog_name"] = "onnxpad"
            code = super().main(args, *others, **extra)
            if code == 1 and completion.is_asked_for(words):
                raise UsageError(completion.UNKNOWN_SHELL)
        except Exception as error:
            failure = INTERRUPTION if signals.asked() else explained(error)
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


for _command, _help in (
    (fix, "Rewrite a model's padding, prove it, validate it, write it."),
    (check, "Report padding that fix would rewrite, and what stays and why."),
    (show, "Show every padding of a model, or one in full: where it comes from, why it stays."),
    (validate, "Run two models, or one and a framework's outputs, and compare."),
    (match, "Find the padding with which a model reproduces recorded outputs."),
    (repad, "Bring a model's padding to another framework's convention; results change."),
    (explain, "Compare what each framework's padding convention pads and returns."),
    (rules, "List the codes of what onnxpad finds."),
    (rule, "Explain codes: what is found, why it matters, when a rewrite is exact."),
    (doctor, "Try the packages, providers and CUDA libraries here; say how to mend what fails."),
):
    app.command(short_help=_help)(_command)
