"""The document of `doctor`: what is installed, what works, and what mends the rest."""

from __future__ import annotations

from onnxpad.doctor.examine import Diagnosis, Driver
from onnxpad.errors import RUNTIME, and_list
from onnxpad.report.documents import Document, Pairs
from onnxpad.report.layout import marked
from onnxpad.report.text import shown, warned


def doctor_document(found: Diagnosis) -> Document:
    """The report of `doctor`: packages, providers, driver, libraries, problems with their cure."""
    (first, *others), usable = found.packages, [each for each in found.providers if each.usable]
    works, fails = marked("works", "good"), marked("no", "warning")
    lacking, missing = marked("not installed", "error"), marked("missing", "warning")
    troubles = [works if e.usable else f"{fails}: {shown(e.trouble)}" for e in found.providers]
    providers = [*zip((shown(each.name) for each in found.providers), troubles, strict=True)]
    problems = list[str]()
    for problem in found.problems:
        label = "error" if problem.broken else "warning"
        problems += warned([problem.what], label, label)
        problems += [f"  cure: {shown(problem.cure)}"] * bool(problem.cure)
    works_on = f"onnxpad works; it can validate on {and_list(shown(e.name) for e in usable)}"
    problems += [marked(works_on, "good")] * found.ok
    packages = Pairs([(each.name, shown(each.version) or lacking) for each in others])
    libraries = Pairs([(each.file, shown(each.place) or missing) for each in found.libraries])
    built = f"built for CUDA {shown(found.cuda)}" if found.cuda else "built without CUDA"
    return Document.of(
        "doctor",
        "",
        f"{first.name} {first.version}, Python {found.python}, {found.platform}",
        [packages],
        [f"Providers of {RUNTIME}, {built}", Pairs(providers)] if providers else [],
        [f"NVIDIA driver: {_gpus(found.driver)}", *[libraries] * bool(providers)],
        problems,
    )


def _gpus(driver: Driver) -> str:
    if not driver.present:
        return "none, so CUDA cannot run here"
    loads = "" if driver.library else marked("its library does not load", "warning")
    devices = map(shown, driver.devices) if driver.devices else ["no device seen"]
    return ", ".join(filter(None, [shown(driver.version), *devices, loads]))
