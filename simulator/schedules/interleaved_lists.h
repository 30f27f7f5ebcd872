// What the interleaved schedules share: micro-batches in groups, a table of (chunk, micro-batch)
// per direction, and the lists that walk it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "simulator/schedules/list_builder.h"

namespace penstock {

// PyTorch: as many groups of equal size as fit P micro-batches each.
int pytorch_group(const ScheduleShape& shape);
// Why that cannot be, with the remedy and what `otherwise` adds to it; empty when it can.
std::string why_no_pytorch_group(std::string_view name, const ScheduleShape& shape,
                                 std::string_view otherwise);

// Megatron's rule for groups of `group`.
std::string why_no_megatron_group(std::string_view name, const ScheduleShape& shape, int group);

// The table of forwards lists, group by group, chunk 0 with all micro-batches of the group, then
// chunk 1, and so on; the table of backwards is the same with the chunks reversed.
struct Interleaving {
  int group = 1;  // G
  // The last group counts as full; actions of micro-batches that do not exist are left out.
  bool pads_last_group = false;
  // The backward is split: the W of the i-th backward follows the (i + delay)-th I.
  std::optional<int> weight_delay;
  bool overlaps_pairs = false;  // a forward and the backward after it are an OVERLAP
};

// The list of one rank: `warm_up` forwards, then forward and backward in turn, then backwards.
void add_interleaved_rank(ListBuilder& lists, const ScheduleShape& shape,
                          const Interleaving& interleaving, int rank, long warm_up);
// For held_as_in_lists(): of what repeats only the first repetition, and of that every run of alike
// steps as one block. Not with a padded last group, nor with overlaps.
void add_interleaved_runs(ListBuilder& lists, const ScheduleShape& shape,
                          const Interleaving& interleaving, int rank, long warm_up);

}  // namespace penstock
