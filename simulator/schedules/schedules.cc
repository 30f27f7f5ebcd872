// The limits on sizes keep ids within their 16 bits and lists within memory; they are asked before
// any generator runs, so that a generator may count on sane sizes. find_schedule() and the names
// are linear searches over some twenty rows.
#include "simulator/schedules/schedules.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/values/error.h"
#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// Stage ids have 16 bits; a rank's actions and their times must fit in memory.
constexpr int kMostStages = 60'000;
constexpr long kMostComputeActions = 1L << 28;

std::string bad_sizes(std::string_view name, const ScheduleShape& shape) {
  if (shape.group < 0) {
    return fmt::format("{}: group {} must be at least 1; leave it out for the schedule's own rule",
                       name, shape.group);
  }
  if (shape.ranks < 1 || shape.chunks < 1 || shape.micro_batches < 1) {
    return fmt::format("{}: P = {}, V = {}, M = {} must all be at least 1", name, shape.ranks,
                       shape.chunks, shape.micro_batches);
  }
  if (shape.slices < 1) {
    return fmt::format("{}: {} slices of a sequence; there must be at least 1", name, shape.slices);
  }
  const long stages = static_cast<long>(shape.ranks) * shape.chunks;
  if (stages > kMostStages) {
    return fmt::format("{}: P * V = {} stages, at most {} are supported", name, stages,
                       kMostStages);
  }
  const long micro_batches = static_cast<long>(shape.micro_batches) * shape.slices;
  if (micro_batches > kMostComputeActions || stages * micro_batches > kMostComputeActions / 3) {
    return fmt::format(
        "{}: {} stages times {} micro-batches is more than the {} supported; nothing is cut short: "
        "choose fewer micro-batches (larger ones) or fewer stages",
        name, stages, micro_batches, kMostComputeActions / 3);
  }
  return "";
}

std::string bad_chunks(const ScheduleKind& kind, const ScheduleShape& shape) {
  const int v = shape.chunks;
  if (kind.most_chunks == 1 && v != 1) {
    return fmt::format(
        "V = {}: this schedule has one stage per rank; use -V 1, or interleaved or "
        "looped-bfs for several",
        v);
  }
  if (kind.most_chunks == 0 && v < kind.fewest_chunks) {
    return "V = 1: this schedule needs at least 2 chunks per rank; use -V 2 or more, or a schedule "
           "with one stage per rank, such as 1f1b or zb-h1";
  }
  if (kind.most_chunks > 1 && v != kind.most_chunks) {
    return fmt::format(
        "V = {}: this schedule has {} stages per rank{}; use -V {}", v, kind.most_chunks,
        copies_of(kind.map) == 2 ? ", one of each copy of the weights" : "", kind.most_chunks);
  }
  return "";
}

std::string bad_options(const ScheduleKind& kind, const ScheduleShape& shape) {
  if (shape.group > 0 && !kind.has_groups) {
    return fmt::format(
        "{}: group {} means nothing here, only interleaved schedules have groups; "
        "leave it out",
        kind.name, shape.group);
  }
  if (shape.slices > 1 && !kind.has_slices) {
    return fmt::format(
        "{}: {} slices mean nothing here, only seq-1f1b cuts sequences; leave it out", kind.name,
        shape.slices);
  }
  return "";
}

}  // namespace

std::span<const ScheduleKind> schedule_kinds() {
  static const std::array kinds = [] {
    std::array<ScheduleKind, std::size(kOfferedKinds)> rows;
    std::ranges::transform(kOfferedKinds, rows.begin(),
                           [](const ScheduleKind* kind) { return *kind; });
    return rows;
  }();
  return kinds;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  names.reserve(schedule_kinds().size());
  for (const ScheduleKind& kind : schedule_kinds()) names.emplace_back(kind.name);
  return names;
}

const ScheduleKind* find_schedule(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const ScheduleKind& kind : schedule_kinds()) {
    // A search asks for millions of names; most of one length differ in their ends.
    if (kind.name.back() == name.back() && kind.name == name) return &kind;
  }
  // Not offered: which of these suits is for the planner of batches to say, whose plans name them.
  for (const ScheduleKind* kind : {&kCyclic, &kCyclicV}) {
    if (kind->name == name) return kind;
  }
  return nullptr;
}

std::string why_no_schedule(const ScheduleKind& kind, const ScheduleShape& shape) {
  if (auto reason = bad_sizes(kind.name, shape); !reason.empty()) return reason;
  if (auto reason = bad_options(kind, shape); !reason.empty()) return reason;
  if (auto reason = bad_chunks(kind, shape); !reason.empty()) return reason;
  return kind.why_not == nullptr ? "" : kind.why_not(shape);
}

std::vector<int> stage_ranks(StageMap map, const ScheduleShape& shape) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(shape.ranks) * static_cast<std::size_t>(shape.chunks));
  for (int s = 0; s < shape.ranks * shape.chunks; ++s) {
    ranks.push_back(rank_of_stage(map, shape.ranks, s));
  }
  return ranks;
}

Schedule make_schedule(std::string_view name, const ScheduleShape& shape) {
  const ScheduleKind* kind = find_schedule(name);
  if (kind == nullptr) {
    throw_bad_input(
        fmt::format("unknown schedule '{}'; known: {}", name, fmt::join(schedule_names(), ", ")));
  }
  if (auto reason = why_no_schedule(*kind, shape); !reason.empty()) throw_bad_input(reason);
  if (kind->is_automatic()) {
    throw_bad_input(fmt::format("{}: an automatic schedule is arranged from costs", name));
  }
  return kind->generate(shape);
}

std::optional<Schedule> held_as_in_lists(const ScheduleKind& kind, const ScheduleShape& shape) {
  return kind.held_alike == nullptr ? std::nullopt : kind.held_alike(shape);
}

}  // namespace penstock
