"""Reports as JSON for other programs: the records that a report holds, each by its fields.

`VIEWS` says what JSON has of a record; values and their schema are both read off it. `version` is
the number of the schema. Within one version, fields may be added, but none changes or disappears.
JSON has no NaN and no infinities: NaN is null, infinity the string "inf" or "-inf".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, to_builtins

from onnxpad import __version__
from onnxpad.finding import Assumption, Page, Severity
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport

if TYPE_CHECKING:
    from onnxpad.frameworks.conventions.explanation import ExplainReport
    from onnxpad.frameworks.conventions.question import Answer
    from onnxpad.inventory import PaddingSite
    from onnxpad.targets.known_targets import Standing
    from onnxpad.targets.target import Cell, Target

SCHEMA = 1


class RulePages(Struct, frozen=True):
    """The result of `rule`: rules, and entries of the glossary, if any were asked for."""

    rules: Sequence[Page]
    words: Mapping[str, str] | None = None

    @property
    def reasons(self) -> Mapping[str, str]:
        """Every reason with its meaning."""
        return {reason.value: reason.meaning for reason in Reason}


class TargetList(Struct, frozen=True):
    """The result of `targets`, of those asked for by name with cells, runs and facts."""

    found: Sequence[Target]
    in_full: bool


class Failed(Struct, frozen=True):
    """The end of a command that has no report."""

    command: str
    exit_code: int
    kind: str
    message: str


Computed = tuple[str, Callable[[Any], object]]
"""A value that is no field: its type as text, and the function that gives it."""


class Key(NamedTuple):
    """A key of an object in JSON.

    Attributes:
        name: The key; empty if the keys of its value stand in its place.
        source: The path of attributes to its value, or what computes it.
        is_null: Whether an empty value is null.
        is_open: Whether the key is left out where the value is null.
    """

    name: str
    source: str | Computed
    is_null: bool = False
    is_open: bool = False


View = tuple[str, Mapping[str, Computed]]


def told(keys: str, **computed: Computed) -> View:
    """The keys of a record as text, and those among them that are computed.

    A key is `key`, or `key=path` for another path of attributes. `?` at its end makes an empty
    value null, `~` in front leaves out a null, and the keys of `*path` stand in its place. `...`
    are the fields of the record but for those after `-`.
    """
    return keys, computed


def keys_of(name: str, fields: tuple[str, ...]) -> Iterator[Key]:
    """The keys that JSON has of a record, by the name of its class."""
    keys, computed = VIEWS.get(name, ("...", {}))
    listed, _, left_out = keys.partition(" - ")
    for word in listed.split():
        if word == "...":
            yield from (Key(each, each) for each in fields if each not in left_out.split())
            continue
        key, _, path = word.lstrip("~*").rstrip("?").partition("=")
        source = computed.get(key, path or key)
        yield Key("" if word[0] == "*" else key, source, word[-1] == "?", word[0] == "~")


def _lines(explanation: ExplainReport, answer: Answer, *names: str) -> dict[str, object]:
    """The lines that write a padding."""
    from onnxpad.frameworks.conventions.writing import written

    lines = written(explanation.question, answer, names)
    return {"output_padding": answer.output_padding, **lines}


def _way(explanation: ExplainReport, answer: Answer, *names: str) -> dict[str, object]:
    return {"pads": answer.pads, **_lines(explanation, answer, *names)}


def _own(explanation: ExplainReport) -> dict[str, object] | None:
    """The padding that a model has at a node, and the conventions that compute the same there."""
    own = explanation.about and explanation.about.own
    if not own:
        return None
    way = _way(explanation, own)
    return {**way, "output": own.output, "same": explanation.same_as_model}


def _reach(explanation: ExplainReport) -> dict[str, object] | None:
    """The padding that gives the output size asked for; None if none was asked for."""
    if (reach := explanation.reach) is None:
        return None
    return {
        "possible": reach.is_possible,
        "axes": reach.needs,
        "conventions": {
            name: [_way(explanation, answer, name) for answer in answers]
            for name, answers in reach.conventions.items()
        },
        "refused": reach.refused,
        "explicit": None if reach.explicit is None else _way(explanation, reach.explicit),
        "changes": reach.changes,
    }


def _about(explanation: ExplainReport) -> dict[str, object]:
    """Each convention that has an answer: where it is from, and the lines that write it."""
    from onnxpad.frameworks.conventions.table import source_of

    group = {name: names for names in explanation.agree for name in names}
    return {
        name: {
            "source": source_of(name),
            "dilation": [axis.window.dilation for axis in answer.axes],
            "counts_padding": answer.counts,
            **_lines(explanation, answer, *group[name]),
        }
        for name, answer in explanation.conventions.items()
        if answer is not None
    }


def _read(name: str, kind: str, other: object = None) -> Computed:
    """An attribute of the operator of a site."""
    return kind, lambda site: site.read(name, other)


def _known(value: object) -> int | None:
    """A number that is known, or None."""
    return value if isinstance(value, int) else None


def _outer(site: PaddingSite) -> list[dict[str, object]]:
    """The `Pad`s upstream of a site, or the site itself if it is one."""

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


def _standing(target: Target) -> Standing:
    from onnxpad.targets.known_targets import standing

    return standing(target)


def _when(cell: Cell) -> dict[str, object]:
    """The conditions of a cell, as in a file but for single values, which are lists too."""
    from onnxpad.targets.target import admitted

    return {name: to_builtins(admitted(said)) for name, said in cell.when.items()}


def _files(report: CheckReport) -> list[dict[str, object]]:
    fail_on = report.fail_on
    return [{**_fields(each), "failing": len(each.failing(fail_on))} for each in report.files]


def _summary(report: CheckReport) -> dict[str, int]:
    return {
        "files": len(report.files),
        "unreadable": sum(bool(file.error) for file in report.files),
        "failing": sum(len(file.failing(report.fail_on)) for file in report.files),
        **{severity.value: report.count(severity) for severity in Severity},
    }


def _sides(name: str) -> Computed:
    """The number of a name before and after."""
    numbers = "{'before': int, 'after': int}"
    return numbers, lambda it: {side: getattr(getattr(it, side), name) for side in _SIDES}


def _targets(known: TargetList) -> list[dict[str, object]]:
    long = () if known.in_full else ("cells", "runs", "facts")
    found = [_fields(each) for each in known.found]
    return [{key: each[key] for key in each if key not in long} for each in found]


_SIDES = ("before", "after")
_WAY = (
    "{'pads': tuple[tuple[int, int], ...], 'output_padding': tuple[int, ...], "
    "'pytorch': str, 'keras': str, 'onnx': str}"
)
_OWN = f"({_WAY} | {{'output': tuple[int, ...], 'same': tuple[str, ...]}}, None)"
_REACH = (
    "({'possible': bool, 'axes': tuple[Need, ...], 'conventions': Mapping[str, object], "
    f"'refused': Mapping[str, str], 'explicit': ({_WAY}, None), "
    "'changes': tuple[NumberChange, ...]}, None)"
)
_OUTER = (
    "[..., {'node': str, 'mode': str | None, 'value': float | int | str | None, "
    "'pads': tuple[int, ...] | None, 'axes': tuple[int, ...] | None, 'source': str, "
    "'formula': str | None, 'steps': tuple[PathNode, ...]}]"
)

VIEWS: Mapping[str, View] = {
    # fix
    "FixReport": told(
        "model=name *options outcome written=delivery.written? older=delivery.older? "
        "data=delivery.data check=delivery.check counts nodes_before nodes_after seconds declared "
        "ranges dims diff=delivery.diff changes findings undone barred validation=compared notes "
        "warnings html=delivery.html? next ~config",
        counts=(
            "{'before': Counts, 'after': Counts}",
            lambda it: dict(zip(_SIDES, it.counts, strict=True)),
        ),
    ),
    "Options": told(
        "... ~target ~target_only - shapes dims trust_dim_names strict target target_only",
        target=("str | tuple[str, ...]", lambda it: it.target if it.is_for_targets else None),
        target_only=("bool", lambda it: it.target_only if it.is_for_targets else None),
    ),
    "Change": told(
        "code node op_type before after certificate removed probe forms amounts repairs"
    ),
    "Certificate": told(
        "statement sizes assumptions facts within assumption_codes",
        assumption_codes=(
            "list[str]",
            lambda it: [each.code for each in it.assumptions if isinstance(each, Assumption)],
        ),
    ),
    "Finding": told("... fixable asked? - brief"),
    "NextOption": told(
        "option keywords pads auto_pads nodes text",
        pads=_sides("pads"),
        auto_pads=_sides("auto_pads"),
        nodes=_sides("nodes"),
        text=("str", lambda it: f"{it.option} would {it.gain}"),
    ),
    # check
    "CheckReport": told(
        "style=options.style trust=options.trust convention? html? fail_on files summary",
        files=("tuple[FileReport, ...]", _files),
        summary=("Mapping[str, int]", _summary),
    ),
    "FileReport": told(
        "path error? failing findings notes warnings ~config",
        failing=("int", lambda it: len(it.failing())),
    ),
    # validate
    "ValidateReport": told(
        "original rewritten? inputs? reference? outcome providers seconds unproven next? html? "
        "validation ~config"
    ),
    "Validation": told("... uncompared - skipped resized"),
    "Run": told("... - drawn sites"),
    "Comparison": told("... - elements"),
    "Divergence": told("... - is_pad"),
    "PaddingDifference": told("... pads - totals"),
    # many models
    "FileOutcome": told("... report - text"),
    "FolderReport": told("ran files codes"),
    # match and repad
    "MatchReport": told(
        "model=name reference inputs? *matching error written=delivery.written? "
        "data=delivery.data seconds",
        error=(
            "{'before': float, 'after': float, 'noise': float}",
            lambda it: {key: getattr(it.matching, key) for key in (*_SIDES, "noise")},
        ),
    ),
    "Matching": told(
        "outcome reason? first? convention=by? nearest record layout changes distinguishable tried "
        "left runs stages notes",
        left=(
            "[..., {'node': str, 'reason': str}]",
            lambda it: [{"node": node, "reason": why} for node, why in it.left],
        ),
    ),
    "RepadReport": told(
        "model=name to reference? outcome failure? changes unchanged inputs=difference.inputs "
        "outputs=difference.outputs uncompared=difference.uncompared? validation declared "
        "written=delivery.written? older=delivery.older? data=delivery.data seconds notes warnings "
        "~config"
    ),
    # show
    "ShowReport": told(
        "model? asked ~targets? total sites conventions findings=others notes warnings html? "
        "~config"
    ),
    "PaddingSite": told(
        "node op_type domain scope kind written pads own_pads axes kernel stride=windows.stride "
        "dilation=windows.dilation auto_pad ceil_mode count_include_pad output_padding "
        "output_shape outer tensor? path readers conventions convention? findings fixable stays "
        "problem? advice ~taken? ~known_by?",
        written=("str", lambda it: it.written or "none"),
        kernel=("list[int | None]", lambda it: [_known(each.kernel) for each in it.windows]),
        auto_pad=("str | None", lambda it: {"NOTSET": None}.get(said := it.read("auto_pad"), said)),
        ceil_mode=_read("ceil_mode", "bool", False),
        count_include_pad=_read("count_include_pad", "bool", False),
        output_padding=_read("output_padding", "tuple[int, ...]", ()),
        output_shape=_read("output_shape", "tuple[int, ...] | None"),
        outer=(_OUTER, _outer),
    ),
    "AxisPadding": told(
        "axis name begin end size extent=told_size formula?",
        begin=("int | None", lambda it: _known(it.pair[0])),
        end=("int | None", lambda it: _known(it.pair[1])),
        size=("int | None", lambda it: _known(it.extent)),
    ),
    # explain
    "ExplainReport": told(
        "model=about.model? node=about.node padded=about.padded? own op size kernel=windows.kernel "
        "stride=windows.stride dilation=windows.dilation padding=question.padding "
        "output_padding=question.output_padding output_size=reach.output reach conventions agree "
        "refused classes=survey.classes partings=survey.partings about",
        own=(_OWN, _own),
        reach=(_REACH, _reach),
        about=("Mapping[str, object]", _about),
    ),
    "Answer": told("pads output"),
    "Need": told("size output without_padding=bare nearest sums=totals"),
    # the others
    "Diagnosis": told("ok ..."),
    "RulePages": told("rules reasons ~words?"),
    "TargetList": told("targets", targets=("tuple[Target, ...]", _targets)),
    "Target": told(
        "name title version measured read *standing spell notes ~cells ~runs ~facts",
        standing=("Standing", _standing),
    ),
    "Cell": told("... when known_by - when exact of", when=("Mapping[str, object]", _when)),
    "Failed": told(
        "error",
        error=(
            "{'kind': str, 'message': str}",
            lambda it: {"kind": it.kind, "message": it.message},
        ),
    ),
}
"""The keys that JSON has of records, by the name of the class; of others it has all fields."""

COMMANDS = {
    "FixReport": "fix",
    "CheckReport": "check",
    "ValidateReport": "validate",
    "MatchReport": "match",
    "RepadReport": "repad",
    "ShowReport": "show",
    "FolderReport": "folder",
    "ExplainReport": "explain",
    "RulePages": "rule",
    "Diagnosis": "doctor",
    "TargetList": "targets",
    "Failed": "error",
}
"""The command of each report."""


def json_of(report: Any, exit_code: int | None = None) -> str:
    """A report as one JSON object, with a newline at the end; 0 is the exit code of most."""
    head = {
        "version": SCHEMA,
        "tool": {"name": "onnxpad", "version": __version__},
        "command": getattr(report, "command", COMMANDS[_name(report.__class__)]),
        "exit_code": getattr(report, "exit_code", 0) if exit_code is None else exit_code,
    }
    # ASCII with escapes is the same JSON on every console encoding.
    return json.dumps({**head, **_fields(report)}, indent=2, allow_nan=False) + "\n"


@cache
def _name(kind: type) -> str:
    """The class of a record or of its base that has a view; else its own name."""
    names = (each.__name__ for each in kind.__mro__)
    return next((name for name in names if name in VIEWS), kind.__name__)


@cache
def _keys(kind: type) -> tuple[Key, ...]:
    return tuple(keys_of(_name(kind), kind.__struct_fields__))  # type: ignore[attr-defined]


def _fields(record: Any) -> dict[str, object]:
    found: dict[str, object] = {}
    for key in _keys(record.__class__):
        source = key.source
        value = _at(record, source) if isinstance(source, str) else source[1](record)
        if key.is_null:
            value = value or None
        if not key.name:
            found |= _fields(value)
        elif value is not None or not key.is_open:
            found[key.name] = _plain(value)
    return found


def _at(value: Any, path: str) -> Any:
    """The value at a path of attributes; None behind a None, and a list of those of each item."""
    for name in path.split("."):
        if isinstance(value, tuple):
            value = [getattr(each, name) for each in value]
        else:
            value = None if value is None else getattr(value, name)
    return value


def _plain(value: Any) -> object:
    """A value converted to JSON's types; evidence may hold values of any type."""
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            is_told = math.isinf(value)
            return None if math.isnan(value) else str(float(value)) if is_told else float(value)
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
