// penstock planner: plans the steps of a job on documents on another machine, ahead of it.
//
// How to plan is not said here: the job says it through the store, so that it is said once. What
// the planner needs of its own are the files, and they are compared with those of the job.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/io/documents_job.h"
#include "cli/io/environment.h"
#include "cli/io/files.h"
#include "cli/io/watched_training.h"
#include "cli/options/options.h"
#include "cli/options/store_options.h"
#include "cli/parts/document_plans.h"
#include "cli/parts/open_plan_store.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "report/result_json.h"
#include "report/words.h"
#include "runtime_bridge/plan_message.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/serve_plans.h"
#include "search/in_parallel.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock planner plan.json --documents docs.jsonl --store redis://10.0.0.1 --job gpt-7
  penstock planner plan.json --documents docs.jsonl --store rediss://10.0.0.1:6380/2 --job gpt-7 --store-ca ca.pem
  penstock planner plan.json --documents docs.jsonl --store redis://10.0.0.1 --job gpt-7 --ahead 16 --planner-threads 8
)";

constexpr const char* kAbout =
    "Plans the steps of a job on documents, on a machine with processors to spare, ahead of the "
    "job, and leaves the plans in a Redis, from which the ranks take them (penstock train "
    "--plans-from). Waits for the job, keeps the store as it should be when it restarts, follows a "
    "job that begins again, and ends when the job does.";

struct PlannerOptions {
  std::string plan;
  std::vector<std::string> documents;
  std::optional<std::string> profile, cluster, ahead, threads, time_out, idle;
  StoreOptions store{"--store"};
  bool json = false;

  void declare(Options& options) {
    options.positional("PLAN", "the plan file that the job trains by", plan);
    options.heading("What is planned");
    options.repeated("--documents", "FILE", "as the job has them, in the same order", documents);
    options.option("--profile", "FILE",
                   "as the job has it; default: the one that PLAN was made from", profile);
    options.option("--cluster", "FILE",
                   "as the job has it; default: the one that PLAN was made for", cluster);
    options.option("--ahead", "N",
                   "plan this many steps beyond the last that a rank asked for; default 8", ahead);
    options.option("--planner-threads", "N", "threads that plan at the same time; default 1",
                   threads);
    options.heading("The store");
    store.declare(options, "the Redis that plans go to; rediss:// with TLS");
    options.option("--time-out", "TIME",
                   "end when the store has taken no plan for this long; default 1min", time_out);
    options.option("--idle", "TIME",
                   "end when the job has asked for no plan for this long; default 1h", idle);
    options.flag("--json", "what was planned as one JSON object", json);
  }
};

// The plans of one start of the job.
class PlansOfJob : public JobPlans {
 public:
  PlansOfJob(const Loaded<PlanFile>& layout, const PlannerOptions& given, const PlanJob& job) {
    DocumentPlanning how;
    how.profile = given.profile.value_or("");
    how.cluster = given.cluster.value_or("");
    how.schedules = job.schedules;
    how.pad_to = job.pad_to;
    how.replays = job.replays;
    plans_ = document_plans(layout, how);
    DataOptions data;
    data.documents = given.documents;
    data.tokens_per_batch = job.tokens_per_batch;
    data.longest = job.longest;
    if (job.longest > plans_->longest()) {
      throw_bad_input(fmt::format(
          "the job takes documents of {} tokens, and here at most {} have a price\nhelp: name the "
          "profile that the ranks use with --profile",
          job.longest, plans_->longest()));
    }
    const Plan& plan = layout.value.plan;
    data_ = read_training_data(data, model_of(layout.value), plan.sequence_length);
    require_same_files(job, files_of_job(layout.value, *plans_, data_));
    data_.begin({job.first_step, job.first_taken, plan.global_batch}, job.seed);
  }

  [[nodiscard]] ServedStep plan(std::int64_t step) const override {
    const DocumentBatches& batches = *data_.documents;
    const std::vector<SampleLength> lengths = batches.lengths_of_step(step);
    try {
      return {plans_->plan(lengths), fingerprint_of_documents(batches.of_step(step), lengths)};
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("the plan of step {}: {}", step, error.what()));
    }
  }

 private:
  std::unique_ptr<DocumentPlans> plans_;
  TrainingData data_;
};

Answer answer_of(const ServedPlans& served, bool as_json) {
  const int exit = served.stopped ? kStopped : kYes;
  const std::int64_t plans = std::max<std::int64_t>(served.plans, 1);
  if (as_json) {
    Json json = answer_json("planner");
    json.set("plans", served.plans)
        .set("next_step", served.next_step)
        .set("starts_of_the_job", served.starts)
        .set("written_again", served.written_again)
        .set("mean_bytes", served.bytes.count / plans)
        .set("mean_planning_ns", std::int64_t{served.planning.count() / plans})
        .set("stopped", served.stopped);
    return json_answer(json, exit);
  }
  return report_answer(
      fmt::format("{} of up to step {}, for {} of the job: {} of a processor and {} bytes each; {} "
                  "written again\n",
                  count_of(served.plans, "plan"), served.next_step,
                  count_of(served.starts, "start"), to_text(served.planning / plans),
                  with_commas(served.bytes.count / plans), served.written_again),
      exit);
}

}  // namespace

Answer run_planner(const Arguments& arguments, Screen screen) {
  TrainingSignals signals;
  PlannerOptions given;
  Options options("planner PLAN --documents FILE --store redis://HOST --job NAME [OPTIONS]", kAbout,
                  kExamples);
  given.declare(options);
  options.remark(
      {"port", "address", "listen", "bind", "host", "addr"},
      "it serves no port: plans go to a Redis, as penstock planner plan.json --documents "
      "docs.jsonl --store redis://HOST:6379 --job NAME");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  if (given.documents.empty()) {
    bad_option("--documents", "missing", "name the documents that the job trains on");
  }
  ServePlansOptions serve;
  serve.name = given.store.job();
  const PlanStoreAddress address = given.store.address(process_environment());
  const Loaded<PlanFile> layout = load_plan(given.plan);
  serve.layout = layout_text(layout.value);
  serve.process = process_words();
  serve.ahead = parse_count("--ahead", given.ahead, 0, serve.ahead, 4096);
  serve.threads = parse_count("--planner-threads", given.threads, 1, serve.threads, kMostThreads);
  if (given.time_out) serve.time_out = parse_budget("--time-out", *given.time_out);
  if (given.idle) serve.idle = parse_budget("--idle", *given.idle);
  signals.keep_interrupts();
  ServePlansHooks hooks;
  hooks.open = [&] { return open_plan_store(address); };
  hooks.begin = [&](const PlanJob& job) {
    return std::make_unique<PlansOfJob>(layout, given, job);
  };
  hooks.note = [](const std::string& words) { std::fprintf(stderr, "note: %s\n", words.c_str()); };
  hooks.is_stopped = [&] { return signals.requested() != RunRequest::kGoOn; };
  return answer_of(serve_plans(serve, hooks), given.json);
}

}  // namespace penstock
