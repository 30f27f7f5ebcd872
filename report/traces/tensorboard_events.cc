#include "report/traces/tensorboard_events.h"

#include <array>
#include <cstring>

namespace penstock {
namespace {

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}();

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);  // as all machines that we run on have it
  return bytes;
}

std::string masked_crc(std::string_view data) {
  const std::uint32_t crc = crc32c(data);
  return little_endian(((crc >> 15) | (crc << 17)) + 0xA282EAD8U);
}

std::string record(const std::string& data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + masked_crc(length) + data + masked_crc(data);
}

// Protobuf's wire format: a field is its number and how it is written, then the value.
enum Wire : std::uint32_t { kVarint = 0, kEightBytes = 1, kLength = 2, kFourBytes = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  return bytes + static_cast<char>(value);
}
std::string key(std::uint32_t field, Wire wire) { return varint(field << 3 | wire); }

std::string number(std::uint32_t field, std::int64_t value) {
  return key(field, kVarint) + varint(static_cast<std::uint64_t>(value));
}
std::string number(std::uint32_t field, double value) {
  return key(field, kEightBytes) + little_endian(value);
}
std::string number(std::uint32_t field, float value) {
  return key(field, kFourBytes) + little_endian(value);
}
std::string bytes(std::uint32_t field, const std::string& value) {
  return key(field, kLength) + varint(value.size()) + value;
}

// event.proto: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7.
std::string event(double wall_time, const std::string& rest) {
  return record(number(1, wall_time) + rest);
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : data)
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string event_file_version(double wall_time) {
  return event(wall_time, bytes(3, "brain.Event:2"));
}

std::string event_of_restart(double wall_time, std::int64_t step) {
  constexpr std::int64_t kStart = 1;  // SessionLog.status = 1, of which START is 1
  return event(wall_time, number(2, step) + bytes(7, number(1, kStart)));
}

std::string event_of_scalars(double wall_time, std::int64_t step,
                             const std::vector<ScalarValue>& values) {
  std::string summary;  // Summary.value = 1; of a Value: tag = 1, simple_value = 2
  for (const ScalarValue& value : values) {
    summary += bytes(1, bytes(1, value.tag) + number(2, value.value));
  }
  return event(wall_time, number(2, step) + bytes(5, summary));
}

}  // namespace penstock
