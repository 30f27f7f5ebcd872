#include "trainers/logs/trainer_log.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"
#include "trainers/logs/compare_memory.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// Two ranks, 2 samples per step; of 1,000 tokens each where a log counts tokens.
PlanFile plan_of(int sequence_length = 0) {
  PlanFile plan = read_plan(parse_json(kTinyPlan, "tiny.json"), "tiny.json");
  plan.plan.sequence_length = sequence_length;
  return plan;
}

LoggedRun run(const std::string& text, int warm_up = 0, int sequence_length = 0) {
  return run_of_log(text, "train.log", plan_of(sequence_length), {.warm_up = warm_up});
}

std::string complaint(const std::string& text, int warm_up = 0, int sequence_length = 0) {
  return tests::refusal_of([&] { static_cast<void>(run(text, warm_up, sequence_length)); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool has_note(const LoggedRun& logged, const std::string& part) {
  for (const std::string& note : logged.notes) {
    if (has(note, part)) return true;
  }
  return false;
}

// As Megatron-LM prints a step.
std::string megatron(int iteration, const std::string& ms, int batch = 2, int skipped = 0) {
  return " [2024-05-01 12:00:0" + std::to_string(iteration % 10) + "] iteration " +
         std::to_string(iteration) +
         "/     100 | consumed samples:           20 | elapsed time per " +
         "iteration (ms): " + ms +
         " | throughput per GPU (TFLOP/s/GPU): 123.4 | learning rate: 1.5E-04 | global batch "
         "size: " +
         "   " + std::to_string(batch) +
         " | lm loss: 1.05E+01 | loss scale: 1.0 | grad norm: 1.234" +
         " | number of skipped iterations:   " + std::to_string(skipped) +
         " | number of nan iterations:   0 |\n";
}

std::string titan(int step, const std::string& tps, const std::string& prefix = "") {
  return prefix +
         "[titan] 2025-05-01 12:00:00,123 - root - INFO - \x1b[31mstep: " + std::to_string(step) +
         "  \x1b[32mloss:  8.2031  \x1b[38;2;180;60;0mgrad_norm:  1.2500  " +
         "\x1b[36mmemory: 12.50GiB(15.45%)  \x1b[34mtps: " + tps +
         "  \x1b[35mtflops: 12.34  \x1b[35mmfu: 5.67%\x1b[39m\n";
}

TEST_CASE("a line of Megatron-LM is a step, its milliseconds read as decimals") {
  const LoggedRun logged =
      run(megatron(1, "1500.5") + "some other line\n" + megatron(2, "1000.25"));
  REQUIRE(logged.log.steps.size() == 2);
  CHECK(logged.log.steps[0].step_time == Duration{1'500'500'000});
  CHECK(logged.log.steps[1].step_time == Duration{1'000'250'000});
  CHECK(logged.log.steps[1].step == 2);
  CHECK(logged.log.steps[1].loss == 10.5);
  CHECK(logged.log.steps[1].gradient_norm == 1.234);
  CHECK(logged.log.header.started == "2024-05-01 12:00:01");
  CHECK(logged.log.header.library == "Megatron-LM");
  CHECK(logged.log.header.ranks == 2);
  CHECK(logged.interval == 1);
  CHECK(logged.notes.empty());
}

TEST_CASE("carriage returns, colours and prefixes of ranks are no part of a line") {
  std::string text = "[default1]:" + megatron(1, "100.0");
  text.insert(text.size() - 1, "\r");
  text += "\x1b[1m3: " + megatron(2, "110.0");
  const LoggedRun logged = run(text);
  REQUIRE(logged.log.steps.size() == 2);
  CHECK(logged.log.steps[1].step_time == Duration{110'000'000});
}

// Lines at 10, 20, 30 are means of 10 steps each. Three steps of warm-up are in the first line, so
// that all of its ten are left out.
TEST_CASE("a line stands for the steps of its interval, and warm-up takes whole lines") {
  const std::string text = megatron(10, "300.0") + megatron(20, "200.0") + megatron(30, "210.0");
  const LoggedRun logged = run(text, 3);
  CHECK(logged.interval == 10);
  CHECK(logged.warm_up_steps == 10);
  REQUIRE(logged.log.steps.size() == 20);
  CHECK(logged.log.steps[0].step == 11);
  CHECK(logged.log.steps[0].step_time == Duration{200'000'000});
  CHECK(logged.log.steps[19].step == 30);
  CHECK(logged.log.steps[19].step_time == Duration{210'000'000});
  CHECK(has_note(logged, "mean of up to 10 steps"));
}

TEST_CASE("a line that is missing does not make its neighbour stand for two") {
  const LoggedRun logged = run(megatron(1, "1.0") + megatron(2, "1.0") + megatron(4, "1.0"));
  CHECK(logged.interval == 1);
  CHECK(logged.log.steps.size() == 3);
}

// 1 2 3 4, and again from 3: each time one step is warm-up; 2 3 4 and 4 5 count.
TEST_CASE("a restart warms up again") {
  std::string text;
  for (const int iteration : {1, 2, 3, 4, 3, 4, 5}) {
    text += megatron(iteration, iteration == 5 ? "20.0" : "10.0");
  }
  const LoggedRun logged = run(text, 1);
  CHECK(logged.warm_up_steps == 2);
  REQUIRE(logged.log.steps.size() == 5);
  CHECK(logged.log.steps[3].step == 4);
  CHECK(logged.log.steps[4].step_time == Duration{20'000'000});
  CHECK(has_note(logged, "restarted once"));
}

// Two ranks of torchtitan whose lines have no prefix, or that of two nodes: not a restart.
TEST_CASE("a step that comes again is a restart of Megatron-LM, another rank of torchtitan") {
  const LoggedRun again =
      run(megatron(1, "1.0") + megatron(2, "1.0") + megatron(2, "9.0") + megatron(3, "1.0"), 1);
  CHECK(again.warm_up_steps == 2);
  CHECK(again.log.steps.size() == 2);
  const LoggedRun ranks =
      run(titan(1, "1,000") + titan(1, "500") + titan(2, "1,000") + titan(2, "2,000"), 0, 1000);
  REQUIRE(ranks.log.steps.size() == 2);
  CHECK(ranks.log.steps[0].step_time == Duration{2'000'000'000});
  CHECK(ranks.log.steps[1].step_time == Duration{1'000'000'000});
}

TEST_CASE("steps that the optimizer skipped, and those of another batch, do not count") {
  const LoggedRun logged =
      run(megatron(1, "10.0", 1) + megatron(2, "11.0", 2, 1) + megatron(3, "12.0"));
  REQUIRE(logged.log.steps.size() == 1);
  CHECK(logged.log.steps[0].step_time == Duration{12'000'000});
  CHECK(has_note(logged, "the optimizer skipped them: 1 step"));
  CHECK(has_note(logged, "another batch than the plan's 2: 1 line, 1 last"));
}

TEST_CASE("a log of another batch, or of another job, is refused unless any plan will do") {
  CHECK(has(complaint(megatron(1, "10.0", 8)), "it ran 8 samples per step, but the plan has 2"));
  const std::string job =
      "using world size: 16, data-parallel size: 2, tensor-model-parallel size: 1, "
      "pipeline-model-parallel size: 8 \n";
  CHECK(has(complaint(job + megatron(1, "10.0")),
            "train.log:1: the job ran with 8 pipeline ranks, but the plan has 2"));
  CHECK(has(
      complaint("  micro_batch_size ................................ 4\n" + megatron(1, "10.0")),
      "4 samples per micro-batch, but the plan has 1"));
  const LoggedRun anyway =
      run_of_log(job + megatron(1, "10.0", 8), "train.log", plan_of(), {0, true});
  CHECK(anyway.log.steps.size() == 1);
}

TEST_CASE("a line that is cut off, or has another in its middle, is no step") {
  const std::string whole = megatron(2, "10.0");
  const std::size_t middle = whole.find("10.0") + 2;
  SUBCASE("at the end of the file the time itself may be cut") {
    const LoggedRun logged = run(megatron(1, "9.0") + whole.substr(0, middle));
    CHECK(logged.log.steps.size() == 1);
    CHECK(has_note(logged, "the last line, which is cut off"));
  }
  SUBCASE("before its end") {
    const LoggedRun logged = run(megatron(1, "9.0") + whole.substr(0, middle) + "\n");
    CHECK(logged.log.steps.size() == 1);
    CHECK(has_note(logged, "1 line, line 2 first"));
  }
  SUBCASE("by another line") {
    const LoggedRun logged = run(megatron(1, "9.0") + whole.substr(0, middle) + megatron(3, "8.0"));
    CHECK(logged.log.steps.size() == 1);
    CHECK(has_note(logged, "written into each other: 1 line, line 2 first"));
  }
  SUBCASE("a last line that is whole needs no newline") {
    std::string text = megatron(1, "9.0") + whole;
    text.pop_back();
    CHECK(run(text).log.steps.size() == 2);
  }
}

TEST_CASE("a value that is none is refused with file, line, name and remedy") {
  for (const char* value : {"abc", "nan", "-5.0", "0.0", "1e99", "inf"}) {
    CAPTURE(value);
    const std::string text = complaint(megatron(1, "10.0") + megatron(2, value));
    CHECK(has(text, "train.log:2: elapsed time per iteration (ms): expected a time > 0, got '"));
    CHECK(has(text, value));
    CHECK(has(text, "help: "));
  }
  CHECK(has(complaint(megatron(1, "10.0", -2)), "train.log:1: global batch size: expected"));
  CHECK(has(complaint(megatron(1, "10.0") + megatron(2, "10.0"), 5), "lower --warm-up"));
  CHECK(has(complaint(titan(1, "fast"), 0, 1000), "train.log:1: tps: expected"));
  CHECK(has(complaint(titan(1, "1,23"), 0, 1000), "got '1,23'"));
}

// 2 samples of 1,000 tokens by 2 GPUs: at 1,000 tokens per second and GPU a step takes 1 s.
TEST_CASE("torchtitan's tokens per second and GPU become step times") {
  const LoggedRun logged = run(titan(1, "100") + titan(2, "1,000") + titan(3, "2,000"), 1, 1000);
  CHECK(logged.warm_up_steps == 1);
  REQUIRE(logged.log.steps.size() == 2);
  CHECK(logged.log.steps[0].step_time == Duration{1'000'000'000});
  CHECK(logged.log.steps[1].step_time == Duration{500'000'000});
  CHECK(logged.log.steps[1].tokens == 2000);
  CHECK(logged.log.header.started == "2025-05-01 12:00:00");
  CHECK(has_note(logged, "2,000 tokens per step of the plan / (tps x 2 GPUs)"));
  REQUIRE(logged.memory.size() == 1);
  CHECK(logged.memory[0].reserved == Bytes{25LL << 29});  // 12.5 GiB
  CHECK(!logged.memory[0].allocated);
}

// Step 1 is logged by itself, then every tenth; the second line is the mean of 2 to 10.
TEST_CASE("torchtitan's first line is one step, its second nine") {
  const LoggedRun logged =
      run(titan(1, "10") + titan(10, "500") + titan(20, "1,000") + titan(30, "1,000"), 3, 1000);
  CHECK(logged.interval == 10);
  CHECK(logged.warm_up_steps == 10);
  CHECK(logged.log.steps.size() == 20);
}

TEST_CASE("of several ranks the slowest is the step, in whatever order they print") {
  const LoggedRun logged = run(titan(1, "1,000", "[rank0]:") + titan(2, "1,000", "[rank0]:") +
                                   titan(1, "500", "[rank1]:") + titan(2, "2,000", "[rank1]:"),
                               0, 1000);
  REQUIRE(logged.log.steps.size() == 2);
  CHECK(logged.log.steps[0].step_time == Duration{2'000'000'000});
  CHECK(logged.log.steps[1].step_time == Duration{1'000'000'000});
}

TEST_CASE("torchtitan without a sequence length, without speed, or of another batch") {
  CHECK(has(complaint(titan(1, "100")), "the plan has no sequence length"));
  const LoggedRun logged = run(titan(1, "0") + titan(2, "1,000"), 0, 1000);
  CHECK(logged.log.steps.size() == 1);
  CHECK(has_note(logged, "their tps rounded to 0: 1 line"));
  const std::string start =
      "Training starts at step 1, with local batch size 8, global batch size 64, sequence length "
      "1000, total steps 10 (warmup 2)\n";
  CHECK(
      has(complaint(start + titan(1, "100"), 0, 1000), "64 samples per step, but the plan has 2"));
  const LoggedRun checked = run(
      "validate step: 1  loss: 7.0  memory: 1.00GiB(1.0%)  tps: 5\n" + titan(1, "1,000"), 0, 1000);
  CHECK(checked.log.steps.size() == 1);
}

// Of the tiny plan: 300 and 231 bytes, 50 of them reserve. D T = 1, so rank 1 is pipeline rank 1.
TEST_CASE("what a rank held is laid beside the plan's memory without the reserve") {
  const std::string text =
      "[Rank 1] (after 1 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.5 | reserved: "
      "3.0 | max reserved: 4.0\n" +
      megatron(1, "10.0") +
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: "
      "3.0 | max reserved: 3.0\n";
  const std::vector<MemoryComparison> ranks = compare_memory(plan_of(), run(text).memory);
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0] == MemoryComparison{0, Bytes{250}, Bytes{2 << 20}, Bytes{3 << 20}});
  CHECK(ranks[1] == MemoryComparison{1, Bytes{181}, Bytes{5 << 19}, Bytes{4 << 20}});
  const std::vector<MemoryComparison> fullest =
      compare_memory(plan_of(), {{-1, {}, Bytes{1000}}, {7, {}, Bytes{1}}});
  REQUIRE(fullest.size() == 1);
  CHECK(fullest[0].predicted == Bytes{250});
}

TEST_CASE("no byte that is changed or cut off makes a reader fall") {
  const std::string text = megatron(1, "10.0") + "[rank0]:" + megatron(2, "11.0");
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 0x15);
    static_cast<void>(complaint(changed));
    static_cast<void>(complaint(text.substr(0, i)));
  }
  const std::string other = titan(1, "1,000") + titan(2, "900", "[rank3]:");
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::string changed = other;
    changed[i] = static_cast<char>(changed[i] ^ 0x15);
    static_cast<void>(complaint(changed, 0, 1000));
    static_cast<void>(complaint(other.substr(0, i), 0, 1000));
  }
}

// 64 ranks of TP 2 x PP 4 are 8 replicas; of 3 and 5 seconds after the warm-up the lower is told.
TEST_CASE("Megatron-LM's list of arguments says the layout that ran") {
  const std::string arguments =
      "  global_batch_size ............................... 512\n"
      "  micro_batch_size ................................ 1\n"
      "  pipeline_model_parallel_size .................... 4\n"
      "  recompute_granularity ........................... selective\n"
      "  seq_length ...................................... 4096\n"
      "  tensor_model_parallel_size ...................... 2\n"
      "  use_distributed_optimizer ....................... True\n"
      "  virtual_pipeline_model_parallel_size ............ 2\n"
      "  world_size ...................................... 64\n";
  std::string steps;
  for (int i = 1; i <= 3; ++i) steps += megatron(i, "9000.0", 512);
  const auto job = job_of_log(
      arguments + steps + megatron(4, "3000.0", 512) + megatron(5, "5000.0", 512), "train.log");
  REQUIRE(job.has_value());
  const Plan& plan = job->plan;
  CHECK(plan.tensor == 2);
  CHECK(plan.pipeline == 4);
  CHECK(plan.data == 8);
  CHECK(plan.chunks == 2);
  CHECK(plan.schedule == "interleaved");
  CHECK(plan.micro_batch_size == 1);
  CHECK(plan.global_batch == 512);
  CHECK(plan.sequence_length == 4096);
  CHECK(plan.zero1);
  CHECK(plan.recompute == "selective");
  CHECK(job->step_time == Duration{3'000'000'000});
  CHECK(!job_of_log(steps, "train.log"));
  const std::string odd = "  world_size ...................................... 63\n";
  CHECK(!job_of_log(arguments + odd + steps + megatron(4, "3000.0", 512), "train.log"));
}

TEST_CASE("the trainer is told by its lines") {
  CHECK(trainer_of_log(megatron(1, "1.0")) == find_trainer_row("megatron"));
  CHECK(trainer_of_log(titan(1, "1")) == find_trainer_row("torchtitan"));
  CHECK(!trainer_of_log("step by step\n"));
}

}  // namespace
}  // namespace penstock
