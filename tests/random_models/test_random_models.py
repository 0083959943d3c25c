"""Random models with padding in every form: nothing comes out wrong, and what could go goes.

`python -m tests.random_models` makes runs of any length of the same.
"""

import json
import random
from dataclasses import replace
from itertools import groupby

import numpy as np
import onnx
import pytest

import onnxpad
from tests.random_models.__main__ import DYNAMICS, main
from tests.random_models.draw import Drawn, draw_model
from tests.random_models.extras import DUPLICATED, WEIGHED
from tests.random_models.measure import (
    DEPLOYED,
    FIX,
    INFINITE,
    OFF,
    ORIGINAL,
    RESULT,
    ROUNDED,
    WIDENED,
    Case,
    Session,
    agree,
    examine,
    pads,
)
from tests.random_models.shrink import shrink, walk
from tests.support import BORDER, PADS, STYLES, W, one, parsed
from tests.support.rows import one_in

SEEDS = (
    1, 3, 7, 8, 15, 19, 20, 26, 28, 29, 33, 37, 40, 44, 46, 53, 56, 58, 60, 63, 75, 76, 79, 87, 100,
    101, 104, 105, 108, 122, 131, 132, 133, 137, 147, 154, 159, 160, 161, 165, 166, 176, 178, 181,
    182, 186, 196, 197, 200, 201, 206, 207, 208, 216, 218, 226, 228, 231, 234, 237,
)  # fmt: skip
"""Of 240: those that together take the branches of the product that all of them take."""
REMOVED = (72, 109, 252, 523, 799, 1033, 1075, 1354, 1602, 1717, 1734, 1931)
"""Of which all padding goes, by many rules."""
ONCE_UNDONE = (
    771038, 771422, 772284, 772376, 772421, 773163, 773335, 811901, 823076, 827850,
)  # fmt: skip
"""Models that were refused, or stopped, when terms were read anew after an edit."""
FORMS = (
    "Conv", "MaxPool", "AveragePool", "LpPool", "ConvInteger", "QLinearConv", "QLinearAveragePool",
    "FusedConv", "NhwcMaxPool", "ConvTranspose", "Transpose", "Unsqueeze", "Squeeze", "Reshape",
    "Flatten", "QuantizeLinear", "DequantizeLinear", "Cast", "Identity", "Dropout", "Relu",
    "LeakyRelu", "Neg", "Abs", "Tanh", "Sin", "HardSwish", "Sigmoid", "Clip", "Min", "Max", "Mul",
    "Div", "Add", "Sub", "BatchNormalization", "Concat", "Split", "Slice", "If", "Loop", "Scan",
    "function", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "padded weight", "unread",
    "string", "nested function",
)  # fmt: skip


@pytest.mark.parametrize("seed", one_in(6, [(seed,) for seed in SEEDS]))
def test_nothing_is_wrong(seed: int) -> None:
    """Every fifteenth with validation."""
    style, dynamic = STYLES[seed % 3], DYNAMICS[seed // 3 % 3]
    drawn, validate = draw_model(random.Random(seed)), seed in SEEDS[::15]
    levels = OFF, DEPLOYED
    outcome = examine(drawn, seed, style=style, dynamic=dynamic, validate=validate, levels=levels)
    assert not outcome.problems


@pytest.mark.parametrize("seed", one_in(4, [(seed,) for seed in REMOVED]))
def test_all_padding_goes(seed: int) -> None:
    outcome = examine(draw_model(random.Random(seed)), seed)
    assert outcome.removed >= 2
    assert not outcome.left
    assert not outcome.problems


def test_nothing_is_taken_back() -> None:
    for seed in ONCE_UNDONE:
        style, dynamic = STYLES[seed % 3], DYNAMICS[seed // 3 % 3]
        model = draw_model(random.Random(seed)).model
        result = onnxpad.fix(model, validate=False, style=style, dynamic=dynamic)
        assert not result.undone, seed


def test_a_wrong_size_that_a_call_sets_stays_hidden() -> None:
    """A pool whose kernel is an attribute of its function, with a size that is inferred wrongly."""
    seed = 8401904
    found = examine(draw_model(random.Random(seed)), seed, style="symmetric", dynamic="auto-pad")
    assert not [each for each in found.problems if "no longer runs" in each]


def test_a_seed_names_a_model() -> None:
    models = [draw_model(random.Random(7)).model.SerializeToString() for _ in range(2)]
    assert models[0] == models[1]


def forms(model: onnx.ModelProto) -> set[str]:
    """Operators, steps and scopes of a model."""
    outputs = model.graph.output
    functions = {function.name for function in model.functions}
    found = {"function"} if functions else set()
    if any(o.type.tensor_type.elem_type == onnx.TensorProto.STRING for o in outputs):
        found.add("string")
    made: dict[str, str] = {}
    read = {output.name for output in outputs}
    for holder, at, within in walk(model):
        node = holder.node[at]
        found.add(node.op_type)
        if within and node.op_type in functions:
            found.add("nested function")
        made |= dict.fromkeys(node.output, node.op_type)
        read.update(node.input)
        read.update(o.name for a in node.attribute for o in a.g.output)
        weight = node.input[1] if len(node.input) > 1 else ""
        if node.op_type in WEIGHED and made.get(weight) == "Pad":
            found.add("padded weight")
    for function in model.functions:
        read.update(function.output)
    if any(op in DUPLICATED and name not in read for name, op in made.items()):
        found.add("unread")
    return found


@pytest.mark.night
def test_every_form_is_drawn() -> None:
    """Each in a model that onnxruntime runs."""
    wanted, runs, tried = set(FORMS), 0, 0
    for seed in range(600):
        drawn = draw_model(random.Random(seed))
        if not wanted & forms(drawn.model):
            continue
        tried += 1
        if Case(drawn, seed).runs:
            runs += 1
            wanted -= forms(drawn.model)
    assert not wanted
    assert runs > 0.7 * tried


# The oracle


def case(model: onnx.ModelProto, *, exact: bool = True, half: bool = False) -> Case:
    return Case(Drawn(model, open=False, exact=exact, fed={}, sizes=(1, 2, 9, 8), half=half), 0)


def test_a_wrong_result_is_noticed() -> None:
    """Bits count where all is exact, values elsewhere, and whether it still runs."""
    model = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{BORDER}, {W}")
    given = case(model)
    assert given.differs(model) == ""
    for body, how in [
        ("y = Conv <pads = [1, 1, 1, 0]> (x, w)", "computes something else"),
        ("a = Neg (x) b = Pad (a, p) y = Conv (b, w)", "computes something else"),
        ("b = Pad (x, p) c = Conv (b, w) y = Mul (c, f)", "computes other bits"),
        ("y = Conv (w, w, x)", "no longer runs"),
    ]:
        other = one(body, initializers=f"{BORDER}, {W}, float f = {{1.0000001}}")
        assert given.differs(other) == how


def test_weights_that_the_optimiser_rounds_are_no_defect() -> None:
    """Where nothing else is between them, it folds the `Pad` itself, and rounds them too."""
    weights = "float[1, 2, 3, 3] w = {" + ", ".join(map(str, [*range(17), 1000])) + "}"
    ends = "d = DequantizeLinear (x, one) {} e = QuantizeLinear (c, one) y = Cast <to = 1> (e)"
    before, after, wrong = (
        one(
            ends.format(nodes),
            inputs="uint8[1, 2, 9, 8] x",
            initializers=f"{BORDER}, {weights}, float one = {{1}}, float[1, 1, 1, 1] zero = {{0}}",
        )
        for nodes in (
            "n = Neg (d) a = Pad (n, p) b = Neg (a) c = Conv (b, w)",
            "c = Conv <pads = [1, 1, 1, 1]> (d, w)",
            "c = Conv <pads = [1, 1, 0, 2]> (d, w)",
        )
    )
    given = case(before)
    assert given.differs(after) == ""
    assert given.differs(after, DEPLOYED) == ROUNDED
    assert given.differs(wrong, DEPLOYED) == "computes something else"


def test_float16_in_32_bits_is_no_defect() -> None:
    """A Clip without bounds makes an infinity finite, if something else reads the result."""
    held = "float16 z = {0}, float16 h = {16384}"
    head = f"g (float16[1, 2, 9, 8] x) => (float16[1, 2, 9, 8] y) <{held}>"
    bodies = "s = Shape (c) d = Div (c, h) y = Reshape (d, s)", "y = Div (c, h)", "y = Div (c, z)"
    texts = (f"{head} {{ m = Div (x, z) c = Clip (m, z) {body} }}" for body in bodies)
    before, after, wrong = map(parsed, texts)
    given = case(before, exact=False, half=True)
    assert given.differs(after) == WIDENED
    assert given.differs(wrong) == "computes something else"


def test_an_infinity_that_a_change_assumes_away_is_no_defect() -> None:
    """But a window in padding alone, which gives the same numbers for whatever is fed, is one."""
    held = f"{BORDER}, float c = {{1e30}}, float least = {{-3.4028235e38}}, float low = {{-inf}}"
    pool = "MaxPool <kernel_shape = [{0}, {0}], pads = [{1}, {1}, {1}, {1}]> ({2})"
    before, after, padded, wrong = (
        one(f"m = Mul (x, c) n = Mul (m, c) {nodes}", initializers=held)
        for nodes in (
            f"y = {pool.format(2, 1, 'n')}",
            f"a = Pad (n, p, low) y = {pool.format(2, 0, 'a')}",
            f"a = Pad (n, p, least) y = {pool.format(1, 0, 'a')}",
            f"a = Pad (n, p, low) y = {pool.format(1, 0, 'a')}",
        )
    )
    given = case(before)
    assert given.differs(after) == "computes something else"
    assert given.differs(after, finite=True) == INFINITE
    other = replace(given, drawn=replace(given.drawn, model=padded))
    assert other.differs(wrong, finite=True) == "computes something else"


def test_a_small_sum_of_large_halves_is_not_wrong() -> None:
    expected = [np.array([14000.0, 1.0], np.float16)]
    assert agree([np.array([14000.0, 5.0], np.float16)], expected, 2e-2, 2e-3)
    assert not agree([np.array([14000.0, 50.0], np.float16)], expected, 2e-2, 2e-3)
    assert not agree([np.array([14000.0, 5.0], np.float16)], expected, 2e-2)


def test_what_runs_next_is_told() -> None:
    """So that a crash is laid to what crashed."""
    told: list[str] = []
    model = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{BORDER}, {W}")
    examine(case(model).drawn, 0, levels=(OFF, DEPLOYED), tell=told.append)
    expected = [ORIGINAL, FIX, RESULT, ORIGINAL, RESULT]
    assert [what for what, _ in groupby(told)] == expected


def test_a_model_is_shrunk_to_what_is_wrong() -> None:
    """An If becomes its branch, steps go, and outputs, and what only they need."""
    model = one(
        "r = Relu (x) y = If (on) <"
        "then_branch = t () => (float[] b) { c = Pad (r, p) b = Neg (c) },"
        " else_branch = e () => (float[] b) { b = Neg (r) }> z = Tanh (x)",
        inputs="float[1, 2, 9, 8] x, bool on",
        outputs="float[] y, float[] z",
        initializers=f"{PADS}, {W}",
    )

    def wrong(smaller: onnx.ModelProto) -> bool:
        feeds = {"x": np.zeros((1, 2, 9, 8), np.float32), "on": np.array(True)}
        fed = {value.name: feeds[value.name] for value in smaller.graph.input}
        return Session(smaller).run(fed) is not None and pads(smaller) > 0

    smallest = shrink(model, wrong)
    assert [node.op_type for node in smallest.graph.node] == ["Pad"]
    assert [value.name for value in smallest.graph.initializer] == ["p"]


def test_the_command_tells_what_came_of_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "3", "--seed", "5"]) == 0
    told = capfd.readouterr().out
    assert "3 models" in told
    assert "wrong: 0" in told
    main(["--worker", "--count", "1", "--seed", "5"])
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert lines[0] == {"start": 5}
    assert lines[-1]["counts"]["models"] == 1


def test_onnxruntime_is_the_oracle_for_its_own_reading() -> None:
    """Where it crops instead of padding by nothing, only trust in it makes this explicit."""
    body = 'y = Conv <auto_pad = "SAME_UPPER", strides = [4, 4]> (x, w)'
    held = "float[1, 2, 1, 1] w = {1, 2}"
    drawn = case(one(body, initializers=held, inputs="float[1, 2, 8, 8] x")).drawn
    drawn = replace(drawn, sizes=(1, 2, 8, 8))
    refused, trusted = (examine(drawn, 0, trust=trust) for trust in (None, "onnxruntime"))
    assert not refused.problems
    assert not trusted.problems
    assert refused.result is not None
    assert trusted.result is not None
    assert (refused.result.changed, trusted.result.changed) == (False, True)
