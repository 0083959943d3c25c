"""Hypothesis strategies for the arithmetic of windows. Imports `onnxpad.arithmetic.window` only."""

from hypothesis import settings
from hypothesis import strategies as st

from onnxpad.arithmetic.window import Side, Window

sizes = st.integers(1, 40)
"""Input sizes: small enough to walk, large enough for every residue and the clipped windows."""

pads = st.integers(0, 8)
"""Padding of one side, also above the kernel."""

sides: st.SearchStrategy[Side] = st.sampled_from(("begin", "end"))
"""Where the odd element of SAME goes."""


def windows(
    max_kernel: int = 6, max_stride: int = 5, max_dilation: int = 3
) -> st.SearchStrategy[Window]:
    """Windows of one axis; a stride above the extent, even kernels and dilation included."""
    return st.builds(
        Window,
        kernel=st.integers(1, max_kernel),
        stride=st.integers(1, max_stride),
        dilation=st.integers(1, max_dilation),
    )


def examples(share: float) -> settings:
    """So many times the examples of the profile: for tests whose cases are many, or dear."""
    return settings(max_examples=max(round(share * settings().max_examples), 1))
