"""What the windows of an answer read, against a walk over the elements of each kernel."""

from itertools import product

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import AxisAnswer


def test_elements_are_those_of_a_walk() -> None:
    for kernel, stride, dilation, begin, end in product(
        (1, 2, 3), (1, 2), (1, 2), (0, 1, 2), (0, 2)
    ):
        window, size = Window(kernel, stride, dilation), 5
        output = (size + begin + end - window.extent) // stride + 1
        axis = AxisAnswer(size, window, begin, end, output)
        places = [
            [index * stride - begin + tap * dilation for tap in range(kernel)]
            for index in range(output)
        ]
        read = [[0 <= place < size for place in each] for each in places]
        for index, each in enumerate(read):
            assert [*axis.taps(index)] == [tap for tap, real in enumerate(each) if real]
