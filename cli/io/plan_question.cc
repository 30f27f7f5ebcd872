// A plan file names its inputs by path and hash. They are read again, and count only if the hash is
// the plan's and if the plan, priced with them, costs what its file says, to the nanosecond. An
// estimate is made again as the plan says that it was asked for. Older plans do not say it: there
// every setting is tried that may have been asked for, those that most plans use first, until the
// prices agree. An assumed cluster is found by its hash.
#include "cli/io/plan_question.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/io/device_names.h"
#include "cli/io/files.h"
#include "cli/options/assumed_machine.h"
#include "cli/options/estimate_options.h"
#include "cli/options/memory_limit.h"
#include "cli/options/model_input.h"
#include "cli/options/question.h"
#include "cli/reports/known_host.h"
#include "cli/verbs/verbs.h"
#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "costmodel/calibrated_profile.h"
#include "estimator/default_cluster.h"
#include "estimator/shipped_data.h"

namespace penstock {
namespace {

constexpr int kMostTries = 1 << 13;  // sizes of an assumed cluster, which is found by its hash

struct Reread {
  Loaded<Json> json;
  std::string why_not;
};

std::optional<std::string> found(const std::string& path, const std::string& plan) {
  const std::filesystem::path folder = std::filesystem::path(plan).parent_path();
  const std::filesystem::path given(path);
  for (const auto& place : {given, folder / given, folder / given.filename()}) {
    std::error_code failed;  // a name that is too long, for example, is no file
    if (std::filesystem::is_regular_file(place, failed)) return place.string();
  }
  return {};
}

Reread reread(const InputFile& file, const std::string& plan) {
  const auto path = found(file.path, plan);
  if (!path) return {{}, file.path + " is not here"};
  const std::string text = read_file(*path);
  if (content_hash(text) != file.hash) {
    return {{}, *path + " has changed since the plan was made"};
  }
  return {{parse_json(text, *path), {file.path, file.hash}}, ""};
}

// Whether the plan, priced with these inputs, costs what its file says.
bool reproduces(const Question& question, const PlanFile& file) {
  const std::vector<Section>& sections = question.profile.value.sections;
  const bool same_sections = std::equal(
      sections.begin(), sections.end(), file.section_names.begin(), file.section_names.end(),
      [](const Section& section, const std::string& name) { return section.name == name; });
  if (!same_sections || device_count(question.cluster.value) < file.plan.devices()) return false;
  for (const std::string& type : file.plan.device_types()) {
    if (find_device_type(question.cluster.value, type) == nullptr) return false;
  }
  const PricedPlan priced = price(question.inputs(), file.plan);
  return !priced.why_not && priced.prices == file.prices;
}

Question start(const PlanFile& file) {
  Question question;
  question.executor = file.executor;
  if (!file.plan.is_mixed()) question.reserve = file.cluster.reserve;
  question.request.gpus = file.plan.devices();
  question.request.global_batch = file.plan.global_batch;
  question.request.sequence_length = file.plan.sequence_length;
  question.request.top = 1;
  if (file.plan.offload_optimizer) question.request.pins.offload.reset();
  question.request.threads = default_threads();
  return question;
}

// With the executor that the plan was made with, of what was fitted the machine's part counts.
void calibrate(Question& question, const PlanFile& file) {
  if (file.plan.offload_optimizer) use_hosts(question);
  auto& measured = question.cluster.value.measured_executor;
  if (measured) measured->is_priced = file.executor.name.starts_with(measured->trainer);
  auto& calibration = question.cluster.value.calibration;
  if (file.calibration) calibration = file.calibration;
  if (calibration && calibration->executor != file.executor) {
    calibration = with_executor(*calibration, file.executor);
  }
  if (calibration) {
    calibration = for_model(*calibration, question.profile.value.name);
    question.profile.value = calibrated_profile(question.profile.value, *calibration);
  }
}

const DeviceSheet* shipped(const std::vector<DeviceSheet>& sheets, const std::string& name) {
  const auto sheet = std::find_if(sheets.begin(), sheets.end(),
                                  [&](const DeviceSheet& one) { return one.is_called(name); });
  return sheet == sheets.end() ? nullptr : &*sheet;
}

// The one with the plan's hash: it had at least as many devices as the plan uses, in one node or in
// whole ones.
std::optional<ClusterSpec> assumed_cluster(const DeviceSheet& sheet, const PlanFile& file) {
  const int per_node = sheet.node.devices;
  int devices = file.plan.devices();
  for (int tries = 0; tries < kMostTries; ++tries) {
    ClusterSpec cluster = default_cluster(sheet, devices);
    if (cluster.name == file.cluster.name &&
        content_hash(to_text(write_cluster(cluster))) == file.cluster_file.hash) {
      return cluster;
    }
    devices = devices < per_node ? devices + 1 : (devices / per_node + 1) * per_node;
  }
  return {};
}

// As it was asked for, where the plan says so.
DeviceSheet with_noted_nodes(DeviceSheet sheet, const PlanFile& file) {
  const auto settings = settings_with(file.estimate_options);
  if (settings) set_nodes(sheet, {settings->gpus_per_node, settings->network});
  return sheet;
}

// The settings, and those with the rarer options, each with all that stand before.
void add_rarer(std::vector<EstimateSettings>& all, const Plan& plan) {
  const auto add = [&](const std::vector<std::string>& names, auto member, bool only_half) {
    const std::vector<EstimateSettings> before = all;
    for (const std::string& name : names) {
      for (EstimateSettings settings : before) {
        if (only_half && bytes_of(*arithmetic_named(*settings.precision)) == 4) continue;
        settings.*member = name;
        all.push_back(std::move(settings));
      }
    }
  };
  // Without sharded weights nothing is gathered.
  if (plan.sharding == Sharding::kFsdp) {
    add(prefetch_names(), &EstimateSettings::fsdp_prefetch, false);
  }
  add(loss_names(), &EstimateSettings::loss, true);
  add({"eager"}, &EstimateSettings::kernels, true);
}

// Trainers that add gradients up by kernels of their own, which are not priced in 32 bits; of
// those, torchtitan and pytorch have PyTorch's tensor and context parallelism.
void add_kernels_of_trainers(std::vector<EstimateSettings>& all, const Plan& plan) {
  const bool divides = plan.tensor > 1 || plan.context > 1;
  const std::vector<EstimateSettings> without = all;
  for (EstimateSettings settings : without) {
    settings.sums_apart = true;
    const bool is_priced =
        !settings.precision || bytes_of(*arithmetic_named(*settings.precision)) == 2;
    if (is_priced) all.push_back(settings);
    settings.torch_collectives = true;
    if (divides) all.push_back(std::move(settings));
  }
}

// As the plan says.
std::vector<EstimateSettings> settings_noted(const PlanFile& file) {
  const auto settings = settings_with(file.estimate_options);
  if (!settings) return {};
  std::vector<EstimateSettings> all{*settings};
  add_kernels_of_trainers(all, file.plan);
  return all;
}

// What was asked for besides the model: where it does not stand in the plan, it is what gives its
// prices. What the optimizer keeps shows in the plan's bytes (EstimateAgain).
std::vector<EstimateSettings> settings_tried(const DeviceSheet& sheet, const Plan& plan) {
  std::vector<EstimateSettings> all;
  for (const Arithmetic arithmetic :
       {Arithmetic::kBFloat16, Arithmetic::kFloat16, Arithmetic::kTensorFloat32,
        Arithmetic::kFloat32, Arithmetic::kFloat8}) {
    if (sheet.peak(arithmetic) == nullptr) continue;
    for (const std::string& gradients : gradient_names()) {
      EstimateSettings settings;
      settings.precision = name_of(arithmetic);
      settings.gradients = gradients;
      all.push_back(settings);
      for (const std::string& attention : attention_names()) {
        settings.attention = attention;
        all.push_back(settings);
      }
    }
  }
  // Those without a warning on attention first: they are what most plans were made with.
  std::stable_partition(all.begin(), all.end(),
                        [](const EstimateSettings& one) { return !one.attention; });
  add_kernels_of_trainers(all, plan);
  add_rarer(all, plan);
  return all;
}

// A device that has no rate for the numbers of the first is estimated in its own.
EstimateSettings on_other_device(EstimateSettings settings, const std::vector<DeviceSheet>& sheets,
                                 const std::string& name) {
  const DeviceSheet* sheet = shipped(sheets, name);
  const auto arithmetic = arithmetic_named(settings.precision.value_or(""));
  if (sheet != nullptr && arithmetic && sheet->peak(*arithmetic) == nullptr) {
    settings.precision.reset();
  }
  settings.device = name;
  return settings;
}

class EstimateAgain {
 public:
  EstimateAgain(Question& question, const Loaded<Json>& config,
                const std::vector<DeviceSheet>& sheets, const PlanFile& file, bool all_degrees)
      : question_(question),
        config_(config),
        sheets_(sheets),
        file_(file),
        all_degrees_(all_degrees) {}

  bool run(const DeviceSheet& sheet) {
    for (EstimateSettings& settings : settings_noted(file_)) {
      add_plans(settings);
      if (is_found(settings)) return true;
    }
    if (!file_.estimate_options.empty()) return false;
    for (EstimateSettings& settings : settings_tried(sheet, file_.plan)) {
      add_plans(settings);
      const Kept& kept = kept_with(settings);
      if (!kept.is_plans) continue;
      settings.optimizer_bytes = kept.optimizer_bytes;
      if (is_found(settings)) return true;
    }
    return false;
  }

 private:
  bool is_found(const EstimateSettings& settings) {
    if (!estimate(settings) || !reproduces(question_, file_)) return false;
    if (all_degrees_ && !widen(settings)) estimate(settings);
    return true;
  }

  // For the degrees that `plan` searches, too: a plan with others may be asked about.
  bool widen(EstimateSettings settings) {
    const auto add = [](const std::vector<int>& searched, std::vector<int>& degrees) {
      std::set<int> all(searched.begin(), searched.end());
      all.insert(degrees.begin(), degrees.end());
      degrees.assign(all.begin(), all.end());
    };
    add(searched_contexts(), settings.context_degrees);
    add(searched_experts(), settings.expert_degrees);
    return estimate(settings) && reproduces(question_, file_);
  }

  // What stands in the plan in any case.
  void add_plans(EstimateSettings& settings) const {
    settings.device = file_.cluster.device;
    settings.sequence_length = std::to_string(file_.plan.sequence_length);
    settings.gpus = device_count(question_.cluster.value);
    settings.context_degrees = {file_.plan.context};
    settings.expert_degrees = {file_.plan.expert};
    if (question_.cluster.file.path != kAssumedCluster) {
      settings.cluster = &question_.cluster.value;
    }
  }

  // Whether the plan's bytes are those of such weights and gradients, and what the optimizer keeps
  // then; absent: what it usually does.
  struct Kept {
    bool is_plans = false;
    std::optional<std::string> optimizer_bytes{};
  };

  // False: no such model has these settings, or not on all devices.
  bool estimate(const EstimateSettings& settings) {
    try {
      question_.estimated = estimate_model(config_, settings);
      for (const PlanDevice& other : file_.cluster.other_devices) {
        add_device(*question_.estimated,
                   estimate_model(config_, on_other_device(settings, sheets_, other.name)));
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      return false;
    }
    question_.profile = {question_.estimated->estimate.profile, config_.file};
    question_.request.pins.device = question_.estimated->request.device;
    calibrate(question_, file_);
    return true;
  }

  const Kept& kept_with(const EstimateSettings& settings) {
    const std::pair numbers{*settings.precision, *settings.gradients};
    const auto known = kept_.find(numbers);
    if (known != kept_.end()) return known->second;
    return kept_[numbers] = estimate(settings) ? kept_as_estimated() : Kept{};
  }

  [[nodiscard]] Kept kept_as_estimated() const {
    if (keeps_as_planned(question_)) return {true, {}};
    Question other = question_;
    Bytes& state = other.profile.value.training.optimizer_bytes_per_parameter;
    const std::int64_t usual =
        question_.estimated->estimate.profile.training.optimizer_bytes_per_parameter.count;
    const std::int64_t fitted = state.count - usual;  // to measured runs
    for (int bytes = 0; bytes <= kMostOptimizerBytes; ++bytes) {
      state.count = std::max<std::int64_t>(0, bytes + fitted);
      if (keeps_as_planned(other)) return {true, std::to_string(bytes)};
    }
    return {};
  }

  [[nodiscard]] bool keeps_as_planned(const Question& question) const {
    for (const std::string& type : file_.plan.device_types()) {
      if (find_device_type(question.cluster.value, type) == nullptr) return false;
    }
    const PricedPlan priced = price(question.inputs(), file_.plan);
    if (priced.why_not) return false;
    const auto alike = [](const StepPrice& a, const StepPrice& b) {
      return a.parameters == b.parameters && a.gradients == b.gradients &&
             a.optimizer_state == b.optimizer_state && a.only_on_host == b.only_on_host;
    };
    return std::equal(priced.prices.step.begin(), priced.prices.step.end(),
                      file_.prices.step.begin(), file_.prices.step.end(), alike);
  }

  Question& question_;
  const Loaded<Json>& config_;
  const std::vector<DeviceSheet>& sheets_;
  const PlanFile& file_;
  bool all_degrees_;
  std::map<std::pair<std::string, std::string>, Kept> kept_;
};

const std::string kDiffers =
    " do not give the prices in the plan: it was made with other options, or by another "
    "version";

PlanQuestion from_estimate(const PlanFile& file, const std::string& path,
                           const Loaded<Json>& config, bool all_degrees) {
  PlanQuestion again{"", start(file)};
  const std::vector<DeviceSheet> sheets = shipped_devices();
  const DeviceSheet* known = shipped(sheets, file.cluster.device);
  if (known == nullptr) {
    return {"the datasheet of " + file.cluster.device + " is not one that this program has", {}};
  }
  const DeviceSheet sheet = with_noted_nodes(*known, file);
  again.question.cluster.file = file.cluster_file;
  if (file.cluster_file.path == kAssumedCluster) {
    auto cluster = assumed_cluster(sheet, file);
    if (!cluster) return {"the cluster that was assumed is assumed otherwise now", {}};
    again.question.cluster.value = std::move(*cluster);
  } else {
    const Reread cluster = reread(file.cluster_file, path);
    if (!cluster.why_not.empty()) return {cluster.why_not, {}};
    again.question.cluster.value = read_cluster(cluster.json.value, file.cluster_file.path);
  }
  limit_memory(again.question.cluster.value, file);
  if (!EstimateAgain(again.question, config, sheets, file, all_degrees).run(sheet)) {
    return {file.profile.path + " and the datasheet of " + sheet.name + kDiffers, {}};
  }
  return again;
}

}  // namespace

void note_question(const Question& question, PlanFile& file) {
  file.tool_version = version();
  file.profile = question.profile.file;
  file.cluster_file = question.cluster.file;
  if (question.measured) file.calibration = question.cluster.value.calibration;
  if (question.estimated) {
    file.estimate_options = estimate_options_of(*question.estimated, file.plan);
  }
}

PlanQuestion measured_question_of(const PlanFile& file, const std::string& path,
                                  const std::string& profile, const std::string& cluster) {
  const auto read = [&](const InputFile& of_plan, const std::string& named) {
    return named.empty() ? reread(of_plan, path) : Reread{load_json(named), ""};
  };
  const Reread of_model = read(file.profile, profile);
  if (!of_model.why_not.empty()) return {of_model.why_not, {}};
  const InputFile& model = of_model.json.file;
  if (format_of(of_model.json.value) != "penstock.profile/1") {
    return {model.path + " is neither a profile nor a config.json", {}};
  }
  const Reread of_machine = read(file.cluster_file, cluster);
  if (!of_machine.why_not.empty()) return {of_machine.why_not, {}};
  const InputFile& machine = of_machine.json.file;
  PlanQuestion again{"", start(file)};
  again.question.profile = {read_profile(of_model.json.value, model.path), model};
  again.question.cluster = {read_cluster(of_machine.json.value, machine.path), machine};
  take_device_names(again.question.cluster, again.question.profile);
  limit_memory(again.question.cluster.value, file);
  calibrate(again.question, file);
  return again;
}

PlanQuestion question_of(const PlanFile& file, const std::string& path, bool all_degrees) {
  if (!file.plan.has_even_batch()) {
    return {"its micro-batches differ in shape, and only even batches can be asked about", {}};
  }
  const Reread profile = reread(file.profile, path);
  if (!profile.why_not.empty()) return {profile.why_not, {}};
  if (is_model_config(profile.json.value)) {
    return from_estimate(file, path, profile.json, all_degrees);
  }
  PlanQuestion again = measured_question_of(file, path, "", "");
  if (!again.why_not.empty() || reproduces(again.question, file)) return again;
  return {file.profile.path + " and " + file.cluster_file.path + kDiffers, {}};
}

}  // namespace penstock
