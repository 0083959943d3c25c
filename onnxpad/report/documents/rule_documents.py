"""The documents of `rules`, `rule` and `doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnxpad.doctor.diagnosis import Diagnosis, Driver, Library, Provider
from onnxpad.errors import RUNTIME
from onnxpad.finding import Page
from onnxpad.report.documents import Block, Document, Group, Line, Pairs, line_of
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import shown


def rules_document(pages: Iterable[Page]) -> Document:
    """The catalogue, one line for each code: code, severity, title."""
    lines = [
        line_of(f"{_code(page)}  {marked(f'{page.severity:7}', page.severity)}  {page.title}")
        for page in pages
    ]
    return Document("rule", "rule", [Group("", lines)])


def index_document(parts: Mapping[str, Mapping[str, str]]) -> Document:
    """The pages of the manual by part: the name of each, and what it is about."""
    width = max(len(name) for pages in parts.values() for name in pages)
    groups = []
    for title, pages in parts.items():
        rows = ((f"{name:{width}}".replace(" ", UNBREAKABLE), text) for name, text in pages.items())
        lines = (Line(f"{name}  {text}", "  ", " " * (width + 4)) for name, text in rows)
        groups.append(Group("", [marked(title, "strong"), *lines]))
    return Document(
        "docs", "docs", [*groups, Group("", [Line("onnxpad docs PAGE shows one", "", "")])]
    )


def words_document(entries: Iterable[tuple[str, str]]) -> Document:
    """Entries of the glossary: the word in bold, the text indented below it."""
    groups = [Group("", [marked(word, "strong"), Line(text, "  ", "  ")]) for word, text in entries]
    return Document("rule", "rule", groups)


def _code(page: Page) -> str:
    return marked(page.code, "strong")


def rule_document(pages: Iterable[Page]) -> Document:
    """Pages of the catalogue: headings in bold, the text indented below them."""
    return Document("rule", "rule", [Group("", [*_page(page)]) for page in pages])


def _page(page: Page) -> Iterator[Block]:
    title, *lines = page.text.splitlines()
    head = f"{_code(page)}  {marked(page.severity, page.severity)}  {title}"
    yield Line(head, "", "    ")
    for block in _paragraphs(lines):
        if block.startswith("## "):
            yield marked(block.removeprefix("## "), "strong")
        elif not block:
            yield ""
        elif block.startswith(" "):
            yield Line(block.replace(" ", UNBREAKABLE))  # an example stays as it is
        else:
            yield Line(block, "  ", "    " if block.startswith("- ") else "  ")


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
    head = f"{first.name} {first.version}, Python {found.python}, {found.platform}"
    missing = marked("not installed", "error")
    sections: list[Sequence[Block]] = [
        [head, Pairs([(each.name, shown(each.version) or missing) for each in others])],
        _providers(found.providers),
        [_driver(found.driver)],
        _libraries(found.cuda, found.libraries) if found.providers else [],
        [*_problems(found)],
    ]
    return Document("doctor", "doctor", [Group("", each) for each in sections])


def _providers(providers: Sequence[Provider]) -> list[Block]:
    if not providers:
        return []
    works, fails = marked("works", "good"), marked("no", "warning")
    rows = [
        (_short(each), works if each.usable else f"{fails}: {shown(each.trouble)}")
        for each in providers
    ]
    return [f"Providers of {RUNTIME}, tried with a model of one node", Pairs(rows)]


def _short(provider: Provider) -> str:
    return shown(provider.name).removesuffix("ExecutionProvider")


def _driver(driver: Driver) -> str:
    if not driver.present:
        return "NVIDIA driver: none, so CUDA cannot run here"
    devices = f", {', '.join(map(shown, driver.devices))}" if driver.devices else ", no device seen"
    loads = "" if driver.library else f", {marked('its library does not load', 'warning')}"
    return f"NVIDIA driver: {shown(driver.version) or 'version unknown'}{devices}{loads}"


def _libraries(cuda: str, libraries: Sequence[Library]) -> list[Block]:
    if not libraries:
        built = (
            f"for CUDA {shown(cuda)}, whose libraries are not known here"
            if cuda
            else "without CUDA"
        )
        return [f"This {RUNTIME} is built {built}"]
    missing = marked("missing", "warning")
    rows = [(each.file, shown(each.place) or missing) for each in libraries]
    return [f"Libraries for CUDA {shown(cuda)}, for which {RUNTIME} is built", Pairs(rows)]


def _problems(found: Diagnosis) -> Iterator[Block]:
    for problem in found.problems:
        label = marked("error", "error") if problem.broken else marked("warning", "warning")
        yield f"{label}: {shown(problem.what)}"
        if problem.cure:
            yield Line(f"cure: {shown(problem.cure)}")
    if found.ok:
        usable = " and ".join(_short(each) for each in found.providers if each.usable)
        yield marked(f"onnxpad works; it can validate on {usable}", "good")
