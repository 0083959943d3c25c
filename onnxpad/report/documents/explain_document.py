"""The document of `explain`: conventions, where they part, a drawing, and how to write each."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from onnxpad.arithmetic.window import axis_names, pads_text
from onnxpad.errors import and_list
from onnxpad.frameworks.conventions.explanation import ExplainReport, Reach
from onnxpad.frameworks.conventions.question import Answer, Op
from onnxpad.frameworks.conventions.writing import short, written
from onnxpad.report.documents import Block, Document, Picture, Table, View
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import configurations, first_rows, grouped, shown
from onnxpad.report.window_drawing import drawing_lines, figures

_PERIODS, _WAYS, _CODED = 8, 3, 4
"""Remainders, paddings of one convention, and groups with their code that are listed."""
_USUAL = ("pytorch-same", "pytorch-output-padding", "pytorch-half")
"""What is usual in PyTorch for what TensorFlow calls SAME, the first that there is."""
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_Way = tuple[str, Answer, Sequence[str]]  # a padding by its label, with its conventions


def explain_document(explanation: ExplainReport, view: View = "brief") -> Document:
    """A table of all conventions, where they part, a drawing, and how to write each."""
    reach, about, place, head = explanation.reach, explanation.about, "", list[Block]()
    if about is not None:
        place = ": ".join(filter(None, (shown(about.model), shown(about.node))))
        head += [f"The Pad in front makes it {_by(about.padded)}."] * bool(about.padded)
    head += configurations([("", explanation.config)])
    if reach is not None:
        sections = [[*_needs(reach, explanation)], *_reaching(reach, explanation)]
    else:
        groups = enumerate(explanation.agree)
        ways = [(_LETTERS[at], _widest(explanation, names), names) for at, names in groups]
        own: list[_Way] = [("model", about.own, ())] if about and about.own else []
        drawn = {label: answer for label, answer, _ in (*ways, *own)}
        picture = Picture(drawn, explanation.op == "convtranspose")
        axes = sorted(figures(picture), key=lambda each: -len(each[1]))  # first what differs most
        brief: list[Block] = [*chain(*map(drawing_lines, axes[:1]))]
        brief += [f"{caption} (not drawn: --html FILE has it)" for caption, *_ in axes[1:]]
        sections = [
            [*_ported(explanation)],
            [*_table(explanation)],
            [*_apart(explanation)],
            brief if view == "brief" else [picture],
            [*_written(explanation, "How to write each at this size", [*ways, *own])],
        ]
    return Document.of("explain", place, question_text(explanation), head, *sections)


def question_text(explanation: ExplainReport) -> str:
    """The operator with its sizes and windows, such as `conv of 224x160: kernel 3x3`."""
    question, windows = explanation.question, explanation.windows
    told = {
        f"{question.op} of {_by(question.sizes)}: kernel": [each.kernel for each in windows],
        "stride": [each.stride for each in windows],
        "dilation": [each.dilation for each in windows] * question.is_dilated,
        "padding": question.padding,
        "output_padding": question.output_padding,
    }
    return ", ".join(f"{name} {_by(numbers)}" for name, numbers in told.items() if numbers)


def _by(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _widest(explanation: ExplainReport, names: Sequence[str]) -> Answer:
    """Of answers that compute the same the one with the most padding, of which some is not read."""
    found = [explanation.answer(name) for name in names]
    most = max(found, key=lambda each: sum(map(sum, each.pads)))
    return found[0] if explanation.op == "convtranspose" else most


def _ported(explanation: ExplainReport) -> Iterator[str]:
    found = explanation.conventions
    letters = {name: label[0] for name, label in _labels(explanation).items()}
    given = ("pytorch-padding",) * (not explanation.about and explanation.op != "convtranspose")
    usual = next((name for name in (*given, *_USUAL) if found.get(name)), "")
    theirs, ours = found.get("tensorflow-same"), found.get(usual)
    if explanation.about and explanation.about.own:
        same, rows = explanation.same_as_model, {"TensorFlow": "tensorflow-same", "PyTorch": usual}
        alike = [name for name, row in rows.items() if row in same]
        own = letters[same[0]] + f" ({same[0]})" * (not alike) if same else "what none below does"
        told = f", as {and_list(alike)} do" * bool(alike) + "es" * (len(alike) == 1)
        yield f"This model computes {own}{told}."
        output = explanation.about.own.output
        if output not in [answer.output for answer in (theirs, ours) if answer]:
            size = _by(output)
            told = "which neither TensorFlow's SAME nor PyTorch's usual padding gives"
            yield f"Its output is {size}, {told}; --output-size {size} lists what gives that."
            return
    if theirs is not None and ours is not None:
        how = f"padding={short([begin for begin, _ in ours.pads])}"
        how += f", output_padding={short(ours.output_padding)}" * any(ours.output_padding)
        how = "padding='same'" if usual == "pytorch-same" else how
        verb = "crops" if explanation.op == "convtranspose" else "pads"
        amounts = [f"({verb} {pads_text(each.pads).removeprefix('L ')})" for each in (theirs, ours)]
        amounts = [each.replace(" ", UNBREAKABLE) for each in amounts]
        both = f"TensorFlow's SAME {amounts[0]} and PyTorch's {how} {amounts[1]}"
        if letters[usual] == letters["tensorflow-same"]:
            apart = not any(
                {usual, "tensorflow-same"}.issubset(e) for e in explanation.survey.classes
            )
            yield f"{both} compute the same at this size{', not at all others' * apart}."
        else:
            yield f"{both} differ at this size: {_parting(explanation.op, ours, theirs)}."
            yield f"To compute what TensorFlow does, write {letters['tensorflow-same']} as below."


def _parting(op: Op, ours: Answer, theirs: Answer) -> str:
    transposed, moved, said = op == "convtranspose", dict[int, list[str]](), list[str]()
    for name, mine, other in zip(axis_names(len(ours.axes)), ours.axes, theirs.axes, strict=True):
        moved.setdefault(mine.begin - other.begin, []).append(name)
    for by, names in moved.items():
        starts = "PyTorch's output starts" if transposed else "PyTorch's windows start"
        side = "earlier" if (by > 0) is not transposed else "later"
        where = f" on {and_list(names)}" * (len(ours.axes) > 1)
        said += [f"{starts} {abs(by)} {side}{where}"] * bool(by)
    if ours.output != theirs.output:
        said.append(f"PyTorch's output is {_by(ours.output)}, not {_by(theirs.output)}")
    said += ["PyTorch's average counts padding"] * (ours.counts is not theirs.counts)
    return and_list(said)


def _table(explanation: ExplainReport) -> Iterator[Block]:
    labels = _labels(explanation)
    found = [(label, name, explanation.answer(name)) for name, label in labels.items()]
    if own := explanation.about and explanation.about.own:
        same = explanation.same_as_model
        alike = _LETTERS[explanation.agree.index(same)] if same else "-"
        found.append((alike, "this model", own))
    yield from _answers(explanation, found)
    yield from _refused("not here", explanation.refused)
    if len({label[:1] for label in labels.values()}) < len({*labels.values()}):
        yield "  A1, A2, ...: the same at this size, not at all others"


def _answers(
    explanation: ExplainReport, found: Sequence[tuple[str, str, Answer]]
) -> Iterator[Table]:
    averages, rows, before = explanation.op == "avgpool", list[tuple[str, ...]](), ""
    for label, name, answer in found:
        divides = ("data and padding" if answer.counts else "data",) * averages
        told = marked(label, "strong") if label != before or name == "this model" else ""
        rows.append((told, name, _pads(answer), _by(answer.output), *divides))
        before = label
    amount = "crops" if explanation.op == "convtranspose" else "pads"
    yield Table(("", "convention", amount, "output", *("divides by",) * averages), rows)


def _refused(head: str, refused: Mapping[str, str]) -> Iterator[str]:
    for group in grouped(refused.items(), lambda each: each[1]):
        names = ", ".join(name for name, _ in group)
        yield f"  {marked(f'{head}: {names} ({shown(group[0][1])})', 'faint')}"


def _labels(explanation: ExplainReport) -> dict[str, str]:
    """A letter for those that compute the same here; A1, A2 for those that part at other sizes."""
    found: dict[str, str] = {}
    for index, group in enumerate(explanation.agree):
        parts = [names for names in explanation.survey.classes if names[0] in group]
        for number, names in enumerate(parts, 1):
            found |= dict.fromkeys(names, f"{_LETTERS[index]}{number if len(parts) > 1 else ''}")
    return found


def _pads(answer: Answer) -> str:
    said = pads_text(answer.pads).removeprefix("L ")
    appended = answer.output_padding
    return f"{said}, output_padding {_by(appended)}" if any(appended) else said


def _apart(explanation: ExplainReport) -> Iterator[Block]:
    survey, label, rows = explanation.survey, _labels(explanation), list[tuple[str, str]]()
    pads = ({explanation.answer(name).pads for name in names} for names in explanation.agree)
    why = "no window reads the pads in which they differ"
    why = "output_padding appends what the end crops" if explanation.op == "convtranspose" else why
    unread = f", as {why}" * any(len(each) > 1 for each in pads)
    for each in survey.periods:
        groups = (dict.fromkeys(map(label.__getitem__, names)) for names in each.agree)
        said = ", ".join(marked(" = ".join(labels), "strong") for labels in groups)
        rows.append((_sizes(each.remainders, survey.period), said))
    if any("=" in said for _, said in rows):
        yield f"Those of one letter compute the same at this size{unread}. From {survey.since} on:"
        yield from first_rows(["", ""], rows, _PERIODS)
    elif rows:
        yield f"Those of one letter compute the same, at other sizes too{unread}."


def _sizes(remainders: Sequence[int], period: int) -> str:
    named = {tuple(range(period)): "all sizes"}
    if period % 2 == 0:
        named |= {tuple(range(0, period, 2)): "even sizes", tuple(range(1, period, 2)): "odd sizes"}
    few = and_list(f"{period}n+{rest}".removesuffix("+0") for rest in remainders[:_WAYS])
    many = f"{len(remainders)} of {period} sizes"
    return named.get(tuple(remainders), many if len(remainders) > _WAYS else f"sizes {few}")


def _written(explanation: ExplainReport, head: str, found: Sequence[_Way]) -> Iterator[Block]:
    """Lines of PyTorch, Keras and ONNX, broken where that does not part the numbers of one list."""
    stands = "" if explanation.op in {"maxpool", "avgpool"} else " (c channels, n filters)"
    yield f"{head}{stands}:"
    for label, answer, names in found:
        lines = written(explanation.question, answer, names)
        titles = {"pytorch": "in PyTorch", "keras": "in Keras", "onnx": "in ONNX"}
        texts = {n: re.sub(r"(?<=\d), (?=-?\d)", f",{UNBREAKABLE}", t) for n, t in lines.items()}
        rows = [(titles[name], text) for name, text in texts.items() if text]
        rows = rows or [("in PyTorch", "none in one line")]
        first, *others = rows
        yield Table([""] * 3, [(marked(label, "strong"), *first), *(("", *row) for row in others)])


def _needs(reach: Reach, explanation: ExplainReport) -> Iterator[Block]:
    if not reach.is_possible:
        yield f"No padding gives {_by(reach.output)}."
    rows, names = [], axis_names(len(reach.needs))
    for name, need, window in zip(names, reach.needs, explanation.windows, strict=True):
        # What rounds at stride 1 is the same either way.
        sums = ", or ".join(
            _to(each.least, half := each.most)
            + f" with ceil_mode (as {half // 2}+{half - half // 2})" * each.ceil_mode
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
    if reach.explicit is None:
        return
    if own := explanation.about and explanation.about.own:
        said: list[Block] = [f"This model has {_pads(own)} and gives {_by(own.output)}."]
        if own.output != (wanted := reach.output):
            said.append(f"One number that makes it {_by(wanted)}, on each axis that it is told of:")
            said += ["  none"] * (not reach.changes)
        for each in reach.changes:
            where = f" on {axis_names(len(own.output))[each.axis]}" * (each.what != "ceil_mode")
            said.append(f"  {each.what} {_to(each.least, each.most)} instead of {each.now}{where}")
        yield said
    ways = reach.conventions.items()
    found = [(name, answer) for name, answers in ways for answer in answers[:_WAYS]]
    found = found or [("any, by numbers", reach.explicit)]
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
