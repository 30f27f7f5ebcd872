// What hangs on the schedule: its name, its CSV, W050 and W051.

#include <fmt/format.h>

#include "trainers/pytorch/pipeline_csv.h"
#include "trainers/torchtitan/torchtitan_judge.h"

namespace penstock {

void TorchtitanJudge::judge_schedule_name() {
  if (schedule_ != nullptr || !settings().has(kSchedule)) return;
  const auto name = settings().text(kSchedule);
  if (!name) {
    not_judged("E011", known(kSchedule, std::nullopt).why_not);
    return;
  }
  std::vector<std::string_view> all;
  all.reserve(kTorchSchedules.size());
  for (const TorchSchedule& schedule : kTorchSchedules) all.push_back(schedule.name);
  // The runtime that a CSV makes torchtitan take is no schedule.
  const bool is_runtime = has_csv_ || name->starts_with('_');
  const auto nearest = is_runtime ? std::nullopt : nearest_name(*name, all);
  broken("W060", {settings().find(kSchedule)},
         fmt::format("'{}' is not a schedule that PyTorch knows by name", *name),
         "torchtitan stops at the name, also where a CSV holds the schedule: the name decides "
         "how many stages a rank has.",
         written(kSchedule, fmt::format("\"{}\"", nearest.value_or(plain_name()))));
}

std::string TorchtitanJudge::plain_name() const {
  const bool many = pipeline_.is_known() && listed_stages().value_or(1) > *pipeline_;
  return many ? "PipelineScheduleMulti" : "1F1B";
}

void TorchtitanJudge::judge_csv() {
  if (!has_csv_) return;
  auto path = settings().text(kCsv);
  const LaunchSetting* csv_setting = settings().find(kCsv);
  if (!path && csv_setting->value.kind() == Json::Kind::kString) {  // "$here/schedule.csv"
    const std::string& written = csv_setting->value.text();
    const std::string named =
        path_beside_script({written, csv_setting->line, csv_setting->unresolved, {}});
    if (!named.empty()) path = named;
  }
  const auto text = path && request().beside ? request().beside(*path) : std::nullopt;
  if (!text) {
    not_judged("E011", fmt::format("{} was not read", path.value_or("the schedule's CSV")));
    return;
  }
  const PipelineCsv csv = read_pipeline_csv(*text, *path);
  csv_divides_ = false;
  for (const auto& list : csv.lists) {
    for (const Action& action : list) {
      if (action.kind == ActionKind::kWeightGradient) csv_divides_ = true;
    }
  }
  const LaunchSetting* place = settings().find(kCsv);
  if (pipeline_.is_known() && csv.ranks() != *pipeline_) {
    broken("E011", {place},
           fmt::format("{} has {} ranks, and the job {}", *path, csv.ranks(), *pipeline_), kStops,
           written(kDegree, std::to_string(csv.ranks())));
  }
  if (micro_batches_.is_known() && csv.micro_batches != *micro_batches_) {
    broken("E011", {place},
           fmt::format("{} has {} micro-batches, and the job {}", *path, csv.micro_batches,
                       *micro_batches_),
           kStops,
           is_head() ? written(kMicroBatches, std::to_string(csv.micro_batches))
                     : written("training.local_batch_size",
                               std::to_string(csv.micro_batches * micro_batch_.value.value_or(1))));
  }
  const auto stages = std::ssize(csv.rank_of_stage);
  if (listed_stages() && *listed_stages() != stages) {
    broken("E011", {place},
           fmt::format("{} has {} stages, and the lists {}", *path, stages, *listed_stages()),
           kStops, "a list per stage of the file");
  }
}

void TorchtitanJudge::judge_recompute() {
  const bool divides =
      has_csv_ ? csv_divides_.value_or(false) : schedule_ != nullptr && schedule_->divides;
  if (has_csv_ && !csv_divides_ && schedule_ != nullptr) {
    not_judged("W050", "whether the CSV divides the backward: it was not read");
    return;
  }
  if (!divides || !pipeline_.is_known() || *pipeline_ == 1) {
    judged("W050");
    return;
  }
  const LaunchSetting* policy = settings().find(kRecompute);
  if (!certain("W050", {kRecompute})) return;
  if (policy != nullptr && !policy->unresolved.empty()) {
    not_judged("W050", fmt::format("{} is not set in this file ({})", policy->unresolved,
                                   settings().lines().words(policy->line)));
    return;
  }
  judged("W050");
  const std::string mode = settings().text(kRecompute).value_or("selective");
  if (mode == "none") return;
  broken("W050", {settings().find(kRecompute), settings().find(kSchedule)},
         fmt::format("the schedule divides the backward, and recompute is {}", mode),
         "The forward is computed again for I and once more for W: the bubble that is saved is "
         "paid for in recompute.",
         written(kRecompute, "\"none\""));
}

void TorchtitanJudge::judge_sends() {
  if (has_csv_) {
    not_judged("W051",
               "the order of transfers is that of the CSV's actions; penstock schedule "
               "simulates it");
    return;
  }
  if (!judgeable("W051", {&pipeline_}) || schedule_ == nullptr || *pipeline_ == 1) return;
  const bool loops = schedule_->many && !schedule_->two;
  if (!loops) return;
  broken("W051", {settings().find(kSchedule)},
         fmt::format("receives of {} are issued before sends that are ready", schedule_->name),
         "PyTorch issues a receive where its sender runs; on one stream per rank the sends behind "
         "it wait for a trip round all ranks.",
         written(kSchedule, "\"1F1B\"") + ", or compare both with penstock compare");
}

}  // namespace penstock
