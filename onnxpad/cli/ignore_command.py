"""`onnxpad ignore`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from onnxpad.cli.fix_command import target_of
from onnxpad.cli.options import (
    HOW,
    TARGETS,
    completed,
    expand_codes,
    options_given,
    path,
    takes_options,
)
from onnxpad.cli.output import write
from onnxpad.errors import UsageError
from onnxpad.options import Options


@takes_options(remove=(*HOW, *TARGETS, "strict"))
def ignore(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The model, which is replaced.", parser=path)
    ],
    code: Annotated[
        str,
        typer.Argument(
            metavar="[CODE]", help="The code of the findings.", autocompletion=completed("codes")
        ),
    ] = "",
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only what is found about this node or output. Repeatable."
        ),
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Why, for those who read the reports."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write this file instead.", parser=path
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what the model ignores, and write nothing.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Do not ignore it any more; all of it without a CODE.")
    ] = False,
    convention: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completed("frameworks"),
            help="As for check, and as all options below: with what the finding is found.",
        ),
    ] = None,
    **options: Any,
) -> int:
    """Write into a model, with a reason, which findings check and fix are to ignore.

    A copy of the model keeps that. With --node only places are ignored, which are known by their
    padding as in a baseline; else the code wherever it is found in this model. Every report counts
    what is ignored and says why, and --isolated heeds none of it. Weights in other files stay.

    Exit codes: 0 done, 2 bad usage, no such finding, or an unreadable model.
    """
    user_options = Options.from_mapping(options_given(options))

    from onnxpad.api import ignore as api
    from onnxpad.report.text import counted, shown

    nodes = tuple(node or ())
    if listed:
        if remove or reason is not None or code or nodes or output is not None:
            raise UsageError("--list takes the model alone: it lists all that is ignored")
        found = api.ignored_in(model)
        lines = [f"{shown(each.text)}: {shown(each.reason)}\n" for each in found]
        write("".join(lines) or f"{shown(str(model))}: ignores nothing\n")
        return 0
    if reason is not None and remove:
        raise UsageError("--remove takes no --reason; leave out one of them")
    if nodes and not code:
        raise UsageError("--node needs the CODE of the finding")
    target = target_of(model, output, in_place=output is None, command="ignore")
    named = shown(str(output or model))
    if remove:
        one = _code(code) if code else ""
        gone = api.heed_again(model, target, one, nodes)
        write(f"{named}: no longer ignores {', '.join(shown(e.text) for e in gone) or 'it'}\n")
        return 0
    if not code:
        raise UsageError("name the CODE to ignore, and say why with --reason TEXT")
    if reason is None:
        raise UsageError(f"say why {shown(code)} is to be ignored: --reason TEXT")
    found_now = api.ignore(
        model,
        target,
        _code(code),
        reason,
        nodes=nodes,
        convention=convention,
        **user_options.keywords,
    )
    places = "" if nodes else ", wherever it is found"
    write(f"{named}: ignores {counted(len(found_now), 'finding')} {_code(code)}{places}\n")
    return 0


def _code(code: str) -> str:
    """One code in full.

    Raises:
        UsageError: It is none, or the beginning of several.
    """
    from onnxpad.pipeline.registry import every_code

    (*_, last) = codes = expand_codes("", [code], every_code())
    if len(codes) > 1:
        raise UsageError(f"{code} stands for {len(codes)} codes; name one, such as {last}")
    return last
