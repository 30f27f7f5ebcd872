// Reads penstock.plan/1 and /2. The parts that have readers of their own are put together here, and
// what is written twice for people (stages, devices, tables of the Program) is held against what
// counts.
#include <algorithm>
#include <utility>

#include "core/files/plan_format.h"
#include "core/files/plan_parts.h"
#include "core/files/program_file.h"
#include "core/files/read_known_program.h"
#include "core/files/read_values.h"
#include "core/values/plan_file.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

constexpr double kMostFlops = 1e30;

void read_inputs(JsonReader reader, PlanFile& file) {
  file.profile = read_json<InputFile>(reader.at("profile"));
  file.cluster_file = read_json<InputFile>(reader.at("cluster"));
  reader.finish();
}

// `stages` is for people; someone who edits it must not believe that it counts.
void require_stages_agree(const JsonReader& reader, const PlanFile& file) {
  const std::vector<JsonReader> stages = reader.elements();
  if (stages.size() != static_cast<std::size_t>(file.plan.stages())) {
    reader.fail("expected " + std::to_string(file.plan.stages()) +
                " stages, as the cuts say, got " + std::to_string(stages.size()));
  }
  for (int s = 0; s < file.plan.stages(); ++s) {
    JsonReader stage = stages[static_cast<std::size_t>(s)];
    const auto first = static_cast<std::size_t>(file.plan.first_section(s));
    const auto end = static_cast<std::size_t>(file.plan.end_section(s));
    const auto require = [&](std::string_view key, const Json& expected) {
      const JsonReader found = stage.at(key);
      if (found.value() == expected) return;
      found.expected(to_text(expected) + ", as 'plan' says (change its cuts, not this)");
    };
    require("index", s);
    require("rank", file.plan.rank_of(s));
    require("first_section", file.section_names[first]);
    require("last_section", file.section_names[end - 1]);
    require("sections", static_cast<int>(end - first));
    stage.finish();
  }
}

// Those that 'plan' names beside its first, in order.
void require_devices_agree(const JsonReader& reader, const PlanCluster& cluster, const Plan& plan) {
  const std::vector<std::string> types = plan.device_types();
  bool agree = cluster.other_devices.size() + 1 == types.size();
  for (std::size_t i = 1; agree && i < types.size(); ++i) {
    agree = cluster.other_devices[i - 1].name == types[i];
  }
  if (agree) return;
  std::string wanted;
  for (std::size_t i = 1; i < types.size(); ++i) wanted += " '" + types[i] + "'";
  reader.fail("expected \"other_devices\" to be" + (wanted.empty() ? " absent" : ":" + wanted) +
              ", the types of '" +
              (plan.has_unequal_replicas() ? "replica_kinds" : "rank_devices") +
              "' after the first");
}

PlanCluster read_cluster_part(JsonReader reader, const Plan& plan) {
  auto cluster = read_json<PlanCluster>(reader);
  require_devices_agree(reader, cluster, plan);
  const int stages = plan.stages();
  if (cluster.boundary_level.size() + 1 != static_cast<std::size_t>(stages)) {
    reader.at("boundary_level")
        .fail("expected " + std::to_string(stages - 1) + " levels, one less than stages, got " +
              std::to_string(cluster.boundary_level.size()));
  }
  return cluster;
}

std::vector<PlanTie> read_ties(const JsonReader& reader, int stages) {
  std::vector<PlanTie> ties;
  for (JsonReader tie : reader.elements()) {
    const JsonReader tied = tie.at("stages");
    ties.push_back({tie.at("name").string(), read_ints(tied, 0, stages - 1)});
    const std::vector<int>& of_tie = ties.back().stages;
    bool ascending = of_tie.size() >= 2;
    for (std::size_t i = 1; i < of_tie.size(); ++i) ascending &= of_tie[i - 1] < of_tie[i];
    if (!ascending) tied.expected("at least two stages in ascending order");
    tie.finish();
  }
  return ties;
}

// The tables of the Program are those of the plan and its prices.
void require_tables_agree(const JsonReader& program, const PlanFile& file) {
  for (const Pipeline& pipeline : file.program.pipelines) {
    if (pipeline.stages == file.plan.stages() && pipeline.ranks == file.plan.pipeline &&
        pipeline.copies == file.plan.copies()) {
      continue;
    }
    program.fail("every pipeline must have the " + std::to_string(file.plan.pipeline) +
                 " ranks and " + std::to_string(file.plan.stages()) + " stages of 'plan', in " +
                 std::to_string(file.plan.copies()) +
                 (file.plan.copies() > 1 ? " copies of the weights" : " copy of the weights"));
  }
  const auto kinds = static_cast<std::size_t>(file.plan.kinds());
  if (file.plan.has_unequal_replicas() && file.program.pipelines.size() != kinds) {
    program.fail("expected a pipeline for each of the " + std::to_string(kinds) +
                 " 'replica_kinds', got " + std::to_string(file.program.pipelines.size()));
  }
  if (file.plan.has_unequal_replicas() || !file.plan.has_even_batch()) {
    const std::size_t shapes = micro_batch_shapes(file.plan).size();
    if (static_cast<std::size_t>(file.prices.shapes) != shapes) {
      program.fail(std::string(file.plan.has_even_batch() ? "the 'replica_kinds' have "
                                                          : "the 'batch' has ") +
                   std::to_string(shapes) + " micro-batch shapes, but there are prices of " +
                   std::to_string(file.prices.shapes));
    }
  }
  for (const MicroBatch& micro_batch : file.program.micro_batches) {
    if (micro_batch.shape < file.prices.shapes) continue;
    program.fail("a micro-batch has shape " + std::to_string(micro_batch.shape) +
                 ", but there are prices of " + std::to_string(file.prices.shapes) + " shapes");
  }
}

// Each device type of the plan at most once; those without a known peak are left out.
ModelFlops read_flops(JsonReader reader, const Plan& plan) {
  ModelFlops flops;
  flops.per_sample = reader.at("per_sample").number(1.0, kMostFlops);
  flops.convention = read_word(reader.at("convention"), kFlopConventionWords);
  std::vector<std::string> unknown = plan.device_types();
  for (JsonReader peak : reader.at("peaks").elements()) {
    const JsonReader device = peak.at("device");
    const auto found = std::find(unknown.begin(), unknown.end(), device.string());
    if (found == unknown.end()) {
      device.expected("a device type of the plan, each once");
    }
    unknown.erase(found);
    flops.peaks.emplace_back(device.string(), peak.at("flops_per_s").number(1.0, kMostFlops));
    peak.finish();
  }
  reader.finish();
  return flops;
}

PlanFile read(const Json& json, const std::string& file_name, std::uint64_t most_actions,
              const IsKnownProgram& is_known) {
  JsonReader reader(json, file_name);
  const JsonReader format = reader.at("format");
  const bool is_first = format.string() == kPlanFormat1;
  if (!is_plan_format(format.string())) {
    format.expected('"' + std::string(kPlanFormat) + "\" or \"" + std::string(kPlanFormat1) + '"');
  }
  PlanFile file;
  file.model = reader.at("model").string();
  if (auto description = reader.get("description")) {
    file.description = read_description(std::move(*description));
  }
  file.tool_version = reader.at("tool_version").string();
  read_inputs(reader.at("inputs"), file);
  const JsonReader sections = reader.at("sections");
  file.section_names = read_strings(sections);
  if (file.section_names.empty()) sections.expected("at least one section");
  file.plan = read_decisions(reader.at("plan"), static_cast<int>(file.section_names.size()));
  require_stages_agree(reader.at("stages"), file);
  file.cluster = read_cluster_part(reader.at("cluster"), file.plan);
  file.ties = read_ties(reader.at("ties"), file.plan.stages());
  file.executor = read_executor(reader.at("executor"));
  if (auto calibration = reader.get("calibration")) {
    // Its device need not be the plan's: prices of others stay as they are.
    file.calibration = read_calibration(std::move(*calibration), [](const JsonReader&) {});
  }
  if (auto options = reader.get("estimate_options")) {
    for (const auto& [name, value] : options->members()) {
      file.estimate_options.push_back({name, value.string()});
    }
  }
  if (auto flops = reader.get("flops")) {
    if (!file.plan.has_even_batch()) {
      flops->fail(
          "they are of samples of one length, and those of 'batch' may differ; leave this key out");
    }
    file.flops = read_flops(std::move(*flops), file.plan);
  }
  file.prices = read_prices(reader.at("prices"), file);
  if (is_first && !file.plan.has_even_batch()) {
    format.fail("a plan with a 'batch' is \"" + std::string(kPlanFormat) + '"');
  }
  const JsonReader program = reader.at("program");
  const ProgramForm form = is_first ? ProgramForm::kWithLossWeights : ProgramForm::kNow;
  if (is_known &&
      is_known(file, is_first ? without_loss_weights(program.value()) : program.value())) {
    file.program.schedule = file.plan.schedule;
  } else {
    file.program = read_program(program, most_actions, form);
    require_tables_agree(program, file);
  }
  file.prediction = read_prediction(reader.at("prediction"), file.plan.listed_ranks());
  file.not_searched = read_strings(reader.at("not_searched"));
  reader.finish();
  return file;
}

}  // namespace

PlanFile read_plan(const Json& json, const std::string& file, std::uint64_t most_actions) {
  return read(json, file, most_actions, nullptr);
}

PlanFile read_plan_unless_known(const Json& json, const std::string& file,
                                const IsKnownProgram& is_known) {
  return read(json, file, kMostActions, is_known);
}

}  // namespace penstock
