// The table of schedules: one row and one file each. A generator is a pure function of the shape of
// the pipeline; its rules and their sources are in docs/schedules.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/schedule.h"

namespace penstock {

struct ScheduleShape {
  int ranks = 1;          // P
  int chunks = 1;         // V
  int micro_batches = 1;  // M
  int group = 0;          // interleaving group (Megatron's microbatch group); 0: PyTorch's rule
  bool operator==(const ScheduleShape&) const = default;
};

struct ScheduleKind {
  std::string_view name;         // as on the command line
  std::string_view summary;      // one line for --help
  bool split_backward;           // I and W instead of B
  bool several_chunks;           // V >= 2 (else V = 1)
  bool holds_all_micro_batches;  // the stash grows with M
  // The schedule's own constraints; ask why_no_schedule(), which adds the common ones.
  std::string (*why_not)(const ScheduleShape&);
  Schedule (*generate)(const ScheduleShape&);
};

std::span<const ScheduleKind> schedule_kinds();
const ScheduleKind* find_schedule(std::string_view name);  // null when unknown

// Why this shape cannot be generated, with the remedy; empty when it can.
std::string why_no_schedule(const ScheduleKind& kind, const ScheduleShape& shape);

// generate() after why_no_schedule(); Error{kBadInput} with the reason, or naming the known
// schedules.
Schedule make_schedule(std::string_view name, const ScheduleShape& shape);

}  // namespace penstock
