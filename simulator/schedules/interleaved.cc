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
  if (auto reason = needs_two_chunks(shape); !reason.empty()) return reason;
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

// Walks the table of one direction: group by group, in a group chunk by chunk, in a chunk
// micro-batch by micro-batch.
class TableWalk {
 public:
  TableWalk(int micro_batches, int group, int chunks)
      : micro_batches_(micro_batches), group_(group), chunks_(chunks), next_(0) {}

  [[nodiscard]] int chunk() const { return chunk_; }
  [[nodiscard]] int micro_batch() const { return next_; }
  void advance() {
    const int group_end = std::min(group_begin_ + group_, micro_batches_);
    if (++next_ < group_end) return;
    if (++chunk_ == chunks_) {
      chunk_ = 0;
      group_begin_ = group_end;
    }
    next_ = group_begin_;
  }

 private:
  int micro_batches_, group_, chunks_;
  int chunk_ = 0, group_begin_ = 0, next_;
};

// Megatron-LM arXiv 2104.04473 section 2.2; PyTorch ScheduleInterleaved1F1B. Warm-up of rank r:
// (V - 1) G + 2 (P - 1 - r) forwards of the table.
Schedule generate(const ScheduleShape& shape) {
  const int p = shape.ranks;
  const int v = shape.chunks;
  const int g = group_size(shape);
  const long total = static_cast<long>(shape.micro_batches) * v;
  ListBuilder lists("interleaved", shape, 2 * static_cast<std::size_t>(total));
  for (int rank = 0; rank < p; ++rank) {
    TableWalk forward(shape.micro_batches, g, v);
    TableWalk backward(shape.micro_batches, g, v);
    const auto add_forward = [&] {
      lists.add(ActionKind::kForward, forward.chunk() * p + rank, forward.micro_batch());
      forward.advance();
    };
    const auto add_backward = [&] {
      lists.add(ActionKind::kFusedBackward, (v - 1 - backward.chunk()) * p + rank,
                backward.micro_batch());
      backward.advance();
    };
    const long warm = std::min(static_cast<long>(v - 1) * g + 2L * (p - 1 - rank), total);
    for (long i = 0; i < warm; ++i) add_forward();
    for (long i = warm; i < total; ++i) {
      add_forward();
      add_backward();
    }
    for (long i = 0; i < warm; ++i) add_backward();
    lists.end_of_rank();
  }
  return lists.finish();
}

}  // namespace

const ScheduleKind kInterleaved = {
    "interleaved", "1F1B over V chunks per rank in groups; bubble / V, more transfers and stash",
    false,         true,
    false,         why_not,
    generate};

}  // namespace penstock
