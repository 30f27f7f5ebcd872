// Every step has a plan of its own, so that it is compared with its own prediction: time, and the
// bytes that its micro-batches may take on each rank (stash, working memory and the buffers of
// transfers; what is kept whatever the batch is no part of it on either side).
#include "cli/io/document_run.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "core/values/plan.h"
#include "report/dynamic_report.h"
#include "report/validation.h"
#include "report/words.h"

namespace penstock {
namespace {

Bytes for_micro_batches(const MemoryUse& memory) {
  return memory.stash + memory.working_peak + memory.communication;
}

// By rank of the job, as far as the plan's file lists them: replicas of one kind are alike.
std::vector<Bytes> planned_bytes(const PlanFile& plan) {
  const Plan& layout = plan.plan;
  std::vector<Bytes> bytes;
  for (int rank = 0; rank < layout.pipeline * layout.data; ++rank) {
    const bool inner = layout.placement == Placement::kPipelineInner;
    const int replica = inner ? rank / layout.pipeline : rank % layout.data;
    const int of_pipeline = inner ? rank % layout.pipeline : rank / layout.data;
    const int listed = kind_of_replica(layout, replica) * layout.pipeline + of_pipeline;
    bytes.push_back(
        for_micro_batches(plan.prediction.ranks[static_cast<std::size_t>(listed)].memory));
  }
  return bytes;
}

Json bytes_json(const std::vector<Bytes>& all) {
  Json json = Json::array();
  for (const Bytes bytes : all) json.push(bytes.count);
  return json;
}

// The plan as the study of batches describes one.
DynamicStep described(const PlannedStep& planned, const DocumentSet& documents,
                      const std::vector<std::int64_t>& of_step) {
  const PlanFile& plan = *planned.plan;
  DynamicStep step;
  step.step = plan.prediction.step_time;
  step.makespan = plan.prediction.makespan;
  step.objective_ns = planned.samples->objective_ns;
  step.real_tokens = planned.samples->real_tokens;
  step.padded_tokens = planned.samples->padded_tokens;
  step.schedule = plan.plan.schedule;
  step.recompute = plan.plan.recompute;
  step.planning = planned.samples->planning;
  for (int rank = 0; rank < plan.plan.pipeline; ++rank) {
    step.peak.push_back(plan.prediction.ranks[static_cast<std::size_t>(rank)].memory.total());
  }
  double targets = 0.0;
  for (const std::int64_t document : of_step) {
    targets += static_cast<double>(documents.loss_tokens(document));
  }
  std::size_t next = 0;
  for (const ReplicaBatch& replica : plan.plan.batch.replicas) {
    auto& micro_batches = step.replicas.emplace_back();
    for (const ShapeRun& run : replica.runs) {
      for (int i = 0; i < run.count; ++i) {
        DynamicMicroBatch& one = micro_batches.emplace_back();
        one.shape = plan.plan.batch.shapes[static_cast<std::size_t>(run.shape)];
        for (int s = 0; s < one.shape.samples; ++s) {
          const int sample = planned.samples->order[next++];
          const std::int64_t document = of_step[static_cast<std::size_t>(sample)];
          one.samples.push_back(sample);
          one.real_tokens += documents.fed_tokens(document);
          one.weight += static_cast<double>(documents.loss_tokens(document)) / targets;
        }
      }
    }
  }
  return step;
}

// The lines that a run which resumes at `first_step` keeps.
std::string lines_before(const std::string& path, std::int64_t first_step) {
  std::ifstream file(path);
  std::string kept, line;
  while (std::getline(file, line) && !file.eof()) {  // a rank may die in the middle of its last
    const Json json = parse_json(line, path);
    const std::int64_t step =
        JsonReader(json, path).at("step").integer(0, std::numeric_limits<std::int64_t>::max());
    if (step >= first_step) break;
    kept += line + '\n';
  }
  return kept;
}

}  // namespace

DocumentRun::DocumentRun(StepObserver& next, const PlansAhead& plans,
                         const DocumentBatches& documents, const std::string& file,
                         std::int64_t first_step)
    : next_(next), plans_(plans), documents_(documents), path_(file) {
  if (path_.empty()) return;
  const std::string kept = first_step > 0 ? lines_before(path_, first_step) : "";
  file_.reset(std::fopen(path_.c_str(), "w"));
  if (!file_) {
    throw Error(ErrorKind::kMissingResource,
                path_ + ": cannot write this file: " + std::strerror(errno));
  }
  std::fputs(kept.c_str(), file_.get());
}

void DocumentRun::step_finished(const MeasuredStep& measured) {
  const PlannedStep planned = plans_.planned(measured.step);
  MeasuredStep told = measured;
  if (planned.plan != nullptr) {
    told.plan = fmt::format("the plan of step {}", measured.step);
    told.plan_hash = fmt::format("{:016x}", planned.samples->fingerprint);
  }
  next_.step_finished(told);
  if (planned.plan == nullptr) return;
  Step step;
  step.measured = measured.step_time;
  step.predicted = planned.plan->prediction.step_time;
  step.planning = planned.samples->planning;
  step.waited = plans_.waited(measured.step);
  step.real_tokens = planned.samples->real_tokens;
  step.padded_tokens = planned.samples->padded_tokens;
  const std::vector<Bytes> may = planned_bytes(*planned.plan);
  for (std::size_t rank = 0; rank < std::min(may.size(), held_.size()); ++rank) {
    const double share = static_cast<double>(held_[rank].count) /
                         static_cast<double>(std::max<std::int64_t>(may[rank].count, 1));
    if (share <= step.share_held) continue;
    step.share_held = share;
    step.most_held = held_[rank];
    step.most_planned = may[rank];
  }
  steps_.push_back(step);
  if (!file_) return;
  const std::vector<std::int64_t> documents = documents_.of_step(measured.step);
  Json json = Json::object();
  json.set("step", measured.step)
      .set("loss", measured.loss)
      .set("measured_step_time_ns", std::int64_t{measured.step_time.count()})
      .set("predicted_step_time_ns", std::int64_t{step.predicted.count()})
      .set("waited_for_plan_ns", std::int64_t{step.waited.count()});
  if (!held_.empty()) json.set("measured_bytes", bytes_json(held_));
  json.set("predicted_bytes", bytes_json(may));
  Json numbers = Json::array();
  for (const std::int64_t document : documents) numbers.push(document);
  json.set("documents", std::move(numbers));
  json.set("plan", dynamic_step_json(described(planned, documents_.documents(), documents),
                                     documents_.lengths_of_step(measured.step),
                                     documents_.documents().pairs()));
  std::fprintf(file_.get(), "%s\n", to_text(json, std::numeric_limits<int>::max()).c_str());
  if (std::fflush(file_.get()) != 0) {
    throw Error(ErrorKind::kMissingResource,
                path_ + ": cannot write this file: " + std::strerror(errno));
  }
}

Duration DocumentRun::predicted() const {
  std::vector<Duration> times;
  const std::size_t first = steps_.size() > kWarmUpSteps ? kWarmUpSteps : 0;
  for (std::size_t i = first; i < steps_.size(); ++i) times.push_back(steps_[i].predicted);
  return times.empty() ? Duration{} : median_of(std::move(times));
}

std::string DocumentRun::text() const {
  if (steps_.empty()) return "";
  const std::size_t first = steps_.size() > kWarmUpSteps ? kWarmUpSteps : 0;
  Duration measured{}, predicted{}, planning{}, waited{};
  std::int64_t real = 0, padded = 0;
  const Step* tightest = &steps_.front();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    real += step.real_tokens;
    padded += step.padded_tokens;
    planning += step.planning;
    if (step.share_held > tightest->share_held) tightest = &step;
    if (i < first) continue;
    measured += step.measured;
    predicted += step.predicted;
    waited += step.waited;
  }
  const auto count = static_cast<std::int64_t>(steps_.size() - first);
  std::string text = fmt::format(
      "{} of {} tokens are no padding ({:.1f} %); planning a step took {} of a processor, and "
      "ranks waited {} for plans\n",
      with_commas(real), with_commas(padded),
      100.0 * static_cast<double>(real) / static_cast<double>(padded),
      to_text(planning / static_cast<std::int64_t>(steps_.size())), to_text(waited));
  text += fmt::format("{} together took {}, predicted {} ({:+.1f} %)\n", count_of(count, "step"),
                      to_text(measured), to_text(predicted),
                      100.0 * prediction_error(predicted, measured));
  if (tightest->share_held > 0.0) {
    text +=
        fmt::format("memory of micro-batches: at most {} of the {} that were planned ({:.0f} %)\n",
                    to_text(tightest->most_held), to_text(tightest->most_planned),
                    100.0 * tightest->share_held);
  }
  return text;
}

}  // namespace penstock
