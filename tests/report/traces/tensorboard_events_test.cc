// Expected bytes: TensorBoard's own code (github.com/tensorflow/tensorboard, HEAD of 2026-11), by
//
//   from tensorboard.compat.proto import event_pb2, summary_pb2
//   from tensorboard.summary.writer.record_writer import RecordWriter
//   def record(event):
//       out = io.BytesIO(); RecordWriter(out).write(event.SerializeToString())
//       return out.getvalue().hex()
//   record(event_pb2.Event(wall_time=1700000000.5, ...))
#include "report/traces/tensorboard_events.h"

#include <limits>

#include <doctest/doctest.h>

namespace penstock {
namespace {

constexpr double kTime = 1700000000.5;

std::string hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

TEST_CASE("the checksum of records is that of iSCSI") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  // RFC 3720, appendix B.4.
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43U);
}

TEST_CASE("an event file begins as TensorBoard's own do") {
  // file_version="brain.Event:2"
  CHECK(hex(event_file_version(kTime)) ==
        "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b353110");
}

TEST_CASE("a restart is written as TensorBoard writes it") {
  // step=300, session_log=SessionLog(status=START)
  CHECK(hex(event_of_restart(kTime, 300)) ==
        "100000000000000095fbfe180900002040fc54d94110ac023a020801b94512a3");
}

TEST_CASE("scalars are written as TensorBoard writes them") {
  // step=7, summary=Summary(value=[Value(tag="train/loss", simple_value=2.5),
  //                                Value(tag="validation/loss", simple_value=inf)])
  CHECK(hex(event_of_scalars(
            kTime, 7,
            {{"train/loss", 2.5F}, {"validation/loss", std::numeric_limits<float>::infinity()}})) ==
        "3800000000000000a3797d570900002040fc54d94110072a2b0a110a0a747261696e2f6c6f73731500002040"
        "0a160a0f76616c69646174696f6e2f6c6f7373150000807feca39fe0");
}

}  // namespace
}  // namespace penstock
