"""Rules for the shapes of operators that users declared."""

from onnxpad.analysis.rule_api import Ask, Call, ShapeRule, UndeterminedError
from onnxpad.analysis.rules.pools_and_convs import of_row
from onnxpad.analysis.value import Shape
from onnxpad.declared import Declaration, Row, Step
from onnxpad.operators.table import declared_operator


def declared_shape(own: Declaration) -> ShapeRule:
    """The shape rule of an operator that a user declared; its result has the type of input 0."""
    return of_row(declared_operator(own)) if isinstance(own, Row) else _of_step(own)


def _of_step(step: Step) -> ShapeRule:
    def rule(call: Call) -> Ask[Shape]:
        shape = yield from call.shape_of(0)
        order = step.order(len(shape), call.node.attrs)
        if order is None:
            raise UndeterminedError(f"the order of axes that {call.op} gives")
        return tuple(shape[axis] for axis in order)

    return rule
