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
A `Pad` 1+2 before each operator in style `fold`, and own pads 1+2 in style `pad`:
"""
_QUESTIONS: Final = """
Before which operators is a `Pad` folded? Its value is that of their own padding unless the row
says otherwise:
"""
_STEPS: Final = """
Which steps does a `Pad` pass on its way to an operator, any number of them?
"""
_AROUND: Final = """
Other forms, in style `fold`:
"""


def section() -> str:
    """The tables as they stand on their page between the marks."""
    parts = [
        (_OPERATORS, _operators()),
        (_QUESTIONS, _questions()),
        (_STEPS, _steps()),
        (_AROUND, _around()),
    ]
    tables = "".join(f"{text}\n{_table(rows)}" for text, rows in parts)
    staying = "".join(f"- {title} (`{reason}`)\n" for title, reason in _staying())
    return f"{tables}\nWhat stays:\n\n{staying}\n"


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


def _cell(form: Form, style: Style = "fold") -> str:
    """The new form, or that the old one stays and why."""
    reason = why(form, style)
    return new_form(form, style) or (f"stays: `{reason}`" if reason else "as it is")


def _operators() -> Iterator[tuple[str, ...]]:
    yield "operator", "its own padding is", "`fold`", "`pad`"
    groups: dict[tuple[str, ...], list[Key]] = {}
    cells: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key in SUBJECTS:
        pad, own = _of(key, BEFORE), _of(key, OWN)
        told = _fill(key), _cell(pad), _cell(own, "pad")
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
    yield "what comes in", "is folded before", "stays before others"
    for question in QUESTIONS:
        folded, reasons = _answers(question)
        if folded:
            yield question.title, _names(folded), ", ".join(f"`{each}`" for each in reasons)


def _answers(question: Question) -> tuple[list[Key], list[str]]:
    """The operators that take the `Pad` over, and why it stays before others."""
    forms = {key: form for key in SUBJECTS if (form := asked(key, question)) is not None}
    folded = [key for key, form in forms.items() if is_folded(form)]
    reasons = (why(form) for key, form in forms.items() if key not in folded)
    return folded, [*dict.fromkeys(reasons)]


def _steps() -> Iterator[tuple[str, ...]]:
    yield "steps", "it passes if", "it stays, for example"
    for kind in KINDS:
        yield ", ".join(passing(kind)), kind.when, ", ".join(each.title for each in kind.kept)


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


def _stays(form: Form) -> bool:
    """Whether a form stays in every style."""
    return not any(new_form(form, style) for style in STYLES)


def _around() -> Iterator[tuple[str, ...]]:
    yield "what comes in", "becomes"
    for title, form in FORMS.items():
        if not _stays(form):
            yield f"{title}: `{drawn(form.model)}`", _cell(form)


def _staying() -> Iterator[tuple[str, str]]:
    """What is folded before no operator, and other forms that stay, with the reason."""
    for question in QUESTIONS:
        folded, reasons = _answers(question)
        if not folded:
            yield question.title, "`, `".join(reasons)
    for title, form in FORMS.items():
        if _stays(form) and why(form):
            yield title, why(form)
