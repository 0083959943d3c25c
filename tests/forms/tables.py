"""The manual's tables of forms, each cell from a run of `fix` or from the tables of the package."""

from collections.abc import Iterable, Iterator
from typing import Final

from onnxpad.declared import Key
from onnxpad.semantics.operators import OPERATORS
from tests.forms.around import FORMS
from tests.forms.drawing import drawn
from tests.forms.operators import BEFORE, OWN, QUESTIONS, SUBJECTS, Question, asked
from tests.forms.outcome import STYLES, Form, Style, is_folded, new_form, why
from tests.forms.steps import KINDS, Kind

BEGIN: Final = "<!-- python -m tests.forms writes from here -->\n"
END: Final = "<!-- to here -->\n"

_OPERATORS: Final = """
A `Pad` 1+2 before each operator, with the value of the operator's own padding (-inf or -128, the
zero point 9, or 0), and own pads that the style wants in a `Pad`:
"""
_QUESTIONS: Final = """
Which operators take over a `Pad` in style `fold`; its value is that of their own padding unless the
row says otherwise:
"""
_STEPS: Final = """
A `Pad` passes these steps on its way to an operator, any number of them, in every style:
"""
_AROUND: Final = """
Other forms, where `stays` refers to the reason on the right:
"""


def section() -> str:
    """The tables as they stand on their page between the marks."""
    parts = [
        (_OPERATORS, _operators()),
        (_QUESTIONS, _questions()),
        (_STEPS, _steps()),
        (_AROUND, _around()),
    ]
    return "".join(f"{text}\n{_table(rows)}" for text, rows in parts) + "\n"


def written(page: str) -> str:
    """The page with the tables made anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + section() + END + after


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    """The first row as the header, and the others."""
    header, *body = rows
    lines = (header, ("---",) * len(header), *body)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(form: Form, style: Style) -> str:
    """The new form, or that the old one stays; why it does only if nothing changes."""
    reason = why(form, style)
    return new_form(form, style) or (f"stays: {reason}" if reason else "as it is")


def _operators() -> Iterator[tuple[str, ...]]:
    yield "operator", "its own padding is", "`fold`", "`symmetric`", "own pads 1+2, style `pad`"
    groups: dict[tuple[str, ...], list[Key]] = {}
    cells: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key in SUBJECTS:
        pad, own = _of(key, BEFORE), _of(key, OWN)
        told = _fill(key), _cell(pad, "fold"), _cell(pad, "symmetric"), _cell(own, "pad")
        alike = tuple(each.replace(key[1], "") for each in told)
        groups.setdefault(alike, []).append(key)
        cells.setdefault(alike, told)
    for alike, keys in groups.items():
        yield _names(keys), *cells[alike]


def _of(key: Key, question: Question) -> Form:
    form = asked(key, question)
    assert form is not None
    return form


def _fill(key: Key) -> str:
    """The value that an operator's own padding stands for."""
    row = OPERATORS[key]
    counts = f", unless `{row.counts}`" if row.counts else ""
    return f"{row.padding.value}{counts}"


def _names(keys: Iterable[Key]) -> str:
    """Names of operators, each once."""
    return ", ".join(dict.fromkeys(name for _, name in keys))


def _questions() -> Iterator[tuple[str, ...]]:
    yield "what comes in", "folds before", "stays before"
    for question in QUESTIONS:
        forms = {key: form for key in SUBJECTS if (form := asked(key, question)) is not None}
        reasons: dict[str, list[Key]] = {}
        for key, form in forms.items():
            reasons.setdefault("" if is_folded(form) else why(form), []).append(key)
        folded = reasons.pop("", [])
        stays = [f"{_all(keys, forms, question)}: {text}" for text, keys in reasons.items()]
        yield question.title, _all(folded, forms, question), "; ".join(stays)


def _all(keys: list[Key], asked_of: Iterable[Key], question: Question) -> str:
    """Names of operators, or `all`."""
    return "all" if keys == list(asked_of) and not question.only else _names(keys)


def _steps() -> Iterator[tuple[str, ...]]:
    yield "steps", "pass if", "for example", "`fold`", "stays, for example"
    for kind in KINDS:
        first = next(iter(kind.passed.values())).form
        kept = "; ".join(f"{each.title}: {why(each.form)}" for each in kind.kept)
        example = f"`{drawn(first.model)}`"
        yield ", ".join(passing(kind)), kind.when, example, _cell(first, "fold"), kept


def passing(kind: Kind) -> list[str]:
    """The operators of a kind that a `Pad` is seen to pass in every style."""
    return [
        op
        for op, step in kind.passed.items()
        if all(_is_passed(step.form, op, style) for style in STYLES)
    ]


def _is_passed(form: Form, op: str, style: Style) -> bool:
    """Whether no `Pad` stands upstream of an operator."""
    before, _, after = (new_form(form, style) or "").partition(f"{op} ")
    return "Pad " not in before and bool(after)


def _around() -> Iterator[tuple[str, ...]]:
    yield "what comes in", *(f"`{style}`" for style in STYLES), "what stays, and why"
    for title, form in FORMS.items():
        cells, reasons = list[str](), dict[str, list[str]]()
        for style in STYLES:
            reason = why(form, style)
            cells.append(new_form(form, style) or ("stays" if reason else "as it is"))
            if reason:
                reasons.setdefault(reason, []).append(f"`{style}`")
        told = [f"{', '.join(styles)}: {text}" for text, styles in reasons.items()]
        stays = "; ".join(told if len(told) > 1 else reasons)
        yield f"{title}: `{drawn(form.model)}`", *cells, stays
