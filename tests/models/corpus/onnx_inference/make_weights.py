"""Write weights.onnx: a linear layer and a softmax, as the bytes of its protocol buffer.

    python make_weights.py

So that no package for writing ONNX files is needed. Field numbers are those of onnx.proto (IR version 8, opset 17).
"""

import struct


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def data(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def tensor(name: str, shape: list[int], values: list[float]) -> bytes:
    dims = b"".join(number(1, n) for n in shape)
    return dims + number(2, 1) + data(8, name) + data(9, struct.pack(f"<{len(values)}f", *values))


def value_info(name: str, shape: list[int]) -> bytes:
    dims = b"".join(data(1, number(1, n)) for n in shape)
    return data(1, name) + data(2, data(1, number(1, 1) + data(2, dims)))


def node(op: str, inputs: list[str], output: str) -> bytes:
    return b"".join(data(1, name) for name in inputs) + data(2, output) + data(4, op)


graph = (
    data(1, node("Gemm", ["x", "w", "b"], "z")) + data(1, node("Softmax", ["z"], "y")) + data(2, "linear")
    + data(5, tensor("w", [2, 3], [1, 0, -1, 0, 1, 1]))
    + data(5, tensor("b", [3], [0, 0, 0.5]))
    + data(11, value_info("x", [1, 2]))
    + data(12, value_info("y", [1, 3]))
)
if __name__ == "__main__":
    with open("weights.onnx", "wb") as file:
        file.write(number(1, 8) + data(7, graph) + data(8, data(1, "") + number(2, 17)))
