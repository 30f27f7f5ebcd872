// One function per object. "epochs" with "samples_per_epoch" are another way to write "steps".
// Sums of all times stay within 64 bits, so that no replay looks at overflow.
#include "multi/jobs_file.h"

#include <algorithm>
#include <set>

#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr std::string_view kFormat = "penstock.jobs/1";
constexpr std::int64_t kMostJobs = 10'000, kMostUnits = 100'000, kMostGpus = 1 << 20;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;
// Of one job, and of all together: some thirty years.
constexpr double kLongestNs = 1e18;

int read_count(const JsonReader& reader, std::int64_t least, std::int64_t most) {
  return static_cast<int>(reader.integer(least, most));
}

std::string read_some(const JsonReader& reader, const char* what) {
  std::string text = reader.string();
  if (text.empty()) reader.expected(what);
  return text;
}

TaskUnit read_unit(JsonReader reader, int index) {
  TaskUnit unit;
  unit.shard = index;
  if (const auto shard = reader.get("shard")) unit.shard = read_count(*shard, 0, kMostUnits - 1);
  unit.compute = reader.duration("compute");
  unit.load = reader.get_duration("load").value_or(Duration{});
  unit.store = reader.get_duration("store").value_or(Duration{});
  if (std::max(unit.load, unit.store) > kLongestCopy) {
    reader.fail("a copy of more than 1,000 s is not the copy of a shard");
  }
  reader.finish();
  return unit;
}

std::vector<TaskUnit> read_units(const JsonReader& list) {
  std::vector<TaskUnit> units;
  const std::vector<JsonReader> elements = list.elements();
  if (elements.empty() || static_cast<std::int64_t>(elements.size()) > kMostUnits) {
    list.fail("expected 1 to 100000 units of one step");
  }
  units.reserve(elements.size());
  for (const JsonReader& each : elements) {
    units.push_back(read_unit(each, static_cast<int>(units.size())));
  }
  return units;
}

std::vector<JobStepTime> read_step_times(const JsonReader& list) {
  std::vector<JobStepTime> times;
  for (JsonReader each : list.elements()) {
    JobStepTime time;
    const JsonReader gpus = each.at("gpus");
    time.gpus = read_count(gpus, 1, kMostGpus);
    if (!times.empty() && time.gpus <= times.back().gpus) {
      gpus.fail("expected more GPUs than in the entry before; sort them, each number once");
    }
    time.step = each.duration("step");
    if (time.step <= Duration{}) each.fail("expected a step that takes some time, got 0");
    each.finish();
    times.push_back(time);
  }
  if (times.empty()) list.fail("expected at least one {\"gpus\", \"step_s\"}, got none");
  return times;
}

// "steps", or "epochs" of "samples_per_epoch" samples.
std::int64_t read_steps(JsonReader& reader, const Job& job) {
  const auto steps = reader.get("steps");
  const auto epochs = reader.get("epochs");
  const auto samples = reader.get("samples_per_epoch");
  if (steps) {
    if (epochs) epochs->fail("a job has steps or epochs, not both; remove one");
    if (samples) samples->fail("it belongs to \"epochs\", which is not here; remove it");
    return steps->integer(1, kMostSteps);
  }
  if (!epochs) reader.fail("how long it runs is missing; add \"steps\", or \"epochs\"");
  if (!samples) epochs->fail("add \"samples_per_epoch\", from which its steps follow");
  if (!job.global_batch) epochs->fail("add \"global_batch\", from which its steps follow");
  const std::int64_t of_epoch =
      (samples->integer(1, kMostSteps) + *job.global_batch - 1) / *job.global_batch;
  return of_epoch * epochs->integer(1, std::max<std::int64_t>(1, kMostSteps / of_epoch));
}

void read_what(JsonReader& reader, Job& job) {
  if (const auto model = reader.get("model")) {
    job.model = read_some(*model, "the path of a profile or a config.json");
  }
  if (const auto book = reader.get("book")) {
    job.book = read_some(*book, "the path of a book of plans");
    if (!job.model.empty()) book->fail("a job has a model or a book, not both; remove one");
  }
  if (const auto plan = reader.get("plan")) {
    job.plan = read_some(*plan, "the path of a plan file");
    if (!job.model.empty() || !job.book.empty()) {
      plan->fail("a job has a plan, a model or a book, not two of them; remove one");
    }
  }
  if (const auto train = reader.get("train")) {
    if (job.plan.empty()) train->fail("it belongs to a \"plan\", which is not here; remove it");
    for (const JsonReader& each : train->elements()) job.train.push_back(each.string());
  }
  if (const auto batch = reader.get("global_batch")) {
    job.global_batch = read_count(*batch, 1, std::int64_t{1} << 30);
  } else if (!job.model.empty()) {
    reader.fail("the key \"global_batch\" is missing here; add the samples of a step");
  }
  if (const auto length = reader.get("sequence_length")) {
    job.sequence_length = read_count(*length, 1, std::int64_t{1} << 30);
    if (job.model.empty()) length->fail("it belongs to a \"model\", which is not here; remove it");
  }
  if (const auto times = reader.get("step_times")) job.step_times = read_step_times(*times);
  if (const auto units = reader.get("units")) job.units = read_units(*units);
  if (job.model.empty() && job.book.empty() && job.plan.empty() && job.step_times.empty() &&
      job.units.empty()) {
    reader.fail(
        "what the job is made of is missing; add \"model\" with \"global_batch\", \"plan\", "
        "\"book\", \"step_times\" or \"units\"");
  }
}

void read_progress(JsonReader& reader, Job& job) {
  if (const auto done = reader.get("done_steps")) job.done_steps = done->integer(0, job.steps - 1);
  const auto running = reader.get("running_on");
  if (!running) return;
  for (const JsonReader& each : running->elements()) {
    const int gpu = read_count(each, 0, kMostGpus - 1);
    if (!job.running_on.empty() && gpu <= job.running_on.back()) {
      each.fail("expected ascending numbers of GPUs, each once");
    }
    job.running_on.push_back(gpu);
  }
  if (job.running_on.empty()) running->fail("expected at least one GPU; or remove the key");
}

Wishes read_wishes(JsonReader& reader) {
  Wishes wishes;
  wishes.deadline = reader.get_duration("deadline");
  if (const auto weight = reader.get("weight")) wishes.weight = weight->number(0.0, 1e6);
  return wishes;
}

// In nanoseconds; as a double, since it is only compared with what 64 bits hold many times over.
double longest_ns(const Job& job) {
  double of_step = 0.0;
  for (const TaskUnit& unit : job.units) {
    of_step += static_cast<double>((unit.compute + unit.load + unit.store).count());
  }
  for (const JobStepTime& time : job.step_times) {
    of_step = std::max(of_step, static_cast<double>(time.step.count()) * time.gpus);
  }
  return of_step * static_cast<double>(job.steps);
}

Job read_job(JsonReader reader) {
  Job job;
  job.name = read_some(reader.at("name"), "a name");
  read_what(reader, job);
  job.steps = read_steps(reader, job);
  read_progress(reader, job);
  job.wishes = read_wishes(reader);
  if (longest_ns(job) > kLongestNs) reader.fail("the job runs for more than thirty years");
  reader.finish();
  return job;
}

void require_distinct(const JsonReader& list, const JobsFile& file) {
  std::set<std::string> names;
  std::set<int> used;
  std::int64_t executions = 0;
  double longest = 0.0;
  for (const Job& job : file.jobs) {
    if (!names.insert(job.name).second) list.fail("two jobs are called \"" + job.name + "\"");
    for (const int gpu : job.running_on) {
      if (!used.insert(gpu).second) {
        list.fail("two jobs run on GPU " + std::to_string(gpu) + " at once");
      }
    }
    const auto units = static_cast<std::int64_t>(job.units.size());
    if (units > 0) executions += std::min(job.steps, kMostExecutions / units + 1) * units;
    longest += longest_ns(job);
  }
  if (executions > kMostExecutions) {
    list.fail(
        "the jobs have more than 5,000,000 units in all; write fewer steps, each with the "
        "units of several");
  }
  if (longest > kLongestNs) list.fail("the jobs together run for more than thirty years");
}

}  // namespace

JobsFile read_jobs_file(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const JsonReader format = reader.at("format");
  if (format.string() != kFormat) format.expected("\"" + std::string(kFormat) + "\"");
  JobsFile jobs;
  const JsonReader list = reader.at("jobs");
  const std::vector<JsonReader> elements = list.elements();
  if (elements.empty() || static_cast<std::int64_t>(elements.size()) > kMostJobs) {
    list.fail("expected 1 to 10000 jobs");
  }
  for (const JsonReader& each : elements) jobs.jobs.push_back(read_job(each));
  require_distinct(list, jobs);
  reader.finish();
  return jobs;
}

}  // namespace penstock
