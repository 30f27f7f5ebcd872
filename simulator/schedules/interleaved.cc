#include <algorithm>

#include <fmt/format.h>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

int rounds_of(int micro_batches, int ranks) { return std::max(1, micro_batches / ranks); }

// PyTorch: as many rounds as fit P micro-batches each; Megatron: groups of the given size.
int group_size(const ScheduleShape& shape) {
  if (shape.group > 0) return shape.group;
  return shape.micro_batches / rounds_of(shape.micro_batches, shape.ranks);
}

std::string why_not(const ScheduleShape& shape) {
  const int m = shape.micro_batches;
  const int p = shape.ranks;
  if (shape.group == 0) {
    const int rounds = rounds_of(m, p);
    if (m % rounds == 0) return "";
    int more = m + 1;  // rounds may grow with M; the next multiple of P always divides
    while (more % rounds_of(more, p) != 0) ++more;
    return fmt::format(
        "interleaved: M = {} cannot be divided into {} equal rounds (PyTorch's rule M % max(1, "
        "M / P) = 0 with P = {}); use M = {} or {}, or give --group for Megatron's rule",
        m, rounds, p, m - m % rounds, more);
  }
  const int g = shape.group;
  if (p < 2) return "interleaved: groups (Megatron's rule) need P >= 2; leave --group out";
  if (g < p || g > m) {
    return fmt::format("interleaved: group {} is outside P <= group <= M, that is {}..{}", g, p, m);
  }
  if (m % g != 0 && m % g < p) {
    return fmt::format(
        "interleaved: the last group would hold {} micro-batches, fewer than P = {}: M mod group "
        "must be 0 or at least P (Megatron's rule)",
        m % g, p);
  }
  return "";
}

// Entry `at` of the table of one direction: group by group, in a group chunk by chunk, in a chunk
// micro-batch by micro-batch. Groups before the last are full.
struct TableEntry {
  int chunk, micro_batch;
};
TableEntry entry_of(const ScheduleShape& shape, int group, long at) {
  const long full = static_cast<long>(group) * shape.chunks;
  const int begin = static_cast<int>(at / full) * group;
  const int size = std::min(group, shape.micro_batches - begin);
  const int within = static_cast<int>(at - static_cast<long>(begin) * shape.chunks);
  return {within / size, begin + within % size};
}

// The list of one rank: a warm-up of forwards, then forward and backward in turn, then backwards.
// Whole groups advance together, so that the steady part repeats with the period of a group.
class InterleavedList {
 public:
  InterleavedList(ListBuilder& lists, const ScheduleShape& shape, int group, int rank)
      : lists_(lists), shape_(shape), group_(group), rank_(rank) {}

  void add(long warm) {
    const long total = static_cast<long>(shape_.micro_batches) * shape_.chunks;
    warm = std::min(warm, total);
    for (long i = 0; i < warm; ++i) add_forward(i);
    const long period = static_cast<long>(group_) * shape_.chunks;
    // Forwards of full groups only: what follows them does not repeat.
    const long full = static_cast<long>(shape_.micro_batches / group_) * period;
    const long periods = std::max(0L, (full - warm) / period);
    lists_.repeat(static_cast<int>(periods), group_, [&] { add_pairs(0, period, warm); });
    add_pairs(periods * period, total - warm, warm);
    for (long i = total - warm; i < total; ++i) add_backward(i);
    lists_.end_of_rank();
  }

 private:
  void add_pairs(long from, long to, long warm) {
    for (long i = from; i < to; ++i) {
      add_forward(warm + i);
      add_backward(i);
    }
  }
  void add_forward(long at) {
    const TableEntry entry = entry_of(shape_, group_, at);
    lists_.add(ActionKind::kForward, entry.chunk * shape_.ranks + rank_, entry.micro_batch);
  }
  void add_backward(long at) {
    const TableEntry entry = entry_of(shape_, group_, at);
    const int chunk = shape_.chunks - 1 - entry.chunk;
    lists_.add(ActionKind::kFusedBackward, chunk * shape_.ranks + rank_, entry.micro_batch);
  }

  ListBuilder& lists_;
  const ScheduleShape& shape_;
  int group_, rank_;
};

// Megatron-LM arXiv 2104.04473 section 2.2; PyTorch ScheduleInterleaved1F1B. Warm-up of rank r:
// (V - 1) G + 2 (P - 1 - r) forwards of the table.
Schedule generate(const ScheduleShape& shape) {
  const int g = group_size(shape);
  ListBuilder lists("interleaved", shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const long warm = static_cast<long>(shape.chunks - 1) * g + 2L * (shape.ranks - 1 - rank);
    InterleavedList(lists, shape, g, rank).add(warm);
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kInterleaved = {
    .name = "interleaved",
    .summary = "1F1B over V chunks per rank in groups; bubble / V, more transfers and stash",
    .fewest_chunks = 2,
    .most_chunks = 0,
    .has_groups = true,
    .why_not = why_not,
    .generate = generate,
};

}  // namespace penstock
