"""What callers hand over: every form that is meant to work, and one line on what is not."""

import inspect
import io
import math
import pydoc
import re
import time
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import asdict, replace
from onnx import helper

import onnxpad
from onnxpad.api.validate import _unproven
from onnxpad.arguments import codes_given, dims_given, require_timeout, source
from onnxpad.errors import OnnxpadError, OutputError, UsageError, shortened
from onnxpad.options import Options
from onnxpad.validation.result import Comparison, Placement, Run, Validation, not_validated
from tests.support import onnxpad_runs
from tests.support.rows import each_row, one_in

TEXT = """<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 1, height, width] image) => (float[1, 1, a, b] y) <float[1, 1, 3, 3] w = {1, 2, 3, 4, 5,
6, 7, 8, 9}, int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}>
{ padded = Pad (image, pads) y = Conv <strides = [2, 2]> (padded, w) }"""

SAME = TEXT.replace("padded = Pad (image, pads) y = Conv <", 'y = Conv <auto_pad = "SAME_UPPER", ')
SAME = SAME.replace("(padded, w)", "(image, w)")


def model(text: str = TEXT) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


RAW = model().SerializeToString()

CALLS: dict[str, Callable[..., Any]] = {
    "fix": onnxpad.fix,
    "check": onnxpad.check,
    "validate": lambda given, **others: onnxpad.validate(given, given, **others),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(RAW)
    return path


class Pathlike:
    """What says where a file is, as some packages do: in bytes."""

    def __init__(self, path: object) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


def test_a_path_is_one_in_any_form(path: Path) -> None:
    for given in (path, str(path), Pathlike(str(path)), Pathlike(bytes(path))):
        assert onnxpad.check(given).findings


@each_row("call", CALLS)
@pytest.mark.parametrize(
    "given",
    [
        None, 5, ["a.onnx", "b.onnx"], {"a": "a.onnx"}, io.BytesIO(RAW),
        np.frombuffer(RAW, np.uint8), model().graph, Pathlike(5), b"", b"net.onnx",
        onnx.ModelProto(), onnx.ModelProto(ir_version=8), "", "n" * 5000, "a\0b",
    ],
)  # fmt: skip
def test_what_is_no_model_is_said_in_one_line(call: str, given: Any) -> None:
    with pytest.raises(OnnxpadError) as caught:
        CALLS[call](given)
    assert "\n" not in str(caught.value)


# Sizes


@each_row(
    "shapes",
    [
        (1, 1, 64, 64),
        "1,1,64,64",
        "image=1,1,64,64",
        np.array([1, 1, 64, 64]),
        (np.int64(1), None, np.int32(64), 64),
        {"image": np.array([1, 1, 64, 64])},
        {"": [1, 1, 64, 64]},
    ],
    at_once=4,
)
def test_sizes_without_a_name_are_those_of_the_only_input(shapes: Any) -> None:
    result = onnxpad.fix(model(SAME), shapes=shapes, validate=False)
    assert result.declared == {"image": (1, 1, 64, 64)}
    assert result.changed
    assert onnxpad.check(model(SAME), shapes=shapes).failing()
    assert "64x64" in onnxpad.validate(RAW, RAW, shapes=shapes).validation.runs[0].inputs
    two = model()
    two.graph.input.append(helper.make_tensor_value_info("other", 1, [1]))
    if "image" not in str(shapes):
        with pytest.raises(UsageError):
            onnxpad.fix(two, shapes=shapes)


@pytest.mark.parametrize(
    ("height", "found"),
    [
        (range(32, 1025, 32), range(32, 1025, 32)),
        (range(1024, 31, -32), range(32, 1025, 32)),
        (range(32, 1000, 32), range(32, 993, 32)),
        (range(7, 8), None),
        (np.int64(7), None),
    ],
)
def test_a_range_of_sizes_is_that_of_python(height: Any, found: range | None) -> None:
    dims = {"height": height, "width": 64}
    result = onnxpad.fix(model(SAME), dims=dims, validate=False)
    assert result.dims == ({} if found is None else {"height": found})
    assert result.changed
    assert onnxpad.validate(model(SAME), result.model, dims=dims).ok
    if found is not None:
        text = onnxpad.fix(model(SAME), dims={"height": "32..1024:32", "width": 64}, validate=False)
        assert [str(c.after) for c in text.changes] == [str(c.after) for c in result.changes]


LONG = "n" * 1_000_000

WRONG: list[dict[str, Any]] = [
    *({"shapes": it} for it in [5, True, range(1, 5), b"1", {1, 2}, iter([1]), np.int64(3), ()]),
    *({"shapes": it} for it in [(1, 1, 64.0, 64), (1, 1, True, 64), (1, 1, [2], 3)]),
    *({"shapes": {"image": it}} for it in [None, 5, range(1, 5), {"h": 3}, b"1", LONG]),
    {"shapes": {"image": (1, 1, range(32, 65), 64)}},
    {"shapes": {5: (1,)}},
    {"shapes": [("image", (1, 1, 64, 64))]},
    *({"dims": it} for it in [5, "height=3", ["height"], range(3), {3: 3}]),
    *({"dims": {"height": it}} for it in [range(5, 5), range(10), range(1, 10**9), range(-5, 9)]),
    *({"dims": {"height": it}} for it in [[32], 64.0, True, None, slice(3), b"3", LONG]),
]


@each_row(
    ("call", "options"),
    [(call, options) for options in WRONG for call in ("fix", "validate")],
    at_once=40,
)
def test_what_are_no_sizes_is_said_in_one_line(call: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        CALLS[call](RAW, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500


# Codes, numbers, and what has a default


KNOWN = ["PAD101", "PAD102", "PAD201"]


def test_codes_may_be_one_text() -> None:
    assert onnxpad.check(RAW, select="PAD101,pad2").findings
    assert not onnxpad.check(RAW, select="PAD101").findings
    assert not onnxpad.check(RAW, ignore="PAD2,PAD6").findings
    assert onnxpad.check(RAW, ignore="").findings
    wrong: list[Any] = [5, [5], b"PAD1", ["PAD1,,"], [""], ["PDA101"]]
    for codes in wrong:
        with pytest.raises(UsageError):
            onnxpad.check(RAW, select=codes)
    assert codes_given("select", " pad1 ,PAD201", KNOWN) == ("PAD1", "PAD201")
    assert codes_given("select", ("PAD101", "pad2"), KNOWN) == ("PAD101", "PAD2")
    for text in ("", "PAD1,", "pad301"):
        with pytest.raises(UsageError):
            codes_given("ignore", text, KNOWN)
    assert (dims_given(None), dims_given({"h": 3})) == ({}, {"h": 3})
    assert source("a", "fix") == source(Path("a"), "fix") == Path("a")
    assert source(bytearray(b"a"), "fix") == source(memoryview(b"a"), "fix") == b"a"


NUMBERS: dict[str, list[Any]] = {
    "providers": [5, [], {}, b"cpu", ["cpu", None], ["n" * 10**6], ("tpu",)],
    "samples": [0, 1.5, "2", True],
    "seed": [-1, 1.5, "2", False],
    "rtol": ["1", [1], -1, -1e-9, math.nan, math.inf],
    "atol": [-1],
    "inputs": [5, {}, [], [5], {"image": "a"}, {"image": [1, [2]]}, {5: 5}],
    "reference": [5, {}, "nowhere.npz"],
    "rewritten": [None, "outputs.npz"],
}


@each_row(
    "options", [{name: value} for name, values in NUMBERS.items() for value in values], at_once=10
)
def test_validate_says_in_one_line_what_it_cannot_do(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        onnxpad.validate(RAW, **{"rewritten": RAW, **options})
    assert "\n" not in str(caught.value)


def test_no_time_is_zero_or_without_end() -> None:
    wrong: list[Any] = [0, -1, math.nan, math.inf, "1", [1], True]
    for value in wrong:
        with pytest.raises(UsageError):
            require_timeout(value)
    right: list[Any] = [None, 1e-9, 5, np.float32(2)]
    for value in right:
        require_timeout(value)
    with pytest.raises(UsageError):
        onnxpad.fix(RAW, run_timeout=0)


@each_row(
    ("call", "options"),
    [
        *((call, {option: "fol"}) for call in ("fix", "check")
          for option in ("style", "dynamic", "trust")),
        *((call, {"ignore": "nothing"}) for call in ("fix", "check")),
        ("check", {"convention": "kera"}),
        ("repad", {"to": "theano"}),
    ],
)  # fmt: skip
def test_what_an_option_cannot_be(call: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        getattr(onnxpad, call)(model(), **options)


SIZES = {"shapes": None, "dims": None}
RUNS = {"run_timeout": None, "progress": None}
NEAR = {"rtol": None, "atol": None}


@each_row(
    ("call", "options"),
    [
        (onnxpad.fix, {**RUNS, "validate": True, "inputs": None, **asdict(Options())}),
        (onnxpad.check, {"convention": None, **asdict(Options())}),
        (onnxpad.show, {**SIZES, "node": (), "target": (), "trust": None}),
        (onnxpad.validate, {
            **dict.fromkeys(["rewritten", "inputs", "reference", "samples", "seed"]),
            "providers": ("cpu",), "fallback": True, **SIZES, **NEAR, **RUNS,
        }),
        (onnxpad.match, {"inputs": None, "seconds": 120.0, **NEAR, **RUNS}),
        (onnxpad.repad, {"only": (), **SIZES, **RUNS}),
        (onnxpad.explain, {
            **dict.fromkeys(["model", "node", "op", "size", "kernel", "stride", "dilation"]),
            **dict.fromkeys(["padding", "output_padding", "output_size"]), **SIZES,
        }),
        (onnxpad.register, {"replace": False}),
    ],
)  # fmt: skip
def test_options_that_are_left_out(call: Callable[..., Any], options: dict[str, Any]) -> None:
    given = inspect.signature(call).parameters.values()
    assert {each.name: each.default for each in given if each.default is not each.empty} == options
    own = {each.name for each in given}
    for option in own - {"options"} | ({"style"} if "options" in own else set()):
        with pytest.raises(TypeError, match=f"did you mean '{option}'"):
            call(**{f"{option}_": None})


@each_row("name", onnxpad.__all__)
def test_help_and_typing_read_what_is_public(name: str) -> None:
    public = getattr(onnxpad, name)
    pydoc.render_doc(public)
    for each in (public, *dict(inspect.getmembers(public, inspect.isfunction)).values()):
        if inspect.isclass(each) or inspect.isfunction(each):
            typing.get_type_hints(each)
            inspect.signature(each, eval_str=True)


def test_what_was_asked_for_and_not_compared() -> None:
    compared = Comparison("y", True, 0.0, 0.0, "", True)
    run = Run("cpu", "off", "x", (compared,), (0, 0), "", True)
    passed = Validation(True, (run,))
    placed = [
        Placement(provider, model, 2, nodes)
        for provider, model, nodes in (
            ("cpu", "rewritten", ("a", "b")), ("cpu", "original", ("a", "b")),
            ("cpu", "rewritten", ("a",)), ("cuda", "rewritten", ("a", "b")),
        )
    ]  # fmt: skip
    assert _unproven(replace(passed, hidden=("classes",)), ["cpu"]) == ["classes"]
    assert _unproven(passed, ["cpu"]) == []
    assert len(_unproven(passed, ["cpu", "cuda"])) == 1
    failed = Validation(False, (replace(run, ok=False),), hidden=("classes",))
    assert _unproven(failed, ["cpu"]) == []
    excused, original = replace(run, excused=True), replace(run, subject="original")
    for runs in ((excused,), (original,), ()):
        assert len(_unproven(Validation(True, runs), ["cpu"])) == 1
    assert len(_unproven(not_validated("no time"), ["cpu"])) == 1
    assert len(_unproven(replace(passed, placements=tuple(placed)), ["cpu"])) == 1
    assert len(_unproven(passed, ["cpu"], fallback=False)) == 1


def test_a_result_is_saved_to_a_path_only(tmp_path: Path) -> None:
    result = onnxpad.fix(RAW, validate=False)
    where: Any
    for where in (None, 5, "", "a\0b", str(tmp_path / ("n" * 5000)), tmp_path):
        with pytest.raises((UsageError, OutputError)):
            result.save(where)
    result.save(Pathlike(bytes(tmp_path / "out.onnx")))
    assert (tmp_path / "out.onnx").exists()


# Models that are not what they should be


@pytest.mark.parametrize("size", [2**31, 2**63 - 1])
def test_sizes_beyond_any_memory_are_not_drawn_or_probed(size: int) -> None:
    for count in (1, 4):
        huge = model()
        for dim in list(huge.graph.input[0].type.tensor_type.shape.dim)[-count:]:
            dim.dim_value = size
        result = onnxpad.fix(huge)
        assert result.changes
        assert result.validation is not None
        assert not any(run.comparisons for run in result.validation.runs)
        assert result.validation.warnings
        assert not onnxpad.validate(huge, huge).ok
    lying = model()
    lying.graph.initializer[0].dims[2] = size
    onnxpad.fix(lying)


@pytest.mark.parametrize("code", [99, -1])
def test_an_element_type_that_is_not_known_is_no_defect(code: int) -> None:
    unknown, cast = model(), model()
    unknown.graph.input[0].type.tensor_type.elem_type = code
    cast.graph.node.insert(0, helper.make_node("Cast", ["image"], ["other"], to=code))
    cast.graph.node[1].input[0] = "other"
    for each in (unknown, cast):
        onnxpad.check(each)
        onnxpad.fix(each)
        assert not onnxpad.validate(each, each).ok
    with pytest.raises(OnnxpadError):
        onnxpad.validate(unknown, unknown, inputs={"image": np.ones((1, 1, 4, 4), np.float32)})


def named(place: str) -> onnx.ModelProto:
    """A model with a name of a megabyte somewhere."""
    long = model()
    graph = long.graph
    pad, conv = graph.node
    if place == "node":
        pad.name = conv.name = LONG
    elif place == "input":
        pad.input[0] = graph.input[0].name = LONG
    elif place == "dimension":
        graph.input[0].type.tensor_type.shape.dim[2].dim_param = LONG
    elif place == "attribute":
        conv.attribute.append(helper.make_attribute(LONG, 1))
    elif place == "domain":
        conv.domain = LONG
        long.opset_import.add(domain=LONG, version=1)
    elif place == "what is not there":
        pad.input[0] = LONG
    return long


PLACES = ["node", "input", "dimension", "attribute", "domain", "what is not there"]


@pytest.mark.parametrize("place", one_in(3, zip(PLACES)))
def test_a_name_of_a_megabyte_takes_seconds_and_is_not_printed(place: str, path: Path) -> None:
    path.write_bytes(named(place).SerializeToString())
    start = time.process_time()
    for args in (["fix"], ["check"], ["validate", str(path)]):
        result = onnxpad_runs(args[0], path, *args[1:])
        assert result.exit_code in {0, 1, 2, 3, 5}
        assert len(result.output) < 8_000
    assert time.process_time() - start < 25


def test_a_long_name_is_whole_in_the_library_and_short_in_an_error() -> None:
    assert onnxpad.fix(named("node")).changes[0].node == LONG
    with pytest.raises(OnnxpadError, match=r"\[999,9\d\d characters\]") as caught:
        onnxpad.check(named("what is not there"))
    assert len(str(caught.value)) < 500
    assert str(OnnxpadError("a\nb\r\nc")) == "a b c"
    word = "".join(chr(97 + each % 26) for each in range(401))
    assert shortened(word[1:]) == word[1:]
    found = f"{word[:20]}...[301 characters]{word[-80:]}"
    assert shortened(f"{word} {word}/{word}") == f"{found} {found}/{found}"
    text = "ab " * 1000
    assert shortened(text) == text
    assert shortened(f"{text}c") == f"{text[:2500]}...[201 characters]{text[-299:]}c"


@each_row(
    ("args", "meant"),
    [
        ("fxi", "fix"),
        ("fix NET --stile fold", "--style"),
        ("fix NET --style fodl", "fold"),
        ("fix NET --format=jsn", "json"),
        ("fix NET --dim heigth=3", "height"),
        ("check NET --dim Width=3", "width"),
        ("validate NET NET --dim heigth=3", "height"),
        ("fix NET --shape imgae=1,1,3,3", "image"),
        ("check NET --select PDA101", "PAD101"),
        ("check NET --fail-on warn", "warning"),
        ("rule PDA101", "PAD101"),
        ("validate NET NET --provider cdua", "cuda"),
        ("fix NET --dim quux=3", ""),
        ("fix NET --shape quux=1,1,3,3", ""),
        ("fix NET --xyzzy", ""),
    ],
)
def test_what_was_meant_is_said_in_one_line(args: str, meant: str, path: Path) -> None:
    result = onnxpad_runs(*(path if arg == "NET" else arg for arg in args.split()))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert len(re.findall("id you mean|Possible options", line)) == bool(meant)
    assert meant in line
