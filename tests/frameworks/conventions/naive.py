"""What an operator computes on one line by an answer's numbers, element by element."""

from collections.abc import Sequence

from onnxpad.frameworks.conventions.question import Answer, Op
from tests.oracles import scattered, walk


def computed(
    op: Op, answer: Answer, values: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """The output for a line of values; a window in padding alone gives 0, or -inf if it is a max.

    Of the answer only pads, output and window are read.
    """
    (axis,) = answer.axes
    if op == "convtranspose":
        full = scattered(values, weights, axis.window) + [0.0] * axis.output_padding
        return full[axis.begin : axis.begin + axis.output]
    found = []
    padded = range(-axis.begin, len(values) + axis.end)
    for taps in walk(axis.window, axis.begin, axis.output):
        real = [(tap, values[n]) for tap, n in enumerate(taps) if 0 <= n < len(values)]
        if op == "conv":
            found.append(sum(value * weights[tap] for tap, value in real))
        elif op == "maxpool":
            found.append(max((value for _, value in real), default=-float("inf")))
        else:
            divisor = sum(n in padded for n in taps) if answer.counts else len(real)
            found.append(sum(value for _, value in real) / max(divisor, 1))
    return found


def line(size: int) -> list[float]:
    """Values that tell positions apart."""
    return [float((5 * n) % 17 - 8) for n in range(size)]


def kernel(length: int) -> list[float]:
    """Weights that tell taps apart."""
    return [float(2**n) for n in range(length)]
