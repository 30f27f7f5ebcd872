// Files in PyTorch's form and what becomes of them, for the tests of
// trainers/pytorch/pipeline_csv.h.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/lower.h"
#include "simulator/simulate.h"
#include "trainers/pytorch/pipeline_csv.h"

namespace penstock::tests {

// 1F1B, P = 2, M = 3, as PyTorch pads it: rank 1 starts a slot later.
inline constexpr const char* kOneForwardOneBackward =
    "0F0,0F1,,0B0,0F2,0B1,,0B2\n"
    ",1F0,1B0,1F1,1B1,1F2,1B2\n";
inline constexpr const char* kWithoutBlanks =
    "0F0,0F1,0B0,0F2,0B1,0B2\n"
    "1F0,1B0,1F1,1B1,1F2,1B2\n";
// The same as PyTorch lowers it, for FSDP.
inline constexpr const char* kLowered =
    "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2,"
    "0REDUCE_GRAD,0RESHARD\n"
    "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1RECV_F2,1B1,1SEND_B1,1F2,1B2,1SEND_B2,"
    "1REDUCE_GRAD,1RESHARD\n";
// DualPipeV, P = 2, M = 4, by the eight steps of docs/schedules.md.
inline constexpr const char* kDualPipeV =
    "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,"
    "(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,0I3,0W3\n"
    "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,"
    "1B2,2I3,1I3,2W3,1W3\n";

inline PipelineCsv read(std::string_view text, LegacyCsv legacy = LegacyCsv::kRefuse) {
  return read_pipeline_csv(text, "x.csv", legacy);
}

// The message, or "accepted".
inline std::string refusal(std::string_view text, LegacyCsv legacy = LegacyCsv::kRefuse) {
  try {
    const PipelineCsv csv = read(text, legacy);
    CHECK(csv.ranks() > 0);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}
// Without its last line, the remedy.
inline std::string complaint(std::string_view text, LegacyCsv legacy = LegacyCsv::kRefuse) {
  const std::string message = refusal(text, legacy);
  CHECK(message.find("\nhelp: ") != std::string::npos);
  return message.substr(0, message.find('\n'));
}

inline std::string with(std::string text, const std::string& what, const std::string& by) {
  REQUIRE(text.find(what) != std::string::npos);
  return text.replace(text.find(what), what.size(), by);
}

// F 1 ms, B 2 ms, I and W 1 ms; transfers 0.1 ms.
inline StagePrices prices(int stages) {
  ComputePrice compute;
  compute.forward.duration = Duration(1'000'000);
  compute.input_gradient.duration = compute.weight_gradient.duration = Duration(1'000'000);
  compute.fused_backward.duration = Duration(2'000'000);
  StagePrices prices;
  prices.stages = stages;
  prices.compute.assign(static_cast<std::size_t>(stages), compute);
  const Price transfer{Duration(100'000), {}};
  prices.transfer.assign(static_cast<std::size_t>(stages), {transfer, transfer});
  prices.transfer.back() = {};
  prices.step.resize(static_cast<std::size_t>(stages));
  return prices;
}

inline Program lowered(const PipelineCsv& csv) {
  PipelineInput input;
  input.schedule = schedule_of(csv, "mine");
  input.micro_batches.resize(static_cast<std::size_t>(csv.micro_batches));
  return lower({input}, {});
}

inline Duration makespan(const Program& program) {
  return simulate_summary(program, prices(static_cast<int>(program.stages.size())), {}).makespan;
}

}  // namespace penstock::tests
