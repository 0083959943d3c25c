"""Damages models: what an exporter, a tool or a hand could write wrongly, in random places."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, helper

from onnxpad.facts import recorded

Holder: TypeAlias = onnx.GraphProto | onnx.FunctionProto

INTEGERS: Final = (0, 1, -1, 2, 3, 4, 7, 64, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))
FLOATS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-38, 1e38, -1e38, float("inf"), float("nan"))
WORDS: Final = (
    b"", b"constant", b"constants", b"reflect", b"edge", b"wrap", b"SAME_UPPER", b"SAME_LOWER",
    b"VALID", b"NOTSET", b"SAME", b"nearest", b"linear", b"\xff\xfe", b"x", b"NHWC", b"CRD", b"1",
    b"Relu", b"half_pixel", b"zeros", b"bilinear", b"ij,jk->ik", b"...",
)  # fmt: skip
_NAMES: Final = """
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
NAMES: Final = ("", *_NAMES.split())
OPERATORS: Final = ("", *_OPERATORS.split())
DOMAINS: Final = ("", "ai.onnx", "com.microsoft", "local", "ai.onnx.ml", "nowhere")
TYPES: Final = (*range(27), 99, 2**31 - 1, -1)
PARTS: Final = 6
"""Most nodes deep that are searched for something to damage."""


def holders(model: onnx.ModelProto) -> list[Holder]:
    """The main graph, the functions, and the bodies in all of them."""
    found: list[Holder] = [model.graph, *model.functions]
    for holder in found:  # grows meanwhile
        for node in holder.node:
            for attribute in node.attribute:
                found += [attribute.g] * attribute.HasField("g")
                found += attribute.graphs
        if len(found) > PARTS * 100:
            break
    return found


def nodes(model: onnx.ModelProto) -> list[tuple[Holder, NodeProto]]:
    """All nodes, each with the graph or function that holds it."""
    return [(holder, node) for holder in holders(model) for node in holder.node]


def names(holder: Holder) -> list[str]:
    """The tensors that a graph or function names."""
    found = [name for node in holder.node for name in (*node.input, *node.output)]
    if isinstance(holder, onnx.GraphProto):
        found += [value.name for value in (*holder.input, *holder.initializer, *holder.output)]
    return list(dict.fromkeys(found)) or [""]


def tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """All constants."""
    for holder in holders(model):
        if isinstance(holder, onnx.GraphProto):
            yield from holder.initializer
            yield from (sparse.values for sparse in holder.sparse_initializer)
    for _, node in nodes(model):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


class Damage:
    """Damages one model by what a random generator draws."""

    def __init__(self, draw: random.Random, model: onnx.ModelProto) -> None:
        self.draw = draw
        self.model = model

    def node(self) -> tuple[Holder, NodeProto]:
        found = nodes(self.model)
        return self.draw.choice(found) if found else (self.model.graph, self.model.graph.node.add())

    def attribute(self) -> AttributeProto:
        found = [item for _, node in nodes(self.model) for item in node.attribute]
        chosen: AttributeProto = self.draw.choice(found or [self.node()[1].attribute.add()])
        return chosen

    def integer(self) -> int:
        return self.draw.choice(INTEGERS)

    def kind(self) -> "AttributeProto.AttributeType":
        kinds: list[AttributeProto.AttributeType] = AttributeProto.AttributeType.values()
        return self.draw.choice(kinds)

    def word(self) -> bytes:
        return self.draw.choice(WORDS)

    def tensor(self) -> TensorProto:
        """A new small constant."""
        kind = self.draw.choice((TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING))
        shape = self.draw.choice(((), (0,), (1,), (2,), (4,), (8,), (1, 2)))
        count = 1
        for size in shape:
            count *= size
        given: list[Any] = [self.draw.choice(INTEGERS) for _ in range(count)]
        if kind == TensorProto.STRING:
            given = [b"a"] * count
        elif kind == TensorProto.FLOAT:
            given = [self.draw.choice(FLOATS) for _ in range(count)]
        return helper.make_tensor("t", kind, shape, given)

    def fill(self, item: AttributeProto) -> None:
        """Gives an attribute a value of another kind; its name stays."""
        name, body = item.name, self.body()
        item.Clear()
        item.name = name
        count = self.draw.choice((0, 1, 2, 3, 4, 8))
        match self.draw.randrange(13):
            case 0:
                item.type, item.i = AttributeProto.INT, self.integer()
            case 1:
                item.type = AttributeProto.INTS
                item.ints.extend(self.integer() for _ in range(count))
            case 2:
                item.type, item.f = AttributeProto.FLOAT, self.draw.choice(FLOATS)
            case 3:
                item.type = AttributeProto.FLOATS
                item.floats.extend(self.draw.choice(FLOATS) for _ in range(count))
            case 4:
                item.type, item.s = AttributeProto.STRING, self.word()
            case 5:
                item.type = AttributeProto.STRINGS
                item.strings.extend(self.word() for _ in range(count))
            case 6:
                item.type = AttributeProto.TENSOR
                item.t.CopyFrom(self.tensor())
            case 7:
                item.type = AttributeProto.TENSORS
                item.tensors.extend(self.tensor() for _ in range(count))
            case 8:
                item.type = AttributeProto.GRAPH
                item.g.CopyFrom(body)
            case 9:
                item.type = AttributeProto.GRAPHS
                item.graphs.extend([body] * min(count, 2))
            case 10:
                item.type = AttributeProto.SPARSE_TENSOR
                item.sparse_tensor.values.CopyFrom(self.tensor())
                item.sparse_tensor.indices.CopyFrom(self.tensor())
                item.sparse_tensor.dims.extend(self.integer() for _ in range(count))
            case 11:
                item.type = AttributeProto.TYPE_PROTO
                self.retype(item.tp)
            case _:
                item.type = self.kind()
                item.ref_attr_name = self.draw.choice(("s", "mode", "nosuch"))

    def body(self) -> onnx.GraphProto:
        """An empty graph, or a copy of one in the model."""
        found = [each for each in holders(self.model)[1:] if isinstance(each, onnx.GraphProto)]
        copy = onnx.GraphProto()  # protobuf dies of a graph that is copied into itself
        copy.CopyFrom(self.draw.choice([onnx.GraphProto(), *found]))
        return copy

    def retype(self, kind: onnx.TypeProto) -> None:
        """Makes a type another one."""
        known = kind.tensor_type if kind.HasField("tensor_type") else onnx.TypeProto.Tensor()
        tensor = onnx.TypeProto.Tensor()
        tensor.CopyFrom(known)
        match self.draw.randrange(10):
            case 0:
                kind.Clear()
            case 1:
                kind.sequence_type.elem_type.tensor_type.CopyFrom(tensor)
            case 2:
                kind.optional_type.elem_type.tensor_type.CopyFrom(tensor)
            case 3:
                kind.map_type.key_type = self.draw.choice(TYPES)
                kind.map_type.value_type.tensor_type.CopyFrom(tensor)
            case 4:
                kind.sparse_tensor_type.elem_type = tensor.elem_type
                kind.sparse_tensor_type.shape.CopyFrom(tensor.shape)
            case 5:
                kind.tensor_type.ClearField("shape")
            case 6:
                kind.tensor_type.elem_type = self.draw.choice(TYPES)
            case 7:
                kind.tensor_type.shape.dim.add().dim_value = self.integer()
            case 8 if tensor.shape.dim:
                del kind.tensor_type.shape.dim[self.draw.randrange(len(tensor.shape.dim))]
            case _ if tensor.shape.dim:
                dim = self.draw.choice(kind.tensor_type.shape.dim)
                dim.Clear()
                match self.draw.randrange(3):
                    case 0:
                        dim.dim_value = self.integer()
                    case 1:
                        dim.dim_param = self.draw.choice(("n", "h", "a b", "2*h", "\n", "h" * 500))

    # What can be wrong

    def attribute_of_another_kind(self) -> None:
        self.fill(self.attribute())

    def attribute_value(self) -> None:
        item = self.attribute()
        if item.ints:
            index = self.draw.randrange(len(item.ints))
            match self.draw.randrange(4):
                case 0:
                    item.ints.append(self.integer())
                case 1:
                    del item.ints[index]
                case 2:
                    item.ClearField("ints")
                case _:
                    item.ints[index] = self.integer()
        elif item.floats:
            item.floats[self.draw.randrange(len(item.floats))] = self.draw.choice(FLOATS)
        elif item.HasField("s"):
            item.s = self.word()
        elif item.HasField("f"):
            item.f = self.draw.choice(FLOATS)
        else:
            item.i = self.integer()

    def attribute_type_field(self) -> None:
        self.attribute().type = self.kind()

    def attribute_name(self) -> None:
        self.attribute().name = self.draw.choice(NAMES)

    def attribute_dropped(self) -> None:
        found = [node for _, node in nodes(self.model) if node.attribute]
        if found:
            node = self.draw.choice(found)
            del node.attribute[self.draw.randrange(len(node.attribute))]

    def attribute_added(self) -> None:
        item = self.node()[1].attribute.add()
        item.name = self.draw.choice(NAMES)
        self.fill(item)

    def operator(self) -> None:
        self.node()[1].op_type = self.draw.choice(OPERATORS)

    def domain(self) -> None:
        self.node()[1].domain = self.draw.choice(DOMAINS)

    def inputs(self) -> None:
        holder, node = self.node()
        if not node.input:
            node.input.append(self.draw.choice(names(holder)))
            return
        index = self.draw.randrange(len(node.input))
        match self.draw.randrange(6):
            case 0:
                del node.input[index]
            case 1:
                node.input[index] = ""
            case 2:
                other = self.draw.randrange(len(node.input))
                node.input[index], node.input[other] = node.input[other], node.input[index]
            case 3:
                node.input[index] = self.draw.choice(names(holder))
            case 4:
                node.input.append(self.draw.choice((*names(holder), "")))
            case _:
                node.ClearField("input")

    def outputs(self) -> None:
        holder, node = self.node()
        if not node.output:
            node.output.append("another")
            return
        index = self.draw.randrange(len(node.output))
        match self.draw.randrange(5):
            case 0:
                del node.output[index]
            case 1:
                node.output[index] = ""
            case 2:
                node.output[index] = self.draw.choice(names(holder))
            case 3:
                node.output.append(self.draw.choice(("more", "")))
            case _:
                node.output.insert(0, "")

    def one_name(self) -> None:
        holder, node = self.node()
        old, new = self.draw.choice(names(holder)), self.draw.choice(("", "\n", "x" * 500, "x"))
        for each in holder.node:
            for field in (each.input, each.output):
                for index, name in enumerate(field):
                    if name == old:
                        field[index] = new
        node.name = self.draw.choice((new, "a", "\x00", "*"))

    def node_again(self) -> None:
        holder, node = self.node()
        holder.node.insert(self.draw.randrange(len(holder.node) + 1), node)

    def node_gone(self) -> None:
        holder, _ = self.node()
        if holder.node:
            del holder.node[self.draw.randrange(len(holder.node))]

    def node_dead(self) -> None:
        """A copy of a node whose outputs nothing reads."""
        holder, node = self.node()
        copy = holder.node.add()
        copy.CopyFrom(node)
        copy.name = f"{node.name}_dead"
        for index, name in enumerate(node.output):
            copy.output[index] = name and f"{name}_dead"

    def nodes_reversed(self) -> None:
        holder, _ = self.node()
        found = list(holder.node)[::-1]
        holder.ClearField("node")
        holder.node.extend(found)

    def graph_outputs(self) -> None:
        holder, _ = self.node()
        if isinstance(holder, onnx.FunctionProto):
            holder.output.append(self.draw.choice(names(holder)))
        elif self.draw.random() < 0.3 and holder.output:
            del holder.output[self.draw.randrange(len(holder.output))]
        else:
            value = holder.output.add()
            value.name = self.draw.choice(names(holder))
            self.retype(value.type)

    def graph_inputs(self) -> None:
        holder, _ = self.node()
        if isinstance(holder, onnx.FunctionProto):
            if holder.input and self.draw.random() < 0.5:
                del holder.input[self.draw.randrange(len(holder.input))]
            else:
                holder.input.append(self.draw.choice((*names(holder), "new")))
        elif self.draw.random() < 0.4 and holder.input:
            del holder.input[self.draw.randrange(len(holder.input))]
        else:
            value = holder.input.add()
            value.name = self.draw.choice((*names(holder), "new"))
            self.retype(value.type)

    def declared(self) -> None:
        found = [
            value
            for holder in holders(self.model)
            if isinstance(holder, onnx.GraphProto)
            for value in (*holder.input, *holder.output, *holder.value_info)
        ]
        if found:
            self.retype(self.draw.choice(found).type)

    def claimed(self) -> None:
        """A shape in `value_info`, of any tensor."""
        holder, _ = self.node()
        value = holder.value_info.add()
        value.name = self.draw.choice(names(holder))
        value.type.tensor_type.elem_type = self.draw.choice((1, 7, *TYPES))
        for _ in range(self.draw.choice((0, 1, 4))):
            value.type.tensor_type.shape.dim.add().dim_value = self.integer()

    def constant(self) -> None:
        found = list(tensors(self.model))
        if not found:
            return
        tensor = self.draw.choice(found)
        match self.draw.randrange(9):
            case 0:
                tensor.data_type = self.draw.choice(TYPES)
            case 1:
                tensor.dims.append(self.integer())
            case 2 if tensor.dims:
                del tensor.dims[self.draw.randrange(len(tensor.dims))]
            case 3 if tensor.dims:
                tensor.dims[self.draw.randrange(len(tensor.dims))] = self.integer()
            case 4:
                tensor.raw_data = self.draw.randbytes(self.draw.choice((0, 1, 3, 8, 64)))
            case 5:
                tensor.CopyFrom(self.tensor())
            case 6:
                tensor.data_location = TensorProto.EXTERNAL
                entry = tensor.external_data.add()
                entry.key = self.draw.choice(("location", "offset", "length", "nosuch"))
                entry.value = self.draw.choice(("", "w.bin", "../w.bin", "-1", "9" * 30, "\x00"))
            case 7 if tensor.int64_data:
                index = self.draw.randrange(len(tensor.int64_data))
                tensor.int64_data[index] = self.integer()
            case _ if tensor.float_data:
                index = self.draw.randrange(len(tensor.float_data))
                tensor.float_data[index] = self.draw.choice(FLOATS)

    def initializers(self) -> None:
        holder = self.draw.choice(
            [each for each in holders(self.model) if isinstance(each, onnx.GraphProto)]
        )
        found = holder.initializer
        match self.draw.randrange(4):
            case 0 if found:
                del found[self.draw.randrange(len(found))]
            case 1 if found:
                value = holder.input.add()
                value.name = self.draw.choice(found).name
                self.retype(value.type)
            case 2 if found:
                sparse, tensor = holder.sparse_initializer.add(), self.draw.choice(found)
                sparse.values.CopyFrom(tensor)
                sparse.indices.CopyFrom(self.tensor())
                sparse.dims.extend(tensor.dims)
                found.remove(tensor)
            case _:
                tensor = found.add()
                tensor.CopyFrom(self.tensor())
                tensor.name = self.draw.choice((*names(holder), "new"))

    def opsets(self) -> None:
        holder = self.draw.choice((self.model, *self.model.functions))
        found = holder.opset_import
        match self.draw.randrange(4):
            case 0:
                del found[:]
            case 1:
                found.add().domain = self.draw.choice(DOMAINS)
            case _ if found:
                last = onnx.defs.onnx_opset_version()
                version = self.draw.choice((*range(1, last + 2), *INTEGERS))
                self.draw.choice(found).version = version

    def ir_version(self) -> None:
        self.model.ir_version = self.draw.choice((*range(14), *INTEGERS))

    def functions(self) -> None:
        found = self.model.functions
        match self.draw.randrange(5):
            case 0 if found:
                function = self.draw.choice(found)
                function.name = self.draw.choice(("Conv", "Pad", "inner", "block", "", "Identity"))
            case 1 if found:
                self.draw.choice(found).domain = self.draw.choice(DOMAINS)
            case 2 if found:
                del found[self.draw.randrange(len(found))]
            case 3 if found:
                _, node = self.node()
                function = self.draw.choice(found)
                node.op_type, node.domain = function.name, function.domain
            case _ if found:
                found.add().CopyFrom(self.draw.choice(found))

    def metadata(self) -> None:
        """What `onnxpad` itself records, and cannot rely on."""
        entry = self.model.metadata_props.add()
        entry.key = recorded.METADATA
        entry.value = self.draw.choice(
            ("", "[]", "{}", "[[]]", "1", "null", '{"a": 1}', '[{"a": null}]', '{"h": [1, 2]}',
             "[" * 9, '[["FoldPad", "y", 1]]', '{"h": "2**63"}', '{"x": {"2": 99999999999999}}')
        )  # fmt: skip

    def not_utf8(self) -> None:
        """A string that is none: protobuf reads it as bytes."""
        found: list[tuple[Any, str]] = []
        pending: list[Any] = [self.model]
        while pending:
            message = pending.pop()
            for field in message.DESCRIPTOR.fields:
                value = getattr(message, field.name)
                if field.type == field.TYPE_STRING:
                    found.append((message, field.name))
                elif field.type == field.TYPE_MESSAGE and not hasattr(value, "DESCRIPTOR"):
                    pending += value
                elif field.type == field.TYPE_MESSAGE and message.HasField(field.name):
                    pending.append(value)
        message, name = self.draw.choice(found)
        if isinstance(getattr(message, name), str | bytes):
            setattr(message, name, "QZ!")
        else:
            getattr(message, name).append("QZ!")
        data = self.model.SerializeToString()
        self.model.ParseFromString(data.replace(b"QZ!", b"\xff\xfea"))

    def graph_gone(self) -> None:
        self.model.ClearField("graph")
        if self.draw.random() < 0.5:
            self.model.graph.SetInParent()

    def graph_parts(self) -> None:
        holder, _ = self.node()
        field = self.draw.choice(("node", "output", "input", "name"))
        holder.ClearField(field)


RARE: Final = ("graph_gone", "graph_parts", "ir_version", "nodes_reversed", "metadata")
KINDS: Final[Sequence[str]] = tuple(
    name
    for name, each in vars(Damage).items()
    if callable(each)
    and name not in ("__init__", "node", "attribute", "integer", "kind", "word", "tensor")
    and name not in ("fill", "body", "retype")
)


Mutation: TypeAlias = tuple[str, int]
"""What becomes wrong, and the seed of how and where."""


def mutations(draw: random.Random) -> list[Mutation]:
    """One to three."""
    done = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        kind = draw.choice(KINDS)
        if kind in RARE and draw.random() < 0.7:
            kind = draw.choice(KINDS)
        done.append((kind, draw.randrange(2**32)))
    return done


def damaged(model: onnx.ModelProto, done: Sequence[Mutation]) -> onnx.ModelProto:
    """A copy of a model with something wrong."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for kind, seed in done:
        make: Callable[[], None] = getattr(Damage(random.Random(seed), copy), kind)
        make()
    return copy
