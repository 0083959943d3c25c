"""`onnxpad rules`, `rule` and `doctor`."""

from typing import Annotated

import typer

from onnxpad.cli.options import Format, FormatOption, completed, expand_codes, take_extensions
from onnxpad.cli.output import screen, write


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
            help="Codes or prefixes of codes (PAD1).",
        ),
    ],
    form: FormatOption = Format.TEXT,
) -> int:
    """Explain codes: what is found, why it matters, when the rewrite is exact."""
    from onnxpad.pipeline.registry import catalogue

    take_extensions()
    pages = catalogue()
    chosen = [pages[code] for code in expand_codes("", codes, pages.keys())]
    if form is Format.JSON:
        from onnxpad.report.json import rules_json

        write(rules_json(chosen, "rule"))
    else:
        from onnxpad.report.documents.rule_documents import rule_document
        from onnxpad.report.layout import text_of

        write(text_of(rule_document(chosen), screen()))
    return 0


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
