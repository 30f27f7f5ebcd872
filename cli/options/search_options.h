// The options of `plan` and `compare`, as they were typed: inputs, what is fixed, how to search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/executor_options.h"
#include "cli/options/options.h"
#include "cli/options/question.h"
#include "cli/options/question_settings.h"

namespace penstock {

struct SearchOptions {
  TypedCommand command;
  std::string profile;
  std::optional<std::string> cluster, precision, attention, gradients, gpus, global_batch,
      global_batch_tokens, sequence_length, recompute, zero1, sharding, device, network,
      gpus_per_node, placement, context_kind, expert_imbalance, expert_dispatch, kernels, loss,
      optimizer_bytes, fsdp_prefetch, sequence_parallelism, trainer, memory_limit, reserve_gib, top,
      threads, budget;
  std::vector<std::string> pins, schedules, measured;
  std::string layout_asked;  // of which a measured time without a layout is; set by `predict`
  // Further device types to estimate for, and for which C and EP (empty: those of a search), set by
  // `predict`.
  std::vector<std::string> also_on;
  std::vector<int> context_degrees, expert_degrees;
  ExecutorOptions executor;
  bool every_candidate = false, large_batch = false;
  bool takes_pairs = false;  // set by verbs whose micro-batches may have two lengths

  void declare(Options& options);
  // Of one configuration only: the model; what it runs on, and how.
  void declare_inputs(Options& options);
  void declare_machine(Options& options);
  // Of batches that the verb describes itself: model, machine, pins of the layout, threads.
  void declare_layouts(Options& options);

 private:
  void declare_model(Options& options);
  void declare_estimate(Options& options);
  void declare_measured(Options& options);
  void declare_context_kind(Options& options);
  void declare_memory(Options& options);
};

// Changes what a question is made from: a file to read, or what an estimate is made for. False when
// the key is no such option; what is wrong with a value is found when the question is asked.
bool set(SearchOptions& options, const std::string& key, const std::string& value);
// Those of them that settable_keys() does not have.
const std::vector<std::string>& readable_keys();

}  // namespace penstock
