"""The rule of steps that users declared: their declaration is all that is known of them."""

from onnxpad.declared import Step, told
from onnxpad.proof.meaning import MeaninglessError
from onnxpad.proof.step_rules.fill_arithmetic import Number
from onnxpad.proof.step_rules.step_node import Passed, Rule, StepNode, named


def declared(step: Step) -> Rule:
    """The rule of an operator that a user declared."""

    def rule(call: StepNode) -> Passed:
        def made(number: Number) -> Number:
            found = step.made_of(number, call.node.attrs)
            if found is None:
                raise MeaninglessError(f"what {told(step)} makes of {number} is not declared")
            return found

        for place, name in call.others():
            shape = call.analysis.shape(call.node.inputs[place])
            if shape is None or any(size != 1 for size in shape):
                raise MeaninglessError(f"{name!r} has not one element")
        layers = call.layers
        if layers and step.permutes is None:
            layers = call.mapped(made)
        elif layers:
            order = step.order(len(layers[0].amounts), call.node.attrs)
            if order is None:
                raise MeaninglessError(f"the order of axes that {told(step)} gives is unknown")
            layers = call.moved(lambda amounts: [amounts[axis] for axis in order])
        return named(call, layers, step.domain)

    return rule
