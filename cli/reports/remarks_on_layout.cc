#include "cli/reports/remarks_on_layout.h"

#include <cstdint>

#include <fmt/format.h>

#include "cli/io/shell_word.h"
#include "cli/options/parse.h"

namespace penstock {
namespace {

// Trainers give every replica as many whole micro-batches.
std::string uneven_words(const Plan& plan) {
  if (plan.is_mixed() || !plan.has_even_batch() || has_equal_micro_batches(plan)) return "";
  const std::int64_t round = std::int64_t{plan.data} * plan.micro_batch_size;
  const std::int64_t below = plan.global_batch / round * round;
  return fmt::format(
      "note: gbs = {} is no multiple of DP x mbs = {}: its micro-batches are not all equal, or not "
      "as many in every replica, which Megatron-LM, torchtitan and DeepSpeed refuse; they take "
      "gbs = {}\n",
      plan.global_batch, round,
      below > 0 ? fmt::format("{} or {}", below, below + round) : std::to_string(round));
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

std::string remarks_on_layout(const SearchOptions& given, const Layout& layout, const Plan& plan) {
  return remark_of_layout(given, layout, plan) + remark_of_gpus(given, layout, plan) +
         uneven_words(plan);
}

}  // namespace penstock
