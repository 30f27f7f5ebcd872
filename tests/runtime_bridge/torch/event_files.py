"""Reads TensorBoard's event files with Google's protobuf, by the fields that event.proto publishes.

events(path) yields tensorflow.Event messages, and raises ValueError where a checksum is wrong. No
code of ours: records as tensorflow/core/lib/io/record_writer.h describes them, checksums bit by bit.
"""

import struct

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
ONE, MANY = FIELD.LABEL_OPTIONAL, FIELD.LABEL_REPEATED
# github.com/tensorflow/tensorboard, tensorboard/compat/proto/{event,summary}.proto
MESSAGES = {
    "Value": [("tag", 1, FIELD.TYPE_STRING, ONE, ""), ("simple_value", 2, FIELD.TYPE_FLOAT, ONE, "")],
    "Summary": [("value", 1, FIELD.TYPE_MESSAGE, MANY, ".tensorflow.Value")],
    "SessionLog": [("status", 1, FIELD.TYPE_INT32, ONE, "")],
    "Event": [("wall_time", 1, FIELD.TYPE_DOUBLE, ONE, ""), ("step", 2, FIELD.TYPE_INT64, ONE, ""),
              ("file_version", 3, FIELD.TYPE_STRING, ONE, ""),
              ("summary", 5, FIELD.TYPE_MESSAGE, ONE, ".tensorflow.Summary"),
              ("session_log", 7, FIELD.TYPE_MESSAGE, ONE, ".tensorflow.SessionLog")],
}


def event_class():
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="tensorflow",
                                              syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, label, type_name in fields:
            message.field.add(name=field, number=number, type=kind, label=label,
                              type_name=type_name or None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("tensorflow.Event")
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def events(path):
    event = event_class()
    with open(path, "rb") as file:
        while length := file.read(8):
            checksum, = struct.unpack("<I", file.read(4))
            data = file.read(struct.unpack("<Q", length)[0])
            if checksum != masked_crc(length) or struct.unpack("<I", file.read(4))[0] != masked_crc(data):
                raise ValueError(f"{path}: a checksum is wrong")
            yield event.FromString(data)
