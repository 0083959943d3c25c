"""The table of forms: true models, and what is kept of each."""

from typing import Any, Final

import numpy as np
import onnx

from tests.support import ran
from tests.targets.forms import PATH, SIZES, STYLES, page, tables

TABLES: Final = tables()
DROPPED: Final = "max_pool_ceil_mode_last_window_dropped"
"""A model that onnx's shape inference does not agree with: it counts the dropped window."""


def test_forms_are_kept_as_they_are_read() -> None:
    assert page(TABLES) == PATH.read_text(encoding="utf-8"), "python -m tests.targets --write"


def test_each_form_is_a_valid_model_of_its_name() -> None:
    for name, table in TABLES.items():
        model = onnx.parser.parse_model(table["model"])
        assert model.graph.name == name
        assert set(table) <= {"about", "model", *STYLES}
        onnx.checker.check_model(model, full_check=name != DROPPED)


def test_onnxruntime_runs_all_but_dilated_same() -> None:
    refused = [name for name, table in TABLES.items() if not _runs(table)]
    assert refused == ["conv_same_upper_dilated", "conv_same_lower_dilated"]


def _runs(table: dict[str, Any]) -> bool:
    model = onnx.parser.parse_model(table["model"])
    shape = [
        SIZES[dim.dim_param] if dim.dim_param else dim.dim_value
        for dim in model.graph.input[0].type.tensor_type.shape.dim
    ]
    found = ran(model, {"x": np.ones(shape, np.float32)})
    if isinstance(found, str):
        assert "Dilation not supported for AutoPadType" in found
        return False
    declared = [dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim]
    assert all(told in (0, size) for told, size in zip(declared, found[0].shape, strict=True))
    return True
