"""The cells that were read: what a study of 27 runtimes found, row by row, column by column.

The study has a value for each runtime and topic: A accepted, R rejected, F fallback (runs, on
another provider), S static-only (sizes must be known), P partial, W wrong without a message, U
unknown. For `Pad` a word says which modes are taken and whether amounts may be computed. All of
that must be in the data: as a cell that answers for forms of the topic, or as a fact.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import every, load
from onnxpad.targets.target import Cell, Target
from onnxpad.targets.target import sites as all_sites
from tests.support.rows import each_row


class Row(NamedTuple):
    """A runtime of the study: letters by topic, and which Pads it takes."""

    letters: str
    pad: str


COLUMNS: Final = (
    "auto_pad_conv", "auto_pad_conv_transpose", "auto_pad_pool", "same_with_dilation",
    "asymmetric_pads_conv", "asymmetric_pads_pool", "asymmetric_pads_conv_transpose", "pad_op",
    "ceil_mode", "count_include_pad", "conv_transpose_output_padding",
    "conv_transpose_output_shape",
)  # fmt: skip

ROWS: Final = {
    name: Row(*row)
    for name, row in {
        "onnxruntime-cpu": ("PAPRAAA-AAAA", "all-modes"),
        "onnxruntime-cuda": ("PFWRAWF-WPAA", "no-wrap"),
        "tensorrt": ("APAUAAA-AAPW", "all-modes"),
        "openvino": ("ASAAAAA-PAAP", "no-wrap"),
        "directml": ("AWAAAAA-AAAP", "all-modes"),
        "qnn": ("SSSRAAA-AAAA", "static-no-wrap"),
        "onnxruntime-webgpu": ("AAARAAA-AAAA", "all-modes"),
        "onnxruntime-web-jsep": ("WAWRAUU-RAAA", "unknown"),
        "webnn": ("SSSRAAA-AAAA", "static-no-wrap"),
        "nnapi": ("SFSRAAF-FFFF", "constant-only"),
        "xnnpack": ("PPPUAAU-FFAU", "fallback"),
        "ncnn-onnx2ncnn": ("AWPAAAA-AAAP", "static-no-wrap"),
        "ncnn-pnnx": ("PRWUAPR-AAAU", "unknown"),
        "mnn": ("PPPAAAA-AAAW", "no-wrap"),
        "tract": ("AAAAAAA-AAAS", "static-no-wrap"),
        "burn": ("SRSAPPR-PAAR", "static-no-wrap"),
        "candle": ("RRRRARR-WARR", "reflect-only"),
        "wonnx": ("WRWWAAR-AARR", "constant-only"),
        "opencv": ("PUPWAAU-AWAW", "static-partial"),
        "tvm": ("PAWPAAA-AAAW", "static-partial"),
        "migraphx": ("ASPAASS-ASWW", "static-no-wrap"),
        "onnx2torch": ("RRRRAPR-AAAW", "no-wrap"),
        "onnx2tf": ("PPAUAAU-AAUU", "unknown"),
        "onnx-mlir": ("SAAAAAA-PAAW", "no-wrap"),
        "emx-onnx-cgen": ("SSSAAAA-AAAA", "all-modes"),
        "rknn": ("UUUUUUU-UUUU", "unknown"),
    }.items()
}

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


def pads(**fields: Any) -> list[Form]:
    """A Pad alone and one before a Conv."""
    usual = {"pad": "constant", "mode": "constant", "outer": "equal", "fill": "zero", "opset": 17}
    return forms([{"op": "Pad", "rank": 4}, CONV], [usual | fields])


CONSTANT, COMPUTED = pads(), pads(pad="computed", sized=False)  # at known sizes it may be folded
MODES: Final = {
    mode: pads(mode=mode, fill="absent", opset=19 if mode == "wrap" else 13)
    for mode in ("reflect", "edge", "wrap")
}


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


MOOT: Final = {("candle", "count_include_pad")}
"""Accepted in a form that no model of the topic has: pools there are without padding."""


@each_row(
    ("name", "topic"),
    [(name, topic) for name in ROWS for topic in COLUMNS if topic != "pad_op"],
    at_once=30,
)
def test_a_value_is_a_cell_or_a_fact(name: str, topic: str) -> None:
    target, forms = read(name), SAMPLES[topic]
    letter = ROWS[name].letters[COLUMNS.index(topic)]
    found = verdicts(target, forms)
    expected: dict[str, Callable[[], bool]] = {
        "A": lambda: "right" in found or (name, topic) in MOOT,
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


@each_row("name", ROWS)
def test_which_pads_are_taken(name: str) -> None:
    target, kind = read(name), ROWS[name].pad
    right = {mode for mode, forms in MODES.items() if verdicts(target, forms) == {"right"}}
    constant, computed = verdicts(target, CONSTANT), verdicts(target, COMPUTED)
    if kind in {"unknown", "fallback"}:
        assert constant == {kind}
        assert right == set()
        return
    if kind == "reflect-only":
        assert constant == {"rejected"}
        assert right == {"reflect"}
        return
    if kind in {"all-modes", "no-wrap"}:
        assert verdicts(target, pads(pad="computed")) == {"right"}
    else:
        assert "right" not in computed
    assert constant == {"right"}
    assert (
        right
        <= {
            "all-modes": {"reflect", "edge", "wrap"},
            "no-wrap": {"reflect", "edge"},
            "static-no-wrap": {"reflect", "edge"},
            "static-partial": {"reflect", "edge", "wrap"},
            "constant-only": set(),
        }[kind]
    )


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
