"""What the reports say: content, counts and safety, not exact layout."""

import json
import math
import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from onnxpad import __version__
from onnxpad.finding import Certificate, Change, Counts, Finding, NextOption, Severity, Trust
from onnxpad.options import Options
from onnxpad.report import CheckReport, Delivery, FileReport, FixReport, ValidateReport
from onnxpad.report.documents import Document, Picture
from onnxpad.report.documents.check_document import (
    LINES_A_GROUP,
    check_document,
    check_text,
    file_text,
)
from onnxpad.report.documents.fix_document import _short_groups
from onnxpad.report.documents.fix_document import fix_text as short_text
from onnxpad.report.documents.fix_in_full import fix_in_full, fix_with_pictures
from onnxpad.report.documents.validation_document import OUTPUTS_A_RUN, validate_text
from onnxpad.report.json import check_json, fix_json, validate_json
from onnxpad.report.layout import Screen, cells, text_of
from onnxpad.report.text import Paint, marked, plain
from onnxpad.site_form import SiteForm, StepForm
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    PaddingDifference,
    Placement,
    Run,
    Skipped,
    Validation,
    not_validated,
)
from tests.support import site_form
from tests.support.rows import each_row

IN_JSON = {
    "skipped": "uncompared",
    "drawn": "",
    "is_pad": "",
    "brief": "",
    "limits": "sizes",
    "general": "",
    "alike": "",
    "form": "",
    "is_warned": "",
    "data": "",
    "elements": "",
    "words": "",
    "resized": "",
}
"""Names of fields in JSON where they are others; empty for those that it has in words."""


def in_json(record: Any) -> list[str]:
    """The names that the fields of a record have in JSON."""
    names = [IN_JSON.get(field.name, field.name) for field in fields(record)]
    return [name for name in names if name]


def fix_text(report: FixReport, paint: Paint = plain) -> str:
    """The whole report, without broken lines."""
    return text_of(fix_in_full(report), Screen(None, paint))


def whole(report: ValidateReport, paint: Paint = plain) -> str:
    """The whole report of `validate`, without broken lines."""
    return validate_text(report, Screen(None, paint), "full")


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
    return replace(base, **values)  # type: ignore[arg-type]


def refusal(node: str, reason: str = "the pads depend on the height", **values: object) -> Finding:
    base = Finding("PAD501", Severity.INFO, node, "Conv", f"SAME_UPPER on {node}", reason)
    return replace(base, **values)  # type: ignore[arg-type]


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
    return replace(base, **rest)  # type: ignore[arg-type]


def line_with(text: str, *parts: str) -> str:
    """The one line that holds all parts."""
    (line,) = [line for line in text.splitlines() if all(part in line for part in parts)]
    return line


class TestFixText:
    def test_a_change_is_one_line_from_node_to_result(self) -> None:
        line = line_with(fix_text(fixed()), "conv1 (Conv)")
        before, after = line.split("becomes")
        assert change().before in before
        assert change().after in after

    def test_ranges_are_told_where_a_proof_rests_on_them(self) -> None:
        sizes = "height 32..1024 in steps of 32"
        needed = f"{sizes}, every size at which the model is defined"
        rests = replace(SAME_READS, limits=needed, within={"height": {"first": 32}})
        exact = replace(SAME_READS, limits="")
        for certificates, told in (((exact,), 0), ((exact, rests), 1)):
            changes = tuple(change("a", certificate=each) for each in certificates)
            text = fix_text(fixed(changes=changes, ranges=sizes))
            assert text.count(f"Holds for {sizes} only, as the result's metadata records") == told

    def test_ranges_given_are_told_once(self) -> None:
        sizes = "height 32..1024 in steps of 32"
        facts = {"sizes": {"height": {"first": 32, "last": 1024, "step": 32}}}
        within = {"height": {"first": 32}}
        rests = replace(SAME_READS, limits=sizes, within=within, facts=facts)
        for limits, count, said in ((sizes, 1, "these sizes"), ("height 64", 1, "height 64")):
            made = change(certificate=replace(rests, limits=limits))
            text = " ".join(short_text(fixed(changes=(made,), ranges=sizes, check=True)).split())
            assert text.count(sizes) == count
            assert f"Holds for {sizes} only, as the result's metadata would record" in text
            assert f"as before, at {said} only" in text

    def test_the_reason_all_changes_share_is_said_once(self) -> None:
        text = fix_text(fixed(changes=tuple(change(f"conv{i}") for i in range(5))))
        assert text.count(SAME_READS.statement) == 1
        line_with(text, "PAD201", "5 changes", SAME_READS.sizes, "equal on 6 inputs")

    def test_different_reasons_stand_below_their_changes(self) -> None:
        other = Certificate("the surplus end pad is never read")
        text = fix_text(fixed(changes=(change("a"), change("b", certificate=other))))
        lines = text.splitlines()
        first = lines.index(line_with(text, "a (Conv)", "becomes"))
        assert SAME_READS.statement in lines[first + 1]
        assert "b (Conv)" in lines[first + 2]
        assert other.statement in lines[first + 3]
        assert other.sizes in lines[first + 3]
        line_with(text, "PAD201", "2 changes", "equal on 6 inputs")

    def test_every_change_is_listed(self) -> None:
        many = tuple(change(f"conv{i}") for i in range(200))
        text = fix_text(fixed(changes=(*many, change("pool", code="PAD203", op_type="MaxPool"))))
        assert text.count("becomes") == 201
        assert "200 changes" in text
        line_with(text, "pool (MaxPool)", "becomes")

    def test_assumptions_are_named_with_their_changes(self) -> None:
        assumed = replace(SAME_READS, assumptions=("finite data",))
        text = fix_text(fixed(changes=(change("a"), change("b", certificate=assumed))))
        line_with(text, "finite data", "1 change", "b")
        assert "Assumptions" not in fix_text(fixed())

    def test_every_refusal_is_listed_beside_those_of_its_reason(self) -> None:
        findings = (*(refusal(f"c{i}") for i in range(50)), refusal("d", "it has two consumers"))
        text = fix_text(fixed(findings=(findings[0], findings[-1], *findings[1:-1])))
        line_with(text, "51 findings", "51 PAD501")
        told = [line for line in text.splitlines() if line.startswith("  PAD501")]
        assert len(told) == 51
        assert "SAME_UPPER on d; stays: it has two consumers" in told[-1]

    def test_what_was_undone_is_told_once_and_loudly(self) -> None:
        taken_back = refusal("conv7", "the probe differs at size 5", code="PAD201")
        text = fix_text(fixed(undone=(taken_back,), findings=(taken_back, refusal("conv8"))))
        assert text.count("conv7 (Conv)") == 1
        assert text.index("UNDONE: 1 change") < text.index("the probe differs at size 5")
        line_with(text, "Left as it is", "1 finding")

    def test_nothing_changed_but_undone_is_not_called_nothing_to_change(self) -> None:
        nothing = fixed(changed=False, changes=(), written="", validation=None)
        assert "nothing to change" in fix_text(nothing)
        assert "nothing to change" not in fix_text(replace(nothing, undone=(refusal("conv7"),)))

    def test_a_probe_that_several_share_is_told_of_each(self) -> None:
        several = fix_text(fixed(changes=(change("a"), change("b"))))
        line_with(several, "2 changes", "probe: each equal on 6 inputs")
        line_with(fix_text(fixed()), "1 change", "probe: equal on 6 inputs")
        silent = fix_text(fixed(changes=(change("a", probe=""), change("b", probe=""))))
        assert "probe:" not in silent

    def test_what_a_warning_says_is_not_said_of_the_run_too(self) -> None:
        note = "full optimisation changes logits of the original as well"
        for warning, seen in [(f"onnxruntime's own: {note}", True), ("another", False)]:
            told = replace(run(NOISE, note=note), is_warned=seen)
            warned = Validation(True, (told,), (warning,))
            report = ValidateReport("a", "b", "", "", ("cpu",), warned, (), 0.1)
            for text in (fix_text(fixed(validation=warned)), whole(report)):
                assert text.count(note) == 1
                assert ("see the warning" in line_with(text, "optimisation off")) == seen

    def test_each_run_says_where_how_and_what(self) -> None:
        text = fix_text(fixed())
        line_with(text, "Validation passed", "2 runs", "3 changes")
        line_with(text, "CPU", "optimisation off", "1x3x224x224, seed 0", "equal bit for bit")
        line_with(text, "CPU", "optimisation full", "logits", "1.5e-07", "2e-06")

    def test_a_failed_run_names_the_worst_output_first(self) -> None:
        failed = Validation(ok=False, runs=(run(NOISE, WRONG, SHAPE),))
        line_with(
            fix_text(fixed(validation=failed)), "'boxes': max abs 0.75, 3 of the greatest value"
        )
        text = fix_text(fixed(validation=failed, written=""))
        line = line_with(text, "DIFFERS")
        assert line.index("boxes") < line.index("logits")
        assert "shape 1x3 against 1x4" in line
        line_with(text, "Validation FAILED")
        line_with(text, "Nothing written", "--keep-invalid")

    def test_a_run_that_did_not_happen_says_why(self) -> None:
        skipped = Validation(ok=True, runs=(run(note="no kernel for bfloat16"),), warnings=("w1",))
        text = fix_text(fixed(validation=skipped))
        line_with(text, "optimisation off", "no kernel for bfloat16")
        line_with(text, "warning", "w1")

    @pytest.mark.parametrize(
        ("values", "ending"),
        [
            pytest.param({}, "Wrote model.fixed.onnx", id="fixed"),
            pytest.param(
                {"check": True, "written": ""},
                "Nothing written (--check)",
                id="check",
            ),
            pytest.param(
                {"changed": False, "changes": (), "written": "out.onnx"},
                "Copied byte for byte to out.onnx",
                id="copied",
            ),
            pytest.param(
                {"changed": False, "changes": (), "written": ""},
                "Nothing written (1.2 s)",
                id="unchanged",
            ),
            pytest.param(
                {"validation": replace(VALID, ok=False, outcome="failed")},
                "Wrote model.fixed.onnx although the validation failed",
                id="kept",
            ),
        ],
    )
    def test_the_last_line_says_where_the_result_went(
        self, values: dict[str, object], ending: str
    ) -> None:
        last = fix_text(fixed(**values)).splitlines()[-1]
        assert last.startswith(ending)
        assert "1.2 s" in last

    def test_an_original_that_onnx_evaluated_is_not_said_to_run_in_onnxruntime(self) -> None:
        evaluated = replace(run(EQUAL), against="original evaluated by onnx")
        with_original = "with the original in onnx's reference evaluator"
        for runs, told in (
            ((evaluated,), f"1 comparison {with_original}"),
            ((evaluated, run(EQUAL)), f"2 comparisons, 1 of them {with_original}"),
        ):
            text = short_text(fixed(validation=Validation(True, runs)))
            assert f"(CPU, {told})" in " ".join(text.split())

    def test_unvalidated_changes_are_called_so(self) -> None:
        assert "Not validated" in fix_text(fixed(validate=False, validation=None))

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
        text = fix_text(everything)
        assert all(line.isprintable() for line in text.splitlines())
        assert "a\\nb" in text

    def test_wide_names_take_their_cells_in_the_column(self) -> None:
        text = fix_text(fixed(changes=(change("畳み"), change("abcd"))))
        assert "畳み (Conv)" in text
        wide, narrow = Screen().pairs(["畳み", "abcd"], ["Pad", "Pad"])
        assert wide.index("Pad") == narrow.index("Pad") - 2  # two characters of two cells each

    def test_colours_change_nothing_but_colour(self) -> None:
        report = fixed(findings=(refusal("a"),), undone=(refusal("b", "no"),))
        painted = fix_text(report, marked)
        assert "\x1b[" in painted
        for code in ("32", "1;31", "1", "2", "0"):
            painted = painted.replace(f"\x1b[{code}m", "")
        assert painted == fix_text(report)


FOLDED: dict[str, Any] = {
    "forms": ("Pad H 0+1, W 0+1 -> Conv", "Conv pads H 0+1, W 0+1"),
}


class TestShortText:
    def test_equal_changes_are_one_row(self) -> None:
        many = [change(f"conv{i}", **FOLDED) for i in range(150)]
        rest = [change(f"x{i}", forms=("Pad -> Conv", "Conv")) for i in range(86)]
        text = short_text(fixed(changes=(*many, *rest)))
        line_with(text, "236  Pad before Conv", "pads", "150x H 0+1, W 0+1; 86x none")
        assert "conv0, conv1, conv2 and 233 more" in text
        assert len(text.splitlines()) < 18

    def test_one_kind_of_amounts_is_shown_as_the_attribute_too(self) -> None:
        text = short_text(fixed(changes=(change(**FOLDED),)))
        assert "H 0+1, W 0+1   pads [0, 0, 1, 1]" in text

    @each_row(
        ("op_type", "forms", "was", "now"),
        [
            ("Conv", ("Pad -> Pad -> Conv", "Conv pads"), "Pad and Pad before Conv", "pads"),
            ("Slice", ("Pad -> Slice", "Slice -> Pad"), "Pad before Slice", "moved past it"),
            ("Pad", ("computed Pad", "computed Pad"), "computed Pad", "by fewer nodes"),
            (
                *("Relu", ("Pad -> Mul -> Relu", "Mul -> Relu -> Pad")),
                *("Pad before Relu, past 1 operator", "moved past them"),
            ),
            ("MaxPool", ("Pad -> MaxPool", "MaxPool"), "Pad before MaxPool", "dropped:"),
            ("Pad", ("computed Pad", ""), "computed Pad", "removed"),
            ("Pad", ("Pad", "Pad -> Pad"), "Pad", "two Pads"),
            ("Conv", ("Conv pads", "Pad -> Conv"), "Conv pads", "Pad before Conv"),
            (
                *("Slice", ("ConvTranspose -> Slice", "ConvTranspose")),
                *("Slice behind ConvTranspose", "ConvTranspose"),
            ),
            (
                *("Slice", ("ConvTranspose -> Relu -> Slice", "ConvTranspose -> Relu")),
                *("Slice behind Relu behind", "ConvTranspose  conv1\n +ConvTranspose$"),
            ),
            (
                *("Pad", ("computed Pad", "ConvTranspose -> Relu")),
                *("computed Pad behind Relu behind", "ConvTranspose  conv1\n +ConvTranspose$"),
            ),
            (
                *("ConvTranspose", ("ConvTranspose", "ConvTranspose -> Slice")),
                *("ConvTranspose", "Slice behind ConvTranspose  conv1$"),
            ),
        ],
    )
    def test_forms_are_said_in_words(
        self, op_type: str, forms: tuple[str, str], was: str, now: str
    ) -> None:
        text = short_text(fixed(changes=(change(op_type=op_type, forms=forms),)))
        assert re.search(rf"^ +1  {was} +{now}", text, re.M)

    def test_a_node_that_stays_for_two_reasons_is_one(self) -> None:
        findings = (refusal("a", "one"), refusal("a", "two"), refusal("b", "two"))
        text = short_text(fixed(findings=findings))
        assert "Stays as it is: 2\n" in text
        assert re.search(r"^ +2  PAD\d+  two\n +a, b$", text, re.M)
        once = short_text(fixed(findings=(*findings, refusal("b", "two"))))
        assert once == text

    def test_the_sizes_of_the_proof_are_told(self) -> None:
        limits = {"sizes": {"height": {"first": 32, "last": 64, "step": 1}}}
        limited = replace(SAME_READS, limits="size 32..64", facts=limits)  # of a dimension "size"
        of = {
            "every size": replace(SAME_READS, limits=""),
            "size 8x8": replace(SAME_READS, limits="", data=(8, 8)),
        }
        part = replace(SAME_READS, limits="", data=(8, None))
        given = {"x": (1, 3, 8, 8)}
        open_, fixed_ = of["every size"], of["size 8x8"]
        for certificates, declared, said in (
            ((open_,), {}, "at every input size"),
            ((fixed_,), {}, "at the input sizes that the model declares"),
            ((fixed_,), given, "at the input sizes given"),
            ((part,), given, "at the input sizes given, and every size of what stays open"),
            ((limited,), {}, "at size 32..64 only"),
            ((limited, open_), {}, "at size 32..64 only; 1 change at every size"),
            ((limited, fixed_), {}, "only; 1 change at the input sizes that the model declares"),
        ):
            changes = tuple(change(certificate=each) for each in certificates)
            text = " ".join(short_text(fixed(changes=changes, declared=declared)).split())
            assert f"{said} " in text

    def test_a_repair_is_called_so(self) -> None:
        repaired = replace(SAME_READS, facts={"repair": True})
        text = short_text(fixed(changes=(change(certificate=repaired, forms=("Conv", "Conv")),)))
        assert "Conv (does not run)" in text
        assert "model.onnx: 1 change, a repair" in text
        assert "Repaired: onnxruntime does not run the model as it was; 1 change makes" in text

    def test_a_page_says_once_of_like_changes_that_they_are_repairs(self) -> None:
        repaired = replace(SAME_READS, facts={"repair": True})
        made = tuple(change(name, certificate=repaired, forms=("Conv", "Conv")) for name in "ab")
        (head, cards, *_) = fix_with_pictures(fixed(changes=made)).groups
        text = text_of(Document("fix", "m", [cards]), Screen())
        assert text.count("onnxruntime does not run") == 1
        assert "does not run the model as it was; 2 changes make it run" in str(head.blocks)

    def test_many_kinds_and_reasons_fit_a_screen(self) -> None:
        changes = tuple(change(f"c{i}", forms=(f"Conv{i}", "Conv pads")) for i in range(236))
        letters = [f"{chr(97 + i // 10)}{chr(97 + i % 10)}" for i in range(100)]
        findings = tuple(refusal(f"p{i}", f"reason {i} " * 3) for i in letters)
        text = short_text(fixed(changes=changes, findings=findings))
        assert len(text.splitlines()) < 40
        assert "and 230 changes of 230 other kinds; --verbose has them" in text
        assert "and 94 findings for 94 other reasons; --verbose has them" in text

    def test_reasons_apart_in_names_and_formulas_are_one(self) -> None:
        reasons = [
            f"MaxPool 'pool{i}' may see it: on axes 2 and 3 the end is {i}. Pass --dim"
            for i in range(2)
        ]
        findings = tuple(
            refusal(f"p{i}", why, general="MaxPool may see it") for i, why in enumerate(reasons)
        )
        line_with(short_text(fixed(findings=findings)), "2  PAD501  MaxPool may see it")

    def test_no_times_and_no_figures_of_what_agrees(self) -> None:
        text = short_text(fixed())
        assert " ms" not in text
        assert "1.5e-07" not in text
        assert "bit for bit with its optimiser off, to 2e-06 with its optimiser on" in " ".join(
            text.split()
        )

    def test_a_difference_that_is_onnxruntimes_own_is_not_called_equal(self) -> None:
        excused = replace(run(WRONG, level="full"), ok=True, excused=True)
        found = Validation(ok=True, runs=(run(EQUAL), excused), warnings=("its own fault",))
        text = " ".join(short_text(fixed(validation=found)).split())
        assert "(CPU, 1 comparison) bit for bit with its optimiser off" in text
        assert "optimiser on" not in text
        assert "of 1 other run see the warning" in text
        assert "warning: its own fault" in text

    def test_what_differs_is_shown_in_full(self) -> None:
        failed = Validation(ok=False, runs=(run(EQUAL), run(NOISE, WRONG, SHAPE)))
        text = " ".join(short_text(fixed(validation=failed)).split())
        assert "Validation FAILED: output 'mask'" in text
        assert "; 1 of 2 runs differ" in text
        assert "'boxes': max abs 0.75" in text

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_lines_fit_and_words_stay_whole(self, width: int) -> None:
        findings = tuple(refusal(f"p{i}", "reasons that go on " * 9) for i in range(3))
        report = fixed(changes=(change(**FOLDED),), findings=findings)
        for text in (
            short_text(report, Screen(width)),
            text_of(fix_in_full(report), Screen(width)),
        ):
            assert max(map(len, text.splitlines())) <= max(width, 65)
            for word in ("reasons", "conv1", "model.fixed.onnx"):
                assert word in text.split() or width == 40

    def test_long_forms_are_wrapped_in_their_columns(self) -> None:
        chain = " -> ".join(["Pad", *["QuantizeLinear", "DequantizeLinear"] * 3])
        moved = change("stage/depthwise_13", forms=(chain, f"{chain} -> Pad H 0+1"))
        text = short_text(fixed(changes=(moved, change(**FOLDED))), Screen(80))
        assert max(map(len, text.splitlines())) <= 80
        for said in ("H 0+1, W 0+1   pads [0, 0, 1, 1]", "stage/depthwise_13"):
            assert said in text

    def test_names_beside_a_text_are_wrapped_too(self) -> None:
        name = "CPU, optimisation off, input float32 1x3x224x224; mask bool 1x1x224x224, seed 0"
        lines = Screen(60).pairs([name, "short"], ["1 output equal bit for bit"] * 2)
        assert max(map(len, lines)) <= 60
        assert " ".join(" ".join(lines).split()).startswith(f"{name} 1 output equal bit for bit")
        assert lines[-1].startswith("  short  1 output")

    def test_names_of_wide_characters_fit_too(self) -> None:
        findings = tuple(refusal(f"畳み込み層{i}" * 12, "a reason") for i in range(3))
        text = short_text(fixed(changes=(change("畳" * 90, **FOLDED),), findings=findings))
        assert max(map(cells, text.splitlines())) <= 80

    def test_a_guarded_pad_is_called_so_where_it_became_one(self) -> None:
        forms = ("computed Pad", "Pad guarded")
        text = short_text(fixed(changes=(change(forms=forms, op_type="Pad"),)))
        assert re.search(r"^ +1  computed Pad +Pad,\s+\S*\n? +guarded \(PAD701\)", text, re.M)
        assert "left empty" not in text
        before = ("computed Pad guarded", "Pad guarded")
        text = short_text(fixed(changes=(change(forms=before, op_type="Pad"),)))
        assert "guarded" not in text
        assert "left empty" not in text

    def test_in_a_program_it_names_what_a_program_has(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, after = Counts(pads=3), Counts(auto_pads=3)
        found = NextOption("--dynamic auto-pad", {"dynamic": "auto-pad"}, before, after)
        monkeypatch.setattr(FixReport, "next", found)
        text = short_text(fixed(in_memory=True, findings=(refusal("c"),)))
        assert "Next: fix(..., dynamic='auto-pad') would turn 3 Pads" in text
        assert "result.changes has each change with its proof" in text
        assert "--" not in text

    def test_codes_that_are_not_chosen_are_told(self) -> None:
        text = " ".join(
            short_text(fixed(options=Options(select=("PAD1",), ignore=("PAD102",)))).split()
        )
        assert "Asked for only PAD1 and without PAD102: padding of other codes is left" in text
        assert "Stays as it is" not in text

    def test_what_the_style_wants_is_not_called_nothing(self) -> None:
        counts = (Counts(pads=8), Counts(pads=4))
        text = " ".join(
            short_text(fixed(counts=counts, options=Options(style="symmetric"))).split()
        )
        assert "Stays as it is: nothing; 4 Pads are as style symmetric writes them" in text


class TestCheckText:
    def test_every_line_carries_the_file(self) -> None:
        file = FileReport("a/b.onnx", (warning("c1"), refusal("c2")))
        first, second = file_text(file).splitlines()
        assert first == "a/b.onnx: warning PAD201 c1 (Conv): Pad before c1 can be folded"
        assert second.startswith("a/b.onnx: info PAD501 c2 (Conv): SAME_UPPER on c2")
        assert "the pads depend on the height" in second

    def test_many_findings_of_one_code_are_limited_and_counted(self) -> None:
        file = FileReport("m.onnx", tuple(warning(f"c{i}") for i in range(200)))
        lines = file_text(file).splitlines()
        assert len(lines) == LINES_A_GROUP + 1
        assert "and 180 more" in lines[-1]

    def test_the_call_that_mends_has_the_options(self) -> None:
        files = (FileReport("a", (warning("c1"), warning("c2"), refusal("c3"))),)
        options = Options(style="pad", target="opencv@4", ignore=("PAD101",), trust=Trust("spec"))
        assert check_text(CheckReport(options, Severity.WARNING, files)).endswith(
            "2 fixable with "
            "onnxpad.fix(..., style='pad', trust='spec', ignore=('PAD101',), target='opencv@4')\n"
        )


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


def test_what_many_nodes_have_in_common_is_said_of_each() -> None:
    why = "its amounts vary"
    (line,) = file_text(FileReport("m", (refusal("a", why), refusal("b", why)))).splitlines()
    assert line.endswith(" 2 nodes (a, b); each stays: its amounts vary")


class TestJson:
    def test_every_field_of_every_record_is_there(self) -> None:
        report = fixed(findings=(refusal("c2"),), undone=(refusal("c3"),))
        document = json.loads(fix_json(report))
        assert document["version"] == 1
        assert document["tool"] == {"name": "onnxpad", "version": __version__}
        assert document["exit_code"] == 0
        assert document["outcome"] == "fixed"
        assert document["written"] == "model.fixed.onnx"
        (record,) = document["changes"]
        assert list(record) == [
            *("code", "node", "op_type", "before", "after", "certificate", "removed", "probe"),
            *("forms", "amounts", "repairs", "interim"),
        ]
        known = {*in_json(Certificate), "assumption_codes"}
        assert set(record["certificate"]) == known
        assert record["removed"] == ["pad1"]
        for key in ("findings", "undone"):
            (found,) = document[key]
            assert set(found) == {*in_json(Finding), "fixable", "asked"}
            assert found["fixable"] is False
        assert set(document["validation"]) == set(in_json(Validation))
        first = document["validation"]["runs"][0]
        assert set(first) == set(in_json(Run))
        assert set(first["comparisons"][0]) == set(in_json(Comparison))

    def test_nothing_is_limited(self) -> None:
        changes = tuple(change(f"conv{i}") for i in range(500))
        assert len(json.loads(fix_json(fixed(changes=changes)))["changes"]) == 500

    def test_what_json_cannot_carry_is_still_json(self) -> None:
        infinite = replace(SHAPE, max_abs=math.inf)
        text = fix_json(fixed(validation=Validation(False, (run(SHAPE, infinite),))))

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
        document = json.loads(fix_json(fixed(findings=(finding,))))
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
        text = fix_json(fixed(changes=(change("畳み\udce9"),)))
        assert text.isascii()
        assert json.loads(text)["changes"][0]["node"] == "畳み\udce9"

    def test_a_check_is_a_list_of_files(self) -> None:
        files = (FileReport("a", (warning("c"), refusal("d"))), FileReport("b", error="b: no"))
        document = json.loads(
            check_json(CheckReport(Options(style="pad"), Severity.WARNING, files))
        )
        assert document["version"] == 1
        assert document["exit_code"] == 2
        assert (document["style"], document["fail_on"]) == ("pad", "warning")
        first, second = document["files"]
        assert [f["node"] for f in first["findings"]] == ["c", "d"]
        assert [f["fixable"] for f in first["findings"]] == [True, False]
        assert (first["error"], first["failing"]) == (None, 1)
        assert (second["error"], second["findings"]) == ("b: no", [])
        assert document["summary"] == {
            "files": 2,
            "unreadable": 1,
            "failing": 1,
            "info": 1,
            "warning": 1,
            "error": 0,
        }


@each_row(
    ("fail_on", "told"),
    [(Severity.WARNING, "fails: --fail-on warning"), (Severity.ERROR, "passes: --fail-on error")],
)
def test_the_page_of_a_check_says_what_would_fail_it(fail_on: Severity, told: str) -> None:
    report = CheckReport(Options(style="pad"), fail_on, (FileReport("a", (warning("c"),)),))
    text = text_of(check_document(report, "page"), Screen())
    assert f"\n{told}, style pad\n" in text


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


def validated(*runs: Run, unproven: tuple[str, ...] = (), **values: object) -> ValidateReport:
    base = Validation(ok=all(run.ok for run in runs), runs=runs)
    return ValidateReport(
        original="a.onnx",
        rewritten="b.onnx",
        inputs="",
        reference="",
        providers=("CPUExecutionProvider",),
        validation=replace(base, **values),  # type: ignore[arg-type]
        unproven=unproven,
        seconds=0.5,
    )


class TestValidated:
    def test_agreement_is_said_in_the_first_line(self) -> None:
        report = validated(run(EQUAL), run(replace(NOISE, ulp=3, cosine=1 - 1e-9), level="full"))
        assert report.exit_code == 0
        first, *rest = whole(report).splitlines()
        assert first == "a.onnx and b.onnx: agree, 2 runs (500.0 ms)"
        text = "\n".join(rest)
        for said in ("equal bit for bit", "max abs 1.5e-07", "3 ulp", "cosine 1 - 1e-09", "seed 0"):
            assert said in text
        assert "DIFFERS" not in text

    def test_a_difference_that_is_excused_is_said_in_the_first_line_too(self) -> None:
        excused = replace(run(WRONG, level="full"), ok=True, subject="original")
        report = validated(run(EQUAL), excused, warnings=("onnxruntime's own optimiser: ...",))
        first = whole(report).splitlines()[0]
        assert first.startswith(
            "a.onnx and b.onnx: agree, except where the warnings say otherwise, 2 runs"
        )

    def test_a_difference_is_told_with_its_figures(self) -> None:
        seen = replace(WRONG, detail="1 became 2 at [0]", argmax=0.5, special=2, worst=(4,), ulp=9)
        report = validated(run(EQUAL, seen), divergence=DIVERGENCE)
        text = whole(report)
        assert report.exit_code == 3
        for said in ("FAILED", "DIFFERS", "1 became 2 at [0]", "argmax agrees in 50 %", "9 ulp"):
            assert said in text
        assert "worst at [4]" in text
        assert "NaN or infinity on one side in 2 places" in text

    def test_where_models_part(self) -> None:
        for text in (
            whole(validated(run(WRONG), divergence=DIVERGENCE)),
            fix_text(fixed(validation=Validation(False, (run(WRONG),), divergence=DIVERGENCE))),
        ):
            assert "First difference: tensor 'hidden', float32 1x4" in text
            assert "conv1 (Conv), in both" in text
            assert "none; rewritten: pads=[0, 0, 1, 1]" in text
            assert "padded, w; rewritten: image, w" in text
            assert "1.25 in the original, 0.5 rewritten at [0, 3]" in text
            assert "12 tensors compared" in text
            assert "bits differ from before on, within rounding" in text
            assert "one remark" in text

    def test_what_was_not_compared_fails(self) -> None:
        report = validated(run(EQUAL), unproven=("nothing was compared on X",))
        assert (report.ok, report.exit_code) == (False, 5)
        assert "not compared: nothing was compared on X" in whole(report)

    def test_where_nodes_ran(self) -> None:
        names = tuple(f"pad{i} (Pad)" for i in range(12))
        places = (
            Placement("CUDAExecutionProvider", "original", 40, names),
            Placement("CUDAExecutionProvider", "rewritten", 30, ()),
        )
        text = whole(validated(run(EQUAL), placements=places, notes=("n1",)))
        assert "CUDA ran 28 of 40 nodes of the original model; elsewhere pad0 (Pad)," in text
        assert "and 4 more" in text
        assert "CUDA ran 30 of 30 nodes of the rewritten model\n" in text
        assert "note: n1" in text

    def test_a_reference_and_an_alignment(self) -> None:
        seen = replace(run(replace(EQUAL, alignment="1x9 as 9")), subject="original")
        seen = replace(seen, against="reference", seconds=(math.nan, 0.1))
        report = replace(validated(seen, subject="original"), rewritten="", reference="r.npz")
        text = whole(report)
        assert "a.onnx: agrees with the reference" in text
        assert "original against reference (100.0 ms)" in text
        assert "(aligned: 1x9 as 9)" in text

    def test_runs_that_agree_share_a_block(self) -> None:
        runs = [replace(run(EQUAL, NOISE), inputs=f"seed {seed}") for seed in range(16)]
        worse = replace(NOISE, output="boxes", max_rel=1e-5)
        apart = replace(run(EQUAL, WRONG), inputs="seed 99")
        text = validate_text(validated(*runs, run(worse), apart), Screen(None))
        line_with(text, "CPU, optimisation off, 17 inputs: rewritten against original")
        line_with(text, "16 comparisons equal bit for bit; 17 comparisons within rounding, at most")
        assert "1e-05 of the greatest value ('boxes')" in text
        line_with(text, "DIFFERS", "seed 99")
        assert "seed 7" not in text
        assert "seed 7" in whole(validated(*runs, apart))

    def test_many_outputs_are_counted_and_the_worst_shown(self) -> None:
        many = [replace(NOISE, output=f"y{i}") for i in range(2 * OUTPUTS_A_RUN)]
        text = validate_text(validated(run(*many, WRONG, EQUAL)))
        assert "boxes" in text
        assert f"and {OUTPUTS_A_RUN + 1} more outputs" in text
        assert "  1 output equal bit for bit" in text
        assert "more outputs" not in whole(validated(run(*many, WRONG)))

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

    def test_json_has_all_of_it(self) -> None:
        report = validated(run(WRONG), divergence=DIVERGENCE, notes=("n",))
        document = json.loads(validate_json(report))
        assert (document["command"], document["exit_code"]) == ("validate", 3)
        assert document["rewritten"] == "b.onnx"
        assert document["reference"] is None
        for value, record in (
            (document["validation"], report.validation),
            (document["validation"]["divergence"], DIVERGENCE),
            (document["validation"]["runs"][0]["comparisons"][0], WRONG),
        ):
            assert [*value] == in_json(record)


def test_what_was_not_compared_is_told_once() -> None:
    flat = Skipped("the outputs are the same", "CPUExecutionProvider, optimisation full")
    said = Skipped("it does not load", "CPUExecutionProvider, optimisation full, x", is_told=True)
    found = replace(VALID, skipped=(flat, said), warnings=("the optimiser: it does not load",))
    report = ValidateReport("a", "b", "", "", ("CPUExecutionProvider",), found, (), 0.1)
    for text in (fix_text(fixed(validation=found)), whole(report)):
        assert f"not compared: {flat.text}" in text
        assert text.count("it does not load") == 1


def test_paddings_that_differ_are_listed() -> None:
    pair = PaddingDifference("y", ("c (Conv)", "c (Conv)"), (((0, 1),), ((1, 0),)))
    found = replace(VALID, padding=(pair,))
    report = ValidateReport("a", "b", "", "", ("CPUExecutionProvider",), found, (), 0.1)
    text = whole(report)
    assert "Padding differs: 1 operator, though the outputs agree" in text
    failed = replace(found, runs=(replace(VALID.runs[0], ok=False),), outcome="failed")
    apart = replace(report, validation=failed)
    assert "Padding differs: 1 operator" in whole(apart).splitlines()
    assert "c (Conv)  L 0+1 in the original, L 1+0 rewritten" in text
    document = json.loads(validate_json(report))
    assert document["validation"]["padding"][0]["pads"] == ["[0, 1]", "[1, 0]"]


def test_nothing_compared_stands_at_the_top() -> None:
    found = not_validated("no kernel")
    report = ValidateReport("a", "b", "", "", ("CPUExecutionProvider",), found, ("none",), 0.1)
    assert (report.outcome, report.exit_code) == ("nothing compared", 5)
    head = whole(report).splitlines()[0]
    assert "nothing compared: no kernel" in head
    assert "agree" not in head
    assert json.loads(validate_json(report))["outcome"] == "nothing compared"
    assert "not validated: no kernel" in short_text(fixed(validation=found))


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        ([("'x' is read twice", "")], ["'x' is read twice"]),
        ([("it reads 'x'", "it reads")] * 2, ["it reads 'x' x2"]),
        ([("it reads 'x'", "it reads"), ("it reads y", "it reads")], ["it reads x2"]),
        ([("it reads 'x'", ""), ("it reads 'y'", "")], ["it reads 'x'", "it reads 'y'"]),
    ],
)
def test_reasons_are_told_without_the_names_in_which_they_differ(
    reasons: list[tuple[str, str]], told: list[str]
) -> None:
    found = [refusal("n", reason, general=general) for reason, general in reasons]
    groups = _short_groups(found)
    assert [f"{text} x{len(g)}".removesuffix(" x1") for text, g in groups] == told


def test_a_reason_in_short_is_told_in_place_of_the_whole() -> None:
    found = Finding("PAD1", Severity.INFO, "n", "Conv", "m", "it is h + 1", brief="it depends")
    assert [text for text, _ in _short_groups([found])] == ["it depends"]


def test_a_page_of_a_failure_tells_the_first_difference_once_and_draws_it() -> None:
    first = replace(DIVERGENCE, comparison=replace(WRONG, histogram=((-1, 4),)))
    failed = Validation(False, (run(WRONG),), divergence=first)
    document = fix_with_pictures(fixed(validation=failed))
    text = text_of(document, Screen(None))
    assert text.count("First difference: tensor") == 1
    assert "differs by up to 3 times its greatest value; it begins at " in text
    assert "; 1 of 1 run differ" in text
    (section,) = (group for group in document.groups if group.title == "First difference")
    assert section.blocks[-1] == Picture(((first.comparison, "first difference"),))
