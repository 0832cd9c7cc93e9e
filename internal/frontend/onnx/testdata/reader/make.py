"""Writes official.onnx and tensors/ with ONNX's own Python package (1.12 or later), as outside truth for the reader.

    python3 make.py            # in this folder
"""
import os
import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper as nh, save

FLOAT = T.FLOAT


def vi(name, shape, t=FLOAT):
    return h.make_tensor_value_info(name, t, shape)


def reference(node, attr, kind, parameter):
    """Makes an attribute of node take its value from a parameter of the function around it."""
    a = node.attribute.add()
    a.name, a.type, a.ref_attr_name = attr, kind, parameter
    return node


A, OPSETS = h.AttributeProto, [h.make_opsetid("", 15), h.make_opsetid("local", 1)]

# scaled_leak(x, bias?) = LeakyRelu(x, alpha=slope), twice.
leak = h.make_function("local", "Leak2", ["x"], ["y"], [
    reference(h.make_node("LeakyRelu", ["x"], ["t"]), "alpha", A.FLOAT, "slope"),
    reference(h.make_node("LeakyRelu", ["t"], ["y"]), "alpha", A.FLOAT, "slope"),
], OPSETS, ["slope"])

# pick(c, x) = if c then Leak2(x) else -x: a graph in a body that calls another function and uses the body's input.
then = h.make_graph([reference(h.make_node("Leak2", ["x"], ["r"], domain="local"), "slope", A.FLOAT, "slope")],
                    "then", [], [vi("r", ["N", 3])])
other = h.make_graph([h.make_node("Neg", ["x"], ["r"])], "other", [], [vi("r", ["N", 3])])
pick = h.make_function("local", "Pick", ["c", "x"], ["y"], [
    h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other, name="choose"),
], OPSETS, ["slope"])

weights = nh.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")
typed = h.make_tensor("typed", T.INT8, [3], [-128, 0, 127])
sparse = h.make_sparse_tensor(h.make_tensor("sp", FLOAT, [2], [1.5, 2.5]), h.make_tensor("sp_index", T.INT64, [2], [1, 4]), [2, 3])
graph = h.make_graph([
    h.make_node("Add", ["x", "w"], ["a"], name="add"),
    h.make_node("Pick", ["cond", "a"], ["b"], domain="local", slope=0.25, name="pick"),
    h.make_node("Pick", ["cond", "b"], ["d"], domain="local", slope=0.5, name="pick2"),
    h.make_node("Add", ["d", "sp"], ["e"]),
    h.make_node("Custom", ["e", "", "typed"], ["out", ""], domain="local.ops", name="attrs",
                f=1.5, i=-7, s="text", t=weights, fs=[0.5, -0.5], is_=[1, -2, 3], ss=["a", "b"]),
], "main", [vi("x", ["N", 3]), vi("cond", [], T.BOOL)], [vi("out", ["N", 3])], [weights, typed],
    value_info=[vi("a", [None, 3])], sparse_initializer=[sparse])
model = h.make_model(graph, opset_imports=OPSETS + [h.make_opsetid("local.ops", 3)], functions=[leak, pick],
                     producer_name="make.py", ir_version=8)
h.set_model_props(model, {"key": "value"})
save(model, "official.onnx")

# One tensor of each type that holds elements in a typed field and in raw_data.
os.makedirs("tensors", exist_ok=True)
for name, kind, values in [
    ("float32", T.FLOAT, [1.5, -2.0]), ("float64", T.DOUBLE, [1.5, -2.0]), ("int8", T.INT8, [-128, 127]),
    ("uint8", T.UINT8, [0, 255]), ("int16", T.INT16, [-32768, 32767]), ("uint16", T.UINT16, [0, 65535]),
    ("int32", T.INT32, [-2**31, 2**31 - 1]), ("uint32", T.UINT32, [0, 2**32 - 1]),
    ("int64", T.INT64, [-2**63, 2**63 - 1]), ("uint64", T.UINT64, [0, 2**64 - 1]), ("bool", T.BOOL, [True, False]),
    ("float16", T.FLOAT16, [1.5, -2.0]), ("complex64", T.COMPLEX64, [1 + 2j, -3j]), ("complex128", T.COMPLEX128, [1 + 2j, -3j]),
]:
    t = h.make_tensor(name, kind, [2], values)
    raw = nh.from_array(np.array(values, name), name)
    for form, proto in (("typed", t), ("raw", raw)):
        with open(f"tensors/{name}.{form}.pb", "wb") as out:
            out.write(proto.SerializeToString())
with open("tensors/string.typed.pb", "wb") as out:
    out.write(h.make_tensor("string", T.STRING, [2], [b"a", b"\xc3\xa9"]).SerializeToString())
