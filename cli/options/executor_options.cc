// Executors by name. Each option adds one term to a preset, and the name of the result says which
// ("rendezvous+queues-per-peer"), so that a plan file tells how it was predicted.
#include "cli/options/executor_options.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "cli/words/trainer_called.h"
#include "core/values/fixed_costs.h"
#include "core/values/trainer.h"

namespace penstock {
namespace {

struct Preset {
  std::string_view name;
  TransferMode transfer;
  IssueOrder issue;
};
constexpr std::array<Preset, 4> kPresets{{
    {"ideal", TransferMode::kAsync, IssueOrder::kEager},
    {"sender-blocks", TransferMode::kSenderBlocks, IssueOrder::kEager},
    {"rendezvous", TransferMode::kRendezvous, IssueOrder::kEager},
    {"deepspeed", TransferMode::kRendezvous, IssueOrder::kDeepSpeed},
}};

using NamedLayout = std::pair<std::string_view, QueueLayout>;
constexpr std::array<NamedLayout, 4> kLayouts{{
    {"none", QueueLayout::kNone},
    {"per-direction", QueueLayout::kPerDirection},
    {"per-peer", QueueLayout::kPerPeer},
    {"per-rank", QueueLayout::kPerRank},
}};

using NamedGate = std::pair<std::string_view, OptimizerGate>;
constexpr std::array<NamedGate, 3> kGates{{
    {"barrier", OptimizerGate::kGlobalBarrier},
    {"post-validation", OptimizerGate::kPostValidation},
    {"rolled-back", OptimizerGate::kRolledBack},
}};

// Who types the name of an algorithm means something else.
constexpr std::string_view kNotTheAlgorithm =
    ". It says when a rank updates its weights; the optimizer itself is AdamW in mixed precision, "
    "or what the profile names; of a config.json, penstock plan takes --optimizer-bytes 6 for "
    "moments in 8 bits";

using NamedLink = std::pair<std::string_view, HostLink>;
constexpr std::array<NamedLink, 2> kLinks{{
    {"duplex", HostLink::kDuplex},
    {"simplex", HostLink::kSimplex},
}};

template <typename Table, typename Name>
std::vector<std::string> names_of(const Table& table, Name name) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& entry : table) names.emplace_back(entry.*name);
  return names;
}

[[noreturn]] void unknown(std::string_view option, const std::string& value,
                          const std::vector<std::string>& known, std::string_view remark = "") {
  bad_option(option, fmt::format("unknown '{}'", value),
             fmt::format("{}{}", did_you_mean(value, known), remark));
}

Preset preset_named(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset;
  }
  unknown("--executor", name, names_of(kPresets, &Preset::name));
}

template <typename Table>
auto value_named(std::string_view option, const std::string& name, const Table& table,
                 std::string_view remark = "") {
  for (const auto& [word, value] : table) {
    if (word == name) return value;
  }
  unknown(option, name, names_of(table, &Table::value_type::first), remark);
}

std::string_view words_of(TransferMode mode) {
  switch (mode) {
    case TransferMode::kAsync:
      return "transfers occupy no rank";
    case TransferMode::kSenderBlocks:
      return "a transfer occupies its sender";
    case TransferMode::kRendezvous:
      return "a transfer occupies both ranks";
  }
  return "";
}

// The name of an executor with another term of `table`, whose first is the default and goes without
// saying.
template <typename Table>
std::string with_term(std::string name, const Table& table, const std::string& term) {
  for (const auto& entry : table) {
    const std::string other = '+' + std::string(entry.first);
    if (const auto at = name.find(other); at != std::string::npos) name.erase(at, other.size());
  }
  return term == table.front().first ? name : name + '+' + term;
}

}  // namespace

void ExecutorOptions::declare(Options& options) {
  options.heading("How the trainer overlaps transfers with compute");
  options.option(
      "--executor", "NAME",
      "ideal: transfers run beside compute (default); sender-blocks: the sender waits until a "
      "transfer ends; rendezvous: sender and receiver wait; deepspeed: rendezvous in the order of "
      "DeepSpeed's pipeline engine",
      name);
  options.choices(names_of(kPresets, &Preset::name));
  options.option("--queues", "LAYOUT",
                 "which transfers share a queue and run one after the other: none (default), "
                 "per-direction, per-peer, per-rank",
                 queues);
  options.choices(names_of(kLayouts, &NamedLayout::first));
  options.flag("--posted", "a transfer starts only after the receiver has posted its receive",
               posted);
  options.option("--optimizer", "WHEN",
                 "barrier: every update waits for the norm of all gradients (default); "
                 "post-validation: a rank updates as soon as its own gradients are reduced, and "
                 "the norm is checked afterwards, so that a step takes the longest span of a "
                 "rank; rolled-back: such a step whose check fails, so that the update is undone "
                 "and repeated",
                 optimizer);
  options.choices(names_of(kGates, &NamedGate::first));
  options.option("--host-link", "KIND",
                 "the link to the host, for stages that are kept there: duplex: LOAD and STORE "
                 "run side by side (default); simplex: one after the other",
                 host_link);
  options.choices(names_of(kLinks, &NamedLink::first));
}

ExecutorModel ExecutorOptions::model() const { return applied_to({}); }

ExecutorModel ExecutorOptions::applied_to(ExecutorModel other) const {
  return with_terms(says_transfers() ? transfers() : std::move(other));
}

ExecutorModel ExecutorOptions::with_terms(ExecutorModel model) const {
  if (optimizer) {
    model.optimizer = value_named("--optimizer", *optimizer, kGates, kNotTheAlgorithm);
    model.name = with_term(std::move(model.name), kGates, *optimizer);
  }
  if (host_link) {
    model.host_link = value_named("--host-link", *host_link, kLinks);
    model.name = with_term(std::move(model.name), kLinks, *host_link);
  }
  return model;
}

ExecutorModel ExecutorOptions::transfers() const {
  const Preset preset = preset_named(name.value_or("ideal"));
  ExecutorModel model;
  model.name = preset.name;
  model.transfer = preset.transfer;
  model.issue = preset.issue;
  if (queues) model.queues = value_named("--queues", *queues, kLayouts);
  if (model.queues != QueueLayout::kNone) model.name += "+queues-" + *queues;
  model.receive_must_be_posted = posted;
  if (posted) model.name += "+posted";
  return model;
}

std::optional<ExecutorModel> executor_asked(const ExecutorOptions& executor,
                                            const std::optional<std::string>& trainer) {
  const Trainer* known = nullptr;
  if (trainer) known = &parse_trainer(*trainer);
  if (executor.says_transfers()) return executor.transfers();
  if (known != nullptr) return known->executor;
  return {};
}

std::string words_of(const ExecutorModel& executor) {
  std::string text = fmt::format("{}: {}", executor.name, words_of(executor.transfer));
  for (const auto& [word, layout] : kLayouts) {
    if (layout != executor.queues) continue;
    text += layout == QueueLayout::kNone ? ", no queues" : fmt::format(", queues {}", word);
  }
  if (executor.receive_must_be_posted) text += ", receives are posted first";
  if (executor.issue == IssueOrder::kDeepSpeed) text += ", DeepSpeed's order of sends";
  if (executor.optimizer == OptimizerGate::kPostValidation) {
    text += ", the optimizer is validated afterwards";
  }
  if (executor.optimizer == OptimizerGate::kRolledBack) {
    text += ", the optimizer is taken back once and done again";
  }
  if (executor.host_link == HostLink::kSimplex) text += ", loads and stores share one lane";
  for (const FixedCost& one : kFixedCosts) {
    const Duration time = executor.*one.cost;
    if (time > Duration{}) text += fmt::format(", {} per {}", to_text(time), one.of);
  }
  return text;
}

}  // namespace penstock
