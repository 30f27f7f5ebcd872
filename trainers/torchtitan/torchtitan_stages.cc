// E010 and E011: how many stages, and how many layers each has.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trainers/megatron/megatron_layout.h"
#include "trainers/torchtitan/torchtitan_judge.h"

namespace penstock {

void TorchtitanJudge::judge_stages() {
  if (!judgeable("E011", {&pipeline_}) || *pipeline_ == 1) return;
  const auto stages = listed_stages();
  if (!stages || schedule_ == nullptr) return;
  const std::int64_t each = *stages / *pipeline_;
  if (*stages % *pipeline_ != 0) {
    wrong_stages(fmt::format("{} stages are not a multiple of the {} ranks", *stages, *pipeline_));
  } else if (!schedule_->many && each != 1) {
    wrong_stages(
        fmt::format("{} has one stage per rank, and the lists make {}", schedule_->name, each));
  } else if (schedule_->two ? each != 2 : schedule_->many && each < 2) {
    wrong_stages(fmt::format("{} has {} stages per rank, and the lists make {}", schedule_->name,
                             schedule_->two ? "two" : "two or more", each));
  } else {
    set_stages();
  }
}

void TorchtitanJudge::wrong_stages(std::string message) {
  const std::int64_t wanted = *pipeline_ * (schedule_->many ? 2 : 1);
  LintFinding& finding =
      broken("E011", {list_setting(), pipeline_.from}, std::move(message), kStops,
             fmt::format("{} lists, or the schedule of so many stages", wanted));
  const int layers = layers_.value_or(highest_layer() + 1);
  if (wanted > layers) return;
  finding.fix_layers = spread_evenly(layers, static_cast<int>(wanted));
  finding.fix = lists_of(finding.fix_layers);
}

std::string TorchtitanJudge::lists_of(const std::vector<int>& counts) const {
  std::string text;
  int first = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    std::string names = s == 0 ? "\"tok_embeddings\"" : "";
    for (int i = 0; i < counts[s]; ++i) {
      names += fmt::format("{}\"layers.{}\"", names.empty() ? "" : ", ", first + i);
    }
    if (s + 1 == counts.size()) names += fmt::format(", \"norm\", \"{}\"", head());
    if (!version_.splits_by_points) text += fmt::format("{}[{}]", s == 0 ? "" : ", ", names);
    if (version_.splits_by_points && s > 0) {
      text += fmt::format("{}\"layers.{}\"", s == 1 ? "" : ", ", first);
    }
    first += counts[s];
  }
  return written(version_.splits_by_points ? kSplitPoints : kModules, '[' + text + ']');
}

int TorchtitanJudge::highest_layer() const {
  int most = -1;
  for (const auto& part : parts_) {
    for (const std::string& name : part) most = std::max(most, torchtitan_layer(name).value_or(-1));
  }
  for (const std::string& name : split_points_) {
    most = std::max(most, torchtitan_layer(name).value_or(-1));
  }
  return std::min(most, 10'000);
}

void TorchtitanJudge::set_stages() {
  std::vector<int> counts;
  if (!parts_.empty()) {
    for (const auto& part : parts_) {
      counts.push_back(
          static_cast<int>(std::count_if(part.begin(), part.end(), [](const std::string& name) {
            return torchtitan_layer(name).has_value();
          })));
    }
  }
  if (parts_.empty() && layers_) {
    int before = 0;
    for (const std::string& point : split_points_) {
      const int next = torchtitan_layer(point).value_or(before);
      counts.push_back(next - before);
      before = next;
    }
    counts.push_back(*layers_ - before);
  }
  report().job.layers_per_stage = std::move(counts);
}

void TorchtitanJudge::judge_automatic_split() {
  if (listed_stages()) {
    judged("E010");
    return;
  }
  if (!judgeable("E010", {&pipeline_}) || *pipeline_ == 1 || schedule_ == nullptr) return;
  if (!layers_) {
    not_judged("E010", "the model's layers; name it with --config");
    return;
  }
  const Known each = known(kLayersPerStage, 0);
  const Known first = known(kFirstLess, version_.splits_by_points ? 0 : 1, 0);
  const Known last = known(kLastLess, version_.splits_by_points ? 0 : 1, 0);
  if (!judgeable("E010", {&each, &first, &last})) return;
  const std::int64_t effective = *layers_ + *first + *last;
  const std::int64_t stages = each.from != nullptr ? (effective + *each - 1) / *each
                                                   : *pipeline_ * (schedule_->many ? 2 : 1);
  if (stages % *pipeline_ != 0 || (!schedule_->many && stages != *pipeline_)) {
    uneven(fmt::format("{} layers a stage make {} stages, and {} on {} ranks needs {}", *each,
                       stages, schedule_->name, *pipeline_,
                       schedule_->many ? "a multiple of the ranks" : "as many as ranks"),
           each.from, *pipeline_ * (schedule_->many ? 2 : 1));
  } else if (effective / stages < std::max({*first, *last, std::int64_t{1}})) {
    uneven(fmt::format("{} layers are too few for {} stages, of which the ends hold {} and {} "
                       "less",
                       *layers_, stages, *first, *last),
           pipeline_.from, stages);
  } else if (stages <= 10'000) {
    std::vector<int> counts = spread_evenly(static_cast<int>(effective), static_cast<int>(stages));
    counts.front() -= static_cast<int>(*first);
    counts.back() -= static_cast<int>(*last);
    report().job.layers_per_stage = std::move(counts);
  }
}

void TorchtitanJudge::uneven(std::string message, const LaunchSetting* place, std::int64_t stages) {
  LintFinding& finding = broken("E010", {place, pipeline_.from}, std::move(message), kStops,
                                fmt::format("at most {} stages", *layers_));
  if (stages > *layers_) return;
  finding.fix_layers = spread_evenly(*layers_, static_cast<int>(stages));
  finding.fix = lists_of(finding.fix_layers);
}

}  // namespace penstock
