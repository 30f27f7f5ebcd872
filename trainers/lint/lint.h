// The offline lint of `penstock check`: what is wrong with another trainer's launch file, before
// the GPUs are allocated. A function of the text; what the file does not say is said, not guessed.
// docs/checking.md has the rules.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan.h"

namespace penstock {

struct TrainerRow;

// Whose launch file this is, by its content; null when it is none that is known.
// A script that names none of its own is judged by the files that it reads.
using FindBeside = std::function<std::optional<std::string>(const std::string& path)>;
const TrainerRow* launch_trainer_of(std::string_view text, const std::string& file,
                                    const FindBeside& beside = {});

// Whether a Python file is a recipe of one of them that sets something: others only use the
// classes. Error{kBadInput} as of lint().
bool is_python_recipe(std::string_view text, const std::string& file);

// What the file may leave open.
struct LintRequest {
  std::string version;                          // of the trainer; empty: the default
  std::optional<int> gpus;                      // wins over the file
  std::optional<int> layers;                    // of the model
  std::optional<int> stages;                    // P of DeepSpeed, whose configuration does not say
  std::optional<int> checkpoint_data_parallel;  // D of the run that wrote the checkpoint
  // The text of a file that the launch file names: schedule_csv, source FILE. May be empty.
  std::function<std::optional<std::string>(const std::string& path)> beside;
};

enum class LintSeverity { kError, kWarning };

struct LintFinding {
  std::string code;  // "E010"
  LintSeverity severity = LintSeverity::kError;
  std::string file;     // that the launch file reads; empty: the launch file itself
  int line = 0;         // 0: the file as a whole
  std::string setting;  // as written in the file
  std::string message;  // one sentence
  std::string why;      // what the trainer does about it
  std::string fix;      // what to write instead
  std::string seen_in;  // "Megatron-LM #1304"; empty: nowhere in particular
  // The layers of every stage that the fix asks for; empty when it asks for none.
  std::vector<int> fix_layers;
  bool operator==(const LintFinding&) const = default;
};

// A rule that could not be judged, and what was missing.
struct LintGap {
  std::string code, why;
  bool operator==(const LintGap&) const = default;
};

// What the file asks for, as far as it says so: enough to predict it.
struct LaunchJob {
  std::optional<int> gpus, tensor, pipeline, context, data;  // T, P, C, D
  std::optional<int> expert;                                 // groups that share the experts
  std::optional<int> expert_tensor;                          // ranks that divide one; nothing: T
  int chunks = 1;                                            // V
  std::optional<int> micro_batch_size, global_batch, micro_batches, sequence_length, layers;
  std::vector<int> layers_per_stage;  // S entries where that is known
  std::string schedule = "1f1b";      // our name; empty: none of ours
  std::string recompute = "none";
  bool zero1 = false;
  Sharding sharding = Sharding::kState;  // beside the state of the optimizer
  int shard_group = 0;                   // as in a Plan
  int line = 0;                          // where P is set, for findings about the whole
  std::string file, setting;
};

struct LintReport {
  const TrainerRow* trainer = nullptr;
  std::string version;
  std::vector<LintFinding> findings;  // by line, then code
  std::vector<std::string> judged;    // codes, ascending
  std::vector<LintGap> not_judged;    // by code
  std::vector<std::string> notes;     // what of the file was not followed
  LaunchJob job;
};

// Error{kBadInput} for a file that cannot be read as the trainer's: "FILE:LINE: ..." and a remedy.
LintReport lint(std::string_view text, const std::string& file, const TrainerRow& trainer,
                const LintRequest& request);

// The rules, in the order of their codes.
struct LintRule {
  std::string_view code, title, seen_in;
};
const std::vector<LintRule>& lint_rules();

// Adds a finding and what goes with it; keeps the order.
void add_finding(LintReport& report, LintFinding finding);

}  // namespace penstock
