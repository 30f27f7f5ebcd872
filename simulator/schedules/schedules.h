// The table of schedules: one row and one file each. A generator is a pure function of the shape of
// the pipeline, for automatic schedules also of costs; the rules and their sources are in
// docs/schedules.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/schedule.h"
#include "core/values/stage_map.h"
#include "simulator/schedules/stage_costs.h"

namespace penstock {

struct ScheduleShape {
  int ranks = 1;          // P
  int chunks = 1;         // V
  int micro_batches = 1;  // M
  int group = 0;          // interleaving group (Megatron's microbatch group); 0: PyTorch's rule
  int slices = 1;         // q: parts that every sequence is cut into
  bool operator==(const ScheduleShape&) const = default;
};

// Either a Schedule or why there is none.
struct ArrangedSchedule {
  Schedule schedule;
  std::string why_not;
  bool is_beaten = false;  // nothing shorter than StageCosts::to_beat was found
};

enum class BackwardKind {
  kFused,  // B
  kSplit,  // I and W
  kMixed,  // some of both
};

struct ScheduleKind {
  std::string_view name;     // as on the command line
  std::string_view summary;  // one line for --help
  BackwardKind backward = BackwardKind::kFused;
  StageMap map = StageMap::kLoop;
  int fewest_chunks = 1;                 // V
  int most_chunks = 1;                   // 0: any number
  bool holds_all_micro_batches = false;  // the stash grows with M
  bool has_groups = false;               // ScheduleShape::group means something
  bool ragged_groups = false;            // its own group is P, whether or not P divides M
  bool has_slices = false;               // ScheduleShape::slices too
  bool recomputes = false;               // its lists hold R: activations are always recomputed
  bool is_costly = false;                // making its lists takes longer than many bounds
  bool only_when_named = false;          // a search does not try it unasked
  RunTimeRule rule = RunTimeRule::kNone;
  // Automatic: activations that a rank may hold, as a multiple of P; 0: as many as memory allows.
  int limit_in_ranks = 0;
  // Whether lists for so many micro-batches hold what those for more hold; null: not known.
  int (*enough_micro_batches)(int ranks) = nullptr;
  // The schedule's own constraints; ask why_no_schedule(), which adds the common ones.
  std::string (*why_not)(const ScheduleShape&) = nullptr;
  // One of the two: static schedules need a shape only.
  Schedule (*generate)(const ScheduleShape&) = nullptr;
  // held_as_in_lists(), where a schedule has it.
  std::optional<Schedule> (*held_alike)(const ScheduleShape&) = nullptr;
  ArrangedSchedule (*arrange)(const ScheduleShape&, const StageCosts&) = nullptr;

  [[nodiscard]] bool is_automatic() const { return arrange != nullptr; }
  // Whether it needs the times of I and W.
  [[nodiscard]] bool splits_backward() const { return backward != BackwardKind::kFused; }
};

std::span<const ScheduleKind> schedule_kinds();
std::vector<std::string> schedule_names();                 // in their order
const ScheduleKind* find_schedule(std::string_view name);  // null when unknown

// Why this shape cannot be generated, with the remedy; empty when it can.
std::string why_no_schedule(const ScheduleKind& kind, const ScheduleShape& shape);

// Of a static schedule: generate() after why_no_schedule(); Error{kBadInput} with the reason, or
// naming the known schedules.
Schedule make_schedule(std::string_view name, const ScheduleShape& shape);

// A schedule of a few blocks per rank, made at once: least_held() cannot tell it from the lists, or
// finds that it holds no more, with no fewer forwards waiting on any stage, and as many on the
// first (v-half, with 0.6 P to P + 1 micro-batches). Nothing where no such schedule is known.
std::optional<Schedule> held_as_in_lists(const ScheduleKind& kind, const ScheduleShape& shape);

// S entries.
std::vector<int> stage_ranks(StageMap map, const ScheduleShape& shape);

}  // namespace penstock
