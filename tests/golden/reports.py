"""Results made by hand, with what small models on the CPU do not show, in all their forms."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from onnxpad.finding import (
    Assumption,
    Certificate,
    Change,
    Counts,
    Finding,
    NextOption,
    Severity,
    Trust,
)
from onnxpad.frameworks.repadding.changes import Difference, OutputChange, Rewritten, Unchanged
from onnxpad.frameworks.repadding.verdict import Distinguishable, Matching, Repadded, Tried
from onnxpad.options import Options
from onnxpad.page.document_page import fragment_of
from onnxpad.page.pages import check_page, fix_page, validate_page
from onnxpad.reasons import Reason
from onnxpad.report import (
    IN_MEMORY,
    CheckReport,
    Delivery,
    FileReport,
    FixReport,
    MatchReport,
    RepadReport,
    ValidateReport,
)
from onnxpad.report.documents.check_document import check_document, check_text
from onnxpad.report.documents.fix_document import fix_document, fix_text
from onnxpad.report.documents.fix_in_full import fix_in_full
from onnxpad.report.documents.match_document import match_text
from onnxpad.report.documents.repad_document import repad_text
from onnxpad.report.documents.validation_document import validate_document, validate_text
from onnxpad.report.json import match_json, repad_json
from onnxpad.report.layout import Screen, text_of
from onnxpad.report.text import marked
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    PaddingDifference,
    Placement,
    Run,
    Skipped,
    Validation,
)
from tests.golden.shown import SHOWN, show_forms
from tests.support import site_form

_CPU: Final = "CPUExecutionProvider"
_CUDA: Final = "CUDAExecutionProvider"
_EQUAL = Comparison("y", True, 0.0, 0.0, "", True, "1x3x4", "float32", 0, 1.0, 1.0)
_NEAR = Comparison(
    "z", False, 1.5e-7, 2e-6, "", True, "1x1000", "float32", 3, 0.9999996, 0.5,
    histogram=((-30, 2), (-7, 12345), (-6, 3)), alignment="1x1000 as 1000", elements=1000,
)  # fmt: skip
_WRONG = Comparison(
    "w", False, 0.75, 3.0, "1.0 became 1.75 at [0, 2] (9 of 12 elements differ)", False, "3x4",
    "float32", 6291456, 0.71, 0.0, worst=(0, 2), histogram=((-1, 4), (0, 1000), (5, 1)),
    elements=12,
)  # fmt: skip
_SPECIAL = Comparison(
    "v", False, math.nan, math.nan, "nan became 1", False, "", "", special=1200,
)  # fmt: skip
_MANY = tuple(replace(_NEAR, output=f"o{each}", histogram=()) for each in range(2))


def _run(*compared: Comparison, level: str = "off", seed: int = 0, **more: object) -> Run:
    ok = all(each.ok for each in compared)
    drawn = "x float32 1x3x8x8", f"seed {seed}"
    base = Run(_CPU, level, ", ".join(drawn), compared, (0.25, 0.125), "", ok, drawn=drawn)
    return replace(base, **more)  # type: ignore[arg-type]


_DIVERGENCE = Divergence(
    "t", ("c (Conv)", "d (Conv)"), ("", "pads=[0, 0, 1, 1]"), (("x", "w"), ("p", "w")), _WRONG,
    ("1.0", "1.75"), "x float32 1x3x8x8, seed 0", 12, "e", "a note", ("w is other numbers",),
)  # fmt: skip
_PADDING = (
    PaddingDifference("t", ("c (Conv)", "c (Conv)"), (((0, 1), (0, 1)), ((1, 0), (1, 0)))),
    PaddingDifference("u", ("e (Conv)", "f (Conv)"), ("SAME_UPPER", ((1, 1),)), "q"),
)
_PLACES = (
    Placement(_CUDA, "original", 1040, tuple(f"n{each} (Pad)" for each in range(40))),
    Placement(_CUDA, "rewritten", 30, ()),
)
_VALIDATIONS: Final = {
    "passed": Validation(
        True,
        (
            _run(_EQUAL), _run(_NEAR, seed=1),
            _run(_EQUAL, _NEAR, *_MANY, level="full", provider=_CUDA, note="full: noted",
                 is_warned=True),
            _run(_EQUAL, inputs="given.npz", drawn=("", "")),
            _run(subject="original", against="reference"),
        ),
        ("one", "full: noted"), 3, ("a note",), _PLACES,
        skipped=(Skipped("two", "CPU"), Skipped("one", "CPU", is_told=True)), padding=_PADDING,
    ),
    "failed": Validation(
        False,
        (
            _run(_NEAR, _WRONG, _SPECIAL),
            _run(note="the rewritten model does not run: bad", ok=False),
            _run(replace(_NEAR, output="n"), inputs="i", drawn=("", "")),
        ),
        divergence=_DIVERGENCE, padding=_PADDING[:1],
    ),
    "reference": Validation(False, (_run(_WRONG, against="reference"), _run(_EQUAL))),
    "nothing": Validation(
        False, (), ("not validated: why",), outcome="nothing compared", reason="why",
    ),
    "repaired": Validation(
        False, (_run(note="a repair", excused=True, ok=True),), outcome="repaired",
        reason="it runs",
    ),
}  # fmt: skip

_PROVED = Certificate("the same elements are read", data=(8, None))
_CHANGE = Change(
    "PAD201", "conv", "Conv", site_form("Pad H 0+1, W 0+1 -> Conv"),
    site_form("Conv pads H 0+1, W 0+1"), _PROVED, ("pad",), "equal on 6 inputs",
)  # fmt: skip
_CHANGES = (
    _CHANGE,
    *(replace(_CHANGE, node=f"conv{each}", now=site_form(f"Conv pads H 0+{each % 2}, W 0+1"))
      for each in range(6)),
    replace(
        _CHANGE, node="pool", op_type="MaxPool", code="PAD203",
        was=site_form("Pad nothing -> MaxPool"), now=site_form("MaxPool"),
        certificate=replace(
            _PROVED, limits="height 32..64", assumptions=(*Assumption,)[:2],
            facts={"sizes": True, "repair": True}, within={"height": {"first": 32}},
        ), probe="",
    ),
)  # fmt: skip
_STAYS = Finding(
    "PAD501",
    Severity.INFO,
    "same",
    "Conv",
    "SAME_UPPER on 'same'",
    "the pads depend on h; none fit",
)


class _Advised(FixReport):
    """A result on which an option would gain something."""

    @property
    def next(self) -> NextOption:
        """The option."""
        return NextOption("--dynamic pad", {"dynamic": "pad"}, Counts(1, 2, 30), Counts(1, 0, 30))


_WRITTEN = Delivery(written="out.onnx")
_FIXED = FixReport(
    "model.onnx", Options(), True, True, _CHANGES, (_STAYS,), (), _VALIDATIONS["passed"],
    (Counts(9, 2, 1031, 1), Counts(1, 2, 30, 0)), 1.2, delivery=_WRITTEN,
)  # fmt: skip
_FIXES: Final = {
    "fixed": _Advised(
        "model.onnx", Options(trust=Trust.SPEC, no_ceil=True, symmetric_transpose=True), True, True,
        _CHANGES, (_STAYS,), (), _VALIDATIONS["passed"], _FIXED.counts, 1.2,
        declared={"x": (1, None, "h", 8)}, ranges="height 32..64", notes=("a size",),
        warnings=("no size",), delivery=replace(_WRITTEN, data=("out.data",)),
    ),
    "invalid": replace(
        _FIXED, validation=_VALIDATIONS["failed"], delivery=Delivery(older="out.onnx"),
        undone=(replace(_STAYS, node="undone"),), barred=(replace(_STAYS, node="barred"),),
    ),
    "unchanged": replace(
        _FIXED, changed=False, changes=(), validation=None, delivery=Delivery(),
        undone=(replace(_STAYS, node="undone"),),
        findings=(_STAYS, *(replace(_STAYS, node=f"s{each}") for each in range(9))),
    ),
    "nothing": replace(
        _FIXED, changed=False, changes=(), findings=(), validation=None,
    ),
    "fixable": replace(
        _FIXED, changes=_CHANGES[:1], delivery=Delivery(check=True), validation=None, findings=(),
    ),
    "unproved": replace(
        _FIXED, validate=False, validation=None, delivery=IN_MEMORY,
        changes=(*_CHANGES, *_CHANGES),
    ),
}  # fmt: skip

_MOVED = Rewritten("c1", "Conv", "same", "[1, 1]", "[0, 2]", {"pads": [1, 1]}, {"pads": [0, 2]})
_STAYED = Unchanged("p", "MaxPool", "none", "it pads nothing", is_same=True)
_OUTPUTS = (
    OutputChange("a", (1, 4), (1, 4), 0.0, 0.0),
    OutputChange("b", (1, 4), (1, 5), math.inf, math.inf),
    OutputChange("c", (), (), 0.25, 0.125),
    OutputChange("d", (3,), (3,), math.inf, math.inf),
)
_REPADDED = RepadReport(
    "model.onnx", "keras", "Keras", "r.npz",
    (
        _MOVED, *(replace(_MOVED, node=f"n{each}") for each in range(8)),
        *(replace(_MOVED, node=f"q{each}", after=f"{each}") for each in range(20)),
    ),
    (_STAYED, *(replace(_STAYED, node=f"s{each}", reason=f"r{each}") for each in range(20))),
    Difference(_OUTPUTS, ("one", "two", "three")), _VALIDATIONS["passed"],
    {"x": (1, None, "h")}, 0.5, ("a size",), ("no size",), replace(_WRITTEN, data=("out.data",)),
)  # fmt: skip
_REPADS: Final = {
    "reproduced": _REPADDED,
    "different": replace(
        _REPADDED, changes=(_MOVED,), unchanged=(), validation=_VALIDATIONS["reference"],
        difference=Difference(_OUTPUTS[:1], ("one",)),
    ),
    "broken": replace(
        _REPADDED, changes=(_MOVED, replace(_MOVED, node="c2", op_type="MaxPool")),
        delivery=Delivery(data=("out.data",)), unchanged=(_STAYED,),
        validation=_VALIDATIONS["failed"], difference=Difference(fails="it stops"),
    ),
    "uncompared": replace(
        _REPADDED, changes=(_MOVED,), unchanged=(), validation=None, delivery=IN_MEMORY,
        difference=Difference((_OUTPUTS[0],) * 21, uncompared="why"),
    ),
    "nothing": replace(
        _REPADDED, changes=(), unchanged=(), validation=None,
        delivery=replace(_REPADDED.delivery, older="out.onnx"),
    ),
}  # fmt: skip
_FOUND = Repadded("c1", "Conv", "[1, 1]", "[0, 2]", "tensorflow-same", {"pads": [0, 2]})
_TOLD = Distinguishable("c1", "Conv", "[1, 1]", {"tensorflow-same": "[0, 2]", "a": "b", "c": "d"})
_MATCHING = Matching(
    "matched", "", math.inf, 1e-7,
    (
        _FOUND, *(replace(_FOUND, node=f"n{each}") for each in range(20)),
        replace(_FOUND, node="long", after="[" + ", ".join("0" * 30) + "]"),
    ),
    (_TOLD, *(replace(_TOLD, node=f"n{each}") for each in range(3)), replace(_TOLD, padding="q")),
    tuple((f"l{each}", "why") for each in range(21)),
    (Tried("valid", math.inf, 3), Tried("keras", 0.5, 1), Tried("none", 0.0, 0),
     *(Tried(f"t{each}", each / 8, each) for each in range(1, 9))),
    "tensorflow-same", 1, ("a note",), "",
)  # fmt: skip
_MATCHED = MatchReport("model.onnx", "r.npz", "", _MATCHING, 0.5, delivery=_WRITTEN)
_MATCHES: Final = {
    "found": _MATCHED,
    "found in memory": replace(_MATCHED, delivery=IN_MEMORY),
    "found, not written": replace(_MATCHED, delivery=Delivery()),
    "as it is": replace(
        _MATCHED, matching=Matching("matches already", before=0.0, after=0.0, runs=2),
    ),
    "partly": replace(
        _MATCHED, delivery=Delivery(), partial=True,
        matching=replace(_MATCHING, outcome="partly matched", reason="a part", first="Conv c"),
    ),
    "partly, unasked": replace(
        _MATCHED, delivery=Delivery(), matching=Matching("partly matched", before=0.5, after=0.25),
    ),
    "partly in memory": replace(
        _MATCHED, delivery=IN_MEMORY, matching=Matching("partly matched"),
    ),
    "not found": replace(
        _MATCHED, delivery=Delivery(), matching=Matching("not matched", "why", 0.5, 0.5),
    ),
}  # fmt: skip

_LOW = Finding(
    "PAD201",
    Severity.WARNING,
    "conv",
    "Conv",
    "Pad before 'conv' can be folded into its pads",
    alike="Pad can be folded into its pads",
    sizes="height 32..64",
    assumptions=("finite data", "equal names"),
)
_PAD = Options(style="pad")
_CHECKED: Final = {
    "files": CheckReport(
        Options(trust=Trust.SPEC), Severity.WARNING,
        (
            FileReport(
                "a.onnx",
                (
                    *(replace(_LOW, node=f"c{each}") for each in range(2)), replace(_LOW, sizes=""),
                    replace(_LOW, severity=Severity.ERROR, code="PAD301", assumptions=()),
                    _STAYS, replace(_STAYS, node="b"), replace(_STAYS, code="PAD502", reason=""),
                    *(
                        replace(_STAYS, code="PAD604", node=name, severity=severity,
                                reason_code=Reason.FRAMEWORK_CONVENTION)
                        for name, severity in (("i", Severity.WARNING), ("j", Severity.INFO))
                    ),
                ),
                ("a size",), ("no size",),
            ),
            FileReport("b.onnx"), FileReport("c.onnx", error="c.onnx: cannot be read"),
        ),
        "keras", "page.html",
    ),
    "one": CheckReport(_PAD, Severity.ERROR, (FileReport("a.onnx", (_STAYS, _LOW)),)),
    "many": CheckReport(
        _PAD, Severity.ERROR,
        (FileReport("a.onnx", (_LOW, *(replace(_STAYS, node=f"n{each}", reason=f"why {each // 2}")
                                       for each in range(40)), replace(_LOW, node="p2"))),),
    ),
    "none": CheckReport(_PAD, Severity.INFO, (FileReport("a.onnx"),)),
}  # fmt: skip

NAMES: Final = (
    *(f"check {name}" for name in _CHECKED),
    *(f"repad {name}" for name in _REPADS),
    *(f"match {name}" for name in _MATCHES),
    *(f"validate {name}" for name in _VALIDATIONS),
    *(f"fix {name}" for name in _FIXES),
    *(f"show {name}" for name in SHOWN),
)
"""The reports: of which command, and their names."""


def forms(name: str) -> Iterator[tuple[str, str]]:
    """A report as texts, JSON or a page, each with the suffix of such a file."""
    command, _, name = name.partition(" ")
    screen = Screen(100)
    if command == "show":
        yield from show_forms(name)
    elif command == "fix":
        report = _FIXES[name]
        yield ".txt", fix_text(report, screen)
        yield ".txt", text_of(fix_in_full(report), screen)
        yield ".html", fix_page(report)
        yield ".html", fragment_of(fix_document(report))
    elif command == "check":
        found = _CHECKED[name]
        yield ".txt", check_text(found)
        yield ".txt", check_text(found, Screen(60, marked, is_terminal=True))
        yield ".html", check_page(found)
        if len(found.files) == 1:
            yield ".html", fragment_of(check_document(found))
    elif command == "repad":
        yield ".txt", repad_text(_REPADS[name], screen)
        if name == "different":
            yield ".json", repad_json(_REPADS[name])
    elif command == "match":
        yield ".txt", match_text(_MATCHES[name], screen)
        if name == "partly":
            yield ".json", match_json(_MATCHES[name])
    else:
        verdict = _VALIDATIONS[name]
        reference = "r.npz" if name == "reference" else ""
        of = ValidateReport(
            "a.onnx", "b.onnx", "", reference, (_CPU,), verdict, (), 0.5,
            "onnxpad match" if reference else "",
        )  # fmt: skip
        if name == "passed":
            of = replace(of, unproven=("nothing ran on X",), inputs="i.npz")
        yield ".txt", validate_text(of, screen)
        yield ".txt", validate_text(of, screen, "full")
        yield ".html", validate_page(of)
        yield ".html", fragment_of(validate_document(of))
