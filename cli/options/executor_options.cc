#include "cli/options/executor_options.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/options/nearest.h"
#include "cli/options/parse.h"
#include "cli/options/trainer_called.h"
#include "search/trainers.h"

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

template <typename Table, typename Name>
std::vector<std::string> names_of(const Table& table, Name name) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& entry : table) names.emplace_back(entry.*name);
  return names;
}

[[noreturn]] void unknown(std::string_view option, const std::string& value,
                          const std::vector<std::string>& known) {
  bad_option(option, fmt::format("unknown '{}'", value), did_you_mean(value, known));
}

Preset preset_named(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset;
  }
  unknown("--executor", name, names_of(kPresets, &Preset::name));
}

QueueLayout layout_named(const std::string& name) {
  for (const auto& [word, layout] : kLayouts) {
    if (word == name) return layout;
  }
  unknown("--queues", name, names_of(kLayouts, &NamedLayout::first));
}

std::string_view words_of(TransferMode mode) {
  switch (mode) {
    case TransferMode::kAsync:
      return "transfers occupy nobody";
    case TransferMode::kSenderBlocks:
      return "a transfer occupies its sender";
    case TransferMode::kRendezvous:
      return "a transfer occupies both ranks";
  }
  return "";
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
}

ExecutorModel ExecutorOptions::model() const {
  const Preset preset = preset_named(name.value_or("ideal"));
  ExecutorModel model;
  model.name = preset.name;
  model.transfer = preset.transfer;
  model.issue = preset.issue;
  if (queues) model.queues = layout_named(*queues);
  if (model.queues != QueueLayout::kNone) model.name += "+queues-" + *queues;
  model.receive_must_be_posted = posted;
  if (posted) model.name += "+posted";
  return model;
}

std::optional<ExecutorModel> executor_asked(const ExecutorOptions& executor,
                                            const std::optional<std::string>& trainer) {
  std::optional<Trainer> known;
  if (trainer) known = parse_trainer(*trainer);
  if (executor.given()) return executor.model();
  if (known) return executor_of(*known);
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
  return text;
}

}  // namespace penstock
