"""The documents of `rule`, `docs` and `doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from onnxpad.doctor.diagnosis import Diagnosis, Driver
from onnxpad.errors import RUNTIME, and_list
from onnxpad.finding import Page
from onnxpad.report.documents import Block, Document, Group, Pairs, Table, document_of
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import shown


def rules_document(pages: Iterable[Page]) -> Document:
    """The catalogue, one line for each code: code, severity, title."""
    lines = [
        f"{_code(page)}  {marked(f'{page.severity:7}', page.severity)}  {page.title}"
        for page in pages
    ]
    return document_of("rule", "rule", lines)


def index_document(parts: Mapping[str, Mapping[str, str]]) -> Document:
    """The pages of the manual by part: the name of each, and what it is about."""
    groups = [Group(title, [Pairs([*pages.items()])]) for title, pages in parts.items()]
    return Document("docs", "docs", [*groups, Group("", ["onnxpad docs PAGE shows one"])])


def words_document(entries: Iterable[tuple[str, str]]) -> Document:
    """Entries of the glossary: the word in bold, the text indented below it."""
    return Document("rule", "rule", [Group(word, [_prose(text)]) for word, text in entries])


def _prose(text: str) -> Table:
    """A paragraph, whose lines are indented alike."""
    return Table([""], [[text]])


def _code(page: Page) -> str:
    return marked(page.code, "strong")


def rule_document(pages: Iterable[Page]) -> Document:
    """Pages of the catalogue: headings in bold, the text indented below them."""
    return document_of("rule", "rule", *([*_page(page)] for page in pages))


def _page(page: Page) -> Iterator[Block]:
    title, *lines = page.text.splitlines()
    yield f"{_code(page)}  {marked(page.severity, page.severity)}  {title}"
    for block in _paragraphs(lines):
        if block.startswith("## "):
            yield marked(block.removeprefix("## "), "strong")
        elif block.startswith(" "):
            yield f"  {block.replace(' ', UNBREAKABLE)}"  # an example stays as it is
        else:
            yield f"  {block}" if block.startswith("- ") else _prose(block) if block else ""


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a page, with those of one paragraph or one item of a list joined."""
    text = ""
    for line in lines:
        is_item = line.startswith("- ")
        goes_on = text.startswith("- ") and line.startswith("  ") and not line.startswith("    ")
        stands = not line or line.startswith(("## ", "    ")) or (line[0] == " " and not goes_on)
        if text and (stands or is_item):
            yield text
            text = ""
        if stands:
            yield line
        else:
            text = f"{text} {line.strip()}" if text else line
    if text:
        yield text


def doctor_document(found: Diagnosis) -> Document:
    """The report of `doctor`: packages, providers, driver, libraries, problems with their cure."""
    first, *others = found.packages
    missing, fails = marked("not installed", "error"), marked("no", "warning")
    providers = {
        shown(each.name).removesuffix("ExecutionProvider"): marked("works", "good")
        if each.usable
        else f"{fails}: {shown(each.trouble)}"
        for each in found.providers
    }
    tried: list[Block] = [
        f"Providers of {RUNTIME}, tried with a model of one node",
        Pairs([*providers.items()]),
    ]
    return document_of(
        "doctor",
        "doctor",
        [
            f"{first.name} {first.version}, Python {found.python}, {found.platform}",
            Pairs([(each.name, shown(each.version) or missing) for each in others]),
        ],
        tried if providers else [],
        [_driver(found.driver)],
        [*_libraries(found)] if providers else [],
        [*_problems(found)],
    )


def _driver(driver: Driver) -> str:
    if not driver.present:
        return "NVIDIA driver: none, so CUDA cannot run here"
    devices = ", ".join(map(shown, driver.devices)) or "no device seen"
    loads = "" if driver.library else f", {marked('its library does not load', 'warning')}"
    return f"NVIDIA driver: {shown(driver.version) or 'version unknown'}, {devices}{loads}"


def _libraries(found: Diagnosis) -> Iterator[Block]:
    cuda = f"for CUDA {shown(found.cuda)}" if found.cuda else "without CUDA"
    yield f"This {RUNTIME} is built {cuda}"
    missing = marked("missing", "warning")
    yield Pairs([(each.file, shown(each.place) or missing) for each in found.libraries])


def _problems(found: Diagnosis) -> Iterator[Block]:
    for problem in found.problems:
        label = marked("error", "error") if problem.broken else marked("warning", "warning")
        yield f"{label}: {shown(problem.what)}"
        if problem.cure:
            yield f"  cure: {shown(problem.cure)}"
    if found.ok:
        usable = (shown(each.name) for each in found.providers if each.usable)
        names = and_list(name.removesuffix("ExecutionProvider") for name in usable)
        yield marked(f"onnxpad works; it can validate on {names}", "good")
