"""The report of `check` as annotations of GitHub and SARIF, with paths from the working folder."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onnxpad import __version__
from onnxpad.errors import and_list, counted, place_in
from onnxpad.finding import Finding, Page, Severity
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.documents.check_document import finding_text
from onnxpad.report.text import labelled, shown

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LEVELS = {**_COMMANDS, Severity.INFO: "note"}
MOST = 10
"""Annotations of one level that GitHub takes from a step."""
_LONGEST = 1024  # characters of a description that GitHub takes


def relative(path: str) -> str:
    """A path as seen from the working folder, with `/` between its parts."""
    with suppress(ValueError):  # Windows: it is on another drive
        return os.path.relpath(path).replace(os.sep, "/")
    return Path(path).name


def check_github(report: CheckReport, *, quiet: bool = False) -> str:
    """Workflow commands: errors and what fails first, alone if `quiet`; a line counts the rest."""
    told = [each for file in report.files for each in _annotations(file, report, quiet=quiet)]
    told.sort(key=lambda each: not each[2])
    lines, left = list[str](), list[str]()
    for level, command in _COMMANDS.items():
        found = [text for severity, text, _ in told if severity is level]
        lines += (f"::{command} {text}" for text in found[:MOST])
        left += [counted(len(found) - MOST, level)] * (len(found) > MOST)
    if left:
        lines.append(f"GitHub shows {MOST} of each level a step; not shown: {and_list(left)}")
    return "".join(f"{line}\n" for line in lines)


def _annotations(
    file: FileReport, report: CheckReport, *, quiet: bool
) -> Iterator[tuple[Severity, str, bool]]:
    place = f"file={_property(shown(relative(file.path)))}"
    for level, text in file.remarks:
        if level is not Severity.INFO:
            told = _data(shown(text.replace(file.path, relative(file.path))))
            yield level, f"{place}::{told}", True
    failing = {*map(id, file.failing(report.fail_on))}
    for each in (each for each in file.findings if not quiet or id(each) in failing):
        title = _property(f"{each.code} {labelled(each)}")
        text = f"{place},title={title}::{_data(finding_text(each))}"
        yield each.severity, text, id(each) in failing


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def check_sarif(report: CheckReport) -> str:
    """The report of one `check` as a run: findings are results, of padding that stays notes.

    Models that cannot be read, and remarks on the others, are notifications of the run.
    """
    from onnxpad.rewrite.registry import catalogue  # the passes take long to import

    files, pages = report.files, catalogue()
    codes = sorted({each.code for file in files for each in file.findings})
    rules = [_rule(code, pages.get(code)) for code in codes]
    invocation = {
        "executionSuccessful": not any(file.error for file in files),
        "exitCode": report.exit_code,
        "toolExecutionNotifications": [each for file in files for each in _notifications(file)],
    }
    run = {
        "tool": {"driver": {"name": "onnxpad", "version": __version__, "rules": rules}},
        "invocations": [invocation],
        "results": [each for file in files for each in _results(file, codes)],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, page: Page | None) -> dict[str, Any]:
    if page is None:
        return {"id": code}
    paragraphs = (text for text in page.text.split("\n\n")[1:] if text[:1] != " ")
    lines = [line for line in next(paragraphs, "").splitlines() if not line.startswith("#")]
    return {
        "id": code,
        "shortDescription": {"text": page.title[:_LONGEST]},
        "fullDescription": {"text": (" ".join(lines) or page.title)[:_LONGEST]},
        "help": {"text": re.sub("^#+ ", "", page.text, flags=re.M), "markdown": page.text},
        "defaultConfiguration": {"level": _LEVELS[page.severity]},
    }


def _results(file: FileReport, codes: list[str]) -> Iterator[dict[str, Any]]:
    seen = Counter[str]()
    for finding in file.findings:
        logical = [*_logical(finding)]
        place = " ".join((finding.code, *(each["fullyQualifiedName"] for each in logical)))
        seen[place] += 1
        yield {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": _message(f"{labelled(finding)}: {finding_text(finding)}"),
            "locations": [{**_location(file), "logicalLocations": logical}],
            # GitHub takes results of one file that share it for one.
            "partialFingerprints": {"primaryLocationLineHash": f"{place}:{seen[place]}"},
        }


def _notifications(file: FileReport) -> Iterator[Mapping[str, object]]:
    for severity, text in file.remarks:
        message = _message(shown(text.replace(file.path, relative(file.path))))
        yield {"level": _LEVELS[severity], "message": message, "locations": [_location(file)]}


def _location(file: FileReport) -> dict[str, object]:
    """A model: it has no lines, but code scanning asks for one."""
    uri = quote(os.fsencode(relative(file.path)))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}


def _logical(finding: Finding) -> Iterator[dict[str, str]]:
    place = finding.location
    unnamed = f"<{place.output}>" if place.output else finding.node
    name = shown(place.name or unnamed)
    if name:
        way = place_in("", *map(shown, place.scope), name)
        yield {"name": name, "fullyQualifiedName": way, "kind": "node"}


def _message(text: str) -> dict[str, str]:
    """A message in which no brace begins an argument, no bracket a link (SARIF 2.1.0, 3.11)."""
    escaped = re.sub(r"[\[\]]", r"\\\g<0>", text)
    return {"text": escaped.replace("{", "{{").replace("}", "}}")}
