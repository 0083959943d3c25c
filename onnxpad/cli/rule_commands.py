"""`onnxpad rules`, `rule` and `doctor`."""

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from onnxpad.cli.options import Format, FormatOption, completed, expand_codes, take_extensions
from onnxpad.cli.output import screen, write
from onnxpad.errors import UsageError
from onnxpad.messages import meant


def rules(form: FormatOption = Format.TEXT) -> int:
    """List every code with its severity and what it finds."""
    from onnxpad.pipeline.registry import catalogue

    take_extensions()
    pages = catalogue().values()
    if form is Format.JSON:
        from onnxpad.report.json import rules_json

        write(rules_json(pages))
    else:
        from onnxpad.report.documents.rule_documents import rules_document
        from onnxpad.report.layout import text_of

        write(text_of(rules_document(pages), screen()))
    return 0


def rule(
    codes: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE...",
            autocompletion=completed("codes"),
            help="Codes or prefixes of codes (PAD1), or words of a report (guarded).",
        ),
    ],
    form: FormatOption = Format.TEXT,
) -> int:
    """Explain codes: what is found, why it matters, when the rewrite is exact.

    A word that is no code is looked up in the glossary of the manual, as guarded or finite-data.
    """
    from onnxpad.pipeline.registry import catalogue

    take_extensions()
    pages = catalogue()
    words, rest = _words(codes, pages.keys())
    chosen = [pages[code] for code in expand_codes("", rest, pages.keys())]
    if form is Format.JSON:
        from onnxpad.report.json import rules_json

        write(rules_json(chosen, "rule", dict(words)) if words else rules_json(chosen, "rule"))
        return 0
    from onnxpad.report.documents.rule_documents import rule_document, words_document
    from onnxpad.report.layout import text_of

    documents = [rule_document(chosen)] * bool(chosen or not words)
    documents += [words_document(words)] * bool(words)
    write("\n".join(text_of(each, screen()) for each in documents))
    return 0


def _words(texts: Sequence[str], known: Collection[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Words of the glossary, each with its text, and the other texts, which should be codes.

    Raises:
        UsageError: A word without a digit, which no code is, is not in the glossary.
    """
    found, rest = list[tuple[str, str]](), list[str]()
    for part in (part for text in texts for part in text.split(",")):
        entry = None
        if not any(code.startswith(part.strip().upper()) for code in known):
            from onnxpad.report.manual import entry_of, glossary, slug

            entry = entry_of(part)
            if entry is None and part.strip() and not any(map(str.isdigit, part)):
                told = f"{part!r} is no code (onnxpad rules lists them) and no word of the glossary"
                raise UsageError(told + meant(slug(part), map(slug, glossary())))
        if entry is None:
            rest.append(part)
        else:
            found.append(entry)
    return found, rest


def doctor(form: FormatOption = Format.TEXT) -> int:
    """List versions, execution providers and CUDA libraries, and try which of them work.

    Exit codes: 0 onnxpad works, at least on the CPU; 1 it does not, and each cause has a cure.
    """
    from onnxpad.doctor.examine import examine

    found = examine()
    code = 0 if found.ok else 1
    if form is Format.JSON:
        from onnxpad.report.json import doctor_json

        write(doctor_json(found, code))
    else:
        from onnxpad.report.documents.rule_documents import doctor_document
        from onnxpad.report.layout import text_of

        write(text_of(doctor_document(found), screen()))
    return code
