"""The passes, in running order."""

from __future__ import annotations

from onnxpad.passes.auto_pad import DropValid, ResolveAutoPad, RoundDown
from onnxpad.passes.conv_transpose import (
    MakeSymmetric,
    ResolveTransposed,
    TakeCrop,
    TakeOutputPadding,
)
from onnxpad.passes.fold_pad import FoldPad, RecogniseSame, SplitPads
from onnxpad.passes.pads import DropEmptyPad, FixAmounts, GuardPad, MergePads, SinkPad
from onnxpad.passes.report_pad import ReportAutoPad, ReportPad, ReportScopes, ReportUnreadable
from onnxpad.rewrite.pass_api import Pass

PASSES: tuple[type[Pass], ...] = (
    DropEmptyPad,
    ResolveAutoPad,
    ResolveTransposed,
    DropValid,
    RoundDown,
    FoldPad,
    SinkPad,
    RecogniseSame,
    TakeCrop,
    TakeOutputPadding,
    MakeSymmetric,
    SplitPads,
    MergePads,
    FixAmounts,
    GuardPad,
    ReportUnreadable,
    ReportScopes,
    ReportAutoPad,
    ReportPad,
)

REPORTS = ("PAD601",)
"""The codes of what `check` alone tells of a whole model, if asked."""

LATER = {
    "PAD601": "onnxpad.frameworks.fitting.reports.ReportConvention",
    "PAD702": "onnxpad.passes.spell_padding.SpellPadding",
    "PAD703": "onnxpad.targets.findings.WRONG",
    "PAD704": "onnxpad.targets.findings.REJECTED",
    "PAD705": "onnxpad.targets.findings.FALLBACK",
    "PAD706": "onnxpad.targets.findings.UNKNOWN",
}
"""Passes and reports that stand above the others, or are seldom asked for, by code."""
