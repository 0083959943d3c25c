"""The document of `explain`: conventions, where they part, a drawing, and how to write each."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence

from onnxpad.arithmetic.window import axis_names, pads_text
from onnxpad.errors import and_list
from onnxpad.frameworks.conventions.effect import effect, effects
from onnxpad.frameworks.conventions.explanation import ExplainReport
from onnxpad.frameworks.conventions.question import Answer
from onnxpad.frameworks.conventions.reaching import Reach
from onnxpad.frameworks.conventions.writing import written
from onnxpad.report.documents import Block, Document, Pairs, Table, View, document_of
from onnxpad.report.layout import PIPED_WIDTH, UNBREAKABLE, marked
from onnxpad.report.text import counted, grouped, more, shown
from onnxpad.report.window_drawing import Columns, DrawnRow, drawn_axes

_LINES = 18
_PERIODS = 8
_WAYS = 3
"""Remainders, and paddings of one convention, that are listed."""
_CODED = 4
_Way = tuple[str, Answer, Sequence[str]]
"""A padding by its label, with the conventions that it is of."""
_Labelled = Sequence[tuple[str, str, Answer]]
"""Paddings, each with the label of its group and its name."""
_MARKS = {"data": "o", "padding": ".", "cropped": ".", "appended": "+", "nothing": " "}
_MORE = "  and others (--format json)"


def explain_document(explanation: ExplainReport, _: View = "brief") -> Document:
    """A table of all conventions, where they part, a drawing, and how to write each."""
    reach, about = explanation.reach, explanation.about
    head: list[Block] = [marked(question_text(explanation), "strong")]
    if about is not None:
        place = ": ".join(filter(None, (shown(about.model), shown(about.node))))
        head.insert(0, place.replace(" ", UNBREAKABLE))
        padded = f"Without the Pad in front, which makes the data {_by(about.padded)}."
        head += [padded] * bool(about.padded)
    if reach is not None:
        sections = [[*_needs(reach, explanation)], *_reaching(reach, explanation)]
    else:
        lines = _ways(explanation)
        lines += [("model", about.own, ())] if about and about.own else []
        sections = [
            [*_table(explanation)],
            [*_apart(explanation)],
            [*_drawing(explanation)],
            [*_written(explanation, "At this size", lines)],
        ]
    return document_of("explain", "explain", head, *sections)


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


def _letter(index: int) -> str:
    """The letter of a group: A to Z, then A1 to Z1 and so on."""
    again, place = divmod(index, 26)
    return string.ascii_uppercase[place] + (str(again) if again else "")


def _ways(explanation: ExplainReport) -> list[_Way]:
    """The padding of each group of conventions that compute the same at this size."""
    groups = enumerate(explanation.agree)
    return [(_letter(at), explanation.answer(names[0]), names) for at, names in groups]


def _table(explanation: ExplainReport) -> Iterator[Block]:
    found = [
        (label, name, explanation.answer(name))
        for label, names in _labels(explanation).items()
        for name in names
    ]
    if own := explanation.about and explanation.about.own:
        same = explanation.same_as_model
        alike = _letter(explanation.agree.index(same)) if same else "-"
        found.append((alike, "this model", own))
    yield from _answers(explanation, found)
    yield from _refused("not here", explanation.refused)


def _answers(explanation: ExplainReport, found: _Labelled) -> Iterator[Table]:
    """Conventions with what they pad and return, by label."""
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


def _labels(explanation: ExplainReport) -> dict[str, tuple[str, ...]]:
    """The conventions by label: a letter for those that compute the same at this size.

    Those of a letter that part at other sizes have numbers, as A1 and A2.
    """
    found: dict[str, tuple[str, ...]] = {}
    for index, group in enumerate(explanation.agree):
        parts = [names for names in explanation.survey.classes if names[0] in group]
        for number, names in enumerate(parts, 1):
            found[f"{_letter(index)}{number if len(parts) > 1 else ''}"] = names
    return found


def _pads(answer: Answer) -> str:
    """The pads of each axis, with what is appended to the output."""
    said = pads_text(answer.pads).removeprefix("L ")
    appended = answer.output_padding
    return f"{said}, output_padding {_by(appended)}" if any(appended) else said


# Other sizes


def _apart(explanation: ExplainReport) -> Iterator[Block]:
    """The letters that compute the same at long sizes, by the remainder of these."""
    survey, named = explanation.survey, _labels(explanation)
    label = {name: label for label, names in named.items() for name in names}
    rows = []
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
    if len(remainders) == period:
        return "all sizes"
    for parity, word in enumerate(("even", "odd")):
        if tuple(remainders) == tuple(range(parity, period, 2)) and period % 2 == 0:
            return f"{word} sizes"
    if len(remainders) > _WAYS:
        return f"{len(remainders)} of {period} sizes"
    return f"sizes {and_list(f'{period}n+{rest}'.removesuffix('+0') for rest in remainders)}"


# The drawing


def _drawing(explanation: ExplainReport) -> Iterator[str]:
    """The windows of all groups along the axis on which most of them differ."""
    op, rank, transposed = explanation.op, len(explanation.size), explanation.op == "convtranspose"
    named = [(label, answer) for label, answer, _ in _ways(explanation)]

    def alike(axis: int) -> list[list[tuple[str, Answer]]]:
        return grouped(named, lambda each: effect(op, each[1].axes[axis], counts=each[1].counts))

    place = max(range(rank), key=lambda axis: len(alike(axis)))
    groups = alike(place)
    shown_groups = groups[: _LINES // 2]
    axes = {" ".join(label for label, _ in each): each[0][1].axes[place] for each in shown_groups}
    if not axes:
        return
    margin, lanes = max(5, 2 + max(map(len, axes))), max(_LINES // len(axes) - 1, 1)
    for cell in (2, 1):
        room = (PIPED_WIDTH - margin) // cell
        if found := drawn_axes(axes, room, lanes, transposed=transposed):
            break
    else:
        yield "The windows are too long to draw here."
        return
    columns, rows = found
    where = f"Axis {place}" if rank > 1 else "The axis"
    if transposed:
        yield f"{where} of the output: o kept, . cropped, + appended; x-x what an input writes"
    else:
        yield f"{where}: o data, . padding; x-x a window"
    last = max(p for p in columns if p is not None) if transposed else rows[0].axis.size - 1
    ends = _line(columns, cell, {0: "0"})
    room = columns.index(last) * cell + 1 - len(ends)
    yield " " * margin + (f"{ends}{last:>{room}}" if room > len(str(last)) else ends)
    before: object = ()
    for row in rows:
        kinds = {at: "~" if at is None else _MARKS[row.kind(at)] for at in columns}
        label = marked(f"{row.label:>{margin - 2}}", "strong")
        yield f"{label}  {_line(columns, cell, kinds)}"
        if not transposed or row.windows != before:  # all crop the same windows
            yield from (" " * margin + marked(e, "info") for e in _lanes(columns, cell, row))
        before = row.windows
    if groups[len(axes) :]:
        yield f"     and {counted(len(groups) - len(axes), 'group')} more"


def _line(columns: Columns, cell: int, marks: Mapping[int | None, str]) -> str:
    """A mark for each position that has one."""
    return "".join(f"{marks.get(at, ' '):{cell}}" for at in columns).rstrip()


def _lanes(columns: Columns, cell: int, row: DrawnRow) -> Iterator[str]:
    """The lines with the windows of a row."""
    for lane in sorted({lane for lane, _ in row.windows}):
        line = [" "] * (len(columns) * cell)
        for _, read in (each for each in row.windows if each[0] == lane):
            places = [columns.index(tap) * cell for tap in read]
            line[places[0] : places[-1]] = "-" * (places[-1] - places[0])
            for place in places:
                line[place] = "x"
        yield "".join(line).rstrip()


# Writing


def _written(explanation: ExplainReport, head: str, found: Sequence[_Way]) -> Iterator[Block]:
    """Lines of PyTorch, Keras and ONNX, broken where that does not part the numbers of one list."""
    stands = "" if explanation.op in {"maxpool", "avgpool"} else " (c channels, n filters)"
    if found:
        yield f"{head}{stands}:"
    for label, answer, names in found:
        lines = written(explanation.question, answer, names)
        lines = {"PyTorch": lines["pytorch"], "Keras": lines["keras"], "ONNX": lines["onnx"]}
        texts = {n: re.sub(r"(?<=\d), (?=-?\d)", f",{UNBREAKABLE}", t) for n, t in lines.items()}
        rows = [("", *each) for each in texts.items() if each[1]]
        rows = rows or [("", "PyTorch", "none in one line")]
        yield Table(("", "", ""), [(marked(label, "strong"), *rows[0][1:]), *rows[1:]])


# The inverse


def _needs(reach: Reach, explanation: ExplainReport) -> Iterator[Block]:
    """The sums of begin and end with which each axis has the output size."""
    if not reach.is_possible:
        yield f"No padding gives {_by(reach.output)}."
    rows, names = [], axis_names(len(reach.needs))
    for name, need, window in zip(names, reach.needs, explanation.windows, strict=True):
        # What rounds at stride 1 is the same either way.
        some = [each for each in need.totals if not each.ceil_mode or window.stride > 1]
        sums = ", or ".join(
            _to(each.least, each.most) + " with ceil_mode, divided evenly" * each.ceil_mode
            for each in some
        )
        sums += " + output_padding" * (bool(some) and explanation.op == "convtranspose")
        sums = sums or f"none; the nearest output is {need.nearest}"
        rows.append((name, str(need.size), str(need.output), str(need.bare), sums))
    yield Table(("axis", "size", "output", "without padding", "begin + end"), rows)


def _to(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def _model(own: Answer, reach: Reach) -> Iterator[str]:
    """The padding of the model, and changes that would give it the output size asked for."""
    yield f"This model has {_pads(own)} and gives {_by(own.output)}."
    if own.output != reach.output:
        yield f"One number that makes it {_by(reach.output)}, on each axis that it is told of:"
        yield from ["  none"] * (not reach.changes)
    for each in reach.changes:
        where = f" on {axis_names(len(own.output))[each.axis]}" * (each.what != "ceil_mode")
        yield f"  {each.what} {_to(each.least, each.most)} instead of {each.now}{where}"


def _reaching(reach: Reach, explanation: ExplainReport) -> Iterator[list[Block]]:
    """The conventions that reach an output size, those that do not, and lines that write it."""
    if not reach.is_possible:
        return
    if own := explanation.about and explanation.about.own:
        yield [*_model(own, reach)]
    found = [
        (name, answer) for name, answers in reach.conventions.items() for answer in answers[:_WAYS]
    ]
    if not found and reach.explicit is not None:
        found = [("any, by numbers", reach.explicit)]
    groups = grouped(found, lambda each: effects(explanation.op, each[1]))
    rows = [(_letter(at), *each) for at, group in enumerate(groups) for each in group]
    is_cut = any(len(answers) > _WAYS for answers in reach.conventions.values())
    yield [
        *_answers(explanation, rows),
        *[_MORE] * (is_cut or len(groups) > _CODED),
        *_refused("cannot", reach.refused),
    ]
    cheapest = [min(group, key=lambda each: sum(each[1].output_padding)) for group in groups]
    lines = [
        (_letter(at), cheapest[at][1], [name for name, _ in group])
        for at, group in enumerate(groups[:_CODED])
    ]
    yield [*_written(explanation, "Written", lines)]
