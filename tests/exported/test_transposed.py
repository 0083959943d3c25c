"""The padding of the transposed convolutions that exporters wrote, once fixed in style `fold`.

Each target was made by hand and is equal to its original bit for bit in onnxruntime, at all sizes.
"""

from typing import Final, TypeAlias

import onnx
import pytest

import onnxpad
from tests.exported.results import fixed, original
from tests.support import attributes

Written: TypeAlias = dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
"""`pads` and `output_padding` by ConvTranspose."""

TAKEN: Final[dict[str, tuple[Written, set[str]]]] = {
    "codec_torchscript": (
        {
            "/up.0/ConvTranspose": ((0, 5), (0,)),
            "/up.1/ConvTranspose": ((0, 4), (0,)),
            "/up.2/ConvTranspose": ((0, 2), (0,)),
        },
        {"/Slice", "/Slice_1", "/Slice_2"},
    ),
    "crops_dynamo": (
        {
            "node_convolution": ((1, 2, 2, 2), (0, 0)),
            "node_convolution_1": ((1, 0, 0, 0), (1, 1)),
            "node_convolution_2": ((1, 2, 3, 1), (0, 0)),
        },
        {"node_pad", "node_pad_1", "node_pad_2"},
    ),
    "crops_torchscript": (
        {
            "/sized/ConvTranspose": ((1, 2, 2, 2), (0, 0)),
            "/bare/ConvTranspose": ((1, 0, 0, 0), (1, 1)),
            "/grouped/ConvTranspose": ((1, 2, 3, 1), (0, 0)),
        },
        {"/Pad", "/Pad_1", "/Pad_2"},
    ),
    "decoder_keras_open": (
        {
            "functional_1/same_3_2_1/BiasAdd": ((0, 0, 1, 1), (0, 0)),
            "functional_1/same_4_2_1/conv_transpose": ((1, 1, 1, 1), (0, 0)),
            "functional_1/valid_5_3_1/BiasAdd": ((0, 0, 0, 0), (0, 0)),
            "functional_1/same_3_1_1/BiasAdd": ((1, 1, 1, 2), (0, 0)),
        },
        {"Slice__59", "Pad__67", "Slice__127", "Pad__133", "Slice__192", "Pad__199", "Slice__300"},
    ),
    "decoder_keras_torch": (
        {
            "/ConvTranspose": ((0, 0, 1, 1), (0, 0)),
            "/ConvTranspose_1": ((1, 1, 1, 1), (0, 0)),
            "/ConvTranspose_2": ((0, 0, 0, 0), (0, 0)),
            "/ConvTranspose_3": ((1, 1, 1, 2), (0, 0)),
        },
        {"/Slice", "/Slice_1", "/Slice_2", "/Slice_3", "/Slice_4", "/Slice_5"},
    ),
    "deconv1d_open_tensorflow": (
        {
            "conv1d_transpose": ((0, 9, 0, 5), (0, 0)),
            "conv1d_transpose_1": ((0, 1, 0, 1), (0, 0)),
        },
        {"Slice__51", "Pad__57", "Pad", "strided_slice_1", "Slice__112", "Pad__118"},
    ),
    "deconv1d_tensorflow": (
        {
            "conv1d_transpose": ((0, 9, 0, 5), (0, 0)),
        },
        {"Pad", "strided_slice"},
    ),
    "deconv2d_tensorflow": (
        {
            "conv2d_transpose": ((0, 0, 0, 0), (1, 1)),
        },
        {"Slice__58", "Pad__64"},
    ),
    "deconv_paddle": (
        {
            "ConvTranspose.0": ((0, 0, 1, 1), (0, 0)),
        },
        set(),
    ),
    "dynamic_keras": (
        {
            "dynamic_keras_1/deconv_1/BiasAdd": ((0, 0, 1, 1), (0, 0)),
        },
        {"Slice__263", "Pad__272"},
    ),
    "gaps_keras_torch": (
        {
            "/ConvTranspose": ((0, 0, 0, 0), (1, 1)),
            "/ConvTranspose_1": ((0, 0, 0, 0), (1, 1)),
        },
        {"/Pad", "/Pad_2"},
    ),
    "hifigan_dynamo": (
        {
            "node_convolution": ((4, 4), (0,)),
            "node_convolution_1": ((3, 3), (1,)),
            "node_convolution_2": ((1, 1), (0,)),
            "node_convolution_3": ((15, 15), (0,)),
        },
        {"node_slice_1"},
    ),
    "hifigan_torchscript": (
        {
            "/up.0/ConvTranspose": ((4, 4), (0,)),
            "/up.1/ConvTranspose": ((3, 3), (1,)),
            "/up.2/ConvTranspose": ((1, 1), (0,)),
            "/smooth/ConvTranspose": ((15, 15), (0,)),
        },
        {"/smooth/Slice_1"},
    ),
    "series_keras": (
        {
            "functional_1/same_7_3_1/conv_transpose": ((0, 2, 0, 2), (0, 0)),
            "functional_1/valid_4_2_1/conv_transpose": ((0, 1, 0, 2), (0, 0)),
            "functional_1/with_output_padding_1/conv_transpose": ((0, 0, 0, 1), (0, 0)),
        },
        {
            "Slice__51",
            "Pad__57",
            "Slice__108",
            "Pad__114",
            "functional_1/crop_1/strided_slice",
            "Slice__169",
            "Pad__176",
        },
    ),
    "series_keras_torch": (
        {
            "/ConvTranspose": ((2, 2), (0,)),
            "/ConvTranspose_1": ((1, 2), (0,)),
            "/ConvTranspose_2": ((0, 1), (0,)),
        },
        {"/Slice", "/Slice_1", "/Slice_2"},
    ),
    "trims_dynamo": (
        {
            "node_convolution": ((0, 5), (0,)),
            "node_convolution_1": ((2, 2), (0,)),
            "node_convolution_2": ((2, 1), (0,)),
            "node_convolution_3": ((0, 3), (0,)),
            "node_convolution_4": ((2, 2), (1,)),
        },
        {"node_slice_1", "node_slice_2", "node_slice_3", "node_slice_4"},
    ),
    "trims_torchscript": (
        {
            "/causal/ConvTranspose": ((0, 5), (0,)),
            "/ratio/ConvTranspose": ((2, 2), (0,)),
            "/sides/ConvTranspose": ((2, 1), (0,)),
            "/ends/ConvTranspose": ((0, 3), (0,)),
            "/dac/ConvTranspose": ((2, 2), (1,)),
        },
        {"/causal/Slice", "/ratio/Slice", "/sides/Slice", "/Slice"},
    ),
    "unet_keras": (
        {
            "unet_keras_1/doubled_1/BiasAdd": ((0, 0, 1, 1), (0, 0)),
            "unet_keras_1/quadrupled_1/BiasAdd": ((0, 0, 0, 0), (0, 0)),
        },
        {"Slice__116", "Pad__125", "Slice__202", "Pad__209"},
    ),
    "upsampling_paddle": (
        {
            "ConvTranspose.0": ((1, 1, 1, 1), (1, 1)),
            "ConvTranspose.2": ((1, 2, 0, 1), (0, 0)),
            "ConvTranspose.4": ((1, 0, 2, 1), (0, 0)),
        },
        {"Slice.0"},
    ),
    "vocoder_torch": (
        {
            "/up_1/ConvTranspose": ((9, 9), (4,)),
            "/up_2/ConvTranspose": ((1, 1), (0,)),
        },
        set(),
    ),
}
"""By model: the attributes of each ConvTranspose, and the nodes that go."""

STAYS: Final = {
    "crops_torchscript": {"/Pad_3"},  # it adds zeros where real data was cropped
    "crops_dynamo": {"node_pad_3"},
    "trims_torchscript": {"/Slice_1"},  # a norm of all elements stands between
    "trims_dynamo": {"node_slice_5"},
    "gaps_keras_open": {"Pad__63", "Pad__135"},  # zeros where output_padding has the bias
}
"""By model: the crops and `Pad`s downstream of a ConvTranspose that stay."""

UNKNOWN_LENGTH: Final = {"deconv1d_open_tensorflow": {"unk__157": range(3, 4097)}}
"""Lengths by input axis without which a ConvTranspose takes nothing, by model.

A series of 1 or 2 elements becomes an empty one, which no ConvTranspose computes.
"""


def takes_what_crops_and_pads_it(name: str, model: onnx.ModelProto) -> None:
    """Holds a model in style `fold` against the tables."""
    convolutions, gone = TAKEN.get(name, ({}, set[str]()))
    nodes = {node.name: node for node in model.graph.node}
    found = {}
    for label, (pads, _) in convolutions.items():
        given = attributes(nodes[label])
        assert given.get("auto_pad", b"NOTSET") == b"NOTSET"
        assert not given.get("output_shape")
        axes = len(pads) // 2
        found[label] = (
            tuple(given.get("pads", (0,) * len(pads))),
            tuple(given.get("output_padding", (0,) * axes)),
        )
    assert found == convolutions
    assert gone.isdisjoint(nodes)
    assert nodes.keys() >= STAYS.get(name, set())


@pytest.mark.parametrize("name", UNKNOWN_LENGTH)
def test_a_series_that_becomes_empty_is_rewritten_only_if_its_length_is_given(name: str) -> None:
    (node,) = [n for n in fixed(name, "fold").model.graph.node if n.name == "conv1d_transpose"]
    assert tuple(attributes(node).get("pads", (0, 0, 0, 0))) == (0, 0, 0, 0)
    result = onnxpad.fix(original(name), dims=UNKNOWN_LENGTH[name])
    assert result.validation is not None
    assert result.validation.ok
    takes_what_crops_and_pads_it(name, result.model)


@pytest.mark.parametrize("name", ["deconv2d_tensorflow"])
def test_a_size_that_the_caller_gives_needs_a_size(name: str) -> None:
    """Pads of (3h - 14, 3h - 14) and (2w - 11, 2w - 11) for features of (h, w)."""
    found = {f.node: f for f in fixed(name, "fold").findings}
    assert found["BiasAdd"].reason_code == "size-dependent"
    model = onnxpad.fix(original(name), shapes=(1, 6, 7, 4), validate=False).model
    (node,) = [node for node in model.graph.node if node.name == "BiasAdd"]
    assert attributes(node)["pads"] == [4, 3, 4, 3]
    assert "output_shape" not in attributes(node)
