// The two rules of `check` that need a prediction. What the script says becomes a Plan, priced as
// `predict` does it: E030 where the fullest rank does not fit, with the first remedy that does;
// W052 where a stage is 10 % slower than the mean and better cuts save at least 2 % of the step.
// Where the script leaves something open the rules are reported as not judged, with the reason.
#include "cli/reports/predict_launch.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/options/search_options.h"
#include "cli/words/parse.h"
#include "core/files/format.h"
#include "core/values/durations.h"
#include "report/words.h"
#include "search/evaluate.h"
#include "trainers/lint/layer_cuts.h"
#include "trainers/trainer_row.h"

namespace penstock {
namespace {

// A stage may be so much slower than the mean before it is worth a word.
constexpr double kSlowStage = 1.1;
// An estimate of memory leaves out fragmentation and workspaces, and adds a reserve for them.
constexpr double kMemoryBar = 0.1;

std::vector<std::string> names_of_sections(const ModelProfile& profile) {
  std::vector<std::string> names;
  names.reserve(profile.sections.size());
  for (const Section& section : profile.sections) names.push_back(section.name);
  return names;
}

void not_judged(LintReport& report, const char* code, const std::string& why) {
  report.not_judged.push_back({code, why});
  std::stable_sort(report.not_judged.begin(), report.not_judged.end(),
                   [](const LintGap& a, const LintGap& b) { return a.code < b.code; });
}

void neither_judged(LintReport& report, const std::string& why) {
  not_judged(report, "E030", why);
  not_judged(report, "W052", why);
}

// What of the job keeps it from being a Plan; empty when nothing does.
std::string why_no_plan(const LaunchJob& job) {
  if (job.schedule.empty()) return "the job's schedule is none that is simulated here";
  if (!job.pipeline || !job.tensor) return "the degrees of the job are not known";
  if (!job.data || !job.micro_batches) {
    return "the replicas and micro-batches of the job are not known (E001, E020)";
  }
  if (!job.micro_batch_size || !job.global_batch) return "the batch of the job is not known";
  return "";
}

Question question_of_job(const LaunchModel& model, const LaunchJob& job) {
  SearchOptions options;
  options.profile = *model.path();
  options.cluster = model.cluster;
  options.device = model.device;
  options.precision = model.precision;
  options.context_degrees = {job.context.value_or(1)};
  options.expert_degrees = {job.expert.value_or(1)};
  options.gpus = fmt::format("{}", static_cast<std::int64_t>(*job.pipeline) * *job.tensor *
                                       job.context.value_or(1) * *job.data);
  options.global_batch = fmt::format("{}", *job.global_batch);
  options.sequence_length = model.sequence_length;
  if (!options.sequence_length && job.sequence_length) {
    options.sequence_length = fmt::format("{}", *job.sequence_length);
  }
  return question_of(options);
}

Plan plan_of(const LaunchJob& job, const Question& question, const std::vector<int>& layers) {
  Plan plan;
  plan.schedule = job.schedule;
  plan.pipeline = *job.pipeline;
  plan.chunks = job.chunks;
  if (!layers.empty()) plan.chunks = static_cast<int>(layers.size()) / *job.pipeline;
  if (plan.schedule == "1f1b" && plan.chunks > 1) plan.schedule = "interleaved";
  plan.tensor = *job.tensor;
  plan.context = job.context.value_or(1);
  plan.expert = job.expert.value_or(1);
  if (plan.expert > 1) {
    const int within = job.expert_tensor.value_or(plan.tensor);
    plan.expert_tensor = within == plan.tensor ? 0 : within;
    plan.placement = Placement::kDataInner;
  }
  plan.data = *job.data;
  plan.micro_batch_size = *job.micro_batch_size;
  plan.global_batch = *job.global_batch;
  plan.sequence_length = question.request.sequence_length;
  plan.recompute = job.recompute;
  plan.zero1 = job.zero1;
  plan.sharding = job.sharding;
  plan.shard_group = job.shard_group;
  plan.device =
      question.request.pins.device.value_or(question.cluster.value.device_types.front().name);
  plan.cuts = cuts_of_layers(names_of_sections(question.profile.value), layers);
  return plan;
}

LintFinding finding_about(const LintReport& report, const char* code, LintSeverity severity) {
  LintFinding finding;
  finding.code = code;
  finding.severity = severity;
  finding.file = report.job.file;
  finding.line = report.job.line;
  finding.setting = report.job.setting;
  for (const LintRule& rule : lint_rules()) {
    if (rule.code == code) finding.seen_in = rule.seen_in;
  }
  return finding;
}

std::string largest_part(const MemoryUse& use) {
  const std::vector<std::pair<std::string, Bytes>> parts{{"parameters", use.parameters},
                                                         {"gradients", use.gradients},
                                                         {"optimizer", use.optimizer_state},
                                                         {"activations", use.stash},
                                                         {"working memory", use.working_peak}};
  const auto most = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.second.count < b.second.count;
  });
  return fmt::format("{} {} GiB", most->first, gib(most->second));
}

// What may give the fullest rank room, in the order of what it costs: in the trainer's words, and
// done to a plan.
struct Relief {
  std::string words;
  void (*apply)(Plan& plan);
  bool is_open;  // the job does not do it yet
};

// Under fused attention, which estimates suppose by default, Megatron's selective mode saves
// nothing, and 'selective' of an estimate is torchtitan's.
bool saves_by_selecting(const Question& question, const LintReport& report) {
  return !question.estimated || !report.trainer->linter->selective_is_attention;
}

std::vector<Relief> reliefs_for(const Question& question, const LintReport& report,
                                const Plan& plan) {
  const MemoryWords& words = report.trainer->linter->memory;
  const int half = plan.micro_batch_size / 2;
  const bool halves = plan.micro_batch_size % 2 == 0;
  return {
      {std::string(words.sharded), [](Plan& p) { p.zero1 = true; }, !plan.zero1 && plan.data > 1},
      {std::string(words.selective), [](Plan& p) { p.recompute = "selective"; },
       plan.recompute == "none" && !words.selective.empty() &&
           saves_by_selecting(question, report)},
      {fmt::format("{} {}", words.micro_batch, half), [](Plan& p) { p.micro_batch_size /= 2; },
       halves},
      {std::string(words.full), [](Plan& p) { p.recompute = "full"; }, plan.recompute != "full"},
  };
}

bool fits(const Evaluation& evaluation) {
  return std::all_of(evaluation.ranks.begin(), evaluation.ranks.end(), [](const auto& rank) {
    return rank.memory.total().count <= rank.capacity.count;
  });
}

// The first relief with which the job fits, else the first of them together; each is priced.
std::string remedy_for(const Question& question, const Plan& plan, const LintReport& report) {
  std::string words;
  Plan together = plan;
  const auto priced = [&question](const Plan& changed) {
    return evaluate(question.inputs(), changed).evaluation;
  };
  const auto told = [](const std::string& what, const Evaluation& evaluation) {
    return fmt::format("{}   predicted step {}, fullest rank {} GiB", what,
                       to_text(evaluation.step_time), gib(evaluation.peak_memory()));
  };
  const std::vector<Relief> reliefs = reliefs_for(question, report, plan);
  for (const Relief& relief : reliefs) {
    if (!relief.is_open) continue;
    Plan changed = plan;
    relief.apply(changed);
    const Evaluation evaluation = priced(changed);
    if (!evaluation.ranks.empty() && fits(evaluation)) return told(relief.words, evaluation);
  }
  for (const Relief& relief : reliefs) {
    if (!relief.is_open) continue;
    relief.apply(together);
    words += (words.empty() ? "" : ", ") + relief.words;
    const Evaluation evaluation = priced(together);
    if (!evaluation.ranks.empty() && fits(evaluation)) return told(words, evaluation);
  }
  return "more ranks per replica; penstock plan with the same inputs lists what fits";
}

void judge_memory(const Question& question, const EvaluatedPlan& evaluated, LintReport& report) {
  const Evaluation& evaluation = evaluated.evaluation;
  report.judged.emplace_back("E030");
  const auto fullest = std::max_element(
      evaluation.ranks.begin(), evaluation.ranks.end(), [](const auto& a, const auto& b) {
        return (a.memory.total() - a.capacity).count < (b.memory.total() - b.capacity).count;
      });
  const Bytes use = fullest->memory.total(), room = fullest->capacity;
  if (use.count <= room.count) return;
  const bool within =
      static_cast<double>(use.count) * (1.0 - kMemoryBar) <= static_cast<double>(room.count);
  LintFinding finding =
      finding_about(report, "E030", within ? LintSeverity::kWarning : LintSeverity::kError);
  finding.message = fmt::format("rank {} of the pipeline needs {} of {} GiB",
                                fullest - evaluation.ranks.begin(), gib(use), gib(room));
  finding.why = fmt::format("The largest part is {}{}. The first step runs out of memory.",
                            largest_part(fullest->memory),
                            within ? "; the excess is within 10 %, the error of such sums" : "");
  finding.fix = remedy_for(question, evaluated.plan, report);
  add_finding(report, std::move(finding));
}

std::vector<double> stage_times(const StagePrices& prices) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(prices.stages));
  for (int s = 0; s < prices.stages; ++s) {
    Duration time{};
    for (const ActionKind kind :
         {ActionKind::kForward, ActionKind::kFusedBackward, ActionKind::kRecompute}) {
      time += price_alone(prices, kind, {s});
    }
    times.push_back(static_cast<double>(time.count()));
  }
  return times;
}

// Other cuts are worth a word when they save this much of the step.
constexpr double kWorthAWord = 0.02;

void judge_balance(const Question& question, const EvaluatedPlan& evaluated, LintReport& report) {
  report.judged.emplace_back("W052");
  const std::vector<double> times = stage_times(evaluated.prices);
  const double mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  const auto slowest = std::max_element(times.begin(), times.end());
  if (times.size() < 2 || *slowest <= kSlowStage * mean) return;
  // Memory may leave no better cuts; then there is nothing to say.
  Plan better = evaluated.plan;
  better.cuts.clear();
  const EvaluatedPlan best = evaluate(question.inputs(), better);
  const auto step = [](const EvaluatedPlan& plan) {
    return static_cast<double>(plan.evaluation.step_time.count());
  };
  if (best.evaluation.ranks.empty() || step(best) > (1.0 - kWorthAWord) * step(evaluated)) return;
  const std::vector<int> layers =
      layers_of_cuts(names_of_sections(question.profile.value), best.plan.cuts);
  LintFinding finding = finding_about(report, "W052", LintSeverity::kWarning);
  finding.message = fmt::format("stage {} takes {:.2f} times the mean of all stages",
                                slowest - times.begin(), *slowest / mean);
  finding.why = "All ranks wait for the slowest; embedding and head make the ends heavy.";
  const auto setting = report.trainer->linter->layers_setting;
  finding.fix = setting != nullptr ? setting(layers)
                                   : fmt::format("stages of {} layers", fmt::join(layers, ", "));
  finding.fix +=
      fmt::format("   predicted step {} in place of {}", to_text(best.evaluation.step_time),
                  to_text(evaluated.evaluation.step_time));
  add_finding(report, std::move(finding));
}

// "predicted step 1.830 s, fullest rank 61.2 GiB" behind a fix that names its stages.
void price_fixes(const Question& question, LintReport& report) {
  for (LintFinding& finding : report.findings) {
    const auto stages = static_cast<int>(finding.fix_layers.size());
    if (stages == 0 || stages % *report.job.pipeline != 0) continue;
    const Plan plan = plan_of(report.job, question, finding.fix_layers);
    if (plan.cuts.empty()) continue;
    const EvaluatedPlan evaluated = evaluate(question.inputs(), plan);
    if (evaluated.evaluation.ranks.empty()) continue;
    finding.fix += fmt::format("   predicted step {}, fullest rank {} GiB",
                               to_text(evaluated.evaluation.step_time),
                               gib(evaluated.evaluation.peak_memory()));
  }
}

}  // namespace

std::optional<int> layers_of(const LaunchModel& model) {
  if (!model.path()) return {};
  const Loaded<Json> json = load_json(*model.path());
  if (is_model_config(json.value)) return read_architecture(json.value, *model.path()).layers;
  const ModelProfile profile = read_profile(json.value, *model.path());
  const auto is_layer = [](const Section& section) {
    return section.name.starts_with("layer.") || section.name.starts_with("block.");
  };
  const auto count = std::count_if(profile.sections.begin(), profile.sections.end(), is_layer);
  return count > 0 ? std::optional<int>(static_cast<int>(count)) : std::nullopt;
}

void predict_launch(const LaunchModel& model, LintReport& report) {
  if (!model.path() || (!model.device && !model.cluster)) {
    neither_judged(report,
                   "name model and device: --config config.json --device h100-sxm, or --profile "
                   "and --cluster");
    return;
  }
  const LaunchJob& job = report.job;
  if (const std::string why = why_no_plan(job); !why.empty()) {
    neither_judged(report, why);
    return;
  }
  const auto layers = layers_of(model);
  if (layers && job.layers && *layers != *job.layers) {
    neither_judged(report, fmt::format("the file has {} layers, and {} has {}", *job.layers,
                                       *model.path(), *layers));
    return;
  }
  const Question question = question_of_job(model, job);
  price_fixes(question, report);
  Plan plan = plan_of(job, question, job.layers_per_stage);
  if (plan.recompute == "selective" && !saves_by_selecting(question, report)) {
    plan.recompute = "none";
  }
  if (plan.cuts.empty()) {
    neither_judged(report, "which layers are on which stage does not follow from the file");
    return;
  }
  const EvaluatedPlan evaluated = evaluate(question.inputs(), plan);
  if (evaluated.evaluation.ranks.empty()) {
    neither_judged(report, evaluated.why_not ? evaluated.why_not->reason : "it was not priced");
    return;
  }
  judge_memory(question, evaluated, report);
  judge_balance(question, evaluated, report);
  std::sort(report.judged.begin(), report.judged.end());
}

}  // namespace penstock
