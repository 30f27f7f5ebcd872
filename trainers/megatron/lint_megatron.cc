// The judge asks each value with its origin: a value may be set, a default, or not known for a
// reason, and a rule that needs an unknown one is listed as not judged with that reason. Rules of
// layers and layouts stand in other files of this folder; here are the products of degrees, the
// batch, resuming and the warnings. A recipe is judged by the same rules, its fields taken as the
// flags of the same meaning.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "trainers/lint/overrides.h"
#include "trainers/megatron/megatron.h"
#include "trainers/megatron/megatron_judge.h"
#include "trainers/megatron_bridge/megatron_recipe.h"
#include "trainers/trainer_table.h"

namespace penstock {

void MegatronJudge::judge() {
  read_fork();
  read_sizes();
  if (is_program_of_its_own()) return judge_names();
  if (judge_heads()) {
    judge_products();
  } else {
    not_judged("E001", "TP does not divide the attention heads (E015)");
  }
  judge_first_and_last();
  judge_layers();
  judge_layout();
  judge_micro_batches();
  judge_groups();
  judge_resume();
  judge_recompute();
  judge_overlap();
  judge_names();
  describe();
}

// A few flags of Megatron-LM's names among a program's own may mean what that program says.
bool MegatronJudge::is_program_of_its_own() {
  if (!is_other_program_ || tensor_.from != nullptr || pipeline_.from != nullptr ||
      layers_.from != nullptr) {
    return false;
  }
  for (const char* code : {"E001", "E010", "E020"}) {
    not_judged(code, "most flags of this program are its own, and no degree is among them");
  }
  return true;
}

// The largest below TP that suits both; 1 always does.
std::int64_t MegatronJudge::smaller_tensor(std::int64_t heads, std::int64_t groups) const {
  std::int64_t smaller = std::min(*tensor_, heads) - 1;
  while (smaller > 1 &&
         (heads % smaller != 0 || (groups % smaller != 0 && smaller % groups != 0))) {
    --smaller;
  }
  return std::max<std::int64_t>(1, smaller);
}

// megatron/core/transformer/transformer_config.py: "num_attention_heads must be a multiple of
// tensor_model_parallel_size", and num_query_groups "a multiple or divisor".
bool MegatronJudge::judge_heads() {
  // Many scripts take the model's sizes from elsewhere.
  constexpr const char* kHeads = "--num-attention-heads";
  if (!tensor_.is_known() || *tensor_ == 1 || !settings().has(kHeads)) return true;
  const Known heads = known(kHeads, std::nullopt);
  if (!judgeable("E015", {&heads})) return true;
  if (*heads % *tensor_ != 0) {
    broken("E015", {tensor_.from, heads.from},
           fmt::format("{} attention heads are not a multiple of TP = {}", *heads, *tensor_),
           kStops, fmt::format("{} {}", kTensor, smaller_tensor(*heads, *heads)));
    return false;
  }
  if (!settings().on("--group-query-attention")) return true;
  const Known groups = known("--num-query-groups", 1);
  if (!judgeable("E015", {&groups}) || *groups % *tensor_ == 0 || *tensor_ % *groups == 0) {
    return true;
  }
  broken("E015", {tensor_.from, groups.from},
         fmt::format("{} query groups are neither a multiple nor a divisor of TP = {}", *groups,
                     *tensor_),
         kStops, fmt::format("{} {}", kTensor, smaller_tensor(*heads, *groups)));
  return false;
}

void MegatronJudge::judge_products() {
  if (!judgeable("E001", {&tensor_, &pipeline_, &context_})) return;
  if (gpus_.is_known() && *gpus_ % model_ranks() != 0) {
    const std::int64_t more = (*gpus_ / model_ranks() + 1) * model_ranks();
    broken("E001", {pipeline_.from, tensor_.from, context_.from},
           fmt::format("{} GPUs are not a multiple of TP x PP x CP = {} x {} x {} = {}", *gpus_,
                       *tensor_, *pipeline_, *context_, model_ranks()),
           kStops, fmt::format("start {} GPUs{}", more, smaller_pipeline()));
    return;
  }
  if (gpus_.is_known()) judge_experts();
  judge_batch();
  if (!gpus_.is_known()) not_judged("E001", gpus_.why_not);
}

std::string MegatronJudge::smaller_pipeline() const {
  const std::int64_t others = product_of({*tensor_, *context_});
  if (*gpus_ % others != 0) return "";
  const std::int64_t ranks = *gpus_ / others;
  std::int64_t nearest = 1;  // the largest divisor of `ranks` that is no more than PP
  for (std::int64_t d = 1; d <= ranks / d; ++d) {
    if (ranks % d != 0) continue;
    for (const std::int64_t p : {d, ranks / d}) {
      if (p <= *pipeline_) nearest = std::max(nearest, p);
    }
  }
  return fmt::format(", or write {} {}", kPipeline, nearest);
}

void MegatronJudge::judge_experts() {
  const Known experts = known("--expert-model-parallel-size", 1);
  const Known within = known("--expert-tensor-parallel-size", *tensor_);
  if (!experts.is_known() || !within.is_known() || experts.from == nullptr) return;
  const Known count = known("--num-experts", std::nullopt);
  if (count.is_known() && *count % *experts != 0) {
    broken("E001", {experts.from, count.from},
           fmt::format("{} experts are no multiple of EP = {}", *count, *experts), kStops,
           fmt::format("--expert-model-parallel-size {}", std::gcd(*count, *experts)));
    return;
  }
  const std::int64_t ranks = product_of({*experts, *within, *pipeline_});
  if (*gpus_ % ranks != 0) {
    broken(
        "E001", {experts.from},
        fmt::format("{} GPUs are not a multiple of the experts' TP x EP x PP = {} x {} x {} = {}",
                    *gpus_, *within, *experts, *pipeline_, ranks),
        kStops,
        fmt::format("--expert-model-parallel-size {}",
                    std::gcd(*experts, std::max<std::int64_t>(
                                           1, *gpus_ / product_of({*within, *pipeline_})))));
    return;
  }
  // megatron/training/arguments.py: "When using expert parallelism and tensor parallelism, sequence
  // parallelism must be used".
  const bool is_certain = certain("E001", {"--sequence-parallel"});
  if (is_certain && *experts > 1 && *tensor_ > 1 && !settings().on("--sequence-parallel")) {
    broken("E001", {experts.from, tensor_.from},
           fmt::format("EP = {} with TP = {} needs sequence parallelism", *experts, *tensor_),
           kStops, "--sequence-parallel");
  }
}

void MegatronJudge::judge_batch() {
  if (!micro_batch_.is_known() || !global_batch_.is_known()) {
    not_judged("E001", micro_batch_.is_known() ? global_batch_.why_not : micro_batch_.why_not);
    return;
  }
  if (settings().has("--rampup-batch-size") || settings().on("--decrease-batch-size-if-needed")) {
    not_judged("E001", "the batch changes while the job runs");
    return;
  }
  // Without D the micro-batches alone must fit.
  const std::int64_t data = data_.value.value_or(1);
  const std::int64_t share = product_of({*micro_batch_, data});
  if (*global_batch_ % share == 0) return;
  const std::int64_t fitting = (*global_batch_ / share + 1) * share;
  broken("E001", {global_batch_.from, micro_batch_.from},
         fmt::format("a global batch of {} is not a multiple of mbs x DP = {} x {} = {}",
                     *global_batch_, *micro_batch_,
                     data_.is_known() ? fmt::format("{}", data) : "DP", share),
         kStops, fmt::format("{} {}", kGlobalBatch, fitting));
}

void MegatronJudge::judge_resume() {
  const std::string format = settings().text("--ckpt-format").value_or("torch_dist");
  const bool is_sharded = settings().on("--use-distributed-optimizer");
  // torch_dist keeps the optimizer so that any D can read it; each rank's own file does not.
  const bool reshards =
      !is_sharded || (format != "torch" && !settings().on("--no-ckpt-fully-parallel-save"));
  const LaunchSetting* place = settings().find("--ckpt-format");
  if (place == nullptr) place = settings().find("--no-ckpt-fully-parallel-save");
  if (place == nullptr) place = settings().find("--load");
  judge_checkpoint(data_, reshards, place,
                   "Megatron-LM cannot redistribute an optimizer state of this format to another "
                   "number of replicas: it stops while loading.",
                   fmt::format("keep {} replicas; or save with --ckpt-format torch_dist and "
                               "without --no-ckpt-fully-parallel-save",
                               request().checkpoint_data_parallel.value_or(1)));
}

const LaunchSetting* MegatronJudge::recompute() const {
  for (const char* flag :
       {"--recompute-granularity", "--recompute-activations", "--checkpoint-activations"}) {
    if (settings().on(flag)) return settings().find(flag);
  }
  return nullptr;
}

void MegatronJudge::judge_recompute() {
  judged("W050");
  const LaunchSetting* divided = nullptr;
  for (const char* flag : {"--enable-zero-bubble", "--zero-bubble-v-schedule"}) {
    if (divided == nullptr && settings().on(flag)) divided = settings().find(flag);
  }
  if (divided == nullptr || recompute() == nullptr) return;
  broken("W050", {recompute()},
         fmt::format("{} divides the backward, and activations are recomputed", divided->name),
         "The forward is computed again for I and once more for W: the bubble that is saved is "
         "paid for in recompute.",
         fmt::format("leave {} out, or {}", recompute()->name, divided->name));
}

void MegatronJudge::judge_overlap() {
  judged("W051");
  if (!settings().on(kNoOverlap) || chunks_.value.value_or(1) == 1) return;
  broken("W051", {settings().find(kNoOverlap)},
         "transfers of the interleaved schedule wait in the way of the computation",
         "Every send and receive is waited for where it is issued; with VP stages a rank has VP "
         "times as many.",
         fmt::format("leave {} out", kNoOverlap));
}

namespace {

// Each function of the recipe is judged by itself; what the script says of GPUs holds for all.
LintReport judged_recipes(std::vector<MegatronRecipe> recipes, const LaunchScript& script,
                          const LintRequest& request, bool is_python) {
  LintReport report;
  report.version = request.version;
  report.notes = script.not_followed;
  report.notes.emplace_back(
      fmt::format("{} of Megatron-Bridge or NeMo: its {} are judged as Megatron-LM's flags of the "
                  "same meaning",
                  is_python ? "a recipe" : "a script", is_python ? "fields" : "settings"));
  for (MegatronRecipe& recipe : recipes) {
    LaunchScript one = script;
    recipe.settings.set_lines(script.lines);
    one.flags = std::move(recipe.settings);
    MegatronJudge(one, request, report).judge();
  }
  const auto reworded = [&](const std::string& text) {
    return is_python ? in_fields(text) : as_overrides(text, script, recipe_overrides());
  };
  for (LintFinding& finding : report.findings) {
    finding.message = reworded(finding.message);
    finding.why = reworded(finding.why);
    finding.fix = reworded(finding.fix);
  }
  for (LintGap& gap : report.not_judged) gap.why = reworded(gap.why);
  return report;
}

// The recipe that a script starts, if it starts one.
std::vector<MegatronRecipe> started_recipes(LaunchScript& script, std::string_view text,
                                            const std::string& file, const LintRequest& request) {
  if (!script.program || !request.beside) return {};
  const std::string path = path_beside_script(*script.program);
  const auto recipe = path.empty() ? std::nullopt : request.beside(path);
  if (!recipe || recipe->size() > kLargestScript || !is_megatron_recipe(*recipe, path)) return {};
  const auto lines_of = [](std::string_view of) {
    return static_cast<int>(std::count(of.begin(), of.end(), '\n')) + 1;
  };
  const ShellWord& program = *script.program;
  const int program_line = program.lines.empty() ? program.line : program.lines.back();
  const std::string shown = file.substr(0, file.find_last_of('/') + 1) + path;
  const int first = script.lines.add(shown, lines_of(*recipe), lines_of(text));
  script.not_followed.push_back(
      fmt::format("{} was read as well ({})", path, script.lines.words(program_line)));
  return read_megatron_recipes(*recipe, shown, first);
}

}  // namespace

void judge_as_megatron(const LaunchScript& script, const LintRequest& request, LintReport& report) {
  LintRequest asked = request;
  asked.version = find_trainer_row("megatron")->versions.front().name;
  if (script.overrides.more().empty()) {
    MegatronJudge(script, asked, report).judge();
    return;
  }
  LaunchScript open = script;
  finish_recipe(open.flags, script.overrides.more());
  MegatronJudge(open, asked, report).judge();
}

LintReport lint_megatron(std::string_view text, const std::string& file,
                         const LintRequest& request) {
  if (is_megatron_recipe(text, file)) {
    const LaunchScript none(file);
    std::vector<MegatronRecipe> recipes = read_megatron_recipes(text, file);
    if (recipes.empty()) require_settings(none.flags, file, "Megatron-Bridge");
    return judged_recipes(std::move(recipes), none, request, true);
  }
  LaunchScript script = read_launch_script(text, file, request.beside);
  std::vector<MegatronRecipe> recipes = started_recipes(script, text, file, request);
  std::optional<MegatronRecipe> overrides = recipe_of_overrides(script);
  if (overrides && !script.gpus) take_gpus_of_overrides(script);
  if (!recipes.empty()) {
    for (MegatronRecipe& recipe : recipes) put_over(recipe.settings, script);
    return judged_recipes(std::move(recipes), script, request, true);
  }
  if (overrides) {
    recipes.push_back(std::move(*overrides));
    return judged_recipes(std::move(recipes), script, request, false);
  }
  require_settings(script.flags, file, "Megatron-LM");
  LintReport report;
  report.version = request.version;
  report.notes = script.not_followed;
  MegatronJudge(script, request, report).judge();
  return report;
}

}  // namespace penstock
