// The question that `plan` and `compare` ask: inputs, what is fixed, how to search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/executor_options.h"
#include "cli/files.h"
#include "cli/model_input.h"
#include "cli/options.h"
#include "core/calibration_result.h"
#include "search/best_plans.h"

namespace penstock {

struct SearchOptions {
  std::string profile;
  std::optional<std::string> cluster, precision, attention, gradients, gpus, global_batch,
      sequence_length, recompute, zero1, device, placement, trainer, reserve_gib, top, threads,
      budget;
  std::vector<std::string> pins, schedules, measured;
  std::vector<std::string> also_on;  // further device types to estimate for, set by `predict`
  ExecutorOptions executor;
  bool every_candidate = false;

  void declare(Options& options);
  // Of one configuration only: the model; what it runs on, and how.
  void declare_inputs(Options& options);
  void declare_machine(Options& options);

 private:
  void declare_model(Options& options);
  void declare_estimate(Options& options);
  void declare_measured(Options& options);
};

// Profile and cluster as they were read, or estimated and assumed.
struct Question {
  Loaded<ModelProfile> profile;
  // Of a model that was given by its config.json; its profile is this estimate.
  std::optional<EstimatedModel> estimated;
  Loaded<ClusterSpec> cluster;
  std::optional<CalibrationResult> measured;  // by --measured
  ExecutorModel executor;
  std::optional<Bytes> reserve;
  SearchRequest request;
  std::optional<Duration> budget;

  [[nodiscard]] PlanInputs inputs() const {
    return {&profile.value, &cluster.value, executor, reserve};
  }
};

Question question_of(const SearchOptions& options);
// How an assumed cluster is called where a file would be named.
inline constexpr const char* kAssumedCluster = "assumed cluster";
// As many as this machine has.
int default_threads();

// Changes one thing of a question: a pin (schedule, P, V, D, T, b, recompute, zero1, device,
// placement), gpus, global-batch, reserve-gib, or its cluster (change_cluster.h). False when the
// key is none of them; Error{kBadInput}, which names `option`, for a bad value.
bool set(Question& question, const std::string& option, const std::string& key,
         const std::string& value);
// All of them but link.LEVEL.
const std::vector<std::string>& settable_keys();

// Changes what a question is made from: a file to read, or what an estimate is made for. False when
// the key is no such option; what is wrong with a value is found when the question is asked.
bool set(SearchOptions& options, const std::string& key, const std::string& value);
// Those of them that settable_keys() does not have.
const std::vector<std::string>& readable_keys();

// "GPT-6.7B on 8 x p4d: at most 64 GPUs, global batch 512, sequence length 2048, executor ideal"
std::string words_of(const Question& question);
// "penstock 0.1.0; profile p.json fnv1a64:..., cluster c.json fnv1a64:..."
std::string origin_of(const Question& question);
// What an estimate rests on, in lines; nothing of a measured profile.
std::vector<std::string> notes_of(const Question& question);
// Appends the question to a JSON object.
void set_question(Json& json, const Question& question);

}  // namespace penstock
