"""Reports are safe, fit their width, and have all facts in JSON."""

import json
import math
import re
from typing import Any, get_args

import numpy as np
import pytest
from msgspec.structs import fields, replace

from onnxpad.finding import Certificate, Change, Counts, Finding, Severity, SiteForm, StepForm
from onnxpad.frameworks.repadding.results import Matching, Repadded
from onnxpad.options import Configured, Options
from onnxpad.proving.pairs import Decision, Region
from onnxpad.report import (
    CheckReport,
    Delivery,
    FileReport,
    FixReport,
    MatchReport,
    ProveReport,
    ValidationResult,
)
from onnxpad.report.documents import View
from onnxpad.report.json import json_of
from onnxpad.report.layout import Screen
from onnxpad.report.text import configurations
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    Placement,
    Run,
    Validation,
)
from tests.support import site_form


def whole(report: FixReport | ValidationResult, painted: bool = False) -> str:
    """The whole report, without broken lines."""
    return report.text(Screen(None, painted), "full")


SAME_READS = Certificate("the same elements are read", "height 224, width 224")


def change(
    node: str = "conv1",
    forms: tuple[str, str] = (
        "Pad H 0+1, W 0+1 -> Conv pads H 0+0, W 0+0", "Conv pads H 0+1, W 0+1",
    ),
    **values: object,
) -> Change:  # fmt: skip
    base = Change(
        code="PAD201",
        node=node,
        op_type="Conv",
        was=site_form(forms[0]),
        now=site_form(forms[1]),
        certificate=SAME_READS,
        removed=("pad1",),
        probe="equal on 6 inputs",
    )
    return replace(base, **values)


def refusal(node: str, reason: str = "the pads depend on the height", **values: object) -> Finding:
    base = Finding("PAD501", Severity.INFO, node, "Conv", f"SAME_UPPER on {node}", reason)
    return replace(base, **values)


def warning(node: str, code: str = "PAD201") -> Finding:
    return Finding(code, Severity.WARNING, node, "Conv", f"Pad before {node} can be folded")


EQUAL = Comparison("logits", equal=True, max_abs=0.0, max_rel=0.0, detail="", ok=True)
NOISE = Comparison("logits", equal=False, max_abs=1.5e-7, max_rel=2e-6, detail="", ok=True)
WRONG = Comparison("boxes", equal=False, max_abs=0.75, max_rel=3.0, detail="", ok=False)
SHAPE = Comparison("mask", False, math.nan, math.nan, "shape 1x3 against 1x4", False)


def run(*comparisons: Comparison, level: str = "off", note: str = "") -> Run:
    ok = all(comparison.ok for comparison in comparisons)
    inputs = "x float32 1x3x224x224, seed 0"
    return Run("CPUExecutionProvider", level, inputs, comparisons, (0.1, 0.2), note, ok)


VALID = Validation(ok=True, runs=(run(EQUAL), run(NOISE, level="full")), probes=3)


def fixed(**values: object) -> FixReport:
    done = {"written": "model.fixed.onnx", **values}
    delivery = {each.name: done[each.name] for each in fields(Delivery) if each.name in done}
    base = FixReport(
        name="model.onnx",
        options=Options(),
        changed=True,
        validate=True,
        changes=(change(),),
        findings=(),
        undone=(),
        validation=VALID,
        counts=(Counts(nodes=31), Counts(nodes=30)),
        seconds=1.2,
        delivery=Delivery(**delivery),  # type: ignore[arg-type]
    )
    rest = {name: value for name, value in values.items() if name not in delivery}
    return replace(base, **rest)


class TestFixText:
    def test_no_text_of_a_model_reaches_the_terminal_as_control_code(self) -> None:
        wild = "a\nb\x1b[2J\u202e\udce9"
        wild_form = SiteForm((StepForm(wild),), wild)
        everything = fixed(
            name=wild,
            written=wild,
            changes=(
                change(wild, op_type=wild, was=wild_form, now=wild_form, probe=wild),
                change(certificate=Certificate(wild, wild, (wild,))),
            ),
            findings=(refusal(wild, wild, message=wild), refusal("x", op_type=wild)),
            undone=(refusal(wild, "undone", op_type=wild, message=wild),),
            validation=Validation(
                ok=False,
                runs=(
                    replace(run(replace(WRONG, output=wild, detail=wild)), inputs=wild, note=wild),
                    replace(run(note=wild), provider=wild),
                ),
                warnings=(wild,),
            ),
        )
        text = whole(everything)
        assert all(line.isprintable() for line in text.splitlines())
        assert "a\\nb" in text

    def test_only_runs_of_the_result_that_tell_count(self) -> None:
        ours = run(replace(NOISE, max_rel=math.nan))
        theirs = replace(ours, subject="original", against="reference")
        others = theirs, replace(ours, flat=True), run(), replace(run(WRONG), ok=True)
        runs = ours, *others, replace(ours, excused=True)
        text = fixed(validation=Validation(True, runs), findings=(warning("c"),)).text()
        assert "1 comparison, 0 bit for bit" in text
        assert "nan" not in text
        assert "Pad before c" in text

    def test_an_older_file_and_sizes_that_are_not_known_are_told(self) -> None:
        left = refusal("c", evidence={"options": ["--dim"]})
        older = fixed(older="old", declared={"x": (1, None)}, changes=(), findings=(left,))
        assert not older.is_quiet_success
        text = whole(older)
        assert all(each in text for each in ("1x?", "sizes to declare", "--shape or --dim"))

    def test_colours_change_nothing_but_colour(self) -> None:
        report = fixed(findings=(refusal("a"),), undone=(refusal("b", "no"),))
        painted = whole(report, True)
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == whole(report)


FOLDED: dict[str, Any] = {"forms": ("Pad H 0+1, W 0+1 -> Conv", "Conv pads H 0+1, W 0+1")}


class TestShortText:
    def test_many_kinds_and_reasons_fit_a_screen(self) -> None:
        changes = tuple(change(f"c{i}", forms=(f"Conv{i}", "Conv pads")) for i in range(236))
        letters = [f"{chr(97 + i // 10)}{chr(97 + i % 10)}" for i in range(100)]
        findings = tuple(refusal(f"p{i}", f"reason {i} " * 3) for i in letters)
        text = fixed(changes=changes, findings=findings).text()
        assert len(text.splitlines()) < 40

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_lines_fit_and_words_stay_whole(self, width: int) -> None:
        findings = tuple(refusal(f"p{i}", "reasons that go on " * 9) for i in range(3))
        report = fixed(changes=(change(**FOLDED),), findings=findings)
        for text in (report.text(Screen(width)), report.text(Screen(width), "full")):
            assert max(map(len, text.splitlines())) <= max(width, 65)
            for word in ("reasons", "conv1", "model.fixed.onnx"):
                assert word in text.split() or width == 40


@pytest.mark.parametrize(
    ("files", "code"),
    [
        pytest.param((FileReport("a", (refusal("c"),)),), 0, id="refusals do not fail"),
        pytest.param((FileReport("a", (warning("c"),)),), 1, id="findings"),
        pytest.param((FileReport("a", error="bad"),), 2, id="unreadable"),
        pytest.param(
            (FileReport("a", (warning("c"),)), FileReport("b", error="bad")), 2, id="both"
        ),
    ],
)
def test_the_exit_code_of_a_check(files: tuple[FileReport, ...], code: int) -> None:
    assert CheckReport(Options(), Severity.WARNING, files).exit_code == code


class TestJson:
    def test_what_json_cannot_carry_is_still_json(self) -> None:
        infinite = replace(SHAPE, max_abs=math.inf)
        text = json_of(fixed(validation=Validation(False, (run(SHAPE, infinite),))))

        def refuse(constant: str) -> object:
            raise AssertionError(constant)

        document = json.loads(text, parse_constant=refuse)
        nan, infinity = document["validation"]["runs"][0]["comparisons"]
        assert nan["max_abs"] is None
        assert infinity["max_abs"] == "inf"

    def test_any_evidence_is_carried(self) -> None:
        evidence = {
            "pads": ((0, 1), [np.int64(2), np.float32(0.5)]),
            "array": np.arange(3),
            "severity": Severity.INFO,
            "yes": True,
            "none": None,
            "names": {"b", "a"},
            "other": 1 + 2j,
            3: b"x",
        }
        finding = refusal("c", evidence=evidence)
        document = json.loads(json_of(fixed(findings=(finding,))))
        assert document["findings"][0]["evidence"] == {
            "pads": [[0, 1], [2, 0.5]],
            "array": [0, 1, 2],
            "severity": "info",
            "yes": True,
            "none": None,
            "names": ["a", "b"],
            "other": "(1+2j)",
            "3": "b'x'",
        }

    def test_it_is_ascii_whatever_the_names(self) -> None:
        proof = Certificate("a", "b", ("a user's own",))
        text = json_of(fixed(changes=(change("畳み\udce9", certificate=proof),)))
        assert text.isascii()
        assert json.loads(text)["changes"][0]["node"] == "畳み\udce9"


DIVERGENCE = Divergence(
    tensor="hidden",
    producers=("conv1 (Conv)", "conv1 (Conv)"),
    attributes=("", "pads=[0, 0, 1, 1]"),
    inputs=(("padded", "w"), ("image", "w")),
    comparison=replace(WRONG, output="hidden", shape="1x4", dtype="float32", ulp=7, worst=(0, 3)),
    values=("1.25", "0.5"),
    fed="image float32 1x3x9x9, seed 0",
    compared=12,
    earlier="before",
    note="one remark",
)


def validated(*runs: Run, unproven: tuple[str, ...] = (), **values: object) -> ValidationResult:
    base = Validation(ok=all(run.ok for run in runs), runs=runs)
    return ValidationResult(
        original="a.onnx",
        rewritten="b.onnx",
        inputs="",
        reference="",
        providers=("CPUExecutionProvider",),
        validation=replace(base, **values),
        unproven=unproven,
        seconds=0.5,
    )


class TestValidated:
    def test_what_was_not_compared_fails(self) -> None:
        report = validated(run(EQUAL), unproven=("nothing was compared on X",))
        assert (report.ok, report.exit_code) == (False, 5)
        assert json.loads(json_of(report))["outcome"] == report.outcome == "nothing compared"
        assert "boxes" in validated(run(WRONG), unproven=report.unproven).failure

    def test_names_cannot_break_lines(self) -> None:
        seen = run(replace(WRONG, output="a\nb\x1b[2J", detail="x\ny"), note="m\nn")
        place = Placement("P\nQ", "original", 1, ("n\nm (Pad)",))
        text = whole(
            validated(
                seen,
                divergence=replace(DIVERGENCE, tensor="t\nu", fed="f\ng"),
                placements=(place,),
                warnings=("w\nw",),
                notes=("v\nv",),
            )
        )
        assert "\x1b" not in text
        assert all(f"{a}\n{b}" not in text for a, b in ("ab", "xy", "mn", "PQ", "tu", "fg", "ww"))


def test_all_that_match_found_is_told() -> None:
    apart = Repadded("c1", "Conv", "a", "b", "tensorflow", {}, parting=("caffe",))
    for more in ({"outcome": "matched", "changes": (apart,)}, {"rivals": ("caffe",)}):
        told = {"first": "Conv 'c2'", "record": ("h1",), "further": {"width": 33}, **more}
        found = Matching(**{"outcome": "not matched", **told})  # type: ignore[arg-type]
        text = MatchReport("m", "r.npz", "", found).text(Screen(None))
        assert text.count("Conv 'c2'") == 1 + ("changes" in more)
        assert all(each in text for each in ("h1", "caffe", "width 33", "the outputs are"))
        assert "'h2' is of" in MatchReport("m", "", "", replace(found, worst="h2")).text()


def test_regions_that_a_proof_leaves_open_are_told() -> None:
    sides = ("Conv 'a'", ""), ("", "Conv 'b'")
    regions = tuple(Region(*sides[n % 2], f"why {n}", "") for n in range(12))
    report = ProveReport("m", "n", Decision("undecided", regions=regions))
    brief, text = (report.text(Screen(None), view) for view in get_args(View))
    assert [brief.count(each) for each in ("why", "?", "'a'", "'b'")] == [10, 10, 5, 5]
    assert text.count("why") == 12


def test_files_that_configure_models_name_them_where_they_say_other_things() -> None:
    first, second, third = (Configured(f, {"style": s}) for f, s in ("ap", "bp", "bs"))
    told = [*configurations([("m", first), ("n", second), ("o", third)])]
    assert [f"({name})" in line for line, name in zip(told, "mno", strict=True)] == [
        False,
        True,
        True,
    ]
