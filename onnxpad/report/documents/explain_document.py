"""The document of `explain`: conventions, where they part, a drawing, and how to write each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from onnxpad.arithmetic.window import Window, axis_names, pads_text
from onnxpad.errors import and_list
from onnxpad.frameworks.conventions.by_size import Deviation, Parting
from onnxpad.frameworks.conventions.explanation import ExplainReport, effects
from onnxpad.frameworks.conventions.question import Answer, Op
from onnxpad.frameworks.conventions.reaching import Need, Reach, Totals
from onnxpad.frameworks.conventions.writing import written
from onnxpad.report.documents import Block, Cell, Document, Group, Line, Table
from onnxpad.report.layout import UNBREAKABLE, Paint, Screen, marked, plain, text_of
from onnxpad.report.text import counted, grouped, shown
from onnxpad.report.window_drawing import (
    Drawing,
    DrawnRow,
    DrawnWindow,
    drawing,
    letter,
)

WIDTH = 80
_LINES = 18
_MARGIN = 5
_CODE = 14
_PARTINGS = 8
_WAYS = 3
_REACHING = 3
_CODED = 4
_NUMBERS = {
    "end": "{} {} at the end",
    "begin": "{} {} at the begin",
    "output_padding": "output_padding {}",
    "ceil_mode": "ceil_mode {}",
}
_MARKS = {"data": "o", "padding": ".", "cropped": ".", "appended": "+", "nothing": " "}


def explain_document(explanation: ExplainReport) -> Document:
    """A table of all conventions, where they part, a drawing, and how to write each."""
    reach = explanation.reach
    sections: list[Sequence[Block]] = [_head(explanation)]
    if reach is None:
        sections += [
            _table(explanation),
            [*_apart(explanation)],
            [*_drawing(explanation)],
            [*_written(explanation)],
        ]
    else:
        sections.append([*_rules(reach, explanation)])
        if reach.is_possible:
            sections += [[*_model(reach, explanation)], *_reaching(reach, explanation)]
    return Document("explain", "explain", [Group("", blocks) for blocks in sections if blocks])


def explain_text(explanation: ExplainReport, paint: Paint = plain) -> str:
    """The document as plain text of 80 columns, for which windows are drawn."""
    return text_of(explain_document(explanation), Screen(WIDTH, paint))


def _head(explanation: ExplainReport) -> list[Block]:
    head = marked(question_text(explanation), "strong")
    about = explanation.about
    if about is None:
        return [head]
    place = ": ".join(filter(None, (shown(about.model), shown(about.node))))
    told: list[Block] = [place.replace(" ", UNBREAKABLE), head]
    if about.padded:
        told.append(f"The Pad in front, which makes the data {by(about.padded)}, is left out here.")
    return told


def question_text(explanation: ExplainReport) -> str:
    """The operator with its sizes and windows, such as `conv of 224x160: kernel 3x3`."""
    question, windows = explanation.question, explanation.windows
    told = [f"{question.op} of {by(question.sizes)}: kernel {by([w.kernel for w in windows])}"]
    told.append(f"stride {by([window.stride for window in windows])}")
    if question.is_dilated:
        told.append(f"dilation {by([window.dilation for window in windows])}")
    if question.padding is not None:
        told.append(f"padding {by(question.padding)}")
    if question.output_padding is not None:
        told.append(f"output_padding {by(question.output_padding)}")
    return ", ".join(told)


def by(numbers: Sequence[int]) -> str:
    """Numbers of the axes as `224x160`."""
    return "x".join(map(str, numbers))


def _table(explanation: ExplainReport) -> list[Block]:
    averages, transposed = explanation.op == "avgpool", explanation.op == "convtranspose"
    own = explanation.about and explanation.about.own
    found = [
        (label if name == names[0] else "", name, explanation.answer(name))
        for label, names in labels(explanation).items()
        for name in names
    ]
    if own:
        found.append((_model_letter(explanation), "this model", own))
    rows: list[Sequence[Cell]] = [
        [
            *(marked(label, "strong") if label else "", name, _pads(answer)),
            *(by(answer.output), *[divides_by(answer)] * averages),
        ]
        for label, name, answer in found
    ]
    heads = ["", "convention", "crops" if transposed else "pads", "output"]
    heads += ["divides by"] * averages
    refused = _refused("not here", explanation.refused)
    return [*([Table(heads, rows)] if found else []), *refused]


def _model_letter(explanation: ExplainReport) -> str:
    """The letter of the conventions that compute what the model does; a dash if none does."""
    same = explanation.same_as_model
    return letter(explanation.agree.index(same)) if same else "-"


def _refused(head: str, refused: Mapping[str, str]) -> Iterator[Block]:
    """Conventions that are not among the rows of a table, by why they are not."""
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield Line(marked(f"{head}: {', '.join(names)} ({shown(why)})", "faint"))


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
    appended = [axis.output_padding or 0 for axis in answer.axes]
    if not any(appended):
        return said
    same = len(set(appended)) == 1
    return f"{said}, output_padding {appended[0] if same else appended}"


def divides_by(answer: Answer) -> str:
    """The elements whose number an average divides by."""
    return "data and padding" if answer.counts else "data"


# Other sizes


def _apart(explanation: ExplainReport) -> Iterator[Block]:
    if not explanation.agree:
        return
    lines = [_parting(explanation, parting) for parting in explanation.survey.partings]
    if not lines:
        yield "Those of one letter compute the same, at other sizes too."
        return
    yield "Those of one letter compute the same at this size. At others:"
    yield from map(Line, lines[:_PARTINGS])
    if len(lines) > _PARTINGS:
        yield Line(f"and {counted(len(lines) - _PARTINGS, 'pair')} more (--format json)")


def _parting(explanation: ExplainReport, parting: Parting) -> str:
    first, second = (_called(explanation, each) for each in (parting.first, parting.second))
    axes = ""
    if len(parting.axes) < len(explanation.size):
        axes = f"On {'axis' if len(parting.axes) == 1 else 'axes'} "
        axes += f"{' and '.join(map(str, parting.axes))}: "
    pair = f"{axes}{and_list([*dict.fromkeys((*first, *second))])}"
    least = f" from {parting.since} on" if parting.since > 1 else ""
    if not parting.differences:
        return f"{pair} are the same at all sizes{least}."
    if not parting.same:
        return f"{pair} are the same at this size, but at none{least or ' other'}."
    told = [f"{pair} are the same at {_sizes(parting.same, parting.stride)}{least}"]
    ways, many = len(parting.differences), len(second) > 1
    if ways > _WAYS:
        how = f"differ{'' if many else 's'} in {ways} ways (--format json)"
        told.append(f"at others {and_list(second)} {how}")
        return "; ".join(told) + "."
    for difference in parting.differences:
        where = _sizes(difference.remainders, parting.stride)
        how = _differs(difference, explanation.op, many=many)
        told.append(f"at {where} {and_list(second)} {how}")
    return "; ".join(told) + "."


def _called(explanation: ExplainReport, names: tuple[str, ...]) -> list[str]:
    """The labels of conventions; the letter alone for all of a group."""
    known = labels(explanation)
    found = []
    for index, group in enumerate(explanation.agree):
        if {*group} <= {*names}:
            found.append(letter(index))
        else:
            found += [
                label for label, some in known.items() if some[0] in names and some[0] in group
            ]
    return found


def _sizes(remainders: Sequence[int], stride: int) -> str:
    """Sizes by their remainder by the stride."""
    for parity, word in enumerate(("even", "odd")):
        if tuple(remainders) == tuple(range(parity, stride, 2)) and stride % 2 == 0:
            return f"{word} sizes"
    if len(remainders) > _WAYS:
        return f"{len(remainders)} of {stride} sizes"
    return (
        f"sizes {and_list([f'{stride}n+{rest}' if rest else f'{stride}n' for rest in remainders])}"
    )


def _differs(difference: Deviation, op: Op, *, many: bool) -> str:
    """How one convention differs from another, or many do."""
    ending, has = ("", "have") if many else ("s", "has")
    parts = []
    if difference.shift:
        verb = "start" if op == "convtranspose" else "read"
        side = "right" if difference.shift > 0 else "left"
        parts.append(f"{verb}{ending} {abs(difference.shift)} further {side}")
    if difference.outputs:
        more = "more" if difference.outputs > 0 else "fewer"
        parts.append(f"{has} {counted(abs(difference.outputs), 'output')} {more}")
    if difference.dilation:
        parts.append(f"slide{ending} with another dilation")
    if difference.divisor:
        parts.append(f"divide{ending} by another number at the edges")
    return " and ".join(parts)


# The drawing


def _drawing(explanation: ExplainReport) -> Iterator[str]:
    if not explanation.agree:
        return
    laid = _laid(explanation)
    if laid is None:
        yield "The windows are too long to draw here."
        return
    found, cell, margin = laid
    where = f"Axis {found.axis}" if len(explanation.size) > 1 else "The axis"
    if found.transposed:
        more = ", + appended" if any(row.axis.output_padding for row in found.rows) else ""
        yield f"{where} of the output: o kept, . cropped{more}; x-x what an input writes"
    else:
        yield f"{where}: o data, . padding; x-x a window"
    yield " " * margin + _ruler(found, cell)
    before: tuple[DrawnWindow, ...] = ()
    for row in found.rows:
        label = marked(f"{row.label:>{margin - 2}}", "strong")
        yield f"{label}  {_cells(found, row, cell)}"
        if not found.transposed or row.windows != before:  # all crop the same windows
            for lane in _lanes(found, row, cell):
                yield " " * margin + marked(lane, "info")
        before = row.windows
    if found.left_out:
        yield f"     and {counted(found.left_out, 'group')} more"


def _laid(explanation: ExplainReport) -> tuple[Drawing, int, int] | None:
    """A drawing that fits, characters for each cell, and the column in which the cells begin."""
    for cell in (2, 1):
        margin = _MARGIN
        while found := drawing(explanation, (WIDTH - margin) // cell, _LINES):
            needed = 2 + max(len(row.label) for row in found.rows)
            if needed <= margin:
                return found, cell, margin
            margin = needed
    return None


def _ruler(found: Drawing, cell: int) -> str:
    """The numbers of the first and the last element."""
    last = max(row.axis.size for row in found.rows) - 1
    if found.transposed:
        last = max(p for p in found.columns if p is not None)
    line = " " * (found.columns.index(0) * cell) + "0"
    room = found.columns.index(last) * cell + 1 - len(line)
    return f"{line}{last:>{room}}" if room > len(str(last)) else line


def _cells(found: Drawing, row: DrawnRow, cell: int) -> str:
    marks = ["~" if p is None else _MARKS[row.kind(p)] for p in found.columns]
    return (" " * (cell - 1)).join(marks).rstrip()


def _lanes(found: Drawing, row: DrawnRow, cell: int) -> Iterator[str]:
    lanes = [[" "] * (len(found.columns) * cell) for _ in range(found.lanes)]
    for lane, read in row.windows:
        places = [found.columns.index(tap) * cell for tap in read]
        for place in range(places[0], places[-1]):
            lanes[lane][place] = "-"
        for place in places:
            lanes[lane][place] = "x"
    return filter(None, ("".join(line).rstrip() for line in lanes))


# Writing


def _written(explanation: ExplainReport) -> Iterator[Block]:
    own = explanation.about and explanation.about.own
    if explanation.agree or own:
        yield f"At this size{_stands_for(explanation)}:"
    for index, names in enumerate(explanation.agree):
        lines = written(explanation.question, explanation.answer(names[0]), names)
        yield from _code(letter(index), lines)
    if own:
        yield marked("  this model:", "faint")
        yield from _code(_model_letter(explanation), written(explanation.question, own))


def _stands_for(explanation: ExplainReport) -> str:
    """The letters that lines of code have for what the question does not say, in brackets."""
    return "" if explanation.op in {"maxpool", "avgpool"} else " (c channels, n filters)"


def _code(label: str, lines: Mapping[str, str]) -> Iterator[Line]:
    """Lines of PyTorch, Keras and ONNX, broken where that does not part the numbers of one list."""
    for framework, line in zip(("PyTorch", "Keras", "ONNX"), lines.values(), strict=True):
        text = re.sub(r"(?<=\d), (?=-?\d)", f",{UNBREAKABLE}", line or "none in one line")
        yield Line(text, f"{marked(f'{label:>3}', 'strong')}  {framework:7}  ", " " * _CODE)
        label = ""


# The inverse


def _rules(reach: Reach, explanation: ExplainReport) -> Iterator[str]:
    """The need of the output size, in a line for each that differs; in one where none is met."""
    names = axis_names(len(reach.needs))
    told: dict[tuple[Need, Window], list[str]] = {}
    for name, need, window in zip(names, reach.needs, explanation.windows, strict=True):
        if reach.is_possible or not need.totals:
            told.setdefault((need, window), []).append(name)
    texts = []
    for (need, _), axes in told.items():
        where = f"{and_list(axes)}: " if len(names) > 1 else ""
        texts.append(f"{where}{_rule(need, explanation, names.index(axes[0]))}")
    yield from texts if reach.is_possible else [" ".join(texts)]


def _rule(need: Need, explanation: ExplainReport, place: int) -> str:
    """The need of the output size on one axis."""
    window = explanation.windows[place]
    if not need.totals:
        return f"No padding gives {need.output} from {need.size}: {_limit(need, explanation.op)}"
    told = f"{need.output} from {need.size} needs begin + end"
    if explanation.op == "convtranspose":
        total, given = need.totals[0].least, explanation.question.output_padding
        bare = f"uncropped it is {need.bare}"
        if given is not None:
            return f"{told} = {total + given[place]} with output_padding {given[place]}; {bare}."
        rule = f"{total} + output_padding" if total >= 0 else f"output_padding - {-total}"
        most = max(window.stride, window.dilation) - 1
        return f"{told} = {rule}, which is {f'0 to {most}' if most else 0}; {bare}."
    parts = []
    for ceil_mode in (False, True):
        some = [each for each in need.totals if each.ceil_mode == ceil_mode]
        if some and not (ceil_mode and window.stride == 1):
            text = " or ".join(_sums(each, window.kernel) for each in some)
            parts.append(f"{'with ceil_mode, ' if ceil_mode else ''}{text}")
    return f"{told} {'; '.join(parts)}; without padding it is {need.bare}."


def _limit(need: Need, op: Op) -> str:
    """The size that is nearest to one that no padding gives."""
    if op == "convtranspose":
        more = "more takes padding behind the operator"
        return f"the nearest is {need.nearest}, with the most output_padding; {more}."
    more = "less takes a crop in front, or a longer window"
    return f"the nearest is {need.nearest}, without padding; {more}."


def _sums(totals: Totals, kernel: int) -> str:
    """The sums, with what the begin has to be where not any will do."""
    least, most = totals.least, totals.most
    told = f"= {least}" if least == most else f"between {least} and {most}"
    if not totals.ceil_mode:
        return f"{told} (the remainder is cut)" if least < most else told
    first, last = totals.begin
    bounds = [f"at least {first}"] * (first > max(least - kernel + 1, 0))
    bounds += [f"at most {last}"] * (last < min(most, kernel - 1))
    return f"{told} (begin {' and '.join(bounds)})" if bounds else told


def _reaching(reach: Reach, explanation: ExplainReport) -> Iterator[list[Block]]:
    """The conventions that reach an output size, those that do not, and lines that write it."""
    question = explanation.question
    groups: dict[object, dict[str, Answer]] = {}
    left_out = 0
    for name, answers in reach.conventions.items():
        left_out += max(len(answers) - _REACHING, 0)
        for answer in answers[:_REACHING]:
            groups.setdefault(effects(question.op, answer), {})[name] = answer
    if not groups and reach.explicit is not None:
        key = effects(question.op, reach.explicit)
        groups[key] = {"any, by numbers": reach.explicit}
    rows: list[Sequence[Cell]] = [
        ["" if place else marked(letter(index), "strong"), name, _pads(answer)]
        for index, group in enumerate(groups.values())
        for place, (name, answer) in enumerate(group.items())
    ]
    heads = ["", "convention", "crops" if explanation.op == "convtranspose" else "pads"]
    table: list[Block] = [Table(heads, rows)]
    if left_out:
        table.append(Line(f"and {counted(left_out, 'padding')} more (--format json)"))
    yield [*table, *_refused("cannot", reach.refused)]
    code: list[Block] = [f"Written{_stands_for(explanation)}:"]
    for index, group in enumerate([*groups.values()][:_CODED]):
        answer = min(group.values(), key=lambda each: sum(each.output_padding))
        code += _code(letter(index), written(question, answer, [*group]))
    if len(groups) > _CODED:
        code.append(Line(f"and {counted(len(groups) - _CODED, 'way')} more (--format json)"))
    yield code


def _model(reach: Reach, explanation: ExplainReport) -> Iterator[Block]:
    """The padding of the model, and changes that would give it the output size asked for."""
    own = explanation.about and explanation.about.own
    if not own:
        return
    verb = "crops" if explanation.op == "convtranspose" else "pads"
    end = ", as asked." if own.output == reach.output else f", not {by(reach.output)}."
    yield f"This model {verb} {_pads(own)} and gives {by(own.output)}{end}"
    names = axis_names(len(own.output))
    if reach.changes:
        yield f"What makes it {by(reach.output)}, each alone{' on its axis' * (len(names) > 1)}:"
    for alike in grouped(reach.changes, lambda it: (it.what, it.now, it.least, it.most)):
        what, now, least, most = alike[0].what, alike[0].now, alike[0].least, alike[0].most
        axes = [names[change.axis] for change in alike]
        where = f" on {and_list(axes)}" if len(names) > 1 and what != "ceil_mode" else ""
        number = str(least) if least == most else f"{least} to {most}"
        told = _NUMBERS[what].format(number, "cropped" if verb == "crops" else "padded")
        yield Line(f"{told} instead of {now}{where}")
    changed = {change.axis for change in reach.changes}
    sizes = enumerate(zip(own.output, reach.output, strict=True))
    others = [names[at] for at, (has, asked) in sizes if has != asked and at not in changed]
    if others:
        yield f"No change of one number does{f' on {and_list(others)}' * (len(names) > 1)}."
