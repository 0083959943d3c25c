"""The passes, in running order."""

from typing import Final

from onnxpad.fitting.model_report import ModelReport
from onnxpad.passes.drop_empty_pad import DropEmptyPad
from onnxpad.passes.drop_valid import DropValid
from onnxpad.passes.fix_amounts import FixAmounts
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.passes.guard_pad import GuardPad
from onnxpad.passes.make_symmetric import MakeSymmetric
from onnxpad.passes.merge_pads import MergePads
from onnxpad.passes.part_pad import PartPad
from onnxpad.passes.recognise_same import RecogniseSame
from onnxpad.passes.report_auto_pad import ReportAutoPad
from onnxpad.passes.report_convention import ReportConvention
from onnxpad.passes.report_counting import ReportCounting
from onnxpad.passes.report_mixture import ReportMixture
from onnxpad.passes.report_pad import ReportPad
from onnxpad.passes.report_rounding import ReportRounding
from onnxpad.passes.report_scopes import ReportScopes
from onnxpad.passes.report_sizes import ReportSizes
from onnxpad.passes.report_unreadable import ReportUnreadable
from onnxpad.passes.resolve_auto_pad import ResolveAutoPad
from onnxpad.passes.resolve_transposed import ResolveTransposed
from onnxpad.passes.round_down import RoundDown
from onnxpad.passes.simplify_amounts import SimplifyAmounts
from onnxpad.passes.sink_pad import SinkPad
from onnxpad.passes.split_pads import SplitPads
from onnxpad.passes.take_crop import TakeCrop
from onnxpad.passes.take_output_padding import TakeOutputPadding
from onnxpad.rewrite.rule import Pass

PASSES: Final[tuple[type[Pass], ...]] = (
    DropEmptyPad,
    ResolveAutoPad,
    ResolveTransposed,
    DropValid,
    RoundDown,
    PartPad,
    FoldPad,
    SinkPad,
    RecogniseSame,
    TakeCrop,
    TakeOutputPadding,
    MakeSymmetric,
    SplitPads,
    MergePads,
    SimplifyAmounts,
    FixAmounts,
    GuardPad,
    ReportUnreadable,
    ReportSizes,
    ReportScopes,
    ReportAutoPad,
    ReportPad,
)

MODEL_REPORTS: Final[tuple[type[ModelReport], ...]] = (
    ReportConvention,
    ReportMixture,
    ReportRounding,
    ReportCounting,
)
"""Reports that `check` alone makes, if asked, on a whole model as `fix` would leave it."""
