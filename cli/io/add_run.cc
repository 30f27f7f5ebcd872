#include "cli/io/add_run.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/write_output.h"
#include "cli/words/parse.h"
#include "core/values/json_reader.h"
#include "core/values/runs.h"

namespace penstock {
namespace {

// As seen from the folder that `file` stands in.
std::string relative_to(const std::string& file, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  return std::filesystem::absolute(path).lexically_relative(folder).generic_string();
}

// `penstock calibrate` reads the cluster that a file of runs names; an assumed one is no file.
void refuse_without_cluster(const PlanFile& plan) {
  std::error_code error;
  if (std::filesystem::exists(plan.cluster_file.path, error)) return;
  const PlanCluster& cluster = plan.cluster;
  bad_option(
      "--add-to",
      fmt::format("a file of runs names a file of the cluster, and the plan's \"{}\" is none",
                  plan.cluster_file.path),
      fmt::format("write one with penstock devices {} --gpus {} --cluster-out cluster.json, "
                  "and plan with --cluster cluster.json",
                  cluster.device, plan.plan.devices()));
}

MeasuredRuns runs_in(const std::string& path, const PlanFile& plan) {
  const std::string profile = relative_to(path, plan.profile.path);
  const std::string cluster = relative_to(path, plan.cluster_file.path);
  if (!std::filesystem::exists(path)) {
    MeasuredRuns runs;
    runs.name = plan.model;
    runs.profile = profile;
    runs.cluster = cluster;
    return runs;
  }
  MeasuredRuns runs = read_runs(load_json(path).value, path);
  if (runs.profile != profile || runs.cluster != cluster) {
    bad_option("--add-to",
               fmt::format("{} holds runs of {} on {}, this one is of {} on {}", path, runs.profile,
                           runs.cluster, profile, cluster),
               "name another file");
  }
  return runs;
}

}  // namespace

void add_run(const std::string& path, const PlanFile& plan, const RunHeader& run,
             const Validation& validation, const std::string& source) {
  refuse_without_cluster(plan);
  MeasuredRuns runs = runs_in(path, plan);
  const std::string name = fmt::format("{}, {}", run.plan, run.started);
  for (const MeasuredRun& other : runs.runs) {
    if (other.name == name) {
      bad_option("--add-to", fmt::format("{} holds the run \"{}\" already", path, name),
                 "leave --add-to out");
    }
  }
  const std::string id = fmt::format("run{}", runs.sources.size() + 1);
  runs.sources.push_back({id, Origin::kMeasured, source, ""});
  MeasuredRun measured;
  measured.name = name;
  measured.plan = plan.plan;
  measured.step_time = validation.measured;
  // Of a normal distribution the standard deviation is 1.4826 times the median deviation, and that
  // of one step sqrt(n) times that of means of n.
  measured.step_spread = scaled(validation.measured_spread,
                                1.4826 * std::sqrt(static_cast<double>(validation.steps_per_mean)));
  measured.count = validation.steps;
  measured.source = static_cast<int>(runs.sources.size()) - 1;
  runs.runs.push_back(std::move(measured));
  write_output(path, to_text(write_runs(runs)) + '\n');
}

}  // namespace penstock
