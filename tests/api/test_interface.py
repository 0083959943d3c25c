"""What a call takes: its options with what they are if they are left out, and what it refuses."""

import inspect
import math
import pydoc
import typing
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import onnxpad
from onnxpad.api.validate import _unproven
from onnxpad.errors import OnnxpadError
from onnxpad.finding import Certificate, Change, Counts, Finding, Severity, SiteForm
from onnxpad.options import Options
from onnxpad.padding.padding import Padding
from onnxpad.report import FixReport, Outcome
from onnxpad.validation.result import (
    Comparison,
    Placement,
    Run,
    Validation,
    not_validated,
)
from tests.support import parsed, site_form
from tests.support.rows import each_row

MODEL = parsed("g (float[1, 1, 4] x) => (float[1, 1, 4] y) { y = Relu (x) }")
SIZES = {"shapes": None, "dims": None}
RUNS = {"run_timeout": None, "progress": None}
NEAR = {"rtol": None, "atol": None}


@each_row(
    ("call", "options"),
    [
        (onnxpad.fix, {**RUNS, "validate": True, "inputs": None}),
        (onnxpad.check, {"convention": None}),
        (onnxpad.show, {**SIZES, "node": (), "target": (), "trust": None}),
        (
            onnxpad.validate,
            {
                "rewritten": None, "providers": ("cpu",), "fallback": True,
                "inputs": None, "reference": None,
                "samples": None, "seed": None, "shapes": None, "dims": None,
                **NEAR, **RUNS,
            },
        ),
        (onnxpad.match, {"inputs": None, "seconds": 120.0, **NEAR, **RUNS}),
        (onnxpad.repad, {"only": (), "shapes": None, "dims": None, **RUNS}),
        (
            onnxpad.explain,
            {
                **dict.fromkeys(
                    ["model", "node", "op", "size", "kernel", "stride", "dilation", "padding"]
                ),
                "output_padding": None,
                "output_size": None,
                **SIZES,
            },
        ),
        (onnxpad.register, {"replace": False}),
    ],
)  # fmt: skip
def test_options_that_are_left_out(call: Callable[..., Any], options: dict[str, Any]) -> None:
    given = inspect.signature(call).parameters.values()
    assert {each.name: each.default for each in given if each.default is not each.empty} == options


@each_row("name", onnxpad.__all__)
def test_help_and_typing_read_what_is_public(name: str) -> None:
    public = getattr(onnxpad, name)
    pydoc.render_doc(public)
    for each in (public, *dict(inspect.getmembers(public, inspect.isfunction)).values()):
        if inspect.isclass(each) or inspect.isfunction(each):
            typing.get_type_hints(each)
            inspect.signature(each, eval_str=True)


@each_row("call", ["check", "explain", "fix", "match", "register", "repad", "show", "validate"])
def test_an_unknown_option_names_the_one_that_is_meant(call: str) -> None:
    own = inspect.signature(getattr(onnxpad, call)).parameters.keys()
    for option in own - {"options"} | {"style" for name in own if name == "options"}:
        with pytest.raises(TypeError, match=f"did you mean '{option}'"):
            getattr(onnxpad, call)(**{f"{option}_": None})


def test_fields_that_are_left_out() -> None:
    assert Padding(None) == Padding(None, "end", False, False, ())
    assert Comparison("y", True, 0.0, 0.0, "", True) == Comparison(
        "y", True, 0.0, 0.0, "", True, "", "", None, None, None, 0, (), "", 0
    )
    run = Run("p", "off", "x", (), (0, 0), "", True)
    assert run == Run("p", "off", "x", (), (0, 0), "", True, "rewritten", "original", False, False)
    found = Validation(False, ())
    assert found == Validation(
        False, (), (), 0, (), (), None, "rewritten", "failed", "", (), (), ()
    )
    assert not_validated("why") == replace(
        found, warnings=("not compared: why",), outcome="nothing compared", reason="why"
    )
    report = FixReport("m", Options(), True, True, (), (), (), None, (Counts(), Counts()), 0.0)
    assert report.delivery.in_memory
    assert report.counts == (Counts(0, 0, 0, 0), Counts(0, 0, 0, 0))
    assert report.outcome is Outcome.FIXED
    forms = site_form("Pad H 1+1 -> Conv"), SiteForm(tensor="x")
    change = Change("c", "n", "o", *forms, Certificate("s"))
    assert change == Change("c", "n", "o", *forms, Certificate("s", ""), (), "")
    assert (change.before, change.after) == ("Pad H 1+1 -> Conv without pads", "'x'")
    assert (change.was.form, change.now.form, change.amounts) == ("Pad -> Conv", "", "H 1+1")
    assert not change.repairs
    finding = Finding("c", Severity.INFO, "n", "o", "m")
    assert (finding.reason, finding.assumptions, finding.sizes) == ("", (), "")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *(
        (call, {option: "fol"}, f"unknown {option} 'fol'; choose one of ")
        for call in ("fix", "check")
        for option in ("style", "dynamic", "trust")
    ),
    *((call, {"select": "PAD9999"}, "PAD9999") for call in ("fix", "check")),
    *((call, {"ignore": "nothing"}, "'NOTHING' names no code") for call in ("fix", "check")),
    ("check", {"convention": "kera"}, "unknown convention 'kera'; choose one of .*keras"),
    *(("fix", {"run_timeout": each}, "run_timeout|seconds") for each in (0, -1, math.nan)),
    *(("match", {"seconds": each}, "seconds") for each in (-1, math.nan)),
    *(("match", {option: -1}, option) for option in ("rtol", "atol")),
    *(("validate", {option: -1}, option) for option in ("rtol", "atol")),
    *(("validate", {"samples": each}, "samples has to be") for each in (0, 1.5, True, "1")),
    *(("validate", {"seed": each}, "seed has to be") for each in (-1, 1.5, False)),
    ("validate", {"rewritten": None}, "one model alone has nothing to be compared with"),
    ("validate", {"rewritten": "outputs.npz"}, "give it as --reference outputs.npz"),
    ("validate", {"providers": ("tpu",)}, "tpu"),
    ("repad", {"to": "theano"}, "theano"),
]


@each_row(("call", "options", "says"), REFUSED)
def test_what_an_option_cannot_be(call: str, options: dict[str, Any], says: str) -> None:
    required: dict[str, dict[str, Any]] = {
        "validate": {"rewritten": MODEL},
        "match": {"reference": {"x": [[[1.0] * 4]], "y": [[[1.0] * 4]]}}, "repad": {"to": "keras"},
    }  # fmt: skip
    with pytest.raises(OnnxpadError, match=says):
        getattr(onnxpad, call)(MODEL, **{**required.get(call, {}), **options})


def test_what_was_asked_for_and_not_compared() -> None:
    compared = Comparison("y", True, 0.0, 0.0, "", True)
    run = Run("cpu", "off", "x", (compared,), (0, 0), "", True)
    passed = Validation(True, (run,), hidden=("classes",))
    assert _unproven(passed, ["cpu"]) == ["classes"]
    assert _unproven(replace(passed, hidden=()), ["cpu"]) == []
    assert _unproven(replace(passed, hidden=()), ["cpu", "cuda"]) == [
        "nothing was compared on cuda"
    ]
    failed = Validation(False, (replace(run, ok=False),), hidden=("classes",))
    assert _unproven(failed, ["cpu"]) == []
    excused = replace(run, excused=True, note="no kernel")
    original = replace(run, subject="original")
    for runs, told in (((excused,), ": no kernel"), ((original,), ""), ((), "")):
        found = Validation(True, runs)
        assert _unproven(found, ["cpu"]) == [f"nothing was compared on cpu{told}"]
    assert _unproven(Validation(True, (), ("one", "two")), ["cpu"]) == [
        "nothing was compared on cpu: one"
    ]
    assert _unproven(not_validated("no time"), ["cpu"]) == ["nothing was compared on cpu: no time"]
    places = tuple(
        Placement(provider, model, 2, nodes)
        for provider, model, nodes in (
            ("cpu", "rewritten", ("a", "b")), ("cpu", "original", ("a", "b")),
            ("cpu", "rewritten", ("a",)), ("cuda", "rewritten", ("a", "b")),
        )
    )  # fmt: skip
    assert _unproven(Validation(True, (run,), placements=places), ["cpu"]) == [
        "no node of the rewritten model ran on cpu"
    ]
    (unknown,) = _unproven(replace(passed, hidden=()), ["cpu"], fallback=False)
    assert "does not say which nodes ran on cpu" in unknown
