"""The documents of `rule`, `docs` and `doctor`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from onnxpad.doctor.diagnosis import Diagnosis, Driver
from onnxpad.errors import RUNTIME, and_list
from onnxpad.finding import Page
from onnxpad.report.documents import Block, Document, Group, Pairs, Table, document_of
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import shown

_UNIT = re.compile(r"^(?:## .*| .*|- .*(?:\n  \S.*)*|\S.*(?:\n(?!## |- )\S.*)*|)$", re.MULTILINE)
"""A heading, a line of an example, an item of a list, a paragraph, or an empty line."""


def rules_document(pages: Iterable[Page]) -> Document:
    """The catalogue, one line for each code: code, severity, title."""
    return document_of("rule", "rule", [_title(page, 7) for page in pages])


def index_document(parts: Mapping[str, Mapping[str, str]]) -> Document:
    """The pages of the manual by part: the name of each, and what it is about."""
    groups = [Group(title, [Pairs([*pages.items()])]) for title, pages in parts.items()]
    return Document("docs", "docs", [*groups, Group("", ["onnxpad docs PAGE shows one"])])


def words_document(entries: Iterable[tuple[str, str]]) -> Document:
    """Entries of the glossary: the word in bold, the text indented below it."""
    return Document("rule", "rule", [Group(word, [_prose(text)]) for word, text in entries])


def rule_document(pages: Iterable[Page]) -> Document:
    """Pages of the catalogue: headings in bold, the text indented below them."""
    return document_of("rule", "rule", *([_title(page), *_page(page)] for page in pages))


def _title(page: Page, width: int = 0) -> str:
    severity = marked(f"{page.severity:{width}}", page.severity)
    return f"{marked(page.code, 'strong')}  {severity}  {page.title}"


def _page(page: Page) -> Iterator[Block]:
    """The text of a page, with the lines of one paragraph or one item of a list joined."""
    _, _, text = page.text.partition("\n")
    for unit in _UNIT.findall(text):
        joined = " ".join(unit.split())
        if unit.startswith("## "):
            yield marked(unit.removeprefix("## "), "strong")
        elif unit.startswith(" "):
            yield f"  {unit.replace(' ', UNBREAKABLE)}"  # an example stays as it is
        else:
            yield f"  {joined}" if unit.startswith("- ") else _prose(joined) if unit else ""


def _prose(text: str) -> Table:
    """A paragraph, whose lines are indented alike."""
    return Table([""], [[text]])


def doctor_document(found: Diagnosis) -> Document:
    """The report of `doctor`: packages, providers, driver, libraries, problems with their cure."""
    first, *others = found.packages
    lacking, missing = marked("not installed", "error"), marked("missing", "warning")
    works, fails = marked("works", "good"), marked("no", "warning")
    providers, usable = [], []
    for each in found.providers:
        name = shown(each.name).removesuffix("ExecutionProvider")
        providers.append((name, works if each.usable else f"{fails}: {shown(each.trouble)}"))
        usable += [name] * each.usable
    problems = []
    for problem in found.problems:
        label = marked("error", "error") if problem.broken else marked("warning", "warning")
        problems.append(f"{label}: {shown(problem.what)}")
        problems += [f"  cure: {shown(problem.cure)}"] * bool(problem.cure)
    works_on = f"onnxpad works; it can validate on {and_list(usable)}"
    problems += [marked(works_on, "good")] * found.ok
    packages = Pairs([(each.name, shown(each.version) or lacking) for each in others])
    libraries = Pairs([(each.file, shown(each.place) or missing) for each in found.libraries])
    tried = f"Providers of {RUNTIME}, tried with a model of one node"
    cuda = f"for CUDA {shown(found.cuda)}" if found.cuda else "without CUDA"
    return document_of(
        "doctor",
        "doctor",
        [f"{first.name} {first.version}, Python {found.python}, {found.platform}", packages],
        [tried, Pairs(providers)] if providers else [],
        [f"NVIDIA driver: {_gpus(found.driver)}"],
        [f"This {RUNTIME} is built {cuda}", libraries] if providers else [],
        problems,
    )


def _gpus(driver: Driver) -> str:
    if not driver.present:
        return "none, so CUDA cannot run here"
    devices = ", ".join(map(shown, driver.devices)) or "no device seen"
    loads = "" if driver.library else f", {marked('its library does not load', 'warning')}"
    return f"{shown(driver.version) or 'version unknown'}, {devices}{loads}"
