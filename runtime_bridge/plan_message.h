// The plan of a step as bytes, for whom another process made it: compact, versioned, checksummed.
//
//   0  "pnstkpln"                   8  version, u32        12  0, u32
//  16  the job, u64                24  the step, i64       32  its documents, u64
//  40  bytes of the text, u32      44  bytes behind here, u32
//  48  XXH64 of bytes 0 to 47 and of all behind 55          56  the text, deflated
//
// All numbers are little-endian. The text is JSON: the plan as a plan file has it, and which
// samples it is of. A step's plan is mostly equal to the layout that it was made from, so deflate
// begins with the text of that as its dictionary: every plan can be read by itself, in any order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/sample_lengths.h"
#include "runtime_bridge/plans_ahead.h"

namespace penstock {

// What is known of the bytes before they are inflated.
struct PlanMessageHeader {
  std::uint64_t job = 0;  // fingerprint_of(PlanJob)
  std::int64_t step = 0;
  std::uint64_t documents = 0;  // fingerprint_of_documents()
  bool operator==(const PlanMessageHeader&) const = default;
};

// No step has more: a store that holds nonsense must not fill the memory of ranks.
inline constexpr std::uint64_t kMostActionsOfStep = std::uint64_t{1} << 22;

// The text of the plan that all steps have their layout from: what both sides must have.
std::string layout_text(const PlanFile& layout);

// Which documents a step takes, by number, and how long they are.
std::uint64_t fingerprint_of_documents(const std::vector<std::int64_t>& documents,
                                       const std::vector<SampleLength>& lengths);

std::string write_plan_message(const PlanMessageHeader& header, const PlannedStep& planned,
                               std::string_view layout);

// Error{kBadInput}, beginning with `source`, for bytes that are no message, of another version,
// damaged or cut off.
PlanMessageHeader read_plan_message_header(std::string_view bytes, const std::string& source);
// The rest; likewise where its plan is not of as many samples as it says, or not what its
// fingerprint says. To be asked only with the layout of the message's job.
PlannedStep read_plan_message(std::string_view bytes, std::string_view layout,
                              const std::string& source,
                              std::uint64_t most_actions = kMostActionsOfStep);

}  // namespace penstock
