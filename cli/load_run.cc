#include "cli/load_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_reader.h"
#include "report/traces/read_kineto.h"

namespace penstock {
namespace {

std::vector<std::string> traces_in(const std::string& folder) {
  std::vector<std::string> files;
  std::string packed;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".json")) files.push_back(path);
    if (path.ends_with(".json.gz") && (packed.empty() || path < packed)) packed = path;
  }
  if (!packed.empty()) {
    throw_bad_input(packed + ": a packed trace\nhelp: unpack them first: gunzip " + folder +
                    "/*.json.gz");
  }
  if (files.empty()) {
    throw_bad_input(folder +
                    ": no trace (*.json) is in this folder\nhelp: name the folder that "
                    "holds rank0_trace.json, rank1_trace.json, ...");
  }
  std::sort(files.begin(), files.end());
  return files;
}

LoadedRun from_traces(const std::string& folder, const Loaded<PlanFile>& plan) {
  std::vector<KinetoTrace> traces;
  for (const std::string& file : traces_in(folder)) {
    traces.push_back(read_kineto_trace(parse_json(read_file(file), file), file));
  }
  KinetoRun run = run_of_kineto(plan.value, plan.file.path, traces);
  return {std::move(run.log), std::move(run.notes), true};
}

}  // namespace

void require_same_plan(const Loaded<PlanFile>& plan, const RunLog& run, const std::string& path) {
  if (run.header.plan_hash == plan.file.hash) return;
  throw_bad_input(
      fmt::format("{}: it ran a plan with the hash {} ({}), but {} has {}\n"
                  "help: name the plan file that it ran, or compare anyway with --any-plan",
                  path, run.header.plan_hash, run.header.plan, plan.file.path, plan.file.hash));
}

LoadedRun load_run(const std::string& path, const Loaded<PlanFile>& plan) {
  if (std::filesystem::is_directory(path)) return from_traces(path, plan);
  return {read_run_log(read_file(path), path), {}, false};
}

}  // namespace penstock
