#include <utility>

#include "core/files/read_sources.h"
#include "core/values/plan_file.h"
#include "core/values/runs.h"

namespace penstock {
namespace {

Json write_run(const MeasuredRun& run, const std::vector<Source>& sources) {
  Json json = Json::object();
  json.set("name", run.name)
      .set("plan", write_decisions(run.plan))
      .set("step_time_ns", std::int64_t{run.step_time.count()})
      .set("step_spread_ns", std::int64_t{run.step_spread.count()})
      .set("count", run.count);
  if (run.reduce_gradients) {
    json.set("reduce_gradients_ns", std::int64_t{run.reduce_gradients->count()});
  }
  if (run.peak_memory) json.set("peak_memory_bytes", run.peak_memory->count);
  json.set("source", id_of(sources, run.source));
  if (!run.profile.empty()) json.set("profile", run.profile);
  return json;
}

}  // namespace

Json write_runs(const MeasuredRuns& runs) {
  Json list = Json::array();
  for (const MeasuredRun& run : runs.runs) list.push(write_run(run, runs.sources));
  Json file = Json::object();
  file.set("format", "penstock.runs/1")
      .set("name", runs.name)
      .set("sources", write_sources(runs.sources))
      .set("profile", runs.profile)
      .set("cluster", runs.cluster)
      .set("runs", std::move(list));
  return file;
}

}  // namespace penstock
