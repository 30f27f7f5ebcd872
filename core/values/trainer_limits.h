// What a trainer's files can say of a plan: the one rule that the search (--for), the exports and
// their refusals go by. Schedules are judged in search/trainers.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "core/values/trainer.h"

namespace penstock {

// Why the trainer cannot run a plan of these sizes and this mode of recompute, whatever its cuts;
// empty when it can.
std::string why_not_run(const Trainer& trainer, const Plan& plan);

struct TrainerVerdict {
  std::string why_not;          // a sentence; empty when the trainer can run the plan
  std::optional<Plan> nearest;  // the same plan with other cuts, or other sections that recompute
};
// By the plan's cuts and the model's sections.
TrainerVerdict verdict_of(const Trainer& trainer, const Plan& plan,
                          const std::vector<std::string>& sections);

// Micro-batches per group of an interleaved schedule: what the plan says, or PyTorch's rule, which
// our own schedule follows.
int interleaving_group(const Plan& plan);

// Megatron's "block" recomputes the first so many layers of every virtual stage, the same number
// for all (of a stage that has fewer, all of them): megatron/core/transformer/transformer_block.py.
int recomputed_layers_of_each_stage(const Plan& plan, const std::vector<std::string>& sections);

}  // namespace penstock
