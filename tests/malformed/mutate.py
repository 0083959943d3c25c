"""Damages models: what an exporter, a tool or a hand could write wrongly, in random places.

All fields of all messages of ONNX are damaged alike, as protobuf describes them.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import AttributeProto, NodeProto

from onnxpad.facts import recorded

Holder: TypeAlias = onnx.GraphProto | onnx.FunctionProto

INTEGERS: Final = (0, 1, -1, 2, 3, 4, 7, 64, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))
FLOATS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-38, 1e38, -1e38, float("inf"), float("nan"))
TYPES: Final = (*range(27), 99, 2**31 - 1, -1)
WORDS: Final = (
    "", "constant", "constants", "reflect", "edge", "wrap", "SAME_UPPER", "SAME_LOWER", "VALID",
    "NOTSET", "SAME", "nearest", "linear", "x", "NHWC", "CRD", "1", "Relu", "half_pixel", "zeros",
    "bilinear", "ij,jk->ik", "...", "\n", "\x00", "*", "x" * 500,
)  # fmt: skip
_ATTRIBUTES: Final = """
    auto_pad pads strides dilations kernel_shape group ceil_mode axes count_include_pad axis
    perm mode value output_padding output_shape to p storage_order keepdims starts ends split
    num_outputs allowzero shape blocksize alpha scales channels_last activation start end
    value_ints value_float value_string sparse_value then_branch body num_scan_inputs ratio
    scan_input_axes paddings sizes block_size nosuch training_mode largest
"""
_OPERATORS: Final = """
    Conv MaxPool AveragePool LpPool ConvTranspose Pad ConvInteger QLinearConv Identity Relu
    LeakyRelu Cast Concat Split Slice Transpose Reshape Unsqueeze Squeeze Flatten Shape Size
    Gather GatherND ConstantOfShape Constant Expand Where Range Tile Resize Upsample If Loop
    Scan Add Sub Mul Div Mod Min Max Neg Clip Dropout BatchNormalization Sum ReduceSum ReduceMax
    ArgMax TopK NonZero OneHot MatMul Gemm Einsum QuantizeLinear DequantizeLinear
    DynamicQuantizeLinear GlobalAveragePool LSTM Scatter ScatterND DepthToSpace SpaceToDepth
    CastLike EyeLike Compress SequenceConstruct SequenceAt SplitToSequence Optional
    InstanceNormalization MaxRoiPool MaxUnpool RoiAlign Softmax CumSum StringNormalizer
    RandomNormal NonMaxSuppression Equal Not And Floor Ceil Pow Col2Im DeformConv AffineGrid
    GridSample CenterCropPad FusedConv NhwcMaxPool QLinearAveragePool inner block padded
    NoSuchOperator
"""
_DOMAINS: Final = ("", "ai.onnx", "com.microsoft", "local", "ai.onnx.ml", "nowhere")
POOLS: Final[dict[tuple[str, str], Sequence[Any]]] = {
    ("NodeProto", "op_type"): ("", *_OPERATORS.split()),
    ("NodeProto", "domain"): _DOMAINS,
    ("OperatorSetIdProto", "domain"): _DOMAINS,
    ("OperatorSetIdProto", "version"): (*range(1, onnx.defs.onnx_opset_version() + 2), *INTEGERS),
    ("FunctionProto", "domain"): _DOMAINS,
    ("FunctionProto", "name"): ("Conv", "Pad", "inner", "block", "", "Identity"),
    ("AttributeProto", "name"): ("", *_ATTRIBUTES.split()),
    ("AttributeProto", "ref_attr_name"): ("s", "mode", "nosuch"),
    ("ModelProto", "ir_version"): (*range(14), *INTEGERS),
    ("TensorProto", "data_type"): TYPES,
    ("Tensor", "elem_type"): TYPES,
    ("SparseTensor", "elem_type"): TYPES,
    ("Map", "key_type"): TYPES,
    ("Dimension", "dim_param"): ("n", "h", "a b", "2*h", "\n", "h" * 500),
    # What `onnxpad` itself records, and cannot rely on, and where data outside lies.
    ("StringStringEntryProto", "key"): (
        *(recorded.METADATA,) * 3, "location", "offset", "length", "nosuch",
    ),
    ("StringStringEntryProto", "value"): (
        "", "[]", "{}", "[[]]", "1", "null", '{"a": 1}', '[{"a": null}]', '{"h": [1, 2]}', "[" * 9,
        '[["FoldPad", "y", 1]]', '{"h": "2**63"}', '{"x": {"2": 99999999999999}}',
        "w.bin", "../w.bin", "-1", "9" * 30, "\x00",
    ),
}  # fmt: skip
"""What a field is set to, by message and field; other fields by their type."""
NAMED: Final = ("input", "output", "name", "tensor_name")
"""Fields that hold names of tensors."""
KINDS: Final[dict[str, str]] = {
    "INT": "i", "INTS": "ints", "FLOAT": "f", "FLOATS": "floats", "STRING": "s",
    "STRINGS": "strings", "TENSOR": "t", "TENSORS": "tensors", "GRAPH": "g", "GRAPHS": "graphs",
    "SPARSE_TENSOR": "sparse_tensor", "TYPE_PROTO": "tp",
}  # fmt: skip
"""The field of an attribute that its type says."""


def holders(model: onnx.ModelProto) -> list[Holder]:
    """The main graph, the functions, and the bodies in all of them."""
    return [each for each in messages(model) if isinstance(each, Holder)]


def nodes(model: onnx.ModelProto) -> list[tuple[Holder, NodeProto]]:
    """All nodes, each with the graph or function that holds it."""
    return [(holder, node) for holder in holders(model) for node in holder.node]


def messages(message: Message) -> Iterator[Message]:
    """A message and all inside."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for each in [value] if isinstance(value, Message) else value:
                yield from messages(each)


def listed(value: Any) -> bool:
    """Whether the value of a field is a list."""
    return hasattr(value, "extend")


class Damage:
    """Damages one model by what a random generator draws."""

    def __init__(self, draw: random.Random, model: onnx.ModelProto) -> None:
        self.draw, self.model = draw, model
        self.kinds: dict[str, list[Any]] = {}
        for each in messages(model):
            self.kinds.setdefault(each.DESCRIPTOR.name, []).append(each)
        named = [each for field in NAMED for each in self.held(field)]
        self.names = [*dict.fromkeys(named), "", "new"]

    def held(self, field: str) -> Iterator[Any]:
        for kind in ("NodeProto", "ValueInfoProto", "TensorProto"):
            for message in self.kinds.get(kind, ()):
                value = getattr(message, field, "")
                yield from [value] if isinstance(value, str | bytes) else value

    def one(self, kind: str) -> Any:
        """One message of a kind, or a new one that is not part of the model."""
        found = self.kinds.get(kind)
        return self.draw.choice(found) if found else getattr(onnx, kind)()

    def value(self, message: Message, field: Any) -> Any:
        """A value for a field, or for an element of a list: often an unlikely one."""
        kind = message.DESCRIPTOR.name
        if (kind, field.name) in POOLS:
            return self.draw.choice(POOLS[kind, field.name])
        if field.type == field.TYPE_MESSAGE:
            copy = field.message_type._concrete_class()  # protobuf dies of a graph inside itself
            found = self.kinds.get(field.message_type.name)
            if found and self.draw.random() < 0.8:
                copy.CopyFrom(self.draw.choice(found))
            return copy
        if field.type == field.TYPE_ENUM:
            return self.draw.choice(field.enum_type.values).number
        if field.type == field.TYPE_STRING:
            return self.draw.choice(self.names if field.name in NAMED else WORDS)
        if field.type == field.TYPE_BYTES:
            some = self.draw.randbytes(self.draw.choice((0, 1, 3, 8, 64)))
            words = [word.encode() for word in WORDS]
            return some if field.name == "raw_data" else self.draw.choice((*words, b"\xff\xfe"))
        if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
            return self.draw.choice(FLOATS)
        return self.draw.choice(INTEGERS)

    def put(self, message: Message, field: Any) -> None:
        """Sets a field, or an element of a list, or adds one."""
        made = self.value(message, field)
        try:
            self._put(getattr(message, field.name), made, message, field.name)
        except ValueError:  # the field has 32 bits, or no sign
            self._put(getattr(message, field.name), 1, message, field.name)

    def _put(self, held: Any, made: Any, message: Message, name: str) -> None:
        if isinstance(held, Message):
            held.CopyFrom(made)
        elif not listed(held):
            setattr(message, name, made)
        elif not held or self.draw.random() < 0.5:
            held.insert(self.draw.choice((len(held), self.draw.randrange(len(held) + 1))), made)
        elif isinstance(made, Message):
            self.draw.choice(held).CopyFrom(made)
        else:
            held[self.draw.randrange(len(held))] = made

    # What can be wrong

    def field(self) -> None:
        """Any field of any message: set, cleared, or with one element more, less, or elsewhere."""
        message = self.one(self.draw.choice([*self.kinds]))
        fields = message.DESCRIPTOR.fields
        some = [field for field, _ in message.ListFields()]
        field = self.draw.choice(some if some and self.draw.random() < 0.7 else fields)
        held = getattr(message, field.name)
        match self.draw.randrange(8):
            case 0:
                message.ClearField(field.name)
            case 1 | 2 if listed(held) and held:
                del held[self.draw.randrange(len(held))]
            case 3 if listed(held) and held:  # twice, or elsewhere
                held.insert(self.draw.randrange(len(held) + 1), self.draw.choice(held))
            case 4 if listed(held) and len(held) > 1:
                order = self.draw.sample([*held], len(held))
                copies = [type(each).FromString(each.SerializeToString()) for each in order
                          if isinstance(each, Message)]  # fmt: skip
                del held[:]
                held.extend(copies or order)
            case _:
                self.put(message, field)

    def attribute(self) -> None:
        """An attribute of another kind; its name stays."""
        item = self.one("AttributeProto")
        name, kind = item.name, self.draw.choice([*KINDS])
        copy = AttributeProto(name=name, type=AttributeProto.AttributeType.Value(kind))
        field = AttributeProto.DESCRIPTOR.fields_by_name[KINDS[kind]]
        for _ in range(self.draw.choice((0, 1, 2, 3, 4, 8))):
            self.put(copy, field)
        item.CopyFrom(copy)

    def wired(self) -> None:
        """A node reads or writes other tensors."""
        node = self.one("NodeProto")
        field = self.draw.choice((node.input, node.output))
        if field and self.draw.random() < 0.7:
            field[self.draw.randrange(len(field))] = self.draw.choice(self.names)
        else:
            field.append(self.draw.choice(self.names))

    def operator(self) -> None:
        """A node of another operator, or domain."""
        node = self.one("NodeProto")
        self.put(node, node.DESCRIPTOR.fields_by_name[self.draw.choice(("op_type", "domain"))])

    def one_name(self) -> None:
        """One tensor has another name, wherever it is."""
        old, new = self.draw.choice(self.names), self.draw.choice(WORDS)
        for node in self.kinds.get("NodeProto", ()):
            for field in (node.input, node.output):
                field[:] = [new if name == old else name for name in field]

    def node_dead(self) -> None:
        """A copy of a node whose outputs nothing reads."""
        found = nodes(self.model)
        if found:
            holder, node = self.draw.choice(found)
            copy = holder.node.add()
            copy.CopyFrom(node)
            copy.name = f"{node.name}_dead"
            copy.output[:] = [name and f"{name}_dead" for name in node.output]

    def claimed(self) -> None:
        """A shape in `value_info`, of any tensor."""
        value = self.draw.choice([*holders(self.model), self.model.graph]).value_info.add()
        value.name = self.draw.choice(self.names)
        value.type.tensor_type.elem_type = self.draw.choice((1, 7, *TYPES))
        for _ in range(self.draw.choice((0, 1, 4))):
            value.type.tensor_type.shape.dim.add().dim_value = self.draw.choice(INTEGERS)

    def noted(self) -> None:
        """Metadata."""
        entry = self.model.metadata_props.add()
        for field in entry.DESCRIPTOR.fields:
            self.put(entry, field)

    def not_utf8(self) -> None:
        """A string that is none: protobuf reads it as bytes."""
        kinds = [each for found in self.kinds.values() for each in found]
        message = self.draw.choice(kinds)
        fields = [each for each in message.DESCRIPTOR.fields if each.type == each.TYPE_STRING]
        if fields:
            name = self.draw.choice(fields).name
            if isinstance(getattr(message, name), str | bytes):
                setattr(message, name, "QZ!")
            else:
                getattr(message, name).append("QZ!")
            data = self.model.SerializeToString()
            self.model.ParseFromString(data.replace(b"QZ!", b"\xff\xfea"))


Mutation: TypeAlias = tuple[str, int]
"""What becomes wrong, and the seed of how and where."""
SHARES: Final = {
    "field": 24, "attribute": 6, "wired": 4, "operator": 4, "one_name": 2, "node_dead": 2,
    "claimed": 2, "noted": 1, "not_utf8": 1,
}  # fmt: skip


def mutations(draw: random.Random) -> list[Mutation]:
    """One to three."""
    kinds = draw.choices([*SHARES], [*SHARES.values()], k=draw.choice((1, 1, 1, 2, 3)))
    return [(kind, draw.randrange(2**32)) for kind in kinds]


def damaged(model: onnx.ModelProto, done: Sequence[Mutation]) -> onnx.ModelProto:
    """A copy of a model with something wrong."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for kind, seed in done:
        make: Callable[[], None] = getattr(Damage(random.Random(seed), copy), kind)
        make()
    return copy
