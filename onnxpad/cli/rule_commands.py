"""`onnxpad rule`, `targets` and `doctor`."""

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from onnxpad.cli.options import (
    Format,
    FormatOption,
    VerboseOption,
    completed,
    expand_codes,
)
from onnxpad.cli.output import screen, write
from onnxpad.errors import UsageError, meant


def rule(
    codes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CODE]...",
            autocompletion=completed("codes"),
            help="Codes or prefixes of codes (PAD1), or words of a report (guarded, finite data).",
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> int:
    """Explain codes (what is found, why it matters, when it is exact) and words of reports.

    Without any, all codes are listed. What is no code is looked up in the glossary of the manual,
    which onnxpad docs glossary shows.
    """
    from onnxpad.rewrite.registry import catalogue

    pages = catalogue()
    words, rest = _words(codes, pages.keys()) if codes else ([], list(pages))
    chosen = [pages[code] for code in expand_codes("", rest, pages.keys())]
    if form is Format.JSON:
        from onnxpad.report.json import RulePages, json_of

        write(json_of(RulePages(chosen, dict(words))))
        return 0
    from onnxpad.report.documents.rule_documents import (
        rule_document,
        rules_document,
        words_document,
    )
    from onnxpad.report.layout import text_of

    told = rule_document if codes else rules_document
    documents = [told(chosen)] * bool(chosen or not words)
    documents += [words_document(words)] * bool(words)
    write("\n".join(text_of(each, screen()) for each in documents))
    return 0


def _words(texts: Sequence[str], known: Collection[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Words of the glossary, each with its text, and the other texts, which should be codes.

    Together they may be one word of several, such as `finite data` without quotes.

    Raises:
        UsageError: A text is no code, and not in the glossary.
    """
    found, rest = list[tuple[str, str]](), list[str]()
    whole = " ".join(texts)
    for part in [whole] if len(texts) > 1 and _entry(whole, known) else ",".join(texts).split(","):
        entry = _entry(part, known)
        if entry is not None:
            found.append(entry)
        elif not part.strip() or _is_code(part, known):
            rest.append(part)
        else:
            from onnxpad.report.manual import glossary, slug

            told = f"{part!r} is no code and no word of the glossary (onnxpad docs glossary)"
            raise UsageError(told + meant(slug(part), [*map(slug, glossary()), *known]))
    return found, rest


def _is_code(text: str, known: Collection[str]) -> bool:
    return any(code.startswith(text.strip().upper()) for code in known)


def _entry(text: str, known: Collection[str]) -> tuple[str, str] | None:
    """The entry of the glossary; None for a code or what it does not have."""
    if _is_code(text, known):
        return None
    from onnxpad.report.manual import entry_of

    return entry_of(text)


def targets(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            autocompletion=completed("targets"),
            help="Targets to explain, as NAME[-VARIANT][@VERSION], or files of your own.",
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
    verbose: VerboseOption = False,
) -> int:
    """List the runtimes of which it is known what they make of padding, or explain some.

    For each: whether models were run on it or its source was read, and how many of the forms of
    padding it computes rightly, as they are given and in the best writing of each. Of those named
    also what they take and what not; with --verbose each cell with its source.
    """
    from onnxpad.targets.known_targets import every, load

    named = {name: load(name) for name in names or ()}
    found = [*named.values()] or every()
    if form is Format.JSON:
        from onnxpad.report.json import TargetList, json_of

        write(json_of(TargetList(found, in_full=bool(names))))
    else:
        from onnxpad.report.documents.target_documents import target_document, targets_document
        from onnxpad.report.layout import text_of

        document = target_document(named, in_full=verbose) if named else targets_document(found)
        write(text_of(document, screen()))
    return 0


def doctor(form: FormatOption = Format.TEXT) -> int:
    """List versions, execution providers and CUDA libraries, and try which of them work.

    Exit codes: 0 onnxpad works, at least on the CPU; 1 it does not, and each cause has a cure.
    """
    from onnxpad.doctor.examine import examine

    found = examine()
    code = int(not found.ok)
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(found, code))
    else:
        from onnxpad.report.documents.rule_documents import doctor_document
        from onnxpad.report.layout import text_of

        write(text_of(doctor_document(found), screen()))
    return code
