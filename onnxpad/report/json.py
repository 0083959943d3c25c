"""Reports as JSON for other programs.

`version` is the number of the schema. Within one version, fields may be added, but none changes or
disappears. JSON has no NaN and no infinities: NaN is null, infinity the string "inf" or "-inf".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from onnxpad import __version__
from onnxpad.finding import Assumption, Certificate, Change, Finding, NextOption, Page, Severity
from onnxpad.reasons import Reason
from onnxpad.report import (
    CheckReport,
    Configured,
    FileReport,
    FixReport,
    MatchReport,
    RepadReport,
    ValidateReport,
)
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    PaddingDifference,
    Placement,
    Run,
    Validation,
)

if TYPE_CHECKING:
    from onnxpad.doctor.diagnosis import Diagnosis
    from onnxpad.frameworks.conventions.explanation import ExplainReport
    from onnxpad.frameworks.conventions.question import Answer
    from onnxpad.targets.target import Cell, Target

SCHEMA = 1

_RECORDS = (
    *(Finding, Change, Page),
    *(Validation, Run, Comparison, Placement, Divergence, PaddingDifference),
)
"""Records that are written by their fields, in whatever report; others are words."""


def fix_json(report: FixReport) -> str:
    """The report of one `fix` as one JSON object, with a newline at the end."""
    document = {
        **head("fix", report.exit_code),
        "model": report.name,
        **report.options.decisive,
        "outcome": report.outcome,
        "written": report.delivery.written or None,
        "older": report.delivery.older or None,
        "data": list(report.delivery.data),
        "check": report.delivery.check,
        "counts": {
            side: asdict(counts)
            for side, counts in zip(("before", "after"), report.counts, strict=True)
        },
        "nodes_before": report.nodes_before,
        "nodes_after": report.nodes_after,
        "seconds": report.seconds,
        "declared": report.declared,
        "ranges": report.ranges,
        "dims": {
            name: {"first": sizes[0], "last": sizes[-1], "step": sizes.step}
            for name, sizes in report.dims.items()
        },
        "diff": report.delivery.diff,
        "changes": [_change(change) for change in report.changes],
        "findings": [finding_fields(finding) for finding in report.findings],
        "undone": [finding_fields(finding) for finding in report.undone],
        "barred": [finding_fields(finding) for finding in report.barred],
        "validation": report.compared,
        "notes": report.notes,
        "warnings": report.warnings,
        "html": report.delivery.html or None,
        "next": report.next and _next(report.next),
        **config_fields(report.config),
    }
    return dumped(document)


def check_json(report: CheckReport) -> str:
    """The report of one `check` as one JSON object with a list of files."""
    document = {
        **head("check", report.exit_code),
        "style": report.options.style,
        "trust": report.options.trust,
        "convention": report.convention or None,
        "html": report.html or None,
        "fail_on": report.fail_on,
        "files": [_file(file, report.fail_on) for file in report.files],
        "summary": {
            "files": len(report.files),
            "unreadable": sum(bool(file.error) for file in report.files),
            "failing": sum(len(file.failing(report.fail_on)) for file in report.files),
            **{severity.value: report.count(severity) for severity in Severity},
        },
    }
    return dumped(document)


def validate_json(report: ValidateReport) -> str:
    """The report of one `validate` as one JSON object."""
    document = {
        **head("validate", report.exit_code),
        "original": report.original,
        "rewritten": report.rewritten or None,
        "inputs": report.inputs or None,
        "reference": report.reference or None,
        "outcome": report.outcome,
        "providers": report.providers,
        "seconds": report.seconds,
        "unproven": report.unproven,
        "next": report.next or None,
        "html": report.html or None,
        "validation": report.validation,
        **config_fields(report.config),
    }
    return dumped(document)


def match_json(report: MatchReport) -> str:
    """The report of one `match` as one JSON object."""
    from onnxpad.frameworks.repadding.verdict import Distinguishable, Repadded, Tried

    matching = report.matching
    document = {
        **head("match", report.exit_code),
        "model": report.name,
        "reference": report.reference,
        "inputs": report.inputs or None,
        "outcome": matching.outcome,
        "reason": matching.reason or None,
        "first": matching.first or None,
        "convention": matching.by or None,
        "error": {
            "before": matching.before,
            "after": matching.after,
            "noise": matching.noise,
        },
        "nearest": matching.nearest,
        "record": matching.record,
        "layout": matching.layout,
        "changes": matching.changes,
        "distinguishable": matching.distinguishable,
        "tried": matching.tried,
        "left": [{"node": node, "reason": why} for node, why in matching.left],
        "runs": matching.runs,
        "stages": matching.stages,
        "notes": matching.notes,
        "written": report.delivery.written or None,
        "data": report.delivery.data,
        "seconds": report.seconds,
    }
    return dumped(document, Repadded, Distinguishable, Tried)


def repad_json(report: RepadReport) -> str:
    """The report of one `repad` as one JSON object."""
    from onnxpad.frameworks.repadding.changes import OutputChange, Rewritten, Unchanged

    difference = report.difference
    document = {
        **head("repad", report.exit_code),
        "model": report.name,
        "to": report.to,
        "reference": report.reference or None,
        "outcome": report.outcome,
        "failure": report.failure or None,
        "changes": report.changes,
        "unchanged": report.unchanged,
        "inputs": difference.inputs,
        "outputs": difference.outputs,
        "uncompared": difference.uncompared or None,
        "validation": report.validation,
        "declared": report.declared,
        "written": report.delivery.written or None,
        "older": report.delivery.older or None,
        "data": report.delivery.data,
        "seconds": report.seconds,
        "notes": report.notes,
        "warnings": report.warnings,
        **config_fields(report.config),
    }
    return dumped(document, Rewritten, Unchanged, OutputChange)


def explain_json(explanation: ExplainReport) -> str:
    """The report of one `explain` as one JSON object."""
    from onnxpad.frameworks.conventions.by_size import Deviation, Parting
    from onnxpad.frameworks.conventions.table import source_of
    from onnxpad.frameworks.conventions.writing import written

    question, windows, about = explanation.question, explanation.windows, explanation.about
    found = {name: answer for name, answer in explanation.conventions.items() if answer is not None}
    group = {name: names for names in explanation.agree for name in names}
    document = {
        **head("explain", explanation.exit_code),
        "model": None if about is None else about.model or None,
        "node": None if about is None else about.node,
        "padded": None if about is None else about.padded or None,
        "own": None if about is None else _own(explanation),
        "op": explanation.op,
        "size": explanation.size,
        "kernel": [window.kernel for window in windows],
        "stride": [window.stride for window in windows],
        "dilation": [window.dilation for window in windows],
        "padding": question.padding,
        "output_padding": question.output_padding,
        "output_size": None if explanation.reach is None else explanation.reach.output,
        "reach": _reach(explanation),
        "conventions": {
            name: answer and {"pads": answer.pads, "output": answer.output}
            for name, answer in explanation.conventions.items()
        },
        "agree": explanation.agree,
        "refused": explanation.refused,
        "classes": explanation.survey.classes,
        "partings": explanation.survey.partings,
        "about": {
            name: {
                "source": source_of(name),
                "dilation": [axis.window.dilation for axis in answer.axes],
                "output_padding": answer.output_padding,
                "counts_padding": answer.counts,
                **written(question, answer, group[name]),
            }
            for name, answer in found.items()
        },
    }
    return dumped(document, Parting, Deviation)


def _own(explanation: ExplainReport) -> dict[str, object] | None:
    """The padding that a model has at a node, and the conventions that compute the same there."""
    from onnxpad.frameworks.conventions.writing import written

    own = explanation.about and explanation.about.own
    if not own:
        return None
    return {
        "pads": own.pads,
        "output": own.output,
        "same": explanation.same_as_model,
        "output_padding": own.output_padding,
        **written(explanation.question, own),
    }


def _reach(explanation: ExplainReport) -> dict[str, object] | None:
    """The padding that gives the output size asked for; None if none was asked for."""
    from onnxpad.frameworks.conventions.writing import written

    if (reach := explanation.reach) is None:
        return None

    def told(answer: Answer, names: Sequence[str] = ()) -> dict[str, object]:
        lines = written(explanation.question, answer, names)
        return {"pads": answer.pads, "output_padding": answer.output_padding, **lines}

    axes = [
        {
            "size": need.size,
            "output": need.output,
            "without_padding": need.bare,
            "nearest": need.nearest,
            "sums": [
                {
                    "least": each.least,
                    "most": each.most,
                    "begin": each.begin,
                    "ceil_mode": each.ceil_mode,
                }
                for each in need.totals
            ],
        }
        for need in reach.needs
    ]
    return {
        "possible": reach.is_possible,
        "axes": axes,
        "conventions": {
            name: [told(answer, [name]) for answer in answers]
            for name, answers in reach.conventions.items()
        },
        "refused": reach.refused,
        "explicit": None if reach.explicit is None else told(reach.explicit),
        "changes": [
            {
                "axis": change.axis,
                "what": change.what,
                "now": change.now,
                "least": change.least,
                "most": change.most,
            }
            for change in reach.changes
        ],
    }


def doctor_json(found: Diagnosis, exit_code: int) -> str:
    """The report of `doctor` as one JSON object."""
    from onnxpad.doctor.diagnosis import Driver, Library, Package, Problem, Provider

    document = {**head("doctor", exit_code), "ok": found.ok, **_fields(found)}
    return dumped(document, Driver, Library, Package, Problem, Provider)


def rules_json(pages: Iterable[Page], words: Mapping[str, str] | None = None) -> str:
    """Rules, each with its page, and every reason.

    Args:
        pages: The rules.
        words: Entries of the glossary that were asked for.
    """
    reasons = {"reasons": {reason.value: reason.meaning for reason in Reason}}
    entries = {"words": dict(words)} if words else {}
    return dumped({**head("rule", 0), "rules": list(pages), **reasons, **entries})


def targets_json(targets: Iterable[Target], *, in_full: bool) -> str:
    """Targets as one JSON object: all that is known of them.

    Args:
        targets: They.
        in_full: Whether cells, runs and facts are written too.
    """
    from onnxpad.targets.known_targets import standing

    document = [
        {
            "name": target.name,
            "title": target.title,
            "version": target.version,
            "measured": target.measured,
            "read": target.read,
            **asdict(standing(target)),
            "spell": list(target.spell),
            "notes": list(target.notes),
            **(
                {
                    "cells": [_cell(cell) for cell in target.cells],
                    "runs": [asdict(run) for run in target.runs],
                    "facts": [asdict(fact) for fact in target.facts],
                }
                if in_full
                else {}
            ),
        }
        for target in targets
    ]
    return dumped({**head("targets", 0), "targets": document})


def _cell(cell: Cell) -> dict[str, Any]:
    """A cell, its conditions written as in a file."""
    when = {
        name: list(each.values)
        or {
            key: bound
            for key, bound in (("min", each.least), ("max", each.most))
            if bound is not None
        }
        for name, each in cell.when
    }
    return {**_fields(cell), "when": when, "known_by": cell.known_by}


def error_json(command: str, exit_code: int, kind: str, message: str) -> str:
    """The error of a command that has no report, as one JSON object."""
    error = {"kind": kind, "message": message}
    return dumped({**head(command, exit_code), "error": error})


def head(command: str, exit_code: int) -> dict[str, object]:
    """The fields that every report begins with."""
    tool = {"name": "onnxpad", "version": __version__}
    return {"version": SCHEMA, "tool": tool, "command": command, "exit_code": exit_code}


def _file(file: FileReport, fail_on: Severity) -> dict[str, object]:
    return {
        "path": file.path,
        "error": file.error or None,
        "failing": len(file.failing(fail_on)),
        "findings": [finding_fields(finding) for finding in file.findings],
        "notes": file.notes,
        "warnings": file.warnings,
        **config_fields(file.config),
    }


def config_fields(config: Configured | None) -> dict[str, object]:
    """The configuration that held, as a field of a report; no field if none did."""
    return {} if config is None else {"config": asdict(config)}


def finding_fields(finding: Finding) -> dict[str, object]:
    """A finding, with whether `fix` rewrites it, and the option that asks for it as it is."""
    return {
        **_fields(finding),
        "location": asdict(finding.location),
        "fixable": finding.fixable,
        "asked": finding.asked or None,
    }


def _next(found: NextOption) -> dict[str, object]:
    pads, auto_pads, nodes = (
        {"before": getattr(found.before, name), "after": getattr(found.after, name)}
        for name in ("pads", "auto_pads", "nodes")
    )
    return {
        "option": found.option,
        "keywords": found.keywords,
        "pads": pads,
        "auto_pads": auto_pads,
        "nodes": nodes,
        "text": f"{found.option} would {found.gain}",
        "hint": None,
    }


def _change(change: Change) -> dict[str, object]:
    return {name: getattr(change, name) for name in CHANGE}


def _codes(certificate: Certificate) -> list[str]:
    return [each.code for each in certificate.assumptions if isinstance(each, Assumption)]


def dumped(document: Mapping[str, object], *records: type) -> str:
    """A report as text, with a newline at the end.

    Args:
        document: The report.
        records: Further records in it that are written by their fields.
    """
    # ASCII with escapes is the same JSON on every console encoding.
    return json.dumps(_plain(document, (*_RECORDS, *records)), indent=2, allow_nan=False) + "\n"


CHANGE = (
    *("code", "node", "op_type", "before", "after", "certificate", "removed", "probe"),
    *("forms", "amounts", "repairs"),
)
"""The fields that JSON has of a change."""

WORDS = {
    "skipped": "uncompared",
    "totals": "pads",
    "limits": "sizes",
    **dict.fromkeys(
        (
            "drawn",
            "is_pad",
            "brief",
            "data",
            "elements",
            "resized",
        ),
        "",
    ),
}
"""The words that JSON has for facts, by field: the property with these, or none."""


def _fields(value: Any) -> dict[str, object]:
    names = (WORDS.get(name, name) for name in value.__struct_fields__)
    return {name: getattr(value, name) for name in names if name}


def _plain(value: object, records: tuple[type, ...]) -> object:
    """A value converted to JSON's types; evidence may hold values of any type."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, records) for key, item in value.items()}
    if isinstance(value, Certificate):
        return _plain({**_fields(value), "assumption_codes": _codes(value)}, records)
    if isinstance(value, records):
        return _plain(_fields(value), records)
    if isinstance(value, set | frozenset):
        return sorted((_plain(item, records) for item in value), key=str)
    tolist = getattr(value, "tolist", None)  # numpy's scalars and arrays, without importing it
    if callable(tolist):
        return _plain(tolist(), records)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, records) for item in value]
    return str(value)


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return str(float(value)) if math.isinf(value) else float(value)
