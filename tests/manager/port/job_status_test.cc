#include "manager/port/job_status.h"

#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "manager/port/metrics_text.h"
#include "manager/port/status_text.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

const UtcTime kNow = *parse_utc_time("2026-11-24T01:00:00Z");

// Two machines of 2 GPUs: a holds ranks 0 and 1 of generation 3, b leaves and holds none.
JobState state() {
  JobState state;
  state.job = "gpt";
  state.phase = JobPhase::kRunning;
  state.machines = {{"a", 2, kNow, std::nullopt, 1.0, ""}, {"b", 2, kNow, kNow + 30s, 1.0, ""}};
  state.generation = {3, 2,    800ms, {{0, "a", 0, false, {}, 0}, {1, "a", 1, false, {}, 0}},
                      0, true, kNow,  kNow};
  state.last_step = 17;
  state.last_loss = 2.5;
  state.step_time = 1s;
  state.checkpoint_step = 10;
  state.restarts = 2;
  return state;
}

JobSeen seen() {
  JobSeen seen;
  seen.steps = 300;
  seen.tokens_per_step = 4096;
  seen.plan = "PP 2";
  seen.checkpoint_at = kNow - 12s;
  seen.in_phase = {{"running", 30s}, {"starting", 10s}};
  seen.productive = 10s;
  seen.decisions = {{kNow, 3, "machine b leaves", "ignore", "No rank runs there."}};
  return seen;
}

TEST_CASE("a status is what the state says, and what follows from it") {
  const JobStatus status = job_status(state(), seen(), kNow);
  CHECK(status.gpus_present == 4);
  CHECK(status.gpus_used == 2);
  CHECK(status.machines.at(0).condition == "in use");
  CHECK(status.machines.at(0).ranks == std::vector<int>{0, 1});
  CHECK(status.machines.at(1).condition == "leaves");
  CHECK(status.tokens_per_s == 4096.0);  // 4,096 tokens in 1 s
  CHECK(status.goodput == 0.25);         // 10 s of 40 s
}

TEST_CASE("between two generations it says when the next step is expected") {
  JobState between = state();
  between.phase = JobPhase::kStopping;
  between.expected = ExpectedStep{kNow - 5s, 20s, 5s, false};
  const JobStatus status = job_status(between, seen(), kNow);
  CHECK(status.next_step_at == kNow + 15s);
  CHECK(status_text(status, kNow, Screen{}).find("The next step is expected in 15.0 s.") !=
        std::string::npos);
  CHECK(status_text(status, kNow + 18s, Screen{}).find("The next step was expected 3.00 s ago.") !=
        std::string::npos);
  CHECK(read_job_status(write_job_status(status), "status") == status);
  between.expected->waited = true;
  CHECK(!job_status(between, seen(), kNow).next_step_at);
}

TEST_CASE("ranks of a generation that has ended use nothing") {
  JobState ended = state();
  ended.phase = JobPhase::kWaiting;
  CHECK(job_status(ended, seen(), kNow).gpus_used == 0);
}

TEST_CASE("a status is written and read again as it was") {
  const JobStatus status = job_status(state(), seen(), kNow);
  CHECK(read_job_status(parse_json(to_text(write_job_status(status)), "s"), "s") == status);
  const JobStatus empty = job_status(JobState{}, JobSeen{}, kNow);
  CHECK(read_job_status(parse_json(to_text(write_job_status(empty)), "s"), "s") == empty);
  Json extra = write_job_status(status);
  extra.set("more", 1);
  CHECK_THROWS_AS((void)read_job_status(extra, "s"), Error);
}

// A run whose loss has become infinite or no number goes on, and so must whoever watches it.
TEST_CASE("a loss that is not finite is said, and is null in JSON") {
  JobState diverged = state();
  diverged.last_loss = kNotFinite;
  CHECK(read_job_state(parse_json(to_text(write_job_state(diverged)), "s"), "s") == diverged);
  const JobStatus status = job_status(diverged, seen(), kNow);
  const std::string json = to_text(write_job_status(status));
  CHECK(json.find("\"loss\": null") != std::string::npos);
  CHECK(read_job_status(parse_json(json, "s"), "s") == status);
  CHECK(status_text(status, kNow, Screen{})
            .find("step 17 of 300, the loss is no longer a finite number\n") != std::string::npos);
  CHECK(metrics_text(status).find("penstock_loss{job=\"gpt\"} NaN\n") != std::string::npos);
}

TEST_CASE("people read it on a few lines") {
  const std::string text = status_text(job_status(state(), seen(), kNow), kNow, Screen{});
  CAPTURE(text);
  for (const char* part :
       {"gpt: running, step 17 of 300, loss 2.5000\n", "Plan of generation 3: PP 2\n",
        "2 of 4 GPUs in use\n", "predicted 800 ms (+25 %); 4,096 tokens/s\n",
        "Newest checkpoint: step 10, 12", "2 restarts, 0 lost steps.",
        "25.0 % of it in steps that count", "leaves", "2026-11-24T01:00:30.000Z",
        "01:00:00 ignore: machine b leaves. No rank runs there.\n"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("every family of metrics has its help and type before its samples") {
  const std::string text = metrics_text(job_status(state(), seen(), kNow));
  CAPTURE(text);
  for (const char* part :
       {"# HELP penstock_step Steps that are done.\n# TYPE penstock_step "
        "gauge\npenstock_step{job=\"gpt\"} 17\n",
        "penstock_loss{job=\"gpt\"} 2.5\n", "penstock_step_seconds{job=\"gpt\"} 1\n",
        "penstock_predicted_step_seconds{job=\"gpt\"} 0.8\n", "penstock_gpus_used{job=\"gpt\"} 2\n",
        "# TYPE penstock_restarts_total counter\npenstock_restarts_total{job=\"gpt\"} 2\n",
        "penstock_phase_seconds_total{job=\"gpt\",phase=\"running\"} 30\n",
        "penstock_goodput_ratio{job=\"gpt\"} 0.25\n"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("what is not known is no metric, and odd names are escaped") {
  JobState odd;
  odd.job = "a\"b\\c\nd";
  const std::string text = metrics_text(job_status(odd, JobSeen{}, kNow));
  CHECK(text.find("penstock_step{job=\"a\\\"b\\\\c\\nd\"} 0\n") != std::string::npos);
  CHECK(text.find("penstock_loss") == std::string::npos);
  CHECK(text.find("penstock_step_seconds") == std::string::npos);
}

}  // namespace
}  // namespace penstock
