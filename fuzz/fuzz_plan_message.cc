// Plans of steps as they come from a store: whatever the bytes, they are read or refused by name,
// and what is read is written as the same again. The input is taken as it is, and with the sizes
// and the checksum set right, since else hardly any would come past those.
#include <cstring>

#include "fuzz/fuzz.h"
#include "runtime_bridge/checkpoint_checksum.h"
#include "runtime_bridge/plan_message.h"

namespace penstock {
namespace {

using fuzz::require;

// The fuzzer wants thousands of inputs a second.
constexpr std::uint64_t kMostActionsTried = 4096;
constexpr std::size_t kTextBytesAt = 40, kBodyBytesAt = 44, kChecksumAt = 48, kHeader = 56;

std::string set_right(std::string bytes) {
  if (bytes.size() < kHeader) return bytes;
  const auto body = static_cast<std::uint32_t>(bytes.size() - kHeader);
  std::memcpy(&bytes[kBodyBytesAt], &body, sizeof body);
  bytes[kTextBytesAt + 2] = bytes[kTextBytesAt + 3] = 0;  // at most 64 KiB of text
  const std::uint64_t checksum = xxh64(bytes.substr(0, kChecksumAt) + bytes.substr(kHeader));
  std::memcpy(&bytes[kChecksumAt], &checksum, sizeof checksum);
  return bytes;
}

void read_one(const std::string& bytes) {
  const auto planned = fuzz::accepted(bytes, [](const std::string& text) {
    return read_plan_message(text, "", fuzz::kFile, kMostActionsTried);
  });
  if (!planned) return;
  const PlanMessageHeader header = read_plan_message_header(bytes, fuzz::kFile);
  const std::string written = write_plan_message(header, *planned, "");
  require(read_plan_message_header(written, fuzz::kFile) == header, "another header");
  const PlannedStep again = read_plan_message(written, "", fuzz::kFile);
  require(*again.plan == *planned->plan, "written and read again it is another plan");
  require(again.samples->order == planned->samples->order, "other samples");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  penstock::read_one(bytes);
  penstock::read_one(penstock::set_right(bytes));
  return 0;
}
