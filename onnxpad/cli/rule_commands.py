"""`onnxpad rule`, `targets`, `doctor` and `docs`."""

import json
from textwrap import fill

from onnxpad.cli.options import Asked, takes
from onnxpad.cli.output import deliver, screen, write
from onnxpad.errors import UsageError, meant


@takes("codes", "form")
def rule(asked: Asked) -> int:
    """Explain codes (what is found, why it matters, when it is exact) and words of reports.

    Without any, all codes are listed. What is no code is looked up in the glossary of the manual,
    which onnxpad docs glossary shows.
    """
    from onnxpad.report.json import RulePages
    from onnxpad.report.manual import entry_of, glossary, slug
    from onnxpad.rewrite.registry import catalogue

    pages, codes, words = catalogue(), set[str](), dict[str, str]()
    for part in ",".join(asked.codes or ["PAD"]).split(","):
        begin = part.strip().upper()
        if begin and (found := {code for code in pages if code.startswith(begin)}):
            codes |= found
        elif (entry := entry_of(part)) is not None:
            words[entry[0]] = entry[1]
        else:
            told = f"{part!r} is no code and no word of the glossary (onnxpad docs glossary)"
            raise UsageError(told + meant(slug(part), [*map(slug, glossary()), *pages]))
    chosen = [page for code, page in pages.items() if code in codes]

    def text() -> str:
        if not asked.codes:
            return "".join(f"{e.code}  {e.severity:7}  {e.title}\n" for e in chosen)
        told = [f"{each.code}  {each.severity}  {each.text}\n" for each in chosen]
        told += [fill(f"{word}: {text}", 80) + "\n" for word, text in words.items()]
        return "\n".join(told)

    return deliver(asked, RulePages(chosen, words), text=text)


@takes("names", "form", "verbose")
def targets(asked: Asked) -> int:
    """List the runtimes of which it is known what they make of padding, or explain some.

    For each: whether models were run on it or its source was read, and how many of the forms of
    padding it computes rightly, as they are given and in the best writing of each. Of those named
    also what they take and what not; with --verbose each cell with its source.
    """
    from onnxpad.report.documents.target_documents import target_document, targets_document
    from onnxpad.report.json import TargetList
    from onnxpad.report.layout import text_of
    from onnxpad.targets.known_targets import every, load

    named = {name: load(name) for name in asked.names or ()}
    found = [*named.values()] or every()

    def text() -> str:
        told = target_document(named, in_full=asked.verbose) if named else targets_document(found)
        return text_of(told, screen())

    return deliver(asked, TargetList(found, in_full=bool(named)), text=text)


@takes("form")
def doctor(asked: Asked) -> int:
    """List versions, execution providers and CUDA libraries, and try which of them work.

    Exit codes: 0 onnxpad works, at least on the CPU; 1 it does not, and each cause has a cure.
    """
    from onnxpad.doctor.examine import examine
    from onnxpad.report.documents.doctor_document import doctor_document
    from onnxpad.report.layout import text_of

    found = examine()
    return deliver(asked, found, text=lambda: text_of(doctor_document(found), screen()))


@takes("page", "schema")
def docs(asked: Asked) -> int:
    """Show a page of the manual, or list its pages.

    Exit codes: 0 shown, 2 no page of that name.
    """
    from onnxpad.report.manual import INDEX, page_names, page_text, without_links

    if asked.schema:
        from onnxpad.report.json_schema import schema

        write(json.dumps(schema(), indent=2) + "\n")
    elif (name := (asked.page or INDEX).lower().removesuffix(".md")) in page_names():
        write(without_links(page_text(name)))
    else:
        told = f"{asked.page!r} is no page of the manual, which onnxpad docs lists"
        raise UsageError(f"{told}{meant(asked.page, page_names())}")
    return 0
