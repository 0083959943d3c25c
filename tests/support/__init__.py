"""All that tests share: models as text, sessions of onnxruntime, comparisons, checked fixes."""

from tests.support.checkout import EXPORTED, FEW, MODELS, QUANTISED, REFUSED, ROOT
from tests.support.comparing import (
    agree,
    assert_graph,
    assert_same,
    attributes,
    canonical,
    named,
    op_types,
)
from tests.support.fixing import SLIDING, STYLES, decided, fixed, inner_graphs, onnxpad_runs, silent
from tests.support.sessions import (
    CPU,
    LEVELS,
    Array,
    exposed,
    feeds_of,
    negative,
    ran,
    run,
    session,
)
from tests.support.texts import BORDER, LOW, PADS, W, checked, one, parsed, site_form

__all__ = [
    "BORDER", "CPU", "EXPORTED", "FEW", "LEVELS", "LOW", "MODELS", "PADS", "QUANTISED", "REFUSED",
    "ROOT", "SLIDING", "STYLES", "Array", "W", "agree", "assert_graph", "assert_same",
    "attributes", "canonical", "checked", "decided", "exposed", "feeds_of", "fixed",
    "inner_graphs", "named", "negative", "one", "onnxpad_runs", "op_types", "parsed", "ran",
    "run", "session", "silent",
    "site_form",
]  # fmt: skip
