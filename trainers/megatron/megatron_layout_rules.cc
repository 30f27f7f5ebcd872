// E011: the layout string.
#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "trainers/megatron/megatron_judge.h"
#include "trainers/megatron_bridge/megatron_recipe.h"

namespace penstock {

void MegatronJudge::judge_layout() {
  const LaunchSetting* setting = settings().find(kLayout);
  if (setting == nullptr) return;
  const auto text = settings().text(kLayout);
  if (!text) {
    const Known layout = known(kLayout, std::nullopt);
    not_judged("E011", layout.why_not);
    return;
  }
  const MegatronLayout layout = read_megatron_layout(*text);
  judged("E011");
  if (!layout.why_not.empty()) {
    wrong_layout("the layout cannot be read: " + layout.why_not, 0);
    return;
  }
  const auto pieces = std::ssize(layout.stages);
  if (pipeline_.is_known() && pieces % *pipeline_ != 0) {
    wrong_layout(
        fmt::format("the layout has {} stages, not a multiple of PP = {}", pieces, *pipeline_),
        pieces);
  }
  judge_virtual_beside_layout(pieces);
  judge_letters(layout);
  judge_empty_pieces(layout);
  std::vector<int> counts;
  counts.reserve(layout.stages.size());
  for (const std::string& stage : layout.stages) {
    counts.push_back(static_cast<int>(std::count(stage.begin(), stage.end(), 't')));
  }
  if (pipeline_.is_known() && pieces % *pipeline_ == 0) set_stages(std::move(counts));
}

// core/transformer/transformer_config.py asserts that they agree.
void MegatronJudge::judge_virtual_beside_layout(std::int64_t pieces) {
  const LaunchSetting* setting = settings().find(kVirtualBesideLayout);
  if (setting == nullptr || !pipeline_.is_known() || pieces % *pipeline_ != 0) return;
  const auto said = settings().number(kVirtualBesideLayout);
  const std::int64_t chunks = pieces / *pipeline_;
  if (!said || said->value == chunks) return;
  broken("E011", {setting},
         fmt::format("VP is {}, but the layout has {} stages for PP = {}, VP {}", said->value,
                     pieces, *pipeline_, chunks),
         kStops, fmt::format("{} = {}", kVirtualBesideLayout, chunks));
}

void MegatronJudge::wrong_layout(std::string message, std::int64_t pieces) {
  LintFinding& finding = broken("E011", {settings().find(kLayout)}, std::move(message), kStops,
                                "write one piece per stage, E first and L last");
  if (!layers_.is_known() || !pipeline_.is_known()) return;
  const std::int64_t stages = *pipeline_ * std::max<std::int64_t>(1, pieces / *pipeline_);
  const std::int64_t fitting = stages <= *layers_ ? stages : *pipeline_;
  if (fitting > *layers_) return;
  finding.fix_layers = spread_evenly(static_cast<int>(*layers_), static_cast<int>(fitting));
  finding.fix = layout_flag(finding.fix_layers);
}

void MegatronJudge::judge_letters(const MegatronLayout& layout) {
  std::string all;
  for (const std::string& stage : layout.stages) all += stage;
  const auto pieces = std::ssize(layout.stages);
  const auto count = [&all](char letter) { return std::count(all.begin(), all.end(), letter); };
  if (all.empty() || count('E') != 1 || all.front() != 'E') {
    wrong_layout("the layout must begin with its only E", pieces);
  }
  if (all.empty() || count('L') != 1 || all.back() != 'L') {
    wrong_layout("the layout must end with its only L", pieces);
  }
  if (layers_.is_known() && count('t') != *layers_) {
    wrong_layout(fmt::format("the layout has {} layers, and the model {}", count('t'), *layers_),
                 pieces);
  } else if (!layers_.is_known()) {
    not_judged("E011", layers_.why_not);
  }
  judge_mtp(layout, all, count('m'));
}

void MegatronJudge::judge_mtp(const MegatronLayout& layout, const std::string& all,
                              std::int64_t count) {
  const auto pieces = std::ssize(layout.stages);
  const Known wanted = known("--mtp-num-layers", 0, 0);
  if (wanted.is_known() && *wanted != count) {
    wrong_layout(fmt::format("the layout has {} m, and --mtp-num-layers is {}", count, *wanted),
                 pieces);
    return;
  }
  if (count == 0) return;
  const std::size_t first = all.find('m');
  const auto holds = [](const std::string& stage) { return stage.find('m') != std::string::npos; };
  const auto holders = std::count_if(layout.stages.begin(), layout.stages.end(), holds);
  const auto holder = std::find_if(layout.stages.begin(), layout.stages.end(), holds);
  const bool in_last_chunk = !pipeline_.is_known() || layout.stages.end() - holder <= *pipeline_;
  if (all.find('t', first) != std::string::npos || holders > 1 || !in_last_chunk) {
    wrong_layout("all m must come after all t, in one stage, the last virtual stage of its rank",
                 pieces);
  }
}

void MegatronJudge::judge_empty_pieces(const MegatronLayout& layout) {
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    if (!layout.stages[s].empty()) continue;
    wrong_layout(fmt::format("stage {} of the layout is empty", s), std::ssize(layout.stages));
    report().findings.back().why =
        "Megatron-LM reads the layout, and fails while the first step runs.";
    return;
  }
}

}  // namespace penstock
