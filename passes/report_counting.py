"""Averages that count padding beside averages that do not."""

from collections.abc import Iterator

from onnxpad.finding import Finding
from onnxpad.fitting.model_report import ModelPadding, ModelReport
from onnxpad.rewrite.rule import Example


class ReportCounting(ModelReport):
    """Averages that count their padding beside averages that do not.

    ## What it does
    Reports a model in which one AveragePool divides by its padding too (`count_include_pad`) and
    another one by the elements of its data alone, where that makes a difference. An average over a
    `Pad` of zeros is left out: it is the same in any framework. With `--convention NAME` each one
    that counts otherwise than that framework is a warning.

    ## Why it matters
    TensorFlow, Keras and PaddlePaddle leave padding out of an average; PyTorch and Caffe count it,
    PyTorch unless told otherwise. ONNX leaves it out by default, so a converter that forgets
    `count_include_pad` makes a network whose borders are too bright.

    ## When it is exact
    Nothing is changed. See PAD601 for what fits a convention.

    ## References
    torch.nn.AvgPool2d, `count_include_pad`; TensorFlow, `tf.nn.avg_pool`; ONNX AveragePool-22.
    """

    code = "PAD604"
    examples = (
        Example(
            given="float[1, 2, 8, 8] x",
            before="a = AveragePool <count_include_pad = 1, kernel_shape = [3, 3],"
            " pads = [1, 1, 1, 1]> (x)\n"
            "y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)",
        ),
    )

    def report(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding if averages count differently."""
        matters = [
            each
            for each in model.operators
            if each.case.counting_matters and not each.averages_a_pad
        ]
        counting = [each for each in matters if each.choice.counted]
        leaving = [each for each in matters if not each.choice.counted]
        if not counting or not leaving:
            return
        fewer = min(counting, leaving, key=len)
        yield self.told(
            fewer[0],
            f"{len(counting)} average{'s count' if len(counting) > 1 else ' counts'} padding "
            f"(first: {counting[0].label!r}) beside {len(leaving)} that "
            f"do{'' if len(leaving) > 1 else 'es'} not (first: {leaving[0].label!r})",
            counting=[each.label for each in counting],
            leaving_out=[each.label for each in leaving],
        )

    def unfit(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding about each that does not fit the convention asked for."""
        from onnxpad.fitting.case import title

        for each in model.operators:
            counts = each.fit(model.convention).counts
            if counts is not None and not each.averages_a_pad:
                name = title(model.convention)
                words = f"does not count its padding, which {name} does"
                if not counts:
                    words = f"counts its padding, which {name} does not"
                yield self.warned(each, model.convention, words)
