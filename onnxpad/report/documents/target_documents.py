"""The documents of `targets`: what is known of every runtime, and of some in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from onnxpad.messages import and_list, counted
from onnxpad.report.documents import Block, Document, Group, Line, Table
from onnxpad.report.layout import marked
from onnxpad.report.text import shown
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import USUAL, standing
from onnxpad.targets.target import Cell, Condition, Run, Target, noted
from onnxpad.targets.target_file import SPELLINGS, TOPICS, VERDICTS, WORDS, Value

ROLES: Final = {"right": "good", "wrong": "error", "rejected": "error", "fallback": "warning"}
"""The role of each verdict that has one."""

_HEADS: Final = ("target", "known by", "as given", "best", "title")

_HALVES: Final = frozenset({"end", "begin", "mixed"})
_SAME: Final = frozenset({"SAME_UPPER", "SAME_LOWER"})

_WORDS: Final[Mapping[tuple[str, Value], str]] = {
    ("pads", "none"): "no pads",
    ("pads", "equal"): "pads equal at both ends",
    ("pads", "end"): "more padding at an end",
    ("pads", "begin"): "more padding at a begin",
    ("pads", "mixed"): "more padding here at an end, there at a begin",
    ("pads", "open"): "padding that open sizes decide",
    ("ceil", ""): "no ceil_mode",
    ("ceil", "even"): "ceil_mode that changes nothing",
    ("ceil", "over"): "ceil_mode with a window more",
    ("ceil", "dropped"): "ceil_mode whose last window is dropped",
    ("ceil", "open"): "ceil_mode at open sizes",
    ("pad", ""): "no Pad in front",
    ("pad", "constant"): "a Pad with amounts in initializers or attributes",
    ("pad", "constant-node"): "a Pad with amounts in Constant nodes",
    ("pad", "computed"): "a Pad with computed amounts",
    ("fill", "absent"): "a fill that is not written",
    ("fill", "empty"): "a fill without a name",
    ("fill", "zero"): "a fill of 0",
    ("fill", "lowest"): "a fill of the lowest number",
    ("fill", "other"): "another fill",
    ("fill", "open"): "a computed fill",
    ("grouped", "group"): "groups",
    ("grouped", "depthwise"): "a group for each channel",
    ("uneven", True): "strides that differ between axes",
    ("dilated", True): "dilation",
    ("reaching", True): "pads not below the kernel",
    ("narrow", True): "a kernel below its stride",
    ("even", True): "an even kernel of SAME",
    ("counted", True): "counted padding",
    ("counted", False): "padding that is not counted",
    ("count_include_pad", True): "count_include_pad",
    ("count_include_pad", False): "no count_include_pad",
    ("kernel_shape", False): "no attribute kernel_shape",
    ("both", True): "auto_pad and pads both written",
    ("silent", True): "no attribute pads",
    ("sized", False): "open sizes",
    ("batched", False): "an open batch size",
    ("negative", True): "negative amounts",
    ("beyond", True): "padding of batch or channels",
    ("axes", True): "a Pad with axes",
    ("axes", False): "a Pad without axes",
    ("raw", True): "amounts stored as bytes",
    ("output_padding", True): "output_padding",
    ("output_shape", True): "output_shape",
    ("output_shape", False): "no output_shape",
    ("cropped", True): "a crop behind it",
    ("quantised", True): "quantised data",
    ("kernel_shape", True): "the attribute kernel_shape",
    ("silent", False): "the attribute pads",
    ("sized", True): "known sizes",
    ("batched", True): "a known batch size",
    ("raw", False): "amounts stored as numbers",
    ("outer", "none"): "a Pad of nothing",
    ("outer", "equal"): "a Pad equal at both ends",
    ("outer", "end"): "a Pad with more at an end",
    ("outer", "begin"): "a Pad with more at a begin",
    ("outer", "mixed"): "a Pad with more here at an end, there at a begin",
    ("outer", "open"): "a Pad that open sizes decide",
    ("onnxruntime", ""): "what onnxruntime's CPU provider takes as specified",
    ("onnxruntime", "stops"): "what onnxruntime's CPU provider does not run",
    ("onnxruntime", "departs"): "what onnxruntime's CPU provider computes otherwise",
    ("onnxruntime", "misfolds"): "a Pad that onnxruntime's optimiser folds wrongly",
}  # fmt: skip
"""Values of the fields of a form in words; others are told with the name of the field."""

_TOGETHER: Final[Mapping[tuple[str, frozenset[Value]], str]] = {
    ("auto_pad", _SAME): "SAME",
    ("auto_pad", _SAME | {"VALID"}): "SAME or VALID",
    ("auto_pad", frozenset({"NOTSET", "VALID"})): "auto_pad NOTSET or VALID",
    ("pads", _HALVES): "pads that differ at both ends",
    ("pads", _HALVES | {"open"}): "pads that differ at both ends, or that open sizes decide",
    ("pads", _HALVES | {"equal", "open"}): "pads",
    ("pads", _HALVES | {"equal"}): "pads above 0 at an end",
    ("ceil", frozenset({"even", "over", "dropped", "open"})): "ceil_mode",
    ("ceil", frozenset({"over", "dropped", "open"})): "ceil_mode with a window more, if any",
    ("pad", frozenset({"constant", "constant-node", "computed"})): "a Pad",
    ("pad", frozenset({"constant", "constant-node"})): "a Pad with constant amounts",
}
"""Several values of a field in words."""

_BY_KIND: Final = ("auto_pad_", "asymmetric_pads_")
"""Topics that there are of each kind of operator begin so."""

_UNITS: Final = {"rank": "spatial axes", "opset": "opset", "stride": "stride"}


def words_of(when: Iterable[tuple[str, Condition]]) -> str:
    """Conditions on a form, in words.

    >>> words_of([("op", Condition(("Conv",))), ("stride", Condition(least=2))])
    'Conv; stride from 2'
    """
    conditions = dict(when)
    is_exact = conditions.keys() >= USUAL.keys()
    told = [
        _condition(name, each)
        for name, each in conditions.items()
        if not (is_exact and each.values == (USUAL.get(name),)) and not _admits_all(name, each)
    ]
    told += ["all else as usual"] if is_exact else []
    return "; ".join(told) or "every form"


def _admits_all(name: str, condition: Condition) -> bool:
    """Whether a condition lists each value that a field may have."""
    flags = (True, False) if isinstance(Form._field_defaults.get(name), bool) else ()
    values = WORDS.get(name, flags)
    return bool(values) and {*values} == {*condition.values}


def _condition(name: str, condition: Condition) -> str:
    if not condition.values:
        bounds = (("from", condition.least), ("to", condition.most))
        told = [f"{word} {number}" for word, number in bounds if number is not None]
        return " ".join([_UNITS.get(name, name), *told])
    together = _TOGETHER.get((name, frozenset(condition.values)))
    if together is not None:
        return together
    if all((name, value) in _WORDS for value in condition.values):
        return _either(_WORDS[name, value] for value in condition.values)
    if condition.values == ("",):
        return f"no {name}"
    if condition.values == (False,):
        return f"without {_WORDS.get((name, True), name)}"
    own = "ai.onnx" if name == "domain" else "none"
    named = _either(shown(str(value)) or own for value in condition.values)
    return named if name == "op" else f"{name} {named}"


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return " or ".join(filter(None, (", ".join(others), last)))


def targets_document(targets: Iterable[Target]) -> Document:
    """A row for each target: how it is known, and how many of the forms it computes rightly."""
    rows = [
        [shown(target.full_name), *_standing(target), shown(target.title)] for target in targets
    ]
    ends = (
        "as given, best: forms of padding that are right as they are, and in the best writing",
        "onnxpad targets NAME tells all that is known of one; fix, check and show take --target",
    )
    lines = [Line(end, "", "") for end in ends]
    return Document("targets", "targets", [Group("", [Table(_HEADS, rows)]), Group("", lines)])


def _standing(target: Target) -> list[str]:
    found = standing(target)
    how = f"{found.models} runs" if found.models else "source"
    return [how, f"{found.given}/{found.forms}", f"{found.best}/{found.forms}"]


def target_document(targets: Iterable[Target]) -> Document:
    """All that is known of targets, with the source of each cell."""
    return Document("targets", "targets", [each for target in targets for each in _groups(target)])


def _groups(target: Target) -> Iterator[Group]:
    yield Group("", [*_head(target)])
    if target.runs:
        yield Group("", [*_measured(target)])
    asked = {topic: [cell for cell in target.cells if _topic(cell) == topic] for topic in TOPICS}
    for topic, cells in asked.items():
        if cells:
            yield Group("", [*_topic_blocks(TOPICS[topic], cells)])
    if target.facts:
        facts = [
            Line(f"{shown(fact.text)}{_source(fact.source)}", "  ", "    ") for fact in target.facts
        ]
        yield Group("", [marked("What no form can tell", "strong"), *facts])


def _head(target: Target) -> Iterator[Block]:
    name = f"{marked(shown(target.full_name), 'strong')}  {shown(target.title)}"
    yield Line(name, "", "  ")
    found = standing(target)
    ran = f"measured: {counted(found.models, 'model')} of {counted(found.forms, 'form')}"
    told = f"{found.given} right as given, {found.best} by the best writing"
    yield Line(f"{ran}; {told}" if target.runs else f"not measured; by what was read: {told}")
    if target.read:
        yield Line(f"read: {shown(target.read)}")
    for each in target.spell:
        yield Line(f"it insists: {SPELLINGS[each]}")
    for note in target.notes:
        yield Line(shown(note))
    yield Line("a cell that says right holds where no other covers the form")


def _topic(cell: Cell) -> str:
    """The first topic of a cell; of one about several kinds of operators none of theirs."""
    first, *others = cell.about or ("other",)
    kinds = [each for each in _BY_KIND if first.startswith(each)]
    return "other" if any(name.startswith(each) for each in kinds for name in others) else first


def _topic_blocks(title: str, cells: Sequence[Cell]) -> Iterator[Block]:
    yield marked(title, "strong")
    for cell in cells:
        words = words_of(cell.when)
        note = f": {shown(cell.note)}" if cell.note not in {"", words} else ""
        advice = f"; give {cell.advice}" if cell.advice else ""
        yield Line(f"{_verdict(cell.verdict)}  {words}{note}{advice}", "  ", " " * 12)
        models = f"from {and_list(cell.forms)}" if cell.forms else ""
        source = " ".join(filter(None, (f"[{cell.known_by}]", shown(cell.source), models)))
        if cell.source or cell.forms:
            yield Line(marked(source, "faint"), " " * 12, " " * 14)


def _verdict(verdict: str) -> str:
    text = f"{verdict:{max(map(len, VERDICTS))}}"
    return marked(text, ROLES[verdict]) if verdict in ROLES else text


def _source(source: str) -> str:
    return f" ({shown(source)})" if source else ""


def _measured(target: Target) -> Iterator[Block]:
    """Models that failed, those together that failed alike, and the number of all others."""
    yield marked("Models that were run", "strong")
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in target.runs:
        if run.verdict != "right":
            alike.setdefault((run.verdict, noted([run])), []).append(run)
    for (verdict, _), runs in alike.items():
        names = and_list(run.label for run in runs)
        yield Line(
            f"{_verdict(verdict)}  {shown(noted(runs)) or 'no message'}: {names}", "  ", " " * 12
        )
    right = len(target.runs) - sum(map(len, alike.values()))
    yield Line(f"{_verdict('right')}  {counted(right, 'model')}, all others that were run")
