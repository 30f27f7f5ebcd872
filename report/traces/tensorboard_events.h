// What TensorBoard reads: files of records, each a tensorflow.Event. Bytes only; who writes them
// knows the time.
//
// A record (TensorFlow's TFRecord) is the length of its data in 8 bytes, a checksum of these, the
// data, a checksum of the data; all little-endian, checksums being CRC-32C turned and shifted so
// that records may hold records. An Event (tensorflow/core/util/event.proto) is a protobuf message,
// of which a run needs five fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ScalarValue {
  std::string tag;  // "train/loss"; what stands before the slash is a group of charts
  float value = 0.0F;
};

// The first record of every file.
std::string event_file_version(double wall_time);
// Of a run that goes on: what the folder says of this step and of later ones is void.
std::string event_of_restart(double wall_time, std::int64_t step);
std::string event_of_scalars(double wall_time, std::int64_t step,
                             const std::vector<ScalarValue>& values);

// Castagnoli's polynomial, as iSCSI has it (RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view data);

}  // namespace penstock
