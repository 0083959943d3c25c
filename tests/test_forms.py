"""The manual's tables of forms tell what `fix` does, for every operator and every step."""

import ast
from collections.abc import Iterator
from typing import Final

import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from onnxpad.semantics.table import STEPS
from onnxpad.semantics.window import WINDOWS
from tests.forms.around import FORMS
from tests.forms.drawing import drawn
from tests.forms.operators import BEFORE, OWN, QUESTIONS, SUBJECTS, asked
from tests.forms.outcome import STYLES, Form, fixed, new_form, why
from tests.forms.steps import KINDS, Kind
from tests.forms.tables import BEGIN, END, passing, section
from tests.support import ROOT, assert_same, feeds_of, ran, silent
from tests.support.manual import pages
from tests.support.rows import one_in


def forms() -> Iterator[tuple[str, Form]]:
    """Every model of the tables, with a title of its own."""
    for question in (BEFORE, OWN, *QUESTIONS):
        for key in SUBJECTS:
            form = asked(key, question)
            if form is not None:
                yield f"{question.title}, {key[0]}.{key[1]}", form
    for kind in KINDS:
        for op, step in kind.passed.items():
            yield op, step.form
        for step in kind.kept:
            yield step.title, step.form
    yield from FORMS.items()


ALL: Final = dict(forms())
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[next(iter(each.passed)) for each in KINDS])

TOLD_ELSEWHERE: Final = {
    Reason.ASSUMPTION_REFUSED,  # with --strict
    Reason.AUTO_PAD_AND_PADS,  # what the specification forbids
    Reason.DECLARED_LIMIT,  # of users' own operators
    Reason.INFINITE_DATA,  # in the text below the tables
    Reason.NOT_CERTIFIED,  # where no other reason is known
    Reason.OPSET_TOO_OLD,  # before opset 11
    Reason.TYPE_UNKNOWN,  # downstream of custom operators
    Reason.UNUSED,  # no form of padding
}
"""Reasons of operators and steps that the tables do not show."""

DECIDING: Final = (
    "padding/write.py",
    "rewrite/sinking.py",
    "proof/refine.py",
    "proof/windows.py",
)
"""The modules that refuse what an operator or a step does not allow."""


LEFT: Final = {"Identity"}
"""Steps that no `Pad` is moved past; an Identity is none of its own, as it computes nothing."""

BY_PLACE: Final = {"Celu", "Elu", "Selu", "Sin"}
"""Functions whose last bit depends on the place of an element, in onnxruntime 1.31.1 on x86-64.

Its kernels compute several elements at once, and the rest of a tensor one by one.
"""


@pytest.mark.parametrize("title", one_in(2, zip(ALL)))
def test_nothing_is_left_unsaid_and_what_the_tables_say_is_right(title: str) -> None:
    form, made = ALL[title], list[onnx.ModelProto]()
    runs = not isinstance(ran(form.model, feeds_of(form.model)), str)
    for style in STYLES:
        result = fixed(form, style)
        assert not list(silent(result.model, result.findings, style))
        if result.changed and result.model not in made:
            made.append(result.model)
            if runs and title not in BY_PLACE:
                assert_same(form.model, result.model)


@pytest.mark.parametrize("title", one_in(8, zip(ALL)))
def test_probes_and_validation_agree(title: str) -> None:
    form = ALL[title]
    validated = onnxpad.fix(form.model, **form.options)
    assert validated.validation is None or validated.validation.outcome != "failed"
    undone = {each.reason_code for each in validated.undone}
    assert undone <= ({Reason.PROBE_DIFFERS} if title in BY_PLACE else set())
    if not undone:
        assert drawn(validated.model) == drawn(fixed(form).model)


def test_each_operator_has_a_row() -> None:
    assert {*SUBJECTS} == {*WINDOWS}


def test_each_step_is_in_one_row() -> None:
    assert sorted(op for kind in KINDS for op in kind.passed) == sorted({*STEPS} - LEFT)


@every_kind
def test_a_pad_passes_each_step_of_a_row(kind: Kind) -> None:
    assert passing(kind) == list(kind.passed)


@every_kind
def test_a_pad_stays_where_a_row_says_so(kind: Kind) -> None:
    assert kind.kept
    for step in kind.kept:
        for style in STYLES:
            assert not fixed(step.form, style).changed
            assert why(step.form, style)


@pytest.mark.parametrize("key", SUBJECTS, ids=str)
def test_a_style_leaves_its_own_form(key: tuple[str, str]) -> None:
    pad, own = asked(key, BEFORE), asked(key, OWN)
    assert pad is not None
    assert own is not None
    assert not new_form(pad, "pad")
    assert not new_form(own, "fold")
    assert drawn(fixed(pad, "fold").model).startswith(drawn(own.model))


def test_the_page_has_the_tables_as_they_are_made() -> None:
    made = BEGIN + section() + END
    assert made in pages()["exactness"], f"`python -m tests.forms` writes this:\n{made}"


def test_every_reason_of_operators_and_steps_is_shown() -> None:
    shown = {
        each.reason_code
        for form in ALL.values()
        for style in STYLES
        for each in fixed(form, style).findings
    }
    given = set()
    for module in DECIDING:
        tree = ast.parse((ROOT / "onnxpad" / module).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Reason":
                given.add(Reason[node.attr])
    assert given - shown == TOLD_ELSEWHERE
