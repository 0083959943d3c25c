"""Smaller models with the same defect: nodes, outputs and constants are taken away one by one."""

from collections.abc import Callable, Iterator

import onnx

from tests.random_models.naive import walk

Wrong = Callable[[onnx.ModelProto], bool]


def shrink(model: onnx.ModelProto, wrong: Wrong) -> onnx.ModelProto:
    """The smallest model found that is still wrong."""
    improved = True
    while improved:
        improved = False
        for smaller in candidates(model):
            if wrong(smaller):
                model, improved = smaller, True
                break
    return model


def candidates(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Models with one thing less, the largest things first."""
    for index in range(len(model.graph.output)):
        if len(model.graph.output) > 1:
            smaller = copy(model)
            del smaller.graph.output[index]
            yield pruned(smaller)
    places = list(walk(model))
    for at, (holder, position, _) in reversed(list(enumerate(places))):
        node = holder.node[position]
        if not node.input or node.op_type in ("Identity", "Constant"):
            continue
        for body in [a.name for a in node.attribute if a.HasField("g") and node.op_type == "If"]:
            yield from inlined(model, at, body)
        for operand in range(min(len(node.input), 2)):
            smaller = copy(model)
            found, index, _ = list(walk(smaller))[at]
            same = found.node[index]
            kept = same.input[operand]
            if not kept:
                continue
            results = list(same.output)
            same.Clear()
            same.op_type = "Identity"
            same.input.append(kept)
            same.output.append(results[0])
            yield pruned(smaller)
    for at, (holder, position, _) in enumerate(places):
        if holder.node[position].op_type == "Identity":
            smaller = copy(model)
            found, index, _ = list(walk(smaller))[at]
            if bypassed(smaller, found.node[index]):
                del found.node[index]
                yield pruned(smaller)
    for at, (holder, position, _) in enumerate(places):
        for number, attribute in enumerate(holder.node[position].attribute):
            if not attribute.HasField("g") and attribute.name not in ("perm", "axis", "to"):
                smaller = copy(model)
                found, index, _ = list(walk(smaller))[at]
                del found.node[index].attribute[number]
                yield smaller
    for number in range(len(model.graph.value_info)):
        smaller = copy(model)
        del smaller.graph.value_info[number]
        yield smaller


def copy(model: onnx.ModelProto) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    return result


def inlined(model: onnx.ModelProto, at: int, body: str) -> Iterator[onnx.ModelProto]:
    """The model with an If replaced by one of its branches."""
    smaller = copy(model)
    holder, index, _ = list(walk(smaller))[at]
    node = holder.node[index]
    (graph,) = [a.g for a in node.attribute if a.name == body]
    if not isinstance(holder, onnx.GraphProto) and graph.initializer:
        return
    nodes = [*holder.node[:index], *graph.node]
    for value, name in zip(graph.output, node.output, strict=True):
        nodes.append(onnx.helper.make_node("Identity", [value.name], [name]))
    nodes += holder.node[index + 1 :]
    if isinstance(holder, onnx.GraphProto):
        holder.initializer.extend(graph.initializer)
    kept = [copy_node(each) for each in nodes]
    del holder.node[:]
    holder.node.extend(kept)
    yield pruned(smaller)


def copy_node(node: onnx.NodeProto) -> onnx.NodeProto:
    result = onnx.NodeProto()
    result.CopyFrom(node)
    return result


def bypassed(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Connect the readers of an Identity to what it reads; False if both names are needed."""
    name, source = node.output[0], node.input[0]

    def outputs(graph: onnx.GraphProto) -> Iterator[str]:
        yield from (value.name for value in graph.output)
        for each in graph.node:
            for attribute in each.attribute:
                if attribute.HasField("g"):
                    yield from outputs(attribute.g)

    given = {*outputs(model.graph), *(n for f in model.functions for n in f.output)}
    made = {each for holder, i, _ in walk(model) for each in holder.node[i].output}
    if name in given:
        if source in given or source not in made:
            return False
        name, source = source, name
    for holder, index, _ in walk(model):
        reader = holder.node[index]
        for at, read in enumerate(reader.input):
            if read == name:
                reader.input[at] = source
        for at, written in enumerate(reader.output):
            if written == name and reader is not node:
                reader.output[at] = source
    return True


def pruned(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without nodes, constants and inputs that nothing reads."""
    while True:
        read = {name for holder, i, _ in walk(model) for name in holder.node[i].input}
        read |= {value.name for value in model.graph.output}
        for function in model.functions:
            read |= set(function.output)
        for holder, i, _ in walk(model):
            for attribute in holder.node[i].attribute:
                if attribute.HasField("g"):
                    read |= {value.name for value in attribute.g.output}
        dead = [
            (holder, i)
            for holder, i, _ in walk(model)
            if not read.intersection(filter(None, holder.node[i].output))
        ]
        for holder, i in reversed(dead):
            del holder.node[i]
        if not dead:
            break
    called = {holder.node[i].op_type for holder, i, _ in walk(model)}
    for number in reversed(range(len(model.functions))):
        if model.functions[number].name not in called:
            del model.functions[number]
    for holder, _, _ in [*walk(model), (model.graph, 0, "")]:
        if isinstance(holder, onnx.GraphProto):
            for number in reversed(range(len(holder.initializer))):
                if holder.initializer[number].name not in read:
                    del holder.initializer[number]
    for number in reversed(range(1, len(model.graph.input))):
        if model.graph.input[number].name not in read:
            del model.graph.input[number]
    return model
