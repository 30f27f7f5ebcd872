
#include "core/files/plan_parts.h"
#include "core/files/read_sources.h"
#include "core/values/json_reader.h"
#include "core/values/runs.h"

namespace penstock {
namespace {

// A time that was measured is not 0.
void require_positive(Duration time, const JsonReader& object, const std::string& what) {
  if (time <= Duration{}) object.fail("expected a " + what + " > 0, got 0");
}

MeasuredRun read_run(JsonReader& object, Names& names, const Names& sources) {
  MeasuredRun run;
  run.name = names.add(need(object, "name", "what reports call this run"));
  run.plan = read_decisions(need(object, "plan", "the decisions, as in a plan file"), kMostInt);
  run.step_time = object.duration("step_time");
  require_positive(run.step_time, object, "step time");
  run.step_spread = object.get_duration("step_spread").value_or(Duration{});
  if (const auto count = object.get("count")) run.count = read_int(*count, 1, kMostInt);
  run.reduce_gradients = object.get_duration("reduce_gradients");
  if (run.reduce_gradients) require_positive(*run.reduce_gradients, object, "reduction time");
  if (const auto memory = object.get("peak_memory_bytes")) run.peak_memory = memory->bytes();
  run.source = sources.resolve(object, "source", 0);
  if (const auto profile = object.get("profile")) run.profile = read_name(*profile);
  object.finish();
  return run;
}

}  // namespace

MeasuredRuns read_runs(const Json& json, const std::string& file_name) {
  JsonReader file(json, file_name);
  read_format(file, "penstock.runs/1");
  MeasuredRuns runs;
  runs.name = read_name(need(file, "name", "the name of this set of runs"));
  Names sources("source"), names("run");
  runs.sources = read_sources(file, sources);
  runs.profile = read_name(need(file, "profile", "the profile, relative to this file"));
  runs.cluster = read_name(need(file, "cluster", "the cluster, relative to this file"));
  for (JsonReader& element : need_elements(file, "runs", "one measured run")) {
    runs.runs.push_back(read_run(element, names, sources));
    if (runs.runs.back().plan.is_mixed()) {
      element.fail("expected a plan on one device type; leave runs of mixed plans out");
    }
    const std::string& device = runs.runs.front().plan.device;
    if (runs.runs.back().plan.device != device) {
      element.fail("expected the device of the first run, " + to_text(Json(device)) + ", got " +
                   to_text(Json(runs.runs.back().plan.device)) + "; make one file per device type");
    }
  }
  file.finish();
  return runs;
}

}  // namespace penstock
