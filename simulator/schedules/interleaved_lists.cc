// Entry i of the table of forwards is (chunk, micro-batch) in the order: groups of micro-batches,
// in each group chunk by chunk, in each chunk its micro-batches. Backwards walk the same table with
// the chunks reversed. A rank runs `warm_up` forwards ahead and then pairs; that part repeats with
// the period of a group times V, and is written as a repetition as far as the groups are full.
#include "simulator/schedules/interleaved_lists.h"

#include <algorithm>

#include <fmt/format.h>

namespace penstock {
namespace {

int rounds_of(int micro_batches, int ranks) { return std::max(1, micro_batches / ranks); }

// Whole groups advance together, so that the steady part repeats with the period of a group.
class InterleavedList {
 public:
  InterleavedList(ListBuilder& lists, const ScheduleShape& shape, const Interleaving& interleaving,
                  int rank)
      : lists_(lists),
        shape_(shape),
        rule_(interleaving),
        rank_(rank),
        counted_(interleaving.pads_last_group ? padded(shape.micro_batches, interleaving.group)
                                              : shape.micro_batches),
        total_(static_cast<long>(counted_) * shape.chunks),
        delay_(interleaving.weight_delay.value_or(0)) {}

  void add(long warm) {
    warm = std::min(warm, total_);
    for (long i = 0; i < warm; ++i) add_forward(i);
    const Steady steady = steady_of(warm);
    add_pairs(0, steady.begin, warm);
    lists_.repeat(static_cast<int>(steady.periods), rule_.group,
                  [&] { add_pairs(steady.begin, steady.begin + steady.period, warm); });
    add_pairs(steady.end(), total_ - warm, warm);
    for (long i = total_ - warm; i < total_; ++i) add_backward(i);
    if (rule_.weight_delay) {
      for (long i = std::max(0L, total_ - delay_); i < total_; ++i) add_weight_gradient(i);
    }
    lists_.end_of_rank();
  }

  void add_runs(long warm) {
    warm = std::min(warm, total_);
    add_runs(0, warm, {.forward = true});
    const Steady steady = steady_of(warm);
    const Kinds pair{.forward = true, .ahead = warm, .backward = true};
    add_runs(0, steady.begin, pair);
    if (steady.periods > 0) add_runs(steady.begin, steady.begin + steady.period, pair);
    add_runs(steady.end(), total_ - warm, pair);
    add_runs(total_ - warm, total_, {.backward = true});
    lists_.end_of_rank();
  }

 private:
  // Which pairs repeat: so many periods from pair `begin` on.
  struct Steady {
    long begin, period, periods;
    [[nodiscard]] long end() const { return begin + periods * period; }
  };
  [[nodiscard]] Steady steady_of(long warm) const {
    const long begin = std::min(delay_, total_ - warm);  // before it no pair has a W
    const long period = static_cast<long>(rule_.group) * shape_.chunks;
    // Forwards of full groups only: what follows them does not repeat.
    const long full = static_cast<long>(shape_.micro_batches / rule_.group) * period;
    return {begin, period, std::max(0L, (full - warm - begin) / period)};
  }
  // Entry `at` of the table of forwards.
  struct Entry {
    int chunk, micro_batch;
  };
  // A walk along the table: the next entry takes no division.
  struct Walk {
    long at = -2;  // of the entry, which lies in the group that begins so
    Entry entry{};
    int begin = 0, size = 0;
  };
  static int padded(int micro_batches, int group) {
    return (micro_batches + group - 1) / group * group;
  }
  // Groups before the last are full.
  [[nodiscard]] Walk found(long at) const {
    const long full = static_cast<long>(rule_.group) * shape_.chunks;
    const int begin = static_cast<int>(at / full) * rule_.group;
    const int size = std::min(rule_.group, counted_ - begin);
    const int within = static_cast<int>(at - static_cast<long>(begin) * shape_.chunks);
    return {at, {within / size, begin + within % size}, begin, size};
  }
  [[nodiscard]] Entry entry_of(Walk& walk, long at) const {
    if (at != walk.at + 1) {
      if (at != walk.at) walk = found(at);
      return walk.entry;
    }
    ++walk.at;
    Entry& entry = walk.entry;
    if (++entry.micro_batch < walk.begin + walk.size) return entry;
    if (++entry.chunk == shape_.chunks) {
      entry.chunk = 0;
      walk.begin += walk.size;
      walk.size = std::min(rule_.group, counted_ - walk.begin);
    }
    entry.micro_batch = walk.begin;
    return entry;
  }
  [[nodiscard]] Entry backward_entry_of(Walk& walk, long at) const {
    const Entry entry = entry_of(walk, at);
    return {shape_.chunks - 1 - entry.chunk, entry.micro_batch};
  }

  void add_pairs(long from, long to, long warm) {
    for (long i = from; i < to; ++i) {
      if (rule_.overlaps_pairs) {
        add_overlap(warm + i, i);
      } else {
        add_forward(warm + i);
        add_backward(i);
      }
    }
  }
  // What a step of a run has: the forward so far ahead, the backward.
  struct Kinds {
    bool forward = false;
    long ahead = 0;
    bool backward = false;
  };
  // Micro-batches are those of the first step. The W behind the last backwards are left out: at
  // the end of a list they only release.
  void add_runs(long from, long to, const Kinds& kinds) {
    for (long at = from, steps = 0; at < to; at += steps) {
      steps = to - at;
      const bool weights = kinds.backward && rule_.weight_delay && at >= delay_;
      if (kinds.backward && at < delay_) steps = std::min(steps, delay_ - at);
      if (kinds.forward) steps = std::min(steps, left_of_chunk(forwards_, at + kinds.ahead));
      if (kinds.backward) steps = std::min(steps, left_of_chunk(backwards_, at));
      if (weights) steps = std::min(steps, left_of_chunk(weights_, at - delay_));
      lists_.repeat(static_cast<int>(steps), 1, [&] {
        if (kinds.forward) add_forward(at + kinds.ahead);
        if (kinds.backward) add_backward(at);
      });
    }
  }
  // Entries of the same chunk from this one on.
  [[nodiscard]] long left_of_chunk(Walk& walk, long at) const {
    if (at != walk.at) walk = found(at);
    return walk.begin + walk.size - walk.entry.micro_batch;
  }
  void add_overlap(long forward, long backward) {
    const Entry f = entry_of(forwards_, forward), b = backward_entry_of(backwards_, backward);
    lists_.add_overlap(stage_of(f), f.micro_batch, stage_of(b), b.micro_batch);
  }
  void add_forward(long at) { add(ActionKind::kForward, entry_of(forwards_, at)); }
  void add_backward(long at) {
    const bool split = rule_.weight_delay.has_value();
    add(split ? ActionKind::kInputGradient : ActionKind::kFusedBackward,
        backward_entry_of(backwards_, at));
    if (split && at >= delay_) add_weight_gradient(at - delay_);
  }
  void add_weight_gradient(long at) {
    add(ActionKind::kWeightGradient, backward_entry_of(weights_, at));
  }
  void add(ActionKind kind, const Entry& entry) {
    if (entry.micro_batch < shape_.micro_batches) {
      lists_.add(kind, stage_of(entry), entry.micro_batch);
    }
  }
  [[nodiscard]] int stage_of(const Entry& entry) const {
    return entry.chunk * shape_.ranks + rank_;
  }

  ListBuilder& lists_;
  const ScheduleShape& shape_;
  const Interleaving& rule_;
  int rank_;
  int counted_;  // micro-batches, those that only fill the last group included
  long total_;   // entries of a table
  long delay_;
  Walk forwards_, backwards_, weights_;
};

}  // namespace

int pytorch_group(const ScheduleShape& shape) {
  return shape.micro_batches / rounds_of(shape.micro_batches, shape.ranks);
}

std::string why_no_pytorch_group(std::string_view name, const ScheduleShape& shape,
                                 std::string_view otherwise) {
  const int m = shape.micro_batches, p = shape.ranks;
  const int rounds = rounds_of(m, p);
  if (m % rounds == 0) return "";
  int more = m + 1;  // rounds may grow with M; the next multiple of P always divides
  while (more % rounds_of(more, p) != 0) ++more;
  return fmt::format(
      "{}: M = {} cannot be divided into {} equal rounds (PyTorch's rule M % max(1, M / P) = 0 "
      "with P = {}); use M = {} or {}{}",
      name, m, rounds, p, m - m % rounds, more, otherwise);
}

std::string why_no_megatron_group(std::string_view name, const ScheduleShape& shape, int group) {
  const int m = shape.micro_batches, p = shape.ranks;
  if (p < 2) {
    return fmt::format("{}: groups (Megatron's rule) need P >= 2; leave --group out", name);
  }
  if (group < p || group > m) {
    return fmt::format("{}: group {} is outside P <= group <= M, that is {}..{}", name, group, p,
                       m);
  }
  if (m % group == 0 || m % group >= p) return "";
  return fmt::format(
      "{}: the last group would hold {} micro-batches, fewer than P = {}: M mod group must be 0 or "
      "at least P (Megatron's rule)",
      name, m % group, p);
}

void add_interleaved_rank(ListBuilder& lists, const ScheduleShape& shape,
                          const Interleaving& interleaving, int rank, long warm_up) {
  InterleavedList(lists, shape, interleaving, rank).add(warm_up);
}

void add_interleaved_runs(ListBuilder& lists, const ScheduleShape& shape,
                          const Interleaving& interleaving, int rank, long warm_up) {
  InterleavedList(lists, shape, interleaving, rank).add_runs(warm_up);
}

}  // namespace penstock
