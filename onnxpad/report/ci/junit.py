"""The report of `check` as JUnit XML, which most CI systems show as tests."""

from __future__ import annotations

from collections import Counter
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from onnxpad.report import CheckReport, FileReport
from onnxpad.report.ci import relative, without_folders
from onnxpad.report.documents.check_document import finding_text
from onnxpad.report.text import labelled, shown

_TIME: Final = "0"  # not measured; some readers ask for it


def check_junit(report: CheckReport) -> str:
    """A suite for each model, and in it a case for each finding that fails the check.

    A model in which none does has one case, which passes; one that cannot be read has one with an
    error. Texts have no character that XML forbids, since `shown` escapes all that is not printed;
    others than ASCII are references, so that the encoding of a console does not matter.
    """
    whole = Element("testsuites", name="onnxpad check")
    suites = [_suite(whole, file, report) for file in report.files]
    for name in ("tests", "failures", "errors"):
        whole.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    whole.set("time", _TIME)
    indent(whole)
    written: bytes = tostring(whole, "us-ascii", xml_declaration=True)
    return f"{written.decode()}\n"


def _suite(whole: Element, file: FileReport, report: CheckReport) -> Element:
    path = shown(relative(file.path))
    failing = file.failing(report.fail_on)
    suite = SubElement(
        whole,
        "testsuite",
        name=path,
        tests=str(len(failing) or 1),
        failures=str(len(failing)),
        errors=str(int(bool(file.error))),
        skipped="0",
        time=_TIME,
    )
    seen = Counter[str]()
    for finding in failing:
        title = f"{finding.code} {labelled(finding)}"
        seen[title] += 1  # readers take cases of one name for one
        name = f"{title} {seen[title]}" if seen[title] > 1 else title
        text = finding_text(finding)
        case = SubElement(suite, "testcase", classname=path, name=name, time=_TIME)
        SubElement(
            case, "failure", type=finding.code, message=text
        ).text = f"{path}: {title}: {text}"
    if not failing:
        case = SubElement(suite, "testcase", classname=path, name="padding", time=_TIME)
        if file.error:
            text = shown(without_folders(file.error, file.path))
            SubElement(case, "error", type="model", message=text).text = text
    remarks = [*file.warnings, *file.notes]
    if remarks:
        said = (shown(without_folders(each, file.path)) for each in remarks)
        SubElement(suite, "system-out").text = "\n".join(said)
    return suite
