#include "simulator/resolved_steps.h"

#include <algorithm>
#include <cstdlib>

#include "simulator/rolled_replay.h"

namespace penstock {
namespace {

constexpr std::uint32_t kFewRepetitions = 4;  // not worth it

// One block of one rank, at one repetition.
class BlockResolver {
 public:
  BlockResolver(RolledReplay& replay, const ScheduleBlock& block, std::uint32_t repetition)
      : replay_(replay),
        advance_(block.advance),
        travel_(std::abs(std::int64_t{block.advance})),
        repetition_(repetition),
        alike_(std::int64_t{block.repeat} - repetition) {}

  // False when the step cannot be looked up.
  bool resolve(std::uint32_t at, ResolvedStep& resolved) {
    const RolledReplay::Step& step = replay_.steps[at];
    if (step.pair) return false;
    const std::int64_t m = step.micro_batch + repetition_ * advance_;
    if (advance_ != 0) alike_ = std::min(alike_, replay_.alike_after(m, advance_) + 1);
    const RolledReplay::Costs& costs = replay_.costs_of(at, m);
    resolved.duration = costs.duration;
    resolved.delay = costs.delay;
    return find(step.read, m, resolved.read) && find(step.write, m, resolved.write);
  }
  // Repetitions from this one on.
  [[nodiscard]] std::int64_t alike() const { return alike_; }

 private:
  bool find(std::int32_t boundary, std::int64_t m, std::int64_t& cell) {
    cell = ResolvedStep::kNothing;
    if (boundary < 0) return true;
    const auto row = static_cast<std::size_t>(boundary);
    if (replay_.arrivals.sign_of(row) * advance_ != travel_) return false;
    const auto found = replay_.arrivals.find(row, replay_.arrivals.place_of(row, m));
    if (found.room == 0) return false;
    if (travel_ > 0) alike_ = std::min(alike_, (found.room - 1) / travel_ + 1);
    cell = found.cell - repetition_ * travel_;
    return true;
  }

  RolledReplay& replay_;
  std::int64_t advance_, travel_, repetition_;
  std::int64_t alike_;
};

void make_room(RolledReplay& replay, const ScheduleBlock& block, std::uint32_t repetition) {
  for (std::uint32_t at = block.begin; at < block.end; ++at) {
    const RolledReplay::Step& step = replay.steps[at];
    const std::int64_t m = step.micro_batch + std::int64_t{repetition} * block.advance;
    for (const std::int32_t boundary : {step.read, step.write}) {
      if (boundary < 0) continue;
      replay.make_room(static_cast<std::size_t>(boundary), m);
    }
  }
}

}  // namespace

std::size_t most_resolved(const Schedule& schedule, std::size_t rank) {
  std::size_t most = 0;
  for (std::size_t b = schedule.begin[rank]; b < schedule.begin[rank + 1]; ++b) {
    const ScheduleBlock& block = schedule.blocks[b];
    if (block.repeat >= kFewRepetitions)
      most = std::max<std::size_t>(most, block.end - block.begin);
  }
  return most;
}

std::uint32_t resolve(RolledReplay& replay, const ScheduleBlock& block, std::uint32_t repetition,
                      ResolvedStep* steps) {
  if (block.repeat - repetition < kFewRepetitions) return repetition;
  make_room(replay, block, repetition);
  BlockResolver resolver(replay, block, repetition);
  for (std::uint32_t at = block.begin; at < block.end; ++at) {
    if (!resolver.resolve(at, *steps++)) return repetition;
  }
  return repetition + static_cast<std::uint32_t>(resolver.alike());
}

}  // namespace penstock
