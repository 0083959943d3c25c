"""The document of `explain`: conventions, where they part, a drawing, and how to write each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from onnxpad.arithmetic.window import axis_names, pads_text
from onnxpad.errors import and_list
from onnxpad.frameworks.conventions.by_size import Deviation, Parting
from onnxpad.frameworks.conventions.explanation import ExplainReport, effects
from onnxpad.frameworks.conventions.question import Answer
from onnxpad.frameworks.conventions.reaching import Reach, Totals
from onnxpad.frameworks.conventions.writing import written
from onnxpad.report.documents import Block, Document, Pairs, Table, View, document_of
from onnxpad.report.layout import PIPED_WIDTH, UNBREAKABLE, marked
from onnxpad.report.text import counted, grouped, more, shown
from onnxpad.report.window_drawing import Drawing, DrawnRow, drawing, letter

_LINES = 18
_PARTINGS = 8
_WAYS = 3
"""Ways to differ, and paddings of one convention, that are listed."""
_CODED = 4
Lines = Sequence[tuple[str, Answer, Sequence[str]]]
"""Paddings by label, each with the conventions that it is of."""
_MARKS = {"data": "o", "padding": ".", "cropped": ".", "appended": "+", "nothing": " "}


def explain_document(explanation: ExplainReport, _: View = "brief") -> Document:
    """A table of all conventions, where they part, a drawing, and how to write each."""
    reach, about = explanation.reach, explanation.about
    head: list[Block] = [marked(question_text(explanation), "strong")]
    if about is not None:
        place = ": ".join(filter(None, (shown(about.model), shown(about.node))))
        head.insert(0, place.replace(" ", UNBREAKABLE))
        padded = f"Without the Pad in front, which makes the data {by(about.padded)}."
        head += [padded] * bool(about.padded)
    if reach is not None:
        found = _reaching(reach, explanation) if reach.is_possible else ()
        sections = [[*_needs(reach, explanation)], [*_model(reach, explanation)], *found]
    else:
        sections = [
            [*_table(explanation)],
            [*_apart(explanation)],
            [*_drawing(explanation)],
            [*_written(explanation, "At this size", _ways(explanation))],
        ]
    return document_of("explain", "explain", head, *sections)


def question_text(explanation: ExplainReport) -> str:
    """The operator with its sizes and windows, such as `conv of 224x160: kernel 3x3`."""
    question, windows = explanation.question, explanation.windows
    told = {
        f"{question.op} of {by(question.sizes)}: kernel": [each.kernel for each in windows],
        "stride": [each.stride for each in windows],
        "dilation": question.is_dilated and [each.dilation for each in windows],
        "padding": question.padding,
        "output_padding": question.output_padding,
    }
    return ", ".join(f"{name} {by(numbers)}" for name, numbers in told.items() if numbers)


def by(numbers: Sequence[int]) -> str:
    """Numbers of the axes as `224x160`."""
    return "x".join(map(str, numbers))


def _amount(explanation: ExplainReport) -> str:
    return "crops" if explanation.op == "convtranspose" else "pads"


def _table(explanation: ExplainReport) -> Iterator[Block]:
    found = [
        (label, name, explanation.answer(name))
        for label, names in labels(explanation).items()
        for name in names
    ]
    if own := explanation.about and explanation.about.own:
        found.append((_model_letter(explanation), "this model", own))
    yield from _answers(explanation, found)
    yield from _refused("not here", explanation.refused)


def _answers(
    explanation: ExplainReport, found: Sequence[tuple[str, str, Answer]]
) -> Iterator[Table]:
    """Conventions with what they pad and return, by label."""
    averages, rows, before = explanation.op == "avgpool", list[tuple[str, ...]](), ""
    for label, name, answer in found:
        shown_label = marked(label, "strong") if label != before or name == "this model" else ""
        divides = ("data and padding" if answer.counts else "data",) * averages
        rows.append((shown_label, name, _pads(answer), by(answer.output), *divides))
        before = label
    heads = ("", "convention", _amount(explanation), "output", *("divides by",) * averages)
    if rows:
        yield Table(heads, rows)


def _model_letter(explanation: ExplainReport) -> str:
    """The letter of the conventions that compute what the model does; a dash if none does."""
    same = explanation.same_as_model
    return letter(explanation.agree.index(same)) if same else "-"


def _refused(head: str, refused: Mapping[str, str]) -> Iterator[str]:
    """Conventions that are not among the rows of a table, by why they are not."""
    for group in grouped(refused.items(), lambda each: each[1]):
        names = ", ".join(name for name, _ in group)
        yield f"  {marked(f'{head}: {names} ({shown(group[0][1])})', 'faint')}"


def labels(explanation: ExplainReport) -> dict[str, tuple[str, ...]]:
    """The conventions by label: a letter for those that compute the same at this size.

    Those of a letter that part at other sizes have numbers, as A1 and A2.
    """
    found: dict[str, tuple[str, ...]] = {}
    for index, group in enumerate(explanation.agree):
        parts = [names for names in explanation.survey.classes if names[0] in group]
        for number, names in enumerate(parts, 1):
            found[f"{letter(index)}{number if len(parts) > 1 else ''}"] = names
    return found


def _pads(answer: Answer) -> str:
    """The pads of each axis, with what is appended to the output."""
    said = pads_text(answer.pads).removeprefix("L ")
    appended = answer.output_padding
    return f"{said}, output_padding {by(appended)}" if any(appended) else said


# Other sizes


def _apart(explanation: ExplainReport) -> Iterator[Block]:
    partings = explanation.survey.partings if explanation.agree else ()
    if partings:
        yield "Those of one letter compute the same at this size. At others:"
        yield Pairs([_parting(explanation, parting) for parting in partings[:_PARTINGS]])
        yield from more(partings, _PARTINGS)
    elif explanation.agree:
        yield "Those of one letter compute the same, at other sizes too."


def _parting(explanation: ExplainReport, parting: Parting) -> tuple[str, str]:
    """Two groups of conventions, and at which sizes the second differs, and how."""
    first, second = (
        [label for label, some in labels(explanation).items() if {*some} <= {*names}]
        for names in (parting.first, parting.second)
    )
    pair = and_list(dict.fromkeys((*first, *second)))
    if len(parting.axes) < len(explanation.size):
        pair += f", axis {and_list(map(str, parting.axes))}"
    same = _sizes(parting.same, parting.stride) if parting.same else "this size only"
    least = f" from {parting.since} on" if parting.since > 1 else ""
    told = [f"same at {same if parting.differences else 'all sizes'}{least}"]
    for difference in parting.differences[:_WAYS]:
        where = _sizes(difference.remainders, parting.stride)
        told.append(f"at {where} {and_list(second)} {_differs(difference, explanation)}")
    if parting.differences[_WAYS:]:
        told.append("at others (--format json)")
    return pair, "; ".join(told)


def _sizes(remainders: Sequence[int], stride: int) -> str:
    """Sizes by their remainder by the stride."""
    for parity, word in enumerate(("even", "odd")):
        if tuple(remainders) == tuple(range(parity, stride, 2)) and stride % 2 == 0:
            return f"{word} sizes"
    if len(remainders) > _WAYS:
        return f"{len(remainders)} of {stride} sizes"
    return f"sizes {and_list(f'{stride}n+{rest}'.removesuffix('+0') for rest in remainders)}"


def _differs(difference: Deviation, explanation: ExplainReport) -> str:
    """How one convention differs from another."""
    verb = "starts" if explanation.op == "convtranspose" else "reads"
    side = "right" if difference.shift > 0 else "left"
    outputs = f"{counted(abs(difference.outputs), 'output')}"
    told = {
        f"{verb} {abs(difference.shift)} further {side}": difference.shift,
        f"has {outputs} {'more' if difference.outputs > 0 else 'fewer'}": difference.outputs,
        "has another dilation": difference.dilation,
        "divides by another number at the edges": difference.divisor,
    }
    return " and ".join(words for words, is_so in told.items() if is_so)


# The drawing


def _drawing(explanation: ExplainReport) -> Iterator[str]:
    if not explanation.agree:
        return
    found = drawing(explanation, PIPED_WIDTH, _LINES)
    if found is None:
        yield "The windows are too long to draw here."
        return
    cell, margin = found.cell, found.margin
    where = f"Axis {found.axis}" if len(explanation.size) > 1 else "The axis"
    transposed = found.rows[0].transposed
    if transposed:
        yield f"{where} of the output: o kept, . cropped, + appended; x-x what an input writes"
    else:
        yield f"{where}: o data, . padding; x-x a window"
    yield " " * margin + _ruler(found, cell)
    before: object = ()
    for row in found.rows:
        label = marked(f"{row.label:>{margin - 2}}", "strong")
        yield f"{label}  {_cells(found, row, cell)}"
        if not transposed or row.windows != before:  # all crop the same windows
            yield from (" " * margin + marked(lane, "info") for lane in _lanes(found, row, cell))
        before = row.windows
    if found.left_out:
        yield f"     and {counted(found.left_out, 'group')} more"


def _ruler(found: Drawing, cell: int) -> str:
    """The numbers of the first and the last element."""
    last = max(p for p in found.columns if p is not None)
    if not found.rows[0].transposed:
        last = found.rows[0].axis.size - 1
    line = " " * (found.columns.index(0) * cell) + "0"
    room = found.columns.index(last) * cell + 1 - len(line)
    return f"{line}{last:>{room}}" if room > len(str(last)) else line


def _cells(found: Drawing, row: DrawnRow, cell: int) -> str:
    marks = ["~" if p is None else _MARKS[row.kind(p)] for p in found.columns]
    return (" " * (cell - 1)).join(marks).rstrip()


def _lanes(found: Drawing, row: DrawnRow, cell: int) -> Iterator[str]:
    count = 1 + max((lane for lane, _ in row.windows), default=0)
    lanes = [[" "] * (len(found.columns) * cell) for _ in range(count)]
    for lane, read in row.windows:
        places = [found.columns.index(tap) * cell for tap in read]
        lanes[lane][places[0] : places[-1]] = "-" * (places[-1] - places[0])
        for place in places:
            lanes[lane][place] = "x"
    return filter(None, ("".join(line).rstrip() for line in lanes))


# Writing


def _ways(explanation: ExplainReport) -> Lines:
    found: list[tuple[str, Answer, Sequence[str]]] = [
        (letter(index), explanation.answer(names[0]), names)
        for index, names in enumerate(explanation.agree)
    ]
    if own := explanation.about and explanation.about.own:
        found.append(("model", own, ()))
    return found


def _written(explanation: ExplainReport, head: str, found: Lines) -> Iterator[Block]:
    """Lines of PyTorch, Keras and ONNX, broken where that does not part the numbers of one list."""
    stands = "" if explanation.op in {"maxpool", "avgpool"} else " (c channels, n filters)"
    if found:
        yield f"{head}{stands}:"
    for label, answer, names in found:
        lines = written(explanation.question, answer, names).values()
        texts = [re.sub(r"(?<=\d), (?=-?\d)", f",{UNBREAKABLE}", line) for line in lines]
        labels = (marked(label, "strong"), "", "")
        rows = zip(labels, ("PyTorch", "Keras", "ONNX"), texts, strict=True)
        yield Table(("", "", ""), [(*row[:2], row[2] or "none in one line") for row in rows])


# The inverse


def _needs(reach: Reach, explanation: ExplainReport) -> Iterator[Block]:
    """The sums of begin and end with which each axis has the output size."""
    if not reach.is_possible:
        yield f"No padding gives {by(reach.output)}."
    given, rows = explanation.question.output_padding, []
    for place, (need, window) in enumerate(zip(reach.needs, explanation.windows, strict=True)):
        if not need.totals:
            sums = f"none; the nearest output is {need.nearest}"
        elif explanation.op == "convtranspose":
            most = max(window.stride, window.dilation) - 1
            appended = f"0 to {most}" if given is None else given[place]
            sums = f"{need.totals[0].least} + output_padding ({appended})"
        else:
            some = [each for each in need.totals if not each.ceil_mode or window.stride > 1]
            sums = ", or ".join(map(_sum, some))
        name = axis_names(len(reach.needs))[place]
        rows.append((name, str(need.size), str(need.output), str(need.bare), sums))
    yield Table(("axis", "size", "output", "without padding", "begin + end"), rows)


def _sum(totals: Totals) -> str:
    least, most = totals.least, totals.most
    told = f"{least}" if least == most else f"{least} to {most}"
    begin = "begin {} to {}".format(*totals.begin)
    return f"{told} with ceil_mode and {begin}" if totals.ceil_mode else told


def _reaching(reach: Reach, explanation: ExplainReport) -> Iterator[list[Block]]:
    """The conventions that reach an output size, those that do not, and lines that write it."""
    question = explanation.question
    found = [
        (name, answer) for name, answers in reach.conventions.items() for answer in answers[:_WAYS]
    ]
    if not found and reach.explicit is not None:
        found = [("any, by numbers", reach.explicit)]
    groups = grouped(found, lambda each: effects(question.op, each[1]))
    rows = [(letter(at), *each) for at, group in enumerate(groups) for each in group]
    is_cut = any(len(answers) > _WAYS for answers in reach.conventions.values())
    yield [
        *_answers(explanation, rows),
        *["  and others (--format json)"] * (is_cut or len(groups) > _CODED),
        *_refused("cannot", reach.refused),
    ]
    cheapest = [min(group, key=lambda each: sum(each[1].output_padding)) for group in groups]
    lines = [
        (letter(at), cheapest[at][1], [name for name, _ in group])
        for at, group in enumerate(groups[:_CODED])
    ]
    yield [*_written(explanation, "Written", lines)]


def _model(reach: Reach, explanation: ExplainReport) -> Iterator[Block]:
    """The padding of the model, and changes that would give it the output size asked for."""
    own = explanation.about and explanation.about.own
    if not own or not reach.is_possible:
        return
    yield f"This model {_amount(explanation)} {_pads(own)} and gives {by(own.output)}."
    if own.output == reach.output:
        return
    yield f"One number that makes it {by(reach.output)}, on each axis that it is told of:"
    names = axis_names(len(own.output))
    for change in reach.changes:
        number = dict.fromkeys((change.least, change.most))
        where = f" on {names[change.axis]}" * (change.what != "ceil_mode")
        yield f"  {change.what} {' to '.join(map(str, number))} instead of {change.now}{where}"
    if not reach.changes:
        yield "  none"
