#include "report/traces/read_kineto.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "report/traces/trace_files.h"
#include "report/validation.h"
#include "simulator/simulate.h"
#include "tests/core/byte_changes.h"
#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

Timeline replay(const PlanFile& plan) { return simulate(plan.program, plan.prices, plan.executor); }

KinetoTrace read(const std::string& text, const std::string& file) {
  return read_kineto_trace(parse_json(text, file), file);
}

std::string complaint(const PlanFile& plan, const std::vector<KinetoTrace>& traces) {
  return tests::message_of([&] { static_cast<void>(run_of_kineto(plan, "plan.json", traces)); });
}

// A rank of the tiny plan as PyTorch's profiler writes it, on a clock that began long ago.
std::string trace(int rank, const std::string& events) {
  return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
    "distributedInfo": {"backend": "nccl", "rank": )" +
         std::to_string(rank) +
         R"(, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000,
    "traceEvents": [)" +
         events + "]}";
}

std::string range(const std::string& category, const std::string& name, const std::string& at,
                  const std::string& duration, const std::string& more = "") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "pid": 7, "tid": 1, "ts": )" + at + ", \"dur\": " + duration + more + "}";
}

std::string gpu(const std::string& name, const std::string& at, const std::string& duration) {
  return range("gpu_user_annotation", name, at, duration);
}

std::string step(int number, const std::string& at, const std::string& duration) {
  return range("user_annotation", "ProfilerStep#" + std::to_string(number), at, duration);
}

TEST_CASE("a plan's own trace, read back, is exactly as predicted") {
  const PlanFile plan = tiny_plan(two_replicas());
  const Timeline timeline = replay(plan);
  std::vector<KinetoTrace> traces;
  for (const NamedText& file : kineto_files(trace_of(plan, timeline), plan)) {
    traces.push_back(read(file.text, file.name));
  }
  const KinetoRun run = run_of_kineto(plan, "plan.json", traces);
  CHECK(run.notes.empty());
  CHECK(run.log.header.ranks == 4);
  const Validation v =
      validate(plan, timeline, run.log, {.warm_up = 0, .tolerance = 0.0}, "traces");
  CHECK(v.holds());
  CHECK(v.ranks.size() == 4);
  CHECK(v.actions.size() > 20);
  for (const ActionComparison& action : v.actions) {
    CHECK(action.predicted_start == action.measured_start);
    CHECK(action.predicted_end == action.measured_end);
  }
}

TEST_CASE("steps are told by the profiler's ranges, times by the GPU's") {
  // Step 4 is as predicted, but for F0 of rank 1, which takes 200 ns more. Sends have no ranges.
  const PlanFile plan = tiny_plan();
  const std::string rank0 =
      step(4, "100", "10.110") + ',' + gpu("PP:0F0", "100.000", "1") + ',' +
      gpu("PP:0F1", "101.000", "1") + ',' + gpu("PP:0B0", "105", "2.000") + ',' +
      gpu("PP:0B1", "108", "2") + ',' + gpu("Optimizer.step", "110.01", "0.1") +
      R"(, {"ph": "i", "name": "PP:0F0", "ts": 3}, {"ph": "X", "cat": "cpu_op", "name": "x"})";
  const std::string rank1 = step(4, "100", "10.110") + ',' + gpu("PP:1F0", "101.5", "1.2") + ',' +
                            gpu("PP:1B0", "102.7", "2") + ',' + gpu("PP:1F1", "104.7", "1") + ',' +
                            gpu("PP:1B1", "105.7", "2");
  const KinetoTrace first = read(trace(0, rank0), "a.json");
  CHECK(first.rank == 0);
  CHECK(first.device == "NVIDIA H200");
  REQUIRE(first.actions.size() == 4);
  CHECK(first.actions[0].start == 1'700'000'000'000'100'000);
  const KinetoRun run = run_of_kineto(plan, "plan.json", {first, read(trace(1, rank1), "b.json")});
  CHECK(run.notes.empty());
  REQUIRE(run.log.steps.size() == 1);
  CHECK(run.log.steps[0].step == 4);
  CHECK(run.log.steps[0].step_time == Duration{10'110});
  // 0F0 and 0SEND_F0, which no trace names.
  CHECK(run.log.steps[0].ranks[0].end[0] == Duration{1'000});
  CHECK(run.log.steps[0].ranks[0].end[1] == kNotMeasured);
  const Validation v =
      validate(plan, replay(plan), run.log, {.warm_up = 0, .tolerance = 0.0}, "traces");
  CHECK(v.error == 0.0);
  CHECK(v.actions.size() == 8);  // F and B only
  for (const KindComparison& kind : v.kinds) {
    if (kind.kind != ActionKind::kForward || kind.stage != 1) continue;
    CHECK(kind.fastest == Duration{1'000});
    CHECK(kind.slowest == Duration{1'200});
  }
  // What was not measured stays so in a file.
  const std::string line = write_measured_step(run.log.steps[0]);
  CHECK(line.find("null") != std::string::npos);
  const std::string log = write_run_header(run.log.header) + '\n' + line + '\n';
  CHECK(read_run_log(log, "run").steps[0].ranks == run.log.steps[0].ranks);
}

TEST_CASE("without a GPU range an action lasts from its first kernel to its last") {
  const std::string events =
      range("user_annotation", "PP:0F0", "10", "5") + ',' +
      range("cuda_runtime", "cudaLaunchKernel", "11", "1", R"(, "args": {"correlation": 5})") +
      ',' +
      range("cuda_runtime", "cudaLaunchKernel", "13", "1", R"(, "args": {"correlation": 6})") +
      ',' +
      range("cuda_runtime", "cudaLaunchKernel", "15", "1", R"(, "args": {"correlation": 7})") +
      ',' + range("kernel", "gemm", "40", "2", R"(, "args": {"correlation": 5})") + ',' +
      range("kernel", "gemm", "50", "3", R"(, "args": {"correlation": 6})") + ',' +
      range("kernel", "of another range", "60", "3", R"(, "args": {"correlation": 7})");
  const KinetoTrace found = read(trace(0, events), "a.json");
  REQUIRE(found.actions.size() == 1);
  CHECK(found.actions[0].end - found.actions[0].start == 13'000);
  // On a CPU there are no kernels.
  const KinetoTrace cpu = read(trace(0, range("user_annotation", "PP:0F0", "10", "5")), "a.json");
  CHECK(cpu.actions[0].end - cpu.actions[0].start == 5'000);
}

TEST_CASE("clocks of hosts are set so that nothing starts before what it needs has ended") {
  const PlanFile plan = tiny_plan();
  const auto rank0 = gpu("PP:0F0", "0", "1") + ',' + gpu("PP:0F1", "1", "1") + ',' +
                     gpu("PP:0B0", "5", "2") + ',' + gpu("PP:0B1", "8", "2");
  // Rank 1 as predicted, but its clock is 4 us behind: its F0 starts at -2.5 us, and what it needs
  // is there at 1 us. So it is put forward by 3.5 us; up to 4.5 us its backwards would allow.
  const auto rank1 = gpu("PP:1F0", "-2.5", "1") + ',' + gpu("PP:1B0", "-1.5", "2") + ',' +
                     gpu("PP:1F1", "0.5", "1") + ',' + gpu("PP:1B1", "1.5", "2");
  const KinetoRun run = run_of_kineto(
      plan, "plan.json", {read(trace(0, rank0), "a.json"), read(trace(1, rank1), "b.json")});
  REQUIRE(run.notes.size() == 1);
  CHECK(run.notes[0] ==
        "the clock of rank 1 was put forward by 3.5 us, since stage 1 cannot start before what it "
        "needs");
  // F0 of rank 0 ends at 1 us, and so F0 of rank 1 begins then.
  CHECK(run.log.steps[0].ranks[1].start[1] == Duration{1'000});
}

TEST_CASE("GPipe and 1F1B of PyTorch name no stage: it is the rank") {
  const PlanFile plan = tiny_plan();
  const auto events = [](int b0, int f1) {
    return gpu("Forward 0", "0", "1") + ',' + gpu("Forward 1", std::to_string(f1), "1") + ',' +
           gpu("Backward 0", std::to_string(b0), "2") + ',' + gpu("Backward 1", "20", "2");
  };
  const KinetoRun run = run_of_kineto(
      plan, "plan.json",
      {read(trace(0, events(9, 1)), "a.json"), read(trace(1, events(2, 7)), "b.json")});
  CHECK(run.log.steps.size() == 1);
  CHECK(run.log.steps[0].ranks[1].pipeline_rank == 1);
  // Its list is RECV_F0, F0, B0, SEND_B0, ...
  const MeasuredRank& rank = run.log.steps[0].ranks[1];
  CHECK(rank.end[2] - rank.start[2] == Duration{2'000});
}

TEST_CASE("what the plan lacks, and what the traces lack, is told") {
  const PlanFile plan = tiny_plan();
  const auto rank0 =
      gpu("PP:0F0", "0", "1") + ',' + gpu("PP:0F1", "1", "1") + ',' + gpu("PP:0I0", "5", "2");
  const KinetoRun run = run_of_kineto(plan, "plan.json", {read(trace(0, rank0), "a.json")});
  CHECK(run.notes ==
        std::vector<std::string>{"not in the traces: 2 actions of the plan, 0B0 first",
                                 "not in the plan: 1 action of the traces, 0I0 first"});
  CHECK(complaint(plan, {read(trace(0, gpu("PP:5F0", "0", "1")), "a.json")}) ==
        "a.json: it ran stage 5, but the plan has 2 stages\n"
        "help: name the plan that this run executed");
  CHECK(complaint(plan, {read(trace(0, gpu("PP:0F8", "0", "1")), "a.json")})
            .starts_with("a.json: it ran 9 micro-batches in a step, but the plan has 2"));
  const KinetoTrace twice = read(trace(0, rank0), "a.json");
  CHECK(complaint(plan, {twice, twice}).starts_with("a.json and a.json are both of rank 0"));
}

TEST_CASE("a damaged trace is refused with its name, or read") {
  const std::string text = trace(0, step(1, "0", "9") + ',' + gpu("PP:0F0", "1e0", "1.0005") + ',' +
                                        gpu("PP:(0F1;0B0)OVERLAP_F_B", "3", "1"));
  CHECK(read(text, "t.json").actions.size() == 2);
  const PlanFile plan = tiny_plan();
  testing::cut_and_change_every_byte(text, "t.json", [&plan](const std::string& damaged) {
    return run_of_kineto(plan, "plan.json", {read(damaged, "t.json")});
  });
}

}  // namespace
}  // namespace penstock
