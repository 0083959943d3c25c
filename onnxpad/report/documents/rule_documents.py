"""The documents of `rule` and `doctor`."""

from __future__ import annotations

from collections.abc import Iterable

from onnxpad.doctor.diagnosis import Diagnosis, Driver
from onnxpad.errors import RUNTIME, and_list
from onnxpad.report.documents import Document, Pairs, document_of
from onnxpad.report.layout import marked
from onnxpad.report.text import shown


def words_document(entries: Iterable[tuple[str, str]]) -> Document:
    """Entries of the glossary: each word in bold, with its text."""
    words = Pairs([(marked(word, "strong"), text) for word, text in entries])
    return document_of("rule", "rule", [words])


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
