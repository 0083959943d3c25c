"""The command line: parse, call the library, render, exit.

Imports api, validating, report, rule and the values.

Everything heavy is imported where it is used: `--help` needs no onnx, `check` no onnxruntime.
"""

import enum
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from onnxpad import __version__, collection
from onnxpad.errors import OnnxpadError, OutputError, UsageError
from onnxpad.finding import Severity

if TYPE_CHECKING:
    from onnxpad.api import CheckResult
    from onnxpad.report import FileReport, Outcome
    from onnxpad.report.text import Paint

INTERRUPTED, BROKEN_PIPE, INTERNAL = 130, 141, 70


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
    """What becomes of external data; the values of `graph.ExternalData`, without importing it."""

    COPY = "copy"
    LINK = "link"
    INLINE = "inline"


class _Commands(TyperGroup):
    """The commands, with every way to end mapped to one line on stderr and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and leave with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a name that the console cannot show is no error
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except Exception as error:
            message, code = _explained(error)
            _error(message)
        if code == INTERRUPTED:
            _error("interrupted")
        sys.exit(code or 0)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
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
FormatOption = Annotated[Format, typer.Option("--format", help="How the report is written.")]


@app.command(short_help="Rewrite a model's padding, prove it, validate it, write it.")
@collection.paused_for_good()
def fix(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The model to fix.", readable=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write.  [default: MODEL.fixed.onnx]", readable=False
        ),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace the model.")] = False,
    style: StyleOption = Style.FOLD,
    dynamic: DynamicOption = Dynamic.KEEP,
    shape: ShapeOption = None,
    dim: DimOption = None,
    trust_dim_names: TrustOption = False,
    form: FormatOption = Format.TEXT,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit 1 if a rewrite would be made."),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="As --check; the report is a diff of the nodes, a line each."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse rewrites that take anything for granted.")
    ] = False,
    no_validate: Annotated[
        bool, typer.Option("--no-validate", help="Do not run the models to compare them.")
    ] = False,
    keep_invalid: Annotated[
        bool, typer.Option("--keep-invalid", help="Write the result although validation failed.")
    ] = False,
    external_data: Annotated[
        ExternalData,
        typer.Option(
            help="What becomes of weights in files beside the model when the result is written to "
            "another folder: they are copied or hard-linked there. inline puts them inside the "
            "result, in any folder."
        ),
    ] = ExternalData.COPY,
) -> int:
    """Rewrite a model's padding, prove each change, compare both models, and write the result.

    Exit codes: 0 fixed or nothing to do, 1 a rewrite would be made (--check, --diff), 2 bad
    usage or unreadable input, 3 validation failed.
    """
    target = _target(model, output, in_place)
    shapes, dims = _given("--shape", shape or ()), _given("--dim", dim or ())
    check |= diff

    from onnxpad import api
    from onnxpad.report import FixReport, Outcome
    from onnxpad.report.progress import ProgressBar

    with ProgressBar() as progress:
        result = api.fix(
            model,
            style=style.value,
            dynamic=dynamic.value,
            shapes=shapes,
            dims=dims,
            trust_dim_names=trust_dim_names,
            validate=not no_validate,
            strict=strict,
            progress=progress,
        )
    invalid = result.validation is not None and not result.validation.ok
    if not result.changed:
        outcome = Outcome.UNCHANGED
    elif invalid:
        outcome = Outcome.INVALID
    else:
        outcome = Outcome.FIXABLE if check else Outcome.FIXED
    written = not check and _is_written(
        outcome, asked=output is not None, keep_invalid=keep_invalid
    )
    data: tuple[Path, ...] = ()
    if written:
        with ProgressBar() as progress:
            data = result.save(target, external_data=external_data.value, progress=progress)
    difference = None
    if diff:
        from onnxpad.report.diff import unified_diff

        difference = unified_diff(*result.outlines(), (str(model), str(target)))
    report = FixReport(
        model=str(model),
        style=style.value,
        dynamic=dynamic.value,
        outcome=outcome,
        written=str(target) if written else "",
        data=tuple(map(str, data)),
        inline=external_data is ExternalData.INLINE,
        check=check,
        validate=not no_validate,
        declared=result.declared,
        ranges=result.ranges,
        changes=result.changes,
        findings=result.findings,
        undone=result.undone,
        validation=result.validation,
        nodes_before=result.nodes_before,
        nodes_after=result.nodes_after,
        seconds=result.seconds,
        diff=difference,
    )
    if form is Format.JSON:
        from onnxpad.report.json import fix_json

        _write(fix_json(report))
    elif difference is not None:
        from onnxpad.report.diff import painted

        _write(painted(difference, _paint()))
    else:
        from onnxpad.report.text import fix_text

        _write(fix_text(report, _paint()))
    if invalid:
        _error("validation failed: the rewritten model does not compute what the original computes")
    return report.exit_code


@app.command(short_help="Report padding that fix would rewrite, and what stays and why.")
def check(
    paths: Annotated[
        list[Path],
        # What cannot be read is reported beside the others, not refused as bad usage.
        typer.Argument(
            metavar="PATH...", help="Models, or folders to search for them.", readable=False
        ),
    ],
    style: StyleOption = Style.FOLD,
    dynamic: DynamicOption = Dynamic.KEEP,
    shape: ShapeOption = None,
    dim: DimOption = None,
    trust_dim_names: TrustOption = False,
    form: FormatOption = Format.TEXT,
    fail_on: Annotated[
        Severity, typer.Option(help="The least severity that makes the check fail.")
    ] = Severity.WARNING,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Only these codes or prefixes (PAD1), with commas."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="All but these codes or prefixes, with commas."),
    ] = None,
) -> int:
    """Report the padding that `fix` would rewrite, and the padding that stays and why.

    Exit codes: 0 nothing at or above --fail-on, 1 findings at or above it, 2 bad usage or an
    unreadable model (the others are still reported).
    """
    selected, ignored = _codes("--select", select or ()), _codes("--ignore", ignore or ())

    with collection.paused_for_good():
        from onnxpad import api
        from onnxpad.report import CheckReport

    ask = partial(
        api.check,
        style=style.value,
        dynamic=dynamic.value,
        shapes=_given("--shape", shape or ()),
        dims=_given("--dim", dim or ()),
        trust_dim_names=trust_dim_names,
        select=selected,
        ignore=ignored,
    )
    paint = _paint()
    files: list[FileReport] = []
    for file in _checked(paths, ask, fail_on):
        files.append(file)
        if file.error:
            _error(file.error)
        elif form is Format.TEXT:
            from onnxpad.report.text import file_text

            _write(file_text(file, paint))
    report = CheckReport(style.value, fail_on, tuple(files))
    if form is Format.JSON:
        from onnxpad.report.json import check_json

        _write(check_json(report))
    else:
        from onnxpad.report.text import check_summary

        _write(check_summary(report, paint))
    return report.exit_code


@app.command(short_help="Run two models, or one and a framework's outputs, and compare.")
def validate(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The model to trust.")],
    rewritten: Annotated[
        Path | None,
        typer.Argument(metavar="[REWRITTEN]", help="The model to compare; or give --reference."),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROVIDER",
            help="cpu, cuda, auto (what runs here) or a name of onnxruntime's; may be repeated."
            "  [default: cpu]",
        ),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(help="What to feed: .npz, .npy, or a folder of ONNX test data (input_0.pb)."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="What a framework computed, and its inputs: .npz, or such a folder."),
    ] = None,
    samples: Annotated[int, typer.Option(help="How many inputs to draw.")] = 1,
    seed: Annotated[int, typer.Option(help="The seed of the first; the next count up.")] = 0,
    rtol: Annotated[
        float | None, typer.Option(help="Allowed difference, relative to each element.")
    ] = None,
    atol: Annotated[float | None, typer.Option(help="Allowed difference, absolute.")] = None,
    form: FormatOption = Format.TEXT,
) -> int:
    """Run both models on the same inputs and compare their outputs.

    Exit codes: 0 they agree, 2 bad usage or unreadable input, 3 they differ or nothing could be
    compared, 4 a provider asked for by name does not run here.
    """
    from onnxpad import validating
    from onnxpad.report import ValidateReport
    from onnxpad.report.progress import ProgressBar

    with ProgressBar() as progress:
        result = validating.validate(
            original,
            rewritten,
            providers=provider or ("cpu",),
            inputs=inputs,
            reference=reference,
            samples=samples,
            seed=seed,
            rtol=rtol,
            atol=atol,
            progress=progress,
        )
    report = ValidateReport(
        original=str(original),
        rewritten=str(rewritten or ""),
        inputs=str(inputs or ""),
        reference=str(reference or ""),
        providers=result.providers,
        validation=result.validation,
        unproven=result.unproven,
        seconds=result.seconds,
    )
    if form is Format.JSON:
        from onnxpad.report.json import validate_json

        _write(validate_json(report))
    else:
        from onnxpad.report.validated import validate_text

        _write(validate_text(report, _paint()))
    if not result.ok:
        _error(f"validation failed: {validating.failure(result)}")
    return report.exit_code


@app.command(short_help="List the codes of what onnxpad finds.")
def rules(form: FormatOption = Format.TEXT) -> int:
    """List every code with its severity and what it finds."""
    from onnxpad.rule import catalogue

    pages = catalogue().values()
    if form is Format.JSON:
        from onnxpad.report.json import rules_json

        _write(rules_json(pages))
    else:
        from onnxpad.report.about import rules_text

        _write(rules_text(pages, _paint()))
    return 0


@app.command(short_help="Explain codes: what is found, why it matters, when a rewrite is exact.")
def rule(
    codes: Annotated[
        list[str], typer.Argument(metavar="CODE...", help="Codes, or their beginnings (PAD1).")
    ],
) -> int:
    """Explain codes: what is found, why it matters, when the rewrite is exact."""
    from onnxpad.report.about import page_text
    from onnxpad.rule import catalogue

    pages = catalogue()
    paint = _paint()
    chosen = expand_codes("CODE", codes, pages.keys())
    _write("\n".join(page_text(pages[code], paint) for code in chosen))
    return 0


@app.command(short_help="Say what onnxpad stands on, what works here, and what mends the rest.")
def doctor(form: FormatOption = Format.TEXT) -> int:
    """Say which versions, providers and CUDA libraries are here, and try which of them work.

    Exit codes: 0 usable, on the CPU at least; 1 broken, with the cure for each cause.
    """
    from onnxpad.doctor import examine

    found = examine()
    code = 0 if found.ok else 1
    if form is Format.JSON:
        from onnxpad.report.json import doctor_json

        _write(doctor_json(found, code))
    else:
        from onnxpad.report.about import doctor_text

        _write(doctor_text(found, _paint()))
    return code


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
    found: set[str] = set()
    for selector in (part.strip().upper() for text in selectors for part in text.split(",")):
        matching = [code for code in known if selector and code.startswith(selector)]
        if not matching:
            raise UsageError(f"{option} {selector!r} names no code; there is {_listed(known)}")
        found.update(matching)
    return tuple(sorted(found))


def model_files(folder: Path) -> list[Path]:
    """The `.onnx` files below a folder, sorted; hidden folders and links to folders are left out.

    Raises:
        OSError: When a folder below it cannot be read.
    """

    def unreadable(error: OSError) -> None:
        raise error

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(parent, name) for name in names if name.lower().endswith(".onnx"))
    return sorted(found)


def _checked(
    paths: Sequence[Path],
    ask: "Callable[[Path], CheckResult]",
    fail_on: Severity,
) -> "Iterator[FileReport]":
    """A report a model, each model once; what cannot be read becomes a report too."""
    from onnxpad.report import FileReport

    seen: set[Path] = set()
    for argument in paths:
        try:
            models = model_files(argument) if argument.is_dir() else [argument]
        except OSError as error:
            yield FileReport(str(argument), error=_about(argument, error))
            continue
        if not models:
            yield FileReport(str(argument), error=f"{argument}: no .onnx file in this folder")
        for path in models:
            if path in seen:
                continue
            seen.add(path)
            try:
                result = ask(path)
            except (OnnxpadError, OSError) as error:
                yield FileReport(str(path), error=_about(path, error))
            else:
                failing = len(result.failing(fail_on))
                yield FileReport(str(path), result.findings, failing)


def _about(path: Path, error: Exception) -> str:
    """The error in one line that names the path, once."""
    message, _ = _explained(error)
    return message if str(path) in message else f"{path}: {message}"


def _target(model: Path, output: Path | None, in_place: bool) -> Path:
    """Where the result would go; asked before any work, so that a bad wish costs no time."""
    if model.is_dir():
        raise UsageError(
            f"{model}: is a folder; fix takes one model, `onnxpad check` takes folders"
        )
    if in_place and output is not None:
        raise UsageError("--in-place and --output exclude each other; give one of them")
    if in_place:
        return _behind_links(model)
    if output is None:
        return model.with_name(f"{model.name.removesuffix('.onnx')}.fixed.onnx")
    if _behind_links(output) == _behind_links(model) or (
        output.exists() and output.samefile(model)
    ):
        raise UsageError(f"{output}: is the model itself; --in-place replaces it")
    if output.exists() and not output.is_file():
        raise OutputError(f"{output}: is not a file; --output takes the name of a file to write")
    if not output.parent.is_dir():
        raise OutputError(f"{output}: there is no folder {output.parent}; make it first")
    return output


def _behind_links(path: Path) -> Path:
    """What is read or replaced; not by `Path.resolve`, which some versions end in a loop."""
    return Path(os.path.realpath(path))


def _is_written(outcome: "Outcome", *, asked: bool, keep_invalid: bool) -> bool:
    """Whether a result goes to disk: an unchanged one only where a name was given for it."""
    return {"unchanged": asked, "fixed": True, "invalid": keep_invalid}[outcome.value]


def _given(option: str, texts: Sequence[str]) -> dict[str, str]:
    """What `name=sizes` says, by name; without a name, which `--shape` allows, that is empty.

    Raises:
        UsageError: A name is missing, or there twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, sizes = text.rpartition("=")
        if not name and (equals or option == "--dim"):
            raise UsageError(f"{option} {text!r} lacks a name; give it as NAME=...")
        if name in found:
            raise UsageError(f"{option} is there twice{f' for {name!r}' if name else ''}")
        found[name] = sizes
    return found


def _codes(option: str, selectors: Sequence[str]) -> tuple[str, ...]:
    if not selectors:
        return ()
    from onnxpad.rule import catalogue

    return expand_codes(option, selectors, catalogue().keys())


def _listed(codes: Collection[str]) -> str:
    return ", ".join(sorted(codes))


def _explained(error: Exception) -> tuple[str, int]:
    """One line for the user, and the exit code."""
    if isinstance(error, OnnxpadError):
        return str(error), error.exit_code
    # typer's family of usage errors has no public base class that all its versions share.
    if callable(message := getattr(error, "format_message", None)):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        return f"{message().rstrip('.')}{hint}", 2
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{place}{error.strerror}", 2
    return _internal(error), INTERNAL


def _internal(error: Exception) -> str:
    """Where a defect of onnxpad showed itself; the whole traceback on request."""
    import traceback

    if os.environ.get("ONNXPAD_DEBUG"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error, please report it (ONNXPAD_DEBUG=1 shows all): {text}{place}"


def _error(message: str) -> None:
    from onnxpad.report.text import shown

    print(f"error: {shown(message)}", file=sys.stderr)


def _write(text: str) -> None:
    """The report to stdout; a reader that went away, as `head` does, is no error to report.

    Without a stdout, as a service may be started, `print` does nothing.
    """
    try:
        print(text, end="", flush=True)
    except OSError as error:
        # The interpreter flushes stdout once more on its way out, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        raise OutputError(f"stdout: {error.strerror}") from error


def _paint() -> "Paint":
    """Colours where a person looks at stdout and did not turn them off."""
    from onnxpad.report.text import coloured, plain

    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return coloured if wanted and sys.stdout and sys.stdout.isatty() else plain
