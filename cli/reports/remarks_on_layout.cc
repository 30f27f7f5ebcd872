#include "cli/reports/remarks_on_layout.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/io/shell_word.h"
#include "cli/reports/layers_by_stage.h"
#include "cli/reports/remarks_on_question.h"
#include "cli/words/device_called.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

// Trainers give every replica as many whole micro-batches.
std::string uneven_words(const Plan& plan) {
  if (plan.is_mixed() || !plan.has_even_batch() || has_equal_micro_batches(plan)) return "";
  const std::int64_t round = std::int64_t{plan.data} * plan.micro_batch_size;
  return remark_of_uneven_batch(plan.global_batch, "DP x mbs", round, round);
}

// Most trainers give every stage as many layers unless they are told.
std::string uneven_layers_words(const Layout& layout, const Plan& plan,
                                const ModelProfile& profile) {
  const bool is_default = layout.cuts.empty() && layout.default_cuts == DefaultCuts::kEqualLayers;
  const auto layers = is_default ? layers_by_stage(plan, profile) : std::nullopt;
  if (!layers || layers->are_even()) return "";
  const int stages = plan.stages_per_copy();
  int below = std::min(stages, layers->all), above = below;
  while (layers->all % below != 0) --below;
  while (layers->all % above != 0) ++above;
  return fmt::format(
      "note: {} layers are no multiple of {} = {}: stages have {} to {}, which Megatron-LM refuses "
      "unless --pipeline-model-parallel-layout says it; {} stages divide them\n",
      layers->all, plan.chunks > 1 ? "PP x VP" : "PP", stages, layers->fewest, layers->most,
      below == above ? std::to_string(below) : fmt::format("{} or {}", below, above));
}

// The tokens of a sample are what a step takes most of.
std::string remark_of_length(const SearchOptions& given, const Layout& layout, const Plan& plan) {
  if (given.sequence_length || layout.sequence_length || !plan.has_even_batch()) return "";
  return fmt::format(
      "note: no seq was given: {0} tokens a sample were taken (the model's longest, at most 8192); "
      "seq={0} or another number in --layout says it\n",
      plan.sequence_length);
}

// A batch alone is no layout; whoever left it out may want the search.
std::string remark_of_layout(const SearchOptions& given, const Layout& layout, const Plan& plan) {
  const bool is_said = layout.tensor || layout.context || layout.pipeline || layout.data ||
                       layout.shards || layout.sharding || layout.expert ||
                       !layout.replicas.empty() || !layout.devices.empty();
  if (is_said || plan.devices() == 1) return "";
  Arguments words{given.profile};
  if (given.cluster) words.insert(words.end(), {"--cluster", *given.cluster});
  if (given.device) words.insert(words.end(), {"--device", *given.device});
  words.insert(words.end(), {"--gpus", std::to_string(plan.devices()), "--global-batch",
                             std::to_string(plan.global_batch)});
  return fmt::format(
      "note: no TP, PP or DP was given: TP 1 x PP 1 x DP {} was taken; {} searches "
      "for the best layout\n",
      plan.data, command_of("plan", words));
}

// Where the layout says itself how many GPUs it takes, and others were asked for.
std::string remark_of_gpus(const SearchOptions& given, const Layout& layout, const Plan& plan) {
  if (!given.gpus || !layout.data) return "";
  const int there = parse_int("--gpus", *given.gpus, 1), taken = plan.devices();
  if (there == taken) return "";
  const int of_replica = taken / plan.data;
  return fmt::format("note: the layout takes {} of {} GPUs{}\n", taken, there,
                     there % of_replica == 0 && there > taken
                         ? fmt::format("; DP={} takes all", there / of_replica)
                         : "");
}

}  // namespace

std::string remarks_on_layout(const SearchOptions& given, const Layout& layout, const Plan& plan,
                              const ModelProfile& profile, bool is_estimated) {
  const bool is_named = given.device && !given.cluster;
  return (is_named ? remark_of_device(*given.device) : "") +
         remarks_on_machine(given, plan.devices()) +
         (is_estimated ? remark_of_length(given, layout, plan) : "") +
         remark_of_layout(given, layout, plan) + remark_of_gpus(given, layout, plan) +
         uneven_words(plan) + uneven_layers_words(layout, plan, profile);
}

}  // namespace penstock
