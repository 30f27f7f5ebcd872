// `penstock predict`: one configuration through the same pricing, replay and plan file as a search,
// with nothing searched but the cuts if asked for. What the layout leaves open is filled in from
// the model and the machine.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/io/write_output.h"
#include "cli/options/global_batch.h"
#include "cli/options/layout.h"
#include "cli/options/layout_keys.h"
#include "cli/options/measured_runs.h"
#include "cli/options/options.h"
#include "cli/options/search_options.h"
#include "cli/options/tensor_of_layout.h"
#include "cli/options/wrong_values.h"
#include "cli/reports/known_host.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/layers_by_stage.h"
#include "cli/reports/remarks_on_layout.h"
#include "cli/reports/remarks_on_question.h"
#include "cli/verbs/verbs.h"
#include "cli/words/measured_time.h"
#include "cli/words/parse.h"
#include "cli/words/sharding_called.h"
#include "core/files/batch_file.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "costmodel/price_stages.h"
#include "costmodel/torch_ring.h"
#include "report/memory_risk.h"
#include "report/plan_answer.h"
#include "report/reasons.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/simulation_report.h"
#include "report/words.h"
#include "search/evaluate.h"
#include "search/rolled_program.h"
#include "simulator/schedules/schedules.h"
#include "studies/mirror_cost.h"
#include "studies/model_flops.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock predict config.json --device h100-sxm --layout "TP=4 PP=8 DP=2 mbs=1 gbs=128 seq=8192"
  penstock predict config.json --device h100-sxm --for megatron --layout "TP=8 PP=4 V=5 mbs=1 gbs=256" \
      --measured "TP=8 PP=4 mbs=1 gbs=256: 14.66s"
  penstock predict profile.json --cluster cluster.json --layout "PP=4 mbs=1 gbs=64 cuts=search" -o plan.json
  penstock predict profile.json --cluster mixed.json \
      --layout "PP=4 mbs=2 replicas=2*a100-40gb:24/v100-16gb:8"
  penstock predict profile.json --cluster cluster.json --layout "PP=4 TP=2" --batch batch.json -o plan.json
)";
constexpr const char *kLayout = "--layout", *kBatch = "--batch";

struct Asked {
  Question question;
  Plan plan;
};

// The GPUs of the layout, where the machine is assumed and nobody says how many there are.
void fill_gpus(const Layout& layout, SearchOptions& given) {
  if (given.gpus || given.cluster) return;
  const int context = layout.context.value_or(1);
  const int shards = std::max(1, layout.shards.value_or(1) / context);
  const std::int64_t gpus =
      std::int64_t{layout.tensor.value_or(1)} * context * layout.pipeline.value_or(1) *
      (layout.replicas.empty() ? layout.data.value_or(std::max(shards, least_replicas(layout)))
                               : replicas_in(layout.replicas));
  given.gpus = std::to_string(gpus);
}

std::string only_device(const Question& question) {
  if (question.request.pins.device) return *question.request.pins.device;
  const auto& types = question.cluster.value.device_types;
  return types.size() == 1 ? types.front().name : "";
}

// The samples of a step are bounded, and so is what a rule that decides while it runs writes down.
void refuse_endless(const Plan& plan) {
  constexpr std::int64_t kMostCells = std::int64_t{1} << 22;
  if (plan.global_batch > kMostSamples) {
    bad_option(kLayout, fmt::format("gbs = {} is more than any step has", plan.global_batch),
               fmt::format("give at most {}", kMostSamples));
  }
  const std::int64_t micro_batches = first_load(plan).micro_batches;
  if (find_schedule(plan.schedule)->rule == RunTimeRule::kNone ||
      plan.stages() * micro_batches <= kMostCells) {
    return;
  }
  bad_option(kLayout,
             fmt::format("{} with {} stages and {} micro-batches is too long", plan.schedule,
                         plan.stages(), micro_batches),
             "its order is worked out action by action; give fewer, larger micro-batches");
}

// The layout with D as the batch has it; what else the batch says must not be said twice.
Layout with_batch(Layout layout, const Batch& batch) {
  if (layout.micro_batch_size || layout.global_batch || layout.micro_batches ||
      layout.sequence_length || !layout.replicas.empty()) {
    bad_option(kLayout, fmt::format("mbs, gbs, M, seq and replicas are said by {}", kBatch),
               "leave them out");
  }
  int replicas = 0;
  for (const ReplicaBatch& each : batch.replicas) replicas += each.replicas;
  if (layout.data.value_or(replicas) != replicas) {
    bad_option(kLayout,
               fmt::format("DP = {}, but the batch is for {}", *layout.data,
                           count_of(replicas, "replica")),
               "leave DP out");
  }
  layout.data = replicas;
  layout.micro_batch_size = 1;
  layout.global_batch = replicas;
  for (const MicroBatchShape& shape : batch.shapes) {
    if (shape.tokens == 0) continue;
    layout.sequence_length = std::max(layout.sequence_length.value_or(0), shape.tokens);
  }
  return layout;
}

void require_lengths(const Batch& batch, const Question& question, const Plan& plan) {
  if (default_sequence_length(question.profile.value, plan.device) == 0) return;
  for (const MicroBatchShape& shape : batch.shapes) {
    if (shape.tokens > 0) continue;
    bad_option(kBatch, "a shape has 0 tokens, but the model has a sequence length",
               "say the tokens of each sample");
  }
}

// Where the others leave room for it, the DP that takes what there is.
std::string help_for_devices(const Plan& plan, int there) {
  const int of_replica = plan.devices() / plan.data;
  if (of_replica > there) {
    return fmt::format("write a smaller PP or TP, or give {}", count_of(plan.devices(), "GPU"));
  }
  return fmt::format("with DP={} it takes those, or write --gpus {}", there / of_replica,
                     plan.devices());
}

// What no measurement or cluster of one type can answer, in the words of the layout.
void refuse_impossible(const Plan& plan, const Question& question) {
  const ClusterSpec& cluster = question.cluster.value;
  if (cluster.device_types.size() > 1 || plan.is_mixed()) return;
  const int there = device_count(cluster);
  if (plan.devices() > there) {
    bad_option(kLayout,
               fmt::format("it takes {}, and there are {}", count_of(plan.devices(), "GPU"), there),
               help_for_devices(plan, there));
  }
  refuse_tensor(question, plan);
}

// EP of a model whose layers are dense, or have fewer experts.
void refuse_experts(const Layout& layout, const Question& question) {
  const int ranks = layout.expert.value_or(1);
  const std::string& model = question.profile.value.name;
  if (ranks <= 1 && layout.expert_tensor.value_or(1) <= 1) return;
  if (!has_experts(question.profile.value)) {
    bad_option(kLayout, fmt::format("EP = {}, but {} has no experts", ranks, model),
               "leave EP out: it divides the experts of a mixture-of-experts model; TP, PP and DP "
               "divide this one");
  }
  const Architecture* known = question.estimated ? &question.estimated->model : nullptr;
  const int experts = known != nullptr && known->experts ? known->experts->count : 0;
  if (experts == 0 || experts % ranks == 0) return;
  int below = std::min(ranks, experts);
  while (experts % below != 0) --below;
  bad_option(kLayout,
             fmt::format("EP = {} does not divide the {} experts of {}", ranks, experts, model),
             fmt::format("write EP={}, or another number that divides them", below));
}

// Of the layout, and of the runs that the estimate is fitted to.
void set_degrees(const Layout& layout, SearchOptions& given) {
  std::set<int> contexts{layout.context.value_or(1)}, experts{layout.expert.value_or(1)};
  for (const std::string& run : given.measured) {
    const std::string typed = layout_of_run(run);
    if (typed.empty()) continue;  // a time of this layout
    const Layout measured = parse_layout(kMeasured, typed);
    contexts.insert(measured.context.value_or(1));
    experts.insert(measured.expert.value_or(1));
  }
  given.context_degrees.assign(contexts.begin(), contexts.end());
  given.expert_degrees.assign(experts.begin(), experts.end());
}

Asked asked_of(const Layout& layout, SearchOptions given, const std::optional<Batch>& batch) {
  const bool all_gpus = given.gpus.has_value();
  fill_gpus(layout, given);
  if (layout.sequence_length) given.sequence_length = std::to_string(*layout.sequence_length);
  if (layout.device && !given.device) given.device = layout.device;
  const std::vector<std::string> types = device_types_of(layout);
  if (types.size() > 1 && !given.cluster) {
    bad_option(kLayout, fmt::format("it names {} device types", types.size()),
               "add --cluster FILE, which says in what nodes they are and how these are linked "
               "(docs/file_formats.md)");
  }
  if (!types.empty() && !given.device) given.device = types.front();
  for (const std::string& type : types) {
    if (type != *given.device) given.also_on.push_back(type);
  }
  given.global_batch = "1";  // the layout has it; the question only needs one
  given.takes_pairs = batch.has_value();
  set_degrees(layout, given);
  Asked asked{question_of(given), {}};
  Question& question = asked.question;
  refuse_experts(layout, question);
  if (layout.offload) use_hosts(question);
  if (layout.recompute) {
    Pins pins;  // only read
    std::swap(pins, question.request.pins);
    set(question, "--layout recompute", "recompute", *layout.recompute);
    std::swap(pins, question.request.pins);
  }
  LayoutDefaults defaults;
  defaults.gpus = all_gpus ? question.request.gpus : 0;
  defaults.sequence_length = question.request.sequence_length;
  defaults.device = only_device(question);
  asked.plan = plan_of(layout, question.profile.value, defaults, kLayout);
  if (asked.plan.sequence_length == 0) {
    asked.plan.sequence_length = default_sequence_length(question.profile.value, asked.plan.device);
  }
  if (batch) {
    require_lengths(*batch, question, asked.plan);
    set_batch(asked.plan, *batch);
  }
  refuse_endless(asked.plan);
  refuse_impossible(asked.plan, question);
  question.request.global_batch = asked.plan.global_batch;
  question.request.gpus = asked.plan.devices();
  question.request.sequence_length = asked.plan.sequence_length;
  return asked;
}

PlanFile file_of(const Question& question, const EvaluatedPlan& evaluated) {
  PlanFile file = to_rolled_up_plan_file(question.inputs(), evaluated);
  note_question(question, file);
  file.flops = model_flops_of(question, file.plan);
  file.not_searched = {"anything else: the layout was given"};
  return file;
}

std::string cuts_words(const Layout& layout, const Plan& plan, const ModelProfile& profile) {
  if (!layout.cuts.empty()) return "Cuts are those that were given.";
  if (layout.default_cuts == DefaultCuts::kSearched) return "Cuts were chosen by times and memory.";
  const auto layers = layers_by_stage(plan, profile);
  const std::string numbers =
      !layers || layers->are_even()
          ? "every stage as many layers"
          : fmt::format("stages {} to {} layers", layers->fewest, layers->most);
  return fmt::format(
      "Cuts give {}; the embedding is on the first stage, norm and head are on the last.", numbers);
}

std::string risk_words(const Question& question, const EvaluatedPlan& evaluated) {
  if (!question.has_estimated_memory() || fits_with_margin(evaluated.evaluation)) return "";
  return " " + memory_risk_words() + "; that would not fit.";
}

// What was asked, and whether it fits, before any table.
std::string verdict_of(const Asked& asked, const Layout& layout, const EvaluatedPlan& evaluated,
                       Screen screen) {
  PlanAnswer about;
  about.gpus = asked.plan.devices();
  about.memory_is_limited = asked.question.has_memory_limit();
  if (asked.plan.has_even_batch()) {  // FLOPs are known of one length
    about.flops = model_flops_of(asked.question, asked.plan.sequence_length);
  }
  std::vector<std::string> sentences =
      layout_sentences(evaluated.plan, evaluated.evaluation, about);
  const bool shows_mfu = joined(sentences, " ").find("MFU") != std::string::npos;
  sentences.front() = (evaluated.why_not ? fmt::format("Does NOT fit ({}). With enough memory: ",
                                                       reason_text(*evaluated.why_not))
                                         : "Fits: ") +
                      sentences.front();
  if (!evaluated.why_not) sentences.back() += risk_words(asked.question, evaluated);
  const std::string counted = about.flops && shows_mfu
                                  ? fmt::format(" MFU counts {}.", text_of(about.flops->convention))
                                  : std::string();
  const std::string doubts =
      asked.question.measured ? doubts_of(*asked.question.measured) : std::string();
  return wrapped(sentences, screen.width(), "", "") +
         (doubts.empty() ? "" : wrapped(doubts, screen.width(), "", "")) + '\n' +
         wrapped(std::string("Nothing was searched") +
                     (evaluated.why_not ? "; penstock plan finds what fits. " : ". ") +
                     cuts_words(layout, evaluated.plan, asked.question.profile.value) + counted,
                 screen.width(), "", "");
}

// A fitted figure that may be much of a step.
std::string torch_rate_words(const Evaluation& evaluation) {
  for (const Assumption& each : evaluation.assumptions) {
    if (each.text == kTorchRateAssumed) {
      return fmt::format("{} ({} of the compute time).", each.text, percent(each.share));
    }
  }
  return "";
}

std::string report_of(const Asked& asked, const Layout& layout, const PlanFile& file,
                      const EvaluatedPlan& evaluated, Screen screen) {
  const auto& calibration = asked.question.cluster.value.calibration;
  const std::string interval = calibration && calibration->posterior
                                   ? "nine of ten runs lie in the interval"
                                   : "not calibrated";
  std::string text =
      verdict_of(asked, layout, evaluated, screen) + '\n' +
      simulation_report(file, evaluated.evaluation, evaluated.timeline, interval, screen) +
      "\nWhat was asked\n" + wrapped(words_of(asked.question), screen.width(), "  ", "  ");
  text += wrapped(notes_of(asked.question), screen.width(), "  ", "    ");
  const std::string rate = torch_rate_words(evaluated.evaluation);
  return rate.empty() ? text : text + wrapped(rate, screen.width(), "  ", "    ");
}

// Beside the step, which is predicted without it.
MirrorCost mirror_of(const Asked& asked, const EvaluatedPlan& evaluated) {
  if (evaluated.plan.devices() < 2) {
    bad_option("--mirror", "one rank has no other to mirror to", "leave it out");
  }
  return mirror_cost(asked.question.profile.value, asked.question.cluster.value, evaluated.plan);
}

std::string mirror_text(const MirrorCost& cost, Duration step, Screen screen) {
  const double share = static_cast<double>(cost.time.count()) / static_cast<double>(step.count());
  const std::string text = fmt::format(
      "With --mirror every step takes {} longer ({}): a rank sends up to {} to the one half the "
      "job "
      "away, and takes up to {} of host memory. Copies from a GPU to the host are not in it.",
      to_text(cost.time), percent(share), to_text(cost.sent), to_text(cost.host_memory));
  return "\nMirror\n" + wrapped(text, screen.width(), "  ", "  ");
}

Json mirror_json(const MirrorCost& cost) {
  Json json = Json::object();
  json.set("time_ns", std::int64_t{cost.time.count()}).set("rank", cost.rank);
  json.set("sent_bytes", cost.sent.count);
  return json.set("host_memory_bytes", cost.host_memory.count);
}

Json json_of(const Asked& asked, const EvaluatedPlan& evaluated, bool mirror) {
  Json json = answer_json("predict");
  set_question(json, asked.question);
  json.set("fits", !evaluated.why_not.has_value());
  if (evaluated.why_not) json.set("why_not", to_json(*evaluated.why_not));
  if (evaluated.evaluation.ranks.empty()) return json;
  json.set("plan", to_json(evaluated.plan));
  const auto flops = model_flops_of(asked.question, evaluated.plan);
  json.set("prediction", to_json(evaluated.evaluation, evaluated.plan, flops ? &*flops : nullptr));
  if (mirror) json.set("mirror", mirror_json(mirror_of(asked, evaluated)));
  return json;
}

// The layout may say it itself.
void set_context_kind(const std::optional<std::string>& typed, Layout& layout) {
  if (!typed) return;
  const ContextKind kind = context_kind_called("--cp-kind", *typed);
  if (layout.context_kind.value_or(kind) != kind) {
    bad_option("--cp-kind", fmt::format("'{}', and the layout has another cp-kind", *typed),
               "keep one of them");
  }
  layout.context_kind = kind;
}

// A plan says its own layout.
void refuse_plan(const std::string& path) {
  if (path == "-" || !is_plan_format(format_of(load_json(path).value))) return;
  throw_bad_input(fmt::format(
      "{}: this is a plan, and a model belongs here\nhelp: penstock simulate {} replays a plan",
      path, path));
}

// The layout as a run that was measured has it: with what options say of it beside.
std::string layout_in_words(std::string text, const Layout& layout, const SearchOptions& given) {
  if (given.context_kind && !layout.context_kind) text += " cp-kind=" + *given.context_kind;
  if (!given.gpus || layout.data || !layout.replicas.empty()) return text;
  const std::int64_t of_replica = std::int64_t{layout.tensor.value_or(1)} *
                                  layout.context.value_or(1) * layout.pipeline.value_or(1);
  const int gpus = parse_int("--gpus", *given.gpus, 1);
  return gpus % of_replica == 0 ? fmt::format("{} DP={}", text, gpus / of_replica) : text;
}

// A replica that has fewer samples than its micro-batch: what is predicted would be a smaller one.
void refuse_empty_micro_batches(const Plan& plan) {
  if (!plan.has_even_batch() || plan.has_unequal_replicas()) return;
  const int samples = (plan.global_batch + plan.data - 1) / plan.data;
  if (plan.micro_batch_size <= samples) return;
  bad_option(
      "--layout",
      fmt::format("mbs = {} is more than the {} of gbs = {} that a replica has (DP {})",
                  plan.micro_batch_size, count_of(samples, "sample"), plan.global_batch, plan.data),
      fmt::format("write mbs={} or less, or gbs={}", samples,
                  std::int64_t{plan.micro_batch_size} * plan.data));
}

}  // namespace

Answer run_predict(const Arguments& arguments, Screen screen) {
  SearchOptions given;
  std::vector<std::string> said;
  std::optional<std::string> batch_file, output;
  bool json = false, mirror = false;
  Options options(
      "predict MODEL --device NAME --layout \"KEY=VALUE ...\" [OPTIONS]",
      "Predicts one configuration, without a search: whether it fits, the step time with its "
      "interval, the memory of every rank. Use it for a job that runs already, or that you are "
      "about to start. Exit code 1 when it does not fit; the prediction is printed all the same.",
      kExamples);
  given.declare_inputs(options);
  options.repeated(kLayout, "KEY=VALUE ...",
                   "the configuration, as pairs separated by blanks or commas; --tp 4 --pp 8 "
                   "--gbs 128 is the same. " +
                       layout_keys_help(),
                   said);
  options.option(kBatch, "FILE",
                 "micro-batches of different shapes (penstock.batch/1), instead of mbs, gbs, M and "
                 "seq",
                 batch_file);
  given.declare_machine(options);
  options.heading("What to print");
  options.option("-o,--output", "FILE",
                 "write the configuration as a plan file (- for stdout, instead of the report)",
                 output);
  options.flag("--mirror",
               "also what train --mirror costs: each rank's part of a checkpoint in another rank's "
               "memory after every step",
               mirror);
  options.flag("--json", "the prediction as one JSON object", json);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  if (said.empty()) {
    refuse_plan(given.profile);
    bad_option(kLayout, "missing",
               "add it, for example " + given.command.whole() +
                   "; penstock plan searches for the best one");
  }
  Layout layout;
  WrongValues wrong;
  wrong.check([&] { layout = parse_layout(kLayout, joined(said, " ")); });
  wrong.check(given);
  wrong.refuse();
  given.layout_asked = layout_in_words(joined(said, " "), layout, given);
  set_context_kind(given.context_kind, layout);
  std::optional<Batch> batch;
  if (batch_file) {
    batch = read_batch_file(load_json(*batch_file).value, *batch_file);
    layout = with_batch(std::move(layout), *batch);
  }
  const Asked asked = asked_of(layout, given, batch);
  if (!batch) refuse_empty_micro_batches(asked.plan);
  const PlanInputs inputs = asked.question.inputs();
  const EvaluatedPlan evaluated =
      is_drawn(asked.plan) ? evaluate_in_full(inputs, asked.plan) : evaluate(inputs, asked.plan);
  const int exit = evaluated.why_not ? kNo : kYes;
  if (json) return json_answer(json_of(asked, evaluated, mirror), exit);
  if (evaluated.evaluation.ranks.empty()) {
    return report_answer(wrapped(reason_text(*evaluated.why_not), screen.width(), "", "  "), exit);
  }
  const PlanFile file = file_of(asked.question, evaluated);
  const std::string plan_file = to_text(write_plan_rolled_up(file)) + '\n';
  if (output && *output == "-") return {plan_file, exit};
  if (output) write_output(*output, plan_file);
  std::string report = report_of(asked, layout, file, evaluated, screen);
  if (mirror) {
    report += mirror_text(mirror_of(asked, evaluated), evaluated.evaluation.step_time, screen);
  }
  if (output) report += fmt::format("\n{} holds it; next: penstock explain {}\n", *output, *output);
  Answer answer = report_answer(report, exit);
  const bool is_estimated = asked.question.estimated.has_value();
  answer.remark =
      remark_of_alike(asked.question) +
      remarks_on_layout(given, layout, asked.plan, asked.question.profile.value, is_estimated);
  return answer;
}

}  // namespace penstock
