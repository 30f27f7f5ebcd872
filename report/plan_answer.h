// What `plan` answers at first sight: one sentence, the plans to choose from, what the answer
// leaves out, what to do next. Everything else is in search_report.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "report/model_flops.h"
#include "report/search_report.h"
#include "report/training_cost.h"

namespace penstock {

struct PlanAnswer {
  std::string question;  // model, devices, batch: one sentence
  int gpus = 0;          // that there are
  std::optional<ModelFlops> flops;
  std::vector<std::string> not_modelled;  // what matters most for this model first
  std::string doubts;                     // about runs that it was fitted to: a sentence, or empty
  bool memory_is_estimated = false;       // no measured run or profile says what it is
  bool memory_is_limited = false;         // to less than the devices have
  std::string faster_otherwise;  // what would be faster, and was not allowed: a sentence, or empty
  std::vector<Rival> rivals;     // baselines that were asked for
  std::optional<TrainingCost> training;  // of plan 1
  std::string rerun;              // the command that writes the plan file; empty: it is written
  std::string hint;               // what else the command can be given: "; --for megatron ..."
  std::vector<std::string> next;  // commands that work as they stand, once there is a plan file
  std::size_t most_plans = 5;
  bool shows_all_plans = false;  // also where that takes more than twenty lines
  std::size_t width = 100;
};

// At most twenty lines of at most `width` columns, but for a command that cannot be broken.
std::string plan_answer(const SearchResult& result, const PlanAnswer& about);

// What to use: "Use TP 1 x PP 2 x DP 32, ..."; what it comes to: "A step takes 12.8 s (11.8 to
// 19.0 s): 10,236 tokens/s and ... The fullest rank holds 73.9 of 79.2 GiB."
std::vector<std::string> plan_sentences(const Plan& plan, const Evaluation& evaluation,
                                        const PlanAnswer& about);
// The same without "Use".
std::vector<std::string> layout_sentences(const Plan& plan, const Evaluation& evaluation,
                                          const PlanAnswer& about);

}  // namespace penstock
