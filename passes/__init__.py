"""The passes, in running order."""

from __future__ import annotations

from typing import Final

from onnxpad.passes.drop_empty_pad import DropEmptyPad
from onnxpad.passes.drop_valid import DropValid
from onnxpad.passes.fix_amounts import FixAmounts
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.passes.guard_pad import GuardPad
from onnxpad.passes.make_symmetric import MakeSymmetric
from onnxpad.passes.merge_pads import MergePads
from onnxpad.passes.recognise_same import RecogniseSame
from onnxpad.passes.report_auto_pad import ReportAutoPad
from onnxpad.passes.report_pad import ReportPad
from onnxpad.passes.report_scopes import ReportScopes
from onnxpad.passes.report_unreadable import ReportUnreadable
from onnxpad.passes.resolve_auto_pad import ResolveAutoPad
from onnxpad.passes.resolve_transposed import ResolveTransposed
from onnxpad.passes.round_down import RoundDown
from onnxpad.passes.sink_pad import SinkPad
from onnxpad.passes.split_pads import SplitPads
from onnxpad.passes.take_crop import TakeCrop
from onnxpad.passes.take_output_padding import TakeOutputPadding
from onnxpad.rewrite.pass_api import Pass

PASSES: Final[tuple[type[Pass], ...]] = (
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

REPORTS: Final = ("PAD601",)
"""The codes of what `check` alone tells of a whole model, if asked."""

LATER: Final = {
    "PAD601": "onnxpad.frameworks.fitting.reports.ReportConvention",
    "PAD702": "onnxpad.passes.spell_padding.SpellPadding",
    "PAD703": "onnxpad.targets.findings.ReportWrong",
    "PAD704": "onnxpad.targets.findings.ReportRejected",
    "PAD705": "onnxpad.targets.findings.ReportFallback",
    "PAD706": "onnxpad.targets.findings.ReportUnknown",
}
"""Passes and reports that stand above the others, or are seldom asked for, by code."""
