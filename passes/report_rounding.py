"""Pools whose output sizes round up beside pools whose sizes round down."""

from collections.abc import Iterator

from onnxpad.finding import Finding
from onnxpad.fitting.model_report import ModelPadding, ModelReport
from onnxpad.rewrite.rule import Example


class ReportRounding(ModelReport):
    """Pools that round up beside pools that round down.

    ## What it does
    Reports a model in which the output size of one pool rounds up (`ceil_mode`) and that of another
    one down, where rounding makes a difference at their sizes. With `--convention NAME` each pool
    that rounds otherwise than that framework is a warning.

    ## Why it matters
    Caffe's pools round up, those of TensorFlow and cuDNN round down, and PyTorch's, PaddlePaddle's
    and ONNX's do either. A network from Caffe that rounds down somewhere lost a column and a row
    there: the next layers still run, on another size.

    ## When it is exact
    Nothing is changed. See PAD601 for what fits a convention.

    ## References
    Caffe, src/caffe/layers/pooling_layer.cpp; ONNX MaxPool-22, "ceil_mode".
    """

    code = "PAD603"
    examples = (
        Example(
            given="float[1, 2, 30, 30] x",
            before="a = MaxPool <ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]> (x)\n"
            "b = Relu (a)\n"
            "c = MaxPool <kernel_shape = [2, 2]> (b)\n"
            "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (c)",
        ),
    )

    def report(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding if pools round differently."""
        matters = [each for each in model.operators if each.case.rounding_matters]
        up = [each for each in matters if each.choice.ceil]
        down = [each for each in matters if not each.choice.ceil]
        if not up or not down:
            return
        fewer = min(up, down, key=len)
        yield self.told(
            fewer[0],
            f"{len(up)} pool{'s round' if len(up) > 1 else ' rounds'} up (first: {up[0].label!r}) "
            f"beside {len(down)} that round{'' if len(down) > 1 else 's'} down "
            f"(first: {down[0].label!r})",
            up=[each.label for each in up],
            down=[each.label for each in down],
        )

    def unfit(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding about each that does not fit the convention asked for."""
        from onnxpad.fitting.case import title

        for each in model.operators:
            fit = each.fit(model.convention)
            if fit.holds != "always" and fit.rounds and not each.averages_a_pad:
                ways = ("up", "down") if each.choice.ceil else ("down", "up")
                yield self.warned(
                    each,
                    model.convention,
                    f"rounds its output size {ways[0]}, {title(model.convention)} {ways[1]}",
                )
