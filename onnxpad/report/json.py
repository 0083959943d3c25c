"""Reports as JSON for other programs: the records that a report holds, each by its fields.

`VIEWS` says what JSON has of a record; values and their schema are both read off it. `version` is
the number of the schema. Within one version, fields may be added, but none changes or disappears.
JSON has no NaN and no infinities: NaN is null, infinity the string "inf" or "-inf".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from onnxpad import __version__
from onnxpad.finding import Assumption, Page, Severity
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport

if TYPE_CHECKING:
    from onnxpad.frameworks.conventions.explanation import ExplainReport
    from onnxpad.frameworks.conventions.question import Answer
    from onnxpad.inventory import PaddingSite
    from onnxpad.targets.target import Target

SCHEMA = 1


class RulePages(Struct, frozen=True):
    """The result of `rule`: rules, and entries of the glossary, if any were asked for."""

    command = "rule"
    rules: Sequence[Page]
    words: Mapping[str, str] | None = None


class TargetList(Struct, frozen=True):
    """The result of `targets`, of those asked for by name with cells and facts."""

    command = "targets"
    found: Sequence[Target]
    in_full: bool


class Failed(Struct, frozen=True):
    """The end of a command that has no report."""

    command: str
    exit_code: int
    kind: str
    message: str


VIEWS: Mapping[str, str] = {
    "FixReport": "model=name *options outcome written=delivery.written? older=delivery.older? "
    "data=delivery.data check=delivery.check counts.before=counts.0 counts.after=counts.1 "
    "nodes_before=counts.0.nodes nodes_after=counts.1.nodes seconds declared ranges dims "
    "diff=delivery.diff changes findings undone barred validation notes warnings html? next "
    "~config",
    "Options": "style=style_asked ... ~target? ~target_only - style shapes dims trust_dim_names "
    "strict target target_only",
    "Change": "code node op_type before after certificate removed probe forms amounts repairs",
    "Certificate": "statement sizes assumptions facts within assumption_codes",
    "Finding": "... fixable asked? - brief",
    "NextOption": "option keywords pads.before=before.pads pads.after=after.pads "
    "auto_pads.before=before.auto_pads auto_pads.after=after.auto_pads nodes.before=before.nodes "
    "nodes.after=after.nodes text",
    "CheckReport": "style=options.style_asked trust=options.trust ~target=options.targets? "
    "convention? html? fail_on files summary",
    "FileReport": "path error? failing findings notes warnings ~config",
    "ValidationResult": "original rewritten? inputs? reference? outcome providers seconds "
    "unproven next? html? validation ~proof ~config",
    "Validation": "... - resized",
    "Divergence": "... - is_pad",
    "PaddingDifference": "... pads - totals sites",
    **dict.fromkeys(("Repadded", "Rewritten"), "... - answers"),
    "FileOutcome": "... older? next? report - text config",
    "FolderReport": "ran files others codes html?",
    "MatchReport": "model=name reference inputs? *matching written=delivery.written? "
    "data=delivery.data seconds html?",
    "Matching": "outcome reason? first? convention=by? record rivals further undecided changes "
    "tried left runs notes error.before=before error.after=after error.noise=noise",
    "ProveReport": "original rewritten *verdict seconds html?",
    "Decision": "... counterexample?",
    "Counterexample": "... where? output? - feeds",
    "RepadReport": "model=name to outcome failure? changes unchanged inputs=difference.inputs "
    "outputs=difference.outputs uncompared=difference.uncompared? declared "
    "written=delivery.written? older=delivery.older? data=delivery.data seconds notes warnings "
    "html? ~config",
    "ShowResult": "model? asked ~targets? total sites conventions findings=others notes warnings "
    "html? ~config",
    "PaddingSite": "node op_type domain scope kind written pads own_pads axes "
    "kernel=windows.kernel# stride=windows.stride dilation=windows.dilation auto_pad ceil_mode "
    "count_include_pad output_padding output_shape outer tensor? path readers conventions "
    "convention? findings fixable stays problem? advice",
    "AxisPadding": "axis name begin=pair.0# end=pair.1# size=extent# extent=told_size formula?",
    "ExplainReport": "model=about.model? node=about.node padded=about.padded? own op size "
    "kernel=windows.kernel stride=windows.stride dilation=windows.dilation "
    "padding=question.padding output_padding=question.output_padding output_size=reach.output "
    "reach conventions agree refused classes=survey.classes period=survey.period "
    "since=survey.since periods=survey.periods about html? ~config",
    "Answer": "pads output",
    "Need": "size output without_padding=bare nearest sums=totals",
    "Diagnosis": "ok ...",
    "RulePages": "rules reasons ~words?",
    "TargetList": "targets=found",
    "Target": "name title version measured read *standing spell notes ~cells ~facts",
    "Cell": "... when known_by - when exact",
    "Failed": "error.kind=kind error.message=message",
}
"""The keys that JSON has of records, by the name of the class; of others it has all fields.

A key is `key`, or `key=path` for another path of attributes and places; one with a dot is in an
object. `?` at its end makes an empty value null, `#` all but whole numbers; `~` in front leaves out
a null, and the keys of `*path` stand in its place. `...` are the fields but for those after `-`.
"""


def _way(explanation: ExplainReport, answer: Answer, *names: str) -> dict[str, object]:
    from onnxpad.frameworks.conventions.writing import written

    told = {"pads": answer.pads, "output_padding": answer.output_padding}
    return {**told, **written(explanation.question, answer, names)}


def _own(explanation: ExplainReport) -> dict[str, object] | None:
    own = explanation.about and explanation.about.own
    if not own:
        return None
    return {**_way(explanation, own), "output": own.output, "same": explanation.same_as_model}


def _reach(explanation: ExplainReport) -> dict[str, object] | None:
    if (reach := explanation.reach) is None:
        return None
    return {
        "possible": reach.is_possible,
        "axes": reach.needs,
        "conventions": {
            name: [_way(explanation, each, name) for each in answers]
            for name, answers in reach.conventions.items()
        },
        "refused": reach.refused,
        "explicit": reach.explicit and _way(explanation, reach.explicit),
        "changes": reach.changes,
    }


def _about(explanation: ExplainReport) -> dict[str, dict[str, object]]:
    from onnxpad.frameworks.conventions.table import CONVENTIONS

    group = {name: names for names in explanation.agree for name in names}
    found = {name: answer for name, answer in explanation.conventions.items() if answer}
    return {
        name: {
            "source": CONVENTIONS[name].source,
            "dilation": [axis.window.dilation for axis in answer.axes],
            "counts_padding": answer.counts,
            **_way(explanation, answer, *group[name]),
        }
        for name, answer in found.items()
    }


def _outer(site: PaddingSite) -> list[dict[str, object]]:
    def one(pad: PaddingSite) -> dict[str, object]:
        mode, amounts = pad.read("mode"), pad.read("constant_amounts")
        return {
            "node": pad.names[0],
            "mode": mode,
            "value": pad.read("value") if mode == "constant" else None,
            "pads": None if amounts is None else sum(zip(*amounts, strict=True), ()),
            "axes": pad.read("axes"),
            "source": pad.source or pad.problem,
            "formula": pad.formula or None,
            "steps": () if pad is site else pad.path,
        }

    return [one(pad) for pad in ((site,) if site.kind == "pad" else site.outer)]


def _summary(report: CheckReport) -> dict[str, int]:
    found = [each.severity for file in report.files for each in file.findings]
    return {
        "files": len(report.files),
        "unreadable": sum(bool(file.error) for file in report.files),
        "failing": sum(len(file.failing(report.fail_on)) for file in report.files),
        **{severity.value: found.count(severity) for severity in Severity},
    }


_LONG = {"cells", "facts"}
COMPUTED: Mapping[str, tuple[Any, Callable[[Any], object]]] = {
    "Certificate.assumption_codes": (
        list[str],
        lambda it: [each.code for each in it.assumptions if isinstance(each, Assumption)],
    ),
    "Options.target_only": (None, lambda it: it.target_only if it.is_for_targets else None),
    "NextOption.text": (str, lambda it: f"{it.option} would {it.gain}"),
    "CheckReport.files": (
        None,
        lambda it: [{**_fields(e), "failing": len(e.failing(it.fail_on))} for e in it.files],
    ),
    "CheckReport.summary": (dict[str, int], _summary),
    "FileReport.failing": (int, lambda it: len(it.failing())),
    "Matching.left": (
        list[dict[str, str]],
        lambda it: [{"node": node, "reason": why} for node, why in it.left],
    ),
    "PaddingSite.written": (None, lambda it: it.written or "none"),
    "PaddingSite.auto_pad": (
        str | None,
        lambda it: {"NOTSET": None}.get(said := it.read("auto_pad"), said),
    ),
    "PaddingSite.ceil_mode": (bool, lambda it: it.read("ceil_mode", False)),
    "PaddingSite.count_include_pad": (bool, lambda it: it.read("count_include_pad", False)),
    "PaddingSite.output_padding": (tuple[int, ...], lambda it: it.read("output_padding", ())),
    "PaddingSite.output_shape": (tuple[int, ...] | None, lambda it: it.read("output_shape")),
    "PaddingSite.outer": (list[dict[str, object]], _outer),
    "ExplainReport.own": (dict[str, object] | None, _own),
    "ExplainReport.reach": (dict[str, object] | None, _reach),
    "ExplainReport.about": (dict[str, dict[str, object]], _about),
    "RulePages.reasons": (dict[str, str], lambda _: {each.value: each.meaning for each in Reason}),
    "TargetList.targets": (
        None,
        lambda it: [
            {key: told for key, told in _fields(e).items() if it.in_full or key not in _LONG}
            for e in it.found
        ],
    ),
    "Cell.when": (
        dict[str, object],  # as in a file but for single values, which are lists too
        lambda it: {name: to_builtins(said) for name, said in it.when.items()},
    ),
}
"""What is computed, by record and key: its type (None for the path's), and how."""

Key = tuple[str, Sequence[str], str, tuple[Any, Callable[[Any], object]] | None]
"""A name, a path, marks (`~`, `?`, `#`), and what computes it."""


@cache
def keys_of(record: type) -> Sequence[Key]:
    """The keys that JSON has of a record; the name is empty if those of the value stand for it."""
    names = (each.__name__ for each in record.__mro__)
    view = next((name for name in names if name in VIEWS), "")
    listed, _, left_out = VIEWS.get(view, "...").partition(" - ")
    fields: Sequence[str] = record.__struct_fields__  # type: ignore[attr-defined]
    kept = " ".join(each for each in fields if each not in left_out.split())
    found = list[Key]()
    for word in listed.replace("...", kept).split():
        name, _, path = word.strip("~*?#").partition("=")
        computed, marks = COMPUTED.get(f"{view}.{name}"), word[0] + word[-1]
        found.append((name * (word[0] != "*"), (path or name).split("."), marks, computed))
    return found


def json_of(report: Any) -> str:
    """A report as one JSON object, with a newline at the end; 0 is the exit code of most."""
    head = {
        "version": SCHEMA,
        "tool": {"name": "onnxpad", "version": __version__},
        "command": report.command,
        "exit_code": getattr(report, "exit_code", 0),
    }
    # ASCII with escapes is the same JSON on every console encoding.
    return json.dumps({**head, **_fields(report)}, indent=2, allow_nan=False) + "\n"


def _fields(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, path, marks, computed in keys_of(record.__class__):
        value = computed[1](record) if computed else _at(record, path)
        value = value or None if "?" in marks else value
        if not name:
            found |= _fields(value)
        elif value is not None or "~" not in marks:
            outer, _, key = name.rpartition(".")
            place = found.setdefault(outer, {}) if outer else found
            place[key] = _number(value) if "#" in marks else _plain(value)
    return found


def _at(value: Any, path: Sequence[str]) -> Any:
    """The value at a path; None behind a None, and a list of those of each item."""
    for name in path:
        if name.isdigit():
            value = value[int(name)]
        elif isinstance(value, tuple):
            value = [getattr(each, name) for each in value]
        else:
            value = None if value is None else getattr(value, name)
    return value


def _number(value: object) -> object:
    if isinstance(value, list):
        return [*map(_number, value)]
    return value if isinstance(value, int) else None


def _plain(value: Any) -> object:
    """A value converted to JSON's types; evidence may hold values of any type."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return None if math.isnan(value) else str(value) if math.isinf(value) else float(value)
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case Struct():
            return _fields(value)
        case range():
            return {"first": value[0], "last": value[-1], "step": value.step}
        case set() | frozenset():
            return sorted(map(_plain, value), key=str)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [*map(_plain, value)]
    tolist = getattr(value, "tolist", None)  # numpy's scalars and arrays, without importing it
    return _plain(tolist()) if callable(tolist) else str(value)
