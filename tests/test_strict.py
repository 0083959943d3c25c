"""What `--trust nothing` refuses of a certificate, and what the report says of that."""

import pytest

import onnxpad
from onnxpad.finding import Assumption, Certificate
from onnxpad.report.documents.fix_document import _assumptions
from tests.support import one

NAMED, PROBED, DATA = Assumption.DECLARED, Assumption.NOT_PROBED, Assumption.FINITE_DATA


@pytest.mark.parametrize(
    ("assumptions", "runnable", "refused"),
    [
        ((), False, ()),
        ((DATA,), False, (DATA,)),
        ((PROBED,), True, (PROBED,)),
        ((NAMED,), False, ()),
        ((NAMED, PROBED), False, ()),
        ((NAMED, PROBED), True, (PROBED,)),
        ((DATA, NAMED, PROBED), False, (DATA,)),
    ],
)
def test_a_declaration_is_believed(
    assumptions: tuple[str, ...], runnable: bool, refused: tuple[str, ...]
) -> None:
    facts = {"runnable": True} if runnable else {}
    assert Certificate("equal", assumptions=assumptions, facts=facts).refused == refused


def test_the_report_says_which_changes_strict_accepts() -> None:
    proto = one('y = acme.Pool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3]> (x)')
    with onnxpad.registered(onnxpad.Row(domain="acme", op_type="Pool", like="AveragePool")):
        strict = onnxpad.fix(proto, strict=True)
    (change,) = strict.changes
    assert change.certificate.assumptions
    assert not change.certificate.refused
    lines = [*_assumptions(strict.changes)]
    assert len(lines) == len(change.certificate.assumptions)
    assert all("(--trust nothing accepts; onnxpad docs proofs)" in line for line in lines)
