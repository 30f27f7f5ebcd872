// What a box waited for is, of all boxes that its actions need or that ran before it on its lane,
// the one that ended last; of equals the first offered. The critical path is followed back from the
// last end, so it is a chain of such links.
#include "report/page/box_links.h"

#include <cstddef>
#include <map>
#include <utility>

namespace penstock {
namespace {

const TraceSlice& slice_of(const StepTrace& trace, const TimelineRows& rows, std::uint32_t box) {
  return TimelineRows::slice(trace, rows.boxes[box]);
}

void mark_critical(const StepTrace& trace, const TimelineRows& rows, BoxLinks& links) {
  links.critical.assign(rows.boxes.size(), false);
  std::uint32_t last = kNoBox;
  for (std::uint32_t box = 0; box < rows.boxes.size(); ++box) {
    if (last == kNoBox || slice_of(trace, rows, box).end > slice_of(trace, rows, last).end) {
      last = box;
    }
  }
  for (; last != kNoBox && !links.critical[last]; last = links.waited_for[last]) {
    links.critical[last] = true;
  }
}

// The actions that a box stands for: both of a pair that ran as one.
template <class Visit>
void for_each_action(const TraceSlice& slice, const Program& program, Visit visit) {
  visit(slice.action);
  if (program.actions[slice.action].overlaps_next) visit(slice.action + 1);
}

// Clocks are read in microseconds, and those of two hosts agree no better.
constexpr Duration kClockGrain{1000};

// Offers boxes that came before; the one that ended last stays, of several the first offered.
class Latest {
 public:
  Latest(const StepTrace& trace, const TimelineRows& rows, std::uint32_t box)
      : trace_(trace), rows_(rows), start_(slice_of(trace, rows, box).start) {}

  void offer(std::uint32_t box) {
    if (box == kNoBox) return;
    const auto [start, end] =
        std::pair(slice_of(trace_, rows_, box).start, slice_of(trace_, rows_, box).end);
    const bool before = start < start_ && end <= start_ + kClockGrain;
    if (!before || (best_ != kNoBox && end <= slice_of(trace_, rows_, best_).end)) return;
    best_ = box;
  }
  [[nodiscard]] std::uint32_t best() const { return best_; }

 private:
  const StepTrace& trace_;
  const TimelineRows& rows_;
  Duration start_;
  std::uint32_t best_ = kNoBox;
};

}  // namespace

BoxLinks links_of(const StepTrace& trace, const TimelineRows& rows, const Program& program,
                  const std::vector<std::uint32_t>& bounds) {
  std::vector<std::uint32_t> box_of_action(program.actions.size(), kNoBox);
  for (std::uint32_t box = 0; box < rows.boxes.size(); ++box) {
    for_each_action(slice_of(trace, rows, box), program,
                    [&](std::uint32_t action) { box_of_action[action] = box; });
  }
  BoxLinks links;
  links.waited_for.reserve(rows.boxes.size());
  for (std::uint32_t box = 0; box < rows.boxes.size(); ++box) {
    std::uint32_t before = bounds[slice_of(trace, rows, box).action];
    while (before != kWaitsForNothing && box_of_action[before] == kNoBox) before = bounds[before];
    links.waited_for.push_back(before == kWaitsForNothing ? kNoBox : box_of_action[before]);
  }
  mark_critical(trace, rows, links);
  return links;
}

BoxLinks measured_links_of(const StepTrace& trace, const TimelineRows& rows,
                           const Program& program) {
  std::vector<std::uint32_t> sender(rows.boxes.size(), kNoBox);
  for (const TraceFlow& flow : trace.flows) {
    const std::uint32_t send = rows.box_of[flow.from_rank][flow.from_slice];
    std::uint32_t& known = sender[rows.box_of[flow.to_rank][flow.to_slice]];
    if (known == kNoBox || slice_of(trace, rows, send).end > slice_of(trace, rows, known).end) {
      known = send;
    }
  }
  BoxLinks links;
  links.waited_for.reserve(rows.boxes.size());
  std::map<std::uint32_t, std::uint32_t> own;  // of the rank at hand: box by action
  for (std::uint32_t box = 0; box < rows.boxes.size(); ++box) {
    const TimelineRows::Box& place = rows.boxes[box];
    if (box == 0 || rows.boxes[box - 1].rank != place.rank) {
      own.clear();
      const std::vector<TraceSlice>& slices = trace.ranks[place.rank].slices;
      for (std::size_t i = 0; i < slices.size(); ++i) {
        for_each_action(slices[i], program,
                        [&](std::uint32_t action) { own[action] = rows.box_of[place.rank][i]; });
      }
    }
    Latest latest(trace, rows, box);
    latest.offer(sender[box]);
    for_each_action(slice_of(trace, rows, box), program, [&](std::uint32_t action) {
      for_each_wait(program, action, [&](std::uint32_t needed) {
        // A reduction among the stages of one rank takes no time.
        while (needed != kWaitsForNothing && own.count(needed) == 0 &&
               is_collective(program.actions[needed].kind)) {
          needed = program.actions[needed].waits_for;
        }
        const auto found = own.find(needed);
        if (found != own.end()) latest.offer(found->second);
      });
    });
    if (rows.rows[place.row].first < box) latest.offer(box - 1);
    links.waited_for.push_back(latest.best());
  }
  mark_critical(trace, rows, links);
  return links;
}

}  // namespace penstock
