"""The cells that were read: what a study of 27 runtimes found, row by row, column by column."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from msgspec.structs import replace

from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import every, load
from onnxpad.targets.target import Cell, Target
from onnxpad.targets.target import sites as all_sites
from tests.support.rows import each_row

COLUMNS: Final = (
    "auto_pad_conv", "auto_pad_conv_transpose", "auto_pad_pool", "same_with_dilation",
    "asymmetric_pads_conv", "asymmetric_pads_pool", "asymmetric_pads_conv_transpose",
    "ceil_mode", "count_include_pad", "conv_transpose_output_padding",
    "conv_transpose_output_shape",
)  # fmt: skip

ROWS: Final = {
    "onnxruntime-cpu": "PAPRAAAAAAA", "onnxruntime-cuda": "PFWRAWFWPAA", "tensorrt": "APAUAAAAAPW",
    "openvino": "ASAAAAAPAAP", "directml": "AWAAAAAAAAP", "qnn": "SSSRAAAAAAA",
    "onnxruntime-webgpu": "AAARAAAAAAA", "onnxruntime-web-jsep": "WAWRAUURAAA",
    "webnn": "SSSRAAAAAAA", "nnapi": "SFSRAAFFFFF", "xnnpack": "PPPUAAUFFAU",
    "ncnn-onnx2ncnn": "AWPAAAAAAAP", "ncnn-pnnx": "PRWUAPRAAAU", "mnn": "PPPAAAAAAAW",
    "tract": "AAAAAAAAAAS", "burn": "SRSAPPRPAAR", "candle": "RRRRARRWARR", "wonnx": "WRWWAARAARR",
    "opencv": "PUPWAAUAWAW", "tvm": "PAWPAAAAAAW", "migraphx": "ASPAASSASWW",
    "onnx2torch": "RRRRAPRAAAW", "onnx2tf": "PPAUAAUAAUU", "onnx-mlir": "SAAAAAAPAAW",
    "emx-onnx-cgen": "SSSAAAAAAAA", "rknn": "UUUUUUUUUUU",
}  # fmt: skip
"""By runtime, for each topic: Accepted, Rejected, Fallback (runs, on another provider), Static-only
(sizes must be known), Partial, Wrong without a message, Unknown. Each is in the data, as a cell or
as a fact.
"""
CONV: Final[dict[str, Any]] = {"op": "Conv"}
MAX: Final[dict[str, Any]] = {"op": "MaxPool"}
AVERAGE: Final[dict[str, Any]] = {"op": "AveragePool"}
TRANSPOSED: Final[dict[str, Any]] = {"op": "ConvTranspose"}
UPPER: Final[dict[str, Any]] = {"auto_pad": "SAME_UPPER", "pads": "end"}
LOWER: Final[dict[str, Any]] = {"auto_pad": "SAME_LOWER", "pads": "begin"}
SAME: Final[Sequence[Mapping[str, Any]]] = (
    UPPER,
    LOWER,
    UPPER | {"pads": "equal"},
    LOWER | {"pads": "equal"},
)
STRIDES: Final[Sequence[Mapping[str, Any]]] = (
    {},
    {"stride": 2},
    {"stride": 5, "narrow": True, "onnxruntime": "departs"},
)
ODD: Final[Sequence[Mapping[str, Any]]] = ({"pads": "end"}, {"pads": "begin"}, {"pads": "mixed"})
ODD_3D: Final[Sequence[Mapping[str, Any]]] = (*ODD, {"pads": "end", "rank": 3})
PLACES: Final[Sequence[Mapping[str, Any]]] = ({}, {"rank": 1}, {"rank": 3})
CEIL: Final[Sequence[Mapping[str, Any]]] = ({"ceil": "even"}, {"ceil": "over"}, {"ceil": "dropped"})

SPREAD: Final[dict[str, Any]] = {"dilated": True}
STOPS: Final[dict[str, Any]] = {"onnxruntime": "stops"}


def forms(*choices: Iterable[Mapping[str, Any]]) -> list[Form]:
    """A form for each combination of choices, 2-D and of floats unless they say otherwise."""
    usual: dict[str, Any] = {
        "op": "Conv",
        "rank": 2,
        "dtype": "float32",
        "opset": 13,
        "kernel_shape": True,
    }
    combined = (
        dict(pair for part in parts for pair in part.items()) for parts in product(*choices)
    )
    return [Form(**usual | fields) for fields in combined]


SAMPLES: Final = {
    "auto_pad_conv": forms([CONV], SAME, (*STRIDES, {"kernel_shape": False})),
    "auto_pad_conv_transpose": forms(
        [TRANSPOSED], SAME, ({}, {"stride": 2}, {"dilated": True}, {"output_padding": True})
    ),
    "auto_pad_pool": forms([MAX, AVERAGE], SAME, (*STRIDES, {"ceil": "even"})),
    "same_with_dilation": [
        *forms([CONV], (UPPER, LOWER), [SPREAD | STOPS]),
        *forms([MAX, AVERAGE], (UPPER, LOWER), [SPREAD | {"onnxruntime": "departs"}]),
    ],
    "asymmetric_pads_conv": forms([CONV], ODD_3D),
    "asymmetric_pads_pool": forms([MAX, AVERAGE], ODD_3D),
    "asymmetric_pads_conv_transpose": forms([TRANSPOSED], ODD_3D),
    "ceil_mode": forms([MAX, AVERAGE], CEIL, ({}, {"opset": 20})),
    "count_include_pad": forms(
        [AVERAGE | {"counted": True, "count_include_pad": True, "pads": "equal"}],
        ({}, {"ceil": "over"}),
    ),
    "conv_transpose_output_padding": forms(
        [TRANSPOSED | {"output_padding": True, "stride": 2}],
        ({"pads": "equal"}, {"pads": "none"}),
        PLACES,
    ),
    "conv_transpose_output_shape": forms(
        [TRANSPOSED | {"output_shape": True}],
        ({"pads": "equal"}, {"pads": "begin"}, UPPER, UPPER | {"pads": "equal"}),
        ({}, {"dilated": True}),
    ),
}  # fmt: skip
"""Forms of each topic, which is asked of them alone."""


def read(name: str) -> Target:
    """A target as it was read: without any run and what follows from one, in the version read."""
    found = load("opencv@4" if name == "opencv" else name)
    kept = [each for each in found.cells if not (each.forms or each.exact or each.like)]
    return replace(found, cells=tuple(kept))


def cells(target: Target, forms: Iterable[Form]) -> list[Cell]:
    return [target.cell(form) for form in forms]


def verdicts(target: Target, forms: Iterable[Form]) -> set[str]:
    return {cell.verdict for cell in cells(target, forms)}


def told(target: Target, topic: str) -> bool:
    return any(topic in fact.about for fact in target.facts)


def opened(forms: Iterable[Form]) -> list[Form]:
    """The same forms at sizes that are not known."""
    return [
        replace(form, sized=False, pads=form.pads if form.auto_pad == "NOTSET" else "open")
        for form in forms
    ]


def valid(forms: Iterable[Form]) -> list[Form]:
    """The same operators without padding, at sizes that are not known."""
    return [Form(form.op, rank=2, auto_pad="VALID", sized=False) for form in forms]


@each_row(
    ("name", "topic", "letter"),
    [(name, *each) for name, row in ROWS.items() for each in zip(COLUMNS, row, strict=True)],
    at_once=30,
)
def test_a_value_is_a_cell_or_a_fact(name: str, topic: str, letter: str) -> None:
    target, forms = read(name), SAMPLES[topic]
    found = verdicts(target, forms)
    expected: dict[str, Callable[[], bool]] = {
        # candle takes the attribute in a form that no model of the topic has.
        "A": lambda: "right" in found or (name, topic) == ("candle", "count_include_pad"),
        "R": lambda: "rejected" in found,
        "F": lambda: "fallback" in found,
        "S": lambda: (
            "right" in found
            and any(cell.advice == "--shape" for cell in cells(target, opened(forms)))
        ),
        "P": lambda: found | verdicts(target, valid(forms)) != {"right"} or told(target, topic),
        "W": lambda: "wrong" in found,
        "U": lambda: "right" not in found,
    }
    assert expected[letter](), found
    if letter in "ARFSPW":
        spoken = [cell for cell in target.cells if topic in cell.about]
        assert spoken, "no cell speaks of the topic"
        assert all(cell.source or cell.forms for cell in spoken if cell.verdict != "unknown")


@each_row(
    ("name", "op", "taken", "verdict"),
    [
        ("coreml-mlprogram", "Conv", {1, 2}, "fallback"),
        ("nnapi", "AveragePool", {2}, "fallback"),
        ("xnnpack", "ConvTranspose", {2}, "fallback"),
        ("webnn", "MaxPool", {2}, "fallback"),
        ("qnn", "MaxPool", {1, 2}, "fallback"),
        ("candle", "Conv", {1, 2}, "rejected"),
        ("burn", "MaxPool", {1, 2}, "rejected"),
        ("ncnn-onnx2ncnn", "Conv", {2}, "unknown"),
    ],
)
def test_a_rank_that_a_source_does_not_take_is_no_reason_for_a_rewrite(
    name: str, op: str, taken: set[int], verdict: str
) -> None:
    for rank in (1, 2, 3):
        cell = read(name).cell(Form(op, rank=rank, pads="equal"))
        assert cell.verdict == ("right" if rank in taken else verdict)
        assert cell.limit == (rank not in taken and verdict != "unknown")


SPELT: Final[Mapping[str, Mapping[str, object]]] = {
    "no_axes": {"axes": True},
    "kernel_shape": {"kernel_shape": False},
    "no_count_include_pad": {"count_include_pad": True},
    "typed_amounts": {"raw": True},
}
"""Spellings, and the field with which a cell says that a target needs one."""


@each_row("target", every())
def test_a_cell_that_a_spelling_mends_has_the_spelling(target: Target) -> None:
    for cell in target.cells:
        for spelling, fields in SPELT.items():
            when = {name: each for name, each in cell.when.items() if name in fields}
            if when == {name: (value,) for name, value in fields.items()} and not cell.limit:
                is_taken = cell.verdict in {"right", "unknown"}
                assert is_taken or spelling in target.spell, cell


def test_what_a_cell_is_inferred_from_was_run_and_was_as_it_says() -> None:
    for target in every():
        for cell in target.cells:
            assert not cell.measured or cell.source.startswith("models run on "), target.name
            sites = [
                replace(site, raw=raw)
                for label in cell.forms
                for site in all_sites()[label]
                for raw in (False, True)
            ]
            found = {each.verdict for site in sites if (each := target.cell(site)).measured}
            assert not found or cell.verdict == "unknown" or cell.verdict in found, target.name


OF_TF: Final = {"op": "Pad", "pad": "computed", "outer": "end", "producer": "tf2onnx"}
FILLED: Final = {"op": "Pad", "pad": "constant", "outer": "equal"}
SHAPED: Final = TRANSPOSED | {"output_shape": True}


@each_row(
    ("name", "fields", "verdict"),
    [
        ("tract", CONV | {"pad": "computed", "outer": "end", "sized": False}, "unknown"),
        ("tract", CONV | {"pad": "computed", "outer": "end", "batched": False}, "unknown"),
        ("tract", OF_TF | {"batched": False}, "rejected"),
        ("tract", OF_TF | {"mode": "constant"}, "unknown"),
        ("tract", {"op": "Pad", "pad": "constant", "dtype": "int64"}, "unknown"),
        ("opencv@4", CONV | {"pad": "computed", "outer": "end"}, "unknown"),
        ("opencv-classic", CONV | {"pad": "computed", "outer": "end"}, "unknown"),
        ("opencv@4", CONV | {"pad": "constant", "mode": "edge"}, "right"),
        ("opencv@4", CONV | {"pad": "constant", "mode": "edge", "rank": 1}, "rejected"),
        ("opencv@4", FILLED | {"dtype": "uint8", "fill": "absent"}, "wrong"),
        ("opencv", FILLED | {"dtype": "int8", "fill": "lowest"}, "wrong"),
        ("ncnn-pnnx", OF_TF | {"mode": "constant"}, "rejected"),
        ("openvino", SHAPED | {"pads": "open", "sized": False}, "wrong"),
        ("openvino", SHAPED | {"pads": "end", "batched": False}, "wrong"),
        ("openvino", MAX | {"pad": "constant", "fill": "lowest", "opset": 10}, "rejected"),
        ("opencv", SHAPED | {"pads": "open", "sized": False}, "wrong"),
    ],
)
def test_what_exported_models_showed(name: str, fields: dict[str, Any], verdict: str) -> None:
    form: dict[str, Any] = {"rank": 2, "dtype": "float32", "stride": 2}
    assert load(name).cell(Form(**(form | fields))).verdict == verdict
