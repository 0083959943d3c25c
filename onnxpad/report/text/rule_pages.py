"""The reports of `rules`, `rule` and `doctor` as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onnxpad.doctor.diagnosis import Diagnosis, Driver, Library, Provider
from onnxpad.finding import Page
from onnxpad.messages import RUNTIME
from onnxpad.report.layout import UNBROKEN, Screen
from onnxpad.report.text import Paint, plain, shown


def rules_text(pages: Iterable[Page], paint: Paint = plain) -> str:
    """The catalogue, one line for each code: code, severity, title."""
    return "".join(
        f"{paint(page.code, 'strong')}  {paint(f'{page.severity:7}', page.severity)}  "
        f"{page.title}\n"
        for page in pages
    )


def page_text(page: Page, screen: Screen = UNBROKEN) -> str:
    """A page of the catalogue: headings in bold, the text wrapped and indented below them."""
    title, *lines = page.text.splitlines()
    paint = screen.paint
    head = f"{paint(page.code, 'strong')}  {paint(page.severity, page.severity)}  {title}"
    told = screen.lines(head, "", "    ")
    for block in _paragraphs(lines):
        if block.startswith("## "):
            told.append(paint(block.removeprefix("## "), "strong"))
        elif block.startswith(" ") or not block:
            told.append(f"  {block}".rstrip())  # an example stays as it is
        else:
            told += screen.lines(block, "  ", "    " if block.startswith("- ") else "  ")
    return "\n".join(told) + "\n"


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


def doctor_text(found: Diagnosis, paint: Paint = plain) -> str:
    """The report of `doctor`: packages, providers, driver, libraries, problems with their cure."""
    first, *others = found.packages
    head = f"{first.name} {first.version}, Python {found.python}, {found.platform}"
    missing = paint("not installed", "error")
    blocks = [
        [head, *_table([(each.name, shown(each.version) or missing) for each in others])],
        _providers(found.providers, paint),
        [_driver(found.driver, paint)],
        _libraries(found.cuda, found.libraries, paint) if found.providers else [],
        _problems(found, paint),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _providers(providers: Sequence[Provider], paint: Paint) -> list[str]:
    if not providers:
        return []
    works, fails = paint("works", "good"), paint("no", "warning")
    rows = [
        (_short(each), works if each.usable else f"{fails}: {shown(each.trouble)}")
        for each in providers
    ]
    return [f"Providers of {RUNTIME}, tried with a model of one node", *_table(rows)]


def _short(provider: Provider) -> str:
    return shown(provider.name).removesuffix("ExecutionProvider")


def _driver(driver: Driver, paint: Paint) -> str:
    if not driver.present:
        return "NVIDIA driver: none, so CUDA cannot run here"
    devices = f", {', '.join(map(shown, driver.devices))}" if driver.devices else ", no device seen"
    loads = "" if driver.library else f", {paint('its library does not load', 'warning')}"
    return f"NVIDIA driver: {shown(driver.version) or 'version unknown'}{devices}{loads}"


def _libraries(cuda: str, libraries: Sequence[Library], paint: Paint) -> list[str]:
    if not libraries:
        built = (
            f"for CUDA {shown(cuda)}, whose libraries are not known here"
            if cuda
            else "without CUDA"
        )
        return [f"This {RUNTIME} is built {built}"]
    missing = paint("missing", "warning")
    rows = [(each.file, shown(each.place) or missing) for each in libraries]
    return [f"Libraries for CUDA {shown(cuda)}, for which {RUNTIME} is built", *_table(rows)]


def _problems(found: Diagnosis, paint: Paint) -> list[str]:
    lines = []
    for problem in found.problems:
        label = paint("error", "error") if problem.broken else paint("warning", "warning")
        lines.append(f"{label}: {shown(problem.what)}")
        lines += [f"  cure: {shown(problem.cure)}"] if problem.cure else []
    if found.ok:
        usable = [
            each.name.removesuffix("ExecutionProvider") for each in found.providers if each.usable
        ]
        lines.append(paint(f"onnxpad works; it can validate on {' and '.join(usable)}", "good"))
    return lines


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    column = max(len(name) for name, _ in rows)
    return [f"  {name:{column}}  {text}" for name, text in rows]
