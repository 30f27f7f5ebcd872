"""What the import scripts share: reading exact decimals, writing penstock files.

The scripts use Python's standard library only. Times stay decimal.Decimal from the source file to
ours, so that a published 5.78 is written as 5.78.
"""

import decimal
import json
import sys

Decimal = decimal.Decimal


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)


def number_text(value):
    """Decimals in plain notation without trailing zeros; integers as they are."""
    if not isinstance(value, Decimal):
        return json.dumps(value)
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def one_line(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {one_line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(one_line(v) for v in value) + "]"
    return number_text(value)


def is_flat(value):
    """Worth one line: holds no object that itself holds a list of objects."""
    if isinstance(value, dict):
        return not any(isinstance(v, (dict, list)) for v in value.values())
    return isinstance(value, list) and len(one_line(value)) <= 90


def layout(value, indent=0):
    """JSON with two-space indent and one line per measurement, source, section or point."""
    pad = "  " * (indent + 1)
    if not isinstance(value, (dict, list)) or (indent > 0 and is_flat(value)):
        return one_line(value)
    if isinstance(value, dict):
        lines = [f"{pad}{json.dumps(k)}: {layout(v, indent + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + "  " * indent + "}"
    lines = [pad + layout(v, indent + 1) for v in value]
    return "[\n" + ",\n".join(lines) + "\n" + "  " * indent + "]"


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(layout(value) + "\n")


def to_bytes(megabytes):
    """Published megabytes (10^6 bytes) as whole bytes."""
    return int((megabytes * 1000000).to_integral_value(decimal.ROUND_HALF_UP))


def padded(vocabulary, tensor_degree):
    """Megatron pads the vocabulary to a multiple of 128 T."""
    multiple = 128 * tensor_degree
    return -(-vocabulary // multiple) * multiple


def arguments(usage, count):
    if len(sys.argv) != count + 1:
        sys.exit(f"usage: {sys.argv[0]} {usage}")
    return sys.argv[1:]
