"""The document of `explain`: conventions, where they part, a drawing, and how to write each."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence

from onnxpad.arithmetic.window import axis_names, pads_text
from onnxpad.errors import and_list
from onnxpad.frameworks.conventions.explanation import ExplainReport
from onnxpad.frameworks.conventions.question import Answer
from onnxpad.frameworks.conventions.reaching import Reach
from onnxpad.frameworks.conventions.writing import written
from onnxpad.report.documents import Block, Document, Pairs, Picture, Table, View, document_of
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import grouped, more, shown
from onnxpad.report.window_drawing import drawing_lines

_PERIODS = 8
_WAYS = 3
"""Remainders, and paddings of one convention, that are listed."""
_CODED = 4
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_Way = tuple[str, Answer, Sequence[str]]
"""A padding by its label, with the conventions that it is of."""


def explain_document(explanation: ExplainReport, view: View = "brief") -> Document:
    """A table of all conventions, where they part, a drawing, and how to write each."""
    reach, about, place, head = explanation.reach, explanation.about, "", list[Block]()
    if about is not None:
        place = ": ".join(filter(None, (shown(about.model), shown(about.node))))
        padded = f"Without the Pad in front, which makes the data {_by(about.padded)}."
        head += [padded] * bool(about.padded)
    if reach is not None:
        sections = [[*_needs(reach, explanation)], *_reaching(reach, explanation)]
    else:
        groups = enumerate(explanation.agree)
        ways = [(_LETTERS[at], explanation.answer(names[0]), names) for at, names in groups]
        own: list[_Way] = [("model", about.own, ())] if about and about.own else []
        drawn = {label: answer for label, answer, _ in (*ways, *own)}
        picture = Picture(drawn, explanation.op == "convtranspose")
        sections = [
            [*_table(explanation)],
            [*_apart(explanation)],
            [*drawing_lines(picture)] if view == "brief" else [picture],
            [*_written(explanation, "At this size", [*ways, *own])],
        ]
    return document_of("explain", place, question_text(explanation), head, *sections)


def question_text(explanation: ExplainReport) -> str:
    """The operator with its sizes and windows, such as `conv of 224x160: kernel 3x3`."""
    question, windows = explanation.question, explanation.windows
    told = {
        f"{question.op} of {_by(question.sizes)}: kernel": [each.kernel for each in windows],
        "stride": [each.stride for each in windows],
        "dilation": question.is_dilated and [each.dilation for each in windows],
        "padding": question.padding,
        "output_padding": question.output_padding,
    }
    return ", ".join(f"{name} {_by(numbers)}" for name, numbers in told.items() if numbers)


def _by(numbers: Sequence[int]) -> str:
    """Numbers of the axes as `224x160`."""
    return "x".join(map(str, numbers))


def _table(explanation: ExplainReport) -> Iterator[Block]:
    labels = _labels(explanation)
    found = [(label, name, explanation.answer(name)) for name, label in labels.items()]
    if own := explanation.about and explanation.about.own:
        same = explanation.same_as_model
        alike = _LETTERS[explanation.agree.index(same)] if same else "-"
        found.append((alike, "this model", own))
    yield from _answers(explanation, found)
    yield from _refused("not here", explanation.refused)


def _answers(
    explanation: ExplainReport, found: Sequence[tuple[str, str, Answer]]
) -> Iterator[Table]:
    """Conventions with what they pad and return, each with the label of its group and its name."""
    averages, rows, before = explanation.op == "avgpool", list[tuple[str, ...]](), ""
    for label, name, answer in found:
        divides = ("data and padding" if answer.counts else "data",) * averages
        told = marked(label, "strong") if label != before or name == "this model" else ""
        rows.append((told, name, _pads(answer), _by(answer.output), *divides))
        before = label
    amount = "crops" if explanation.op == "convtranspose" else "pads"
    if rows:
        yield Table(("", "convention", amount, "output", *("divides by",) * averages), rows)


def _refused(head: str, refused: Mapping[str, str]) -> Iterator[str]:
    """Conventions that are not among the rows of a table, by why they are not."""
    for group in grouped(refused.items(), lambda each: each[1]):
        names = ", ".join(name for name, _ in group)
        yield f"  {marked(f'{head}: {names} ({shown(group[0][1])})', 'faint')}"


def _labels(explanation: ExplainReport) -> dict[str, str]:
    """The label of each convention: a letter for those that compute the same at this size.

    Those of a letter that part at other sizes have numbers, as A1 and A2.
    """
    found: dict[str, str] = {}
    for index, group in enumerate(explanation.agree):
        parts = [names for names in explanation.survey.classes if names[0] in group]
        for number, names in enumerate(parts, 1):
            found |= dict.fromkeys(names, f"{_LETTERS[index]}{number if len(parts) > 1 else ''}")
    return found


def _pads(answer: Answer) -> str:
    """The pads of each axis, with what is appended to the output."""
    said = pads_text(answer.pads).removeprefix("L ")
    appended = answer.output_padding
    return f"{said}, output_padding {_by(appended)}" if any(appended) else said


# Other sizes


def _apart(explanation: ExplainReport) -> Iterator[Block]:
    """The letters that compute the same at long sizes, by the remainder of these."""
    survey, label, rows = explanation.survey, _labels(explanation), list[tuple[str, str]]()
    for each in survey.periods[:_PERIODS]:
        groups = (dict.fromkeys(map(label.__getitem__, names)) for names in each.agree)
        said = ", ".join(marked(" = ".join(labels), "strong") for labels in groups)
        rows.append((_sizes(each.remainders, survey.period), said))
    if any("=" in said for _, said in rows):
        yield f"Those of one letter compute the same at this size. From {survey.since} on:"
        yield Pairs(rows)
        yield from more(survey.periods, _PERIODS)
    elif rows and explanation.agree:
        yield "Those of one letter compute the same, at other sizes too."


def _sizes(remainders: Sequence[int], period: int) -> str:
    """Sizes by their remainder by the period."""
    named = {tuple(range(period)): "all sizes"}
    if period % 2 == 0:
        named |= {tuple(range(0, period, 2)): "even sizes", tuple(range(1, period, 2)): "odd sizes"}
    few = and_list(f"{period}n+{rest}".removesuffix("+0") for rest in remainders[:_WAYS])
    many = f"{len(remainders)} of {period} sizes"
    return named.get(tuple(remainders), many if len(remainders) > _WAYS else f"sizes {few}")


# Writing


def _written(explanation: ExplainReport, head: str, found: Sequence[_Way]) -> Iterator[Block]:
    """Lines of PyTorch, Keras and ONNX, broken where that does not part the numbers of one list."""
    stands = "" if explanation.op in {"maxpool", "avgpool"} else " (c channels, n filters)"
    if found:
        yield f"{head}{stands}:"
    for label, answer, names in found:
        lines = written(explanation.question, answer, names)
        titles = {"pytorch": "PyTorch", "keras": "Keras", "onnx": "ONNX"}
        texts = {n: re.sub(r"(?<=\d), (?=-?\d)", f",{UNBREAKABLE}", t) for n, t in lines.items()}
        rows = [(titles[name], text) for name, text in texts.items() if text]
        rows = rows or [("PyTorch", "none in one line")]
        labels = [marked(label, "strong"), *[""] * (len(rows) - 1)]
        yield Table(("", "", ""), [(told, *row) for told, row in zip(labels, rows, strict=True)])


# The inverse


def _needs(reach: Reach, explanation: ExplainReport) -> Iterator[Block]:
    """The sums of begin and end with which each axis has the output size."""
    if not reach.is_possible:
        yield f"No padding gives {_by(reach.output)}."
    rows, names = [], axis_names(len(reach.needs))
    for name, need, window in zip(names, reach.needs, explanation.windows, strict=True):
        # What rounds at stride 1 is the same either way.
        sums = ", or ".join(
            _to(each.least, each.most) + " with ceil_mode, divided evenly" * each.ceil_mode
            for each in need.totals
            if not each.ceil_mode or window.stride > 1
        )
        sums += " + output_padding" * (bool(sums) and explanation.op == "convtranspose")
        sums = sums or f"none; the nearest output is {need.nearest}"
        rows.append((name, str(need.size), str(need.output), str(need.bare), sums))
    yield Table(("axis", "size", "output", "without padding", "begin + end"), rows)


def _to(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def _reaching(reach: Reach, explanation: ExplainReport) -> Iterator[list[Block]]:
    """What reaches an output size, or does not, in the model, by conventions, and in lines."""
    if not reach.is_possible:
        return
    if own := explanation.about and explanation.about.own:
        said: list[Block] = [f"This model has {_pads(own)} and gives {_by(own.output)}."]
        if own.output != reach.output:
            wanted = _by(reach.output)
            said.append(f"One number that makes it {wanted}, on each axis that it is told of:")
            said += ["  none"] * (not reach.changes)
        for each in reach.changes:
            where = f" on {axis_names(len(own.output))[each.axis]}" * (each.what != "ceil_mode")
            said.append(f"  {each.what} {_to(each.least, each.most)} instead of {each.now}{where}")
        yield said
    ways = reach.conventions.items()
    found = [(name, answer) for name, answers in ways for answer in answers[:_WAYS]]
    if not found and reach.explicit is not None:
        found = [("any, by numbers", reach.explicit)]
    groups = grouped(found, lambda each: each[1].effects(explanation.op))
    rows = [(_LETTERS[at], *each) for at, group in enumerate(groups) for each in group]
    is_cut = any(len(answers) > _WAYS for _, answers in ways) or len(groups) > _CODED
    others = ["  and others (--format json)"] * is_cut
    yield [*_answers(explanation, rows), *others, *_refused("cannot", reach.refused)]
    lines = list[_Way]()
    for at, group in enumerate(groups[:_CODED]):
        cheapest = min((answer for _, answer in group), key=lambda each: sum(each.output_padding))
        lines.append((_LETTERS[at], cheapest, [name for name, _ in group]))
    yield [*_written(explanation, "Written", lines)]
