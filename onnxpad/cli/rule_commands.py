"""`onnxpad rule`, `targets`, `doctor` and `docs`."""

from collections.abc import Collection, Sequence
from textwrap import fill

from onnxpad.cli.options import Format, expand_codes, takes
from onnxpad.cli.output import document_text, write, write_report
from onnxpad.errors import UsageError, meant


@takes()
def rule(codes: list[str] | None = None, form: Format = Format.TEXT) -> int:
    """Explain codes (what is found, why it matters, when it is exact) and words of reports.

    Without any, all codes are listed. What is no code is looked up in the glossary of the manual,
    which onnxpad docs glossary shows.
    """
    from onnxpad.rewrite.registry import catalogue

    pages = catalogue()
    words, rest = _words(codes, pages.keys()) if codes else ([], list(pages))
    chosen = [pages[code] for code in expand_codes("", rest, pages.keys())]
    from onnxpad.report.json import RulePages

    def text() -> str:
        if not codes:
            return "".join(f"{e.code}  {e.severity:7}  {e.title}\n" for e in chosen)
        told = [f"{each.code}  {each.severity}  {each.text}\n" for each in chosen]
        told += [fill(f"{word}: {text}", 80) + "\n" for word, text in words]
        return "\n".join(told)

    write_report(RulePages(chosen, dict(words)), form, text)
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


@takes()
def targets(
    names: list[str] | None = None, form: Format = Format.TEXT, verbose: bool = False
) -> int:
    """List the runtimes of which it is known what they make of padding, or explain some.

    For each: whether models were run on it or its source was read, and how many of the forms of
    padding it computes rightly, as they are given and in the best writing of each. Of those named
    also what they take and what not; with --verbose each cell with its source.
    """
    from onnxpad.targets.known_targets import every, load

    named = {name: load(name) for name in names or ()}
    found = [*named.values()] or every()
    from onnxpad.report.json import TargetList

    def text() -> str:
        from onnxpad.report.documents.target_documents import target_document, targets_document

        told = target_document(named, in_full=verbose) if named else targets_document(found)
        return document_text(told)

    write_report(TargetList(found, in_full=bool(names)), form, text)
    return 0


@takes()
def doctor(form: Format = Format.TEXT) -> int:
    """List versions, execution providers and CUDA libraries, and try which of them work.

    Exit codes: 0 onnxpad works, at least on the CPU; 1 it does not, and each cause has a cure.
    """
    from onnxpad.doctor.examine import examine

    found = examine()
    code = int(not found.ok)

    def text() -> str:
        from onnxpad.report.documents.doctor_document import doctor_document

        return document_text(doctor_document(found))

    write_report(found, form, text, code)
    return code


@takes()
def docs(page: str | None = None, schema: bool = False) -> int:
    """Show a page of the manual, or list its pages.

    Exit codes: 0 shown, 2 no page of that name.
    """
    from onnxpad.report.manual import INDEX, page_names, page_text, without_links

    if schema:
        if page not in {None, "json"}:
            raise UsageError("--schema prints the schema alone: leave out the rest")
        from onnxpad.report.json_schema import schema_json

        write(schema_json())
    else:
        name = (page or INDEX).lower().removesuffix(".md")
        if name not in page_names():
            told = f"{name!r} is no page of the manual, which onnxpad docs lists"
            if name.startswith("pad") and name[3:].isdigit():
                raise UsageError(f"{told}; onnxpad rule {name.upper()} explains a code")
            raise UsageError(f"{told}{meant(name, page_names())}")
        write(without_links(page_text(name)))
    return 0
