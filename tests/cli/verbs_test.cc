#include "cli/verbs/verbs.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"
#include "tests/core/temporary_folder.h"
#include "tests/watched.h"

using namespace penstock;
using penstock::tests::TemporaryFolder;

namespace {

Json schedule(const std::string& name, const std::string& ranks, const std::string& chunks,
              const std::string& micro_batches, const std::string& cost) {
  const Answer answer = run_penstock(
      {"schedule", name, "-P", ranks, "-V", chunks, "-M", micro_batches, "--cost", cost, "--json"});
  CHECK(answer.exit == 0);
  return parse_json(answer.text, "answer");
}

std::string makespan(const Json& json) { return json.find("makespan_ns")->text(); }

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Under the sanitizers a search among fewer plans: what is watched here is what is made of one.
Arguments plan_arguments() {
  Arguments arguments{"plan",           "data/profiles/gpt-6.7b.a100-40gb.json",
                      "--cluster",      "data/clusters/a100-40gb-p4d-8x8.json",
                      "--gpus",         "8",
                      "--global-batch", "16"};
  return testing::kWatched ? with(arguments, {"--pin", "TP=1,mbs=1"}) : arguments;
}

}  // namespace

// Equal stages, no transfers; F, I, W, B of one chunk are f, i, w, b.
TEST_CASE("the five schedules take what they take on paper") {
  // GPipe and 1F1B: (M + P - 1)(f + b) = 4 * 3 ms.
  CHECK(makespan(schedule("gpipe", "2", "1", "3", "F=1ms,B=2ms")) == "12000000");
  CHECK(makespan(schedule("1f1b", "2", "1", "3", "F=1ms,B=2ms")) == "12000000");
  // M V (f + b) + (P - 1)(f + b) = 4 * 2 * 3 + 3 ms.
  CHECK(makespan(schedule("interleaved", "2", "2", "4", "F=1ms,B=2ms")) == "27000000");
  CHECK(makespan(schedule("looped-bfs", "2", "2", "4", "F=1ms,B=2ms")) == "27000000");
  // M (f + i + w) + (P - 1)(f + i - w) = 4 * 3 + 1 ms.
  CHECK(makespan(schedule("zb-h1", "2", "1", "4", "F=1ms,I=1ms,W=1ms")) == "13000000");
}

TEST_CASE("stashes are counted in micro-batches of a whole rank") {
  const Json json = schedule("1f1b", "4", "1", "8", "F=1ms,B=2ms");
  CHECK(to_text(*json.find("peak_stash_micro_batches")) == "[4, 3, 2, 1]");
  // 4 ranks * 8 * 2 computes, 3 boundaries * 8 * 2 directions * 2 ends
  CHECK(json.find("actions")->text() == "160");
}

TEST_CASE("recompute adds an action before every backward") {
  const Json json = schedule("gpipe", "1", "1", "2", "F=1ms,B=2ms,R=1ms");
  CHECK(makespan(json) == "8000000");  // 2 * (1 + 1 + 2) ms
  CHECK(json.find("actions")->text() == "6");
}

TEST_CASE("the CSV goes to a file or to stdout") {
  const TemporaryFolder folder;
  const Arguments arguments{"schedule", "gpipe", "-P", "2", "-M", "2", "--cost", "F=1ms,B=2ms"};
  const std::string csv = "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n";
  CHECK(run_penstock(with(arguments, {"--csv", "-"})).text == csv);
  CHECK(run_penstock(with(arguments, {"--csv", folder / "s.csv"})).exit == 0);
  CHECK(read_file(folder / "s.csv") == csv);
}

TEST_CASE("drawing a step does not change its numbers") {
  const Arguments arguments{"schedule", "1f1b", "-P",     "4",
                            "-M",       "9",    "--cost", "F=1ms,B=2ms,C=1ms"};
  const std::string plain = run_penstock(arguments).text;
  CHECK(run_penstock(with(arguments, {"--print"})).text.starts_with(plain));
}

TEST_CASE("every verb has help with examples, and bare penstock shows six") {
  for (const Verb& verb : verbs()) {
    const Answer answer = run_penstock({std::string(verb.name), "--help"});
    CHECK(answer.exit == 0);
    CHECK(answer.text.starts_with("usage: penstock " + std::string(verb.name)));
    CHECK(answer.text.find("\nExamples:\n  penstock " + std::string(verb.name)) !=
          std::string::npos);
    // Two print for machines already, one has no answer.
    const bool needs_no_json =
        verb.name == "completions" || verb.name == "man" || verb.name == "listen";
    CHECK((answer.text.find("--json") != std::string::npos) != needs_no_json);
    CHECK(answer.text == run_penstock({"help", std::string(verb.name)}).text);
  }
  const std::string bare = run_penstock({}).text;
  std::size_t examples = 0;
  for (std::size_t at = 0; (at = bare.find("\n  penstock ", at)) != std::string::npos; ++at) {
    ++examples;
  }
  CHECK(examples == 7);
}

TEST_CASE("options before the verb are put behind it") {
  const auto message = [](const Arguments& arguments) {
    return tests::message_of([&] { run_penstock(arguments, {}); });
  };
  CHECK(message({"--verbose", "plan", "c.json"}) ==
        "the verb comes first, before '--verbose'\nhelp: write penstock plan --verbose c.json");
  CHECK(message({"-v", "plan"}).ends_with("help: write penstock plan -v"));
  CHECK(message({"c.json", "plan", "--gpus", "8"}).ends_with("penstock plan c.json --gpus 8"));
  // A misspelt verb is none that stands late.
  CHECK(message({"chekc", "plan"}).find("did you mean 'check'?") != std::string::npos);
  CHECK(run_penstock({"-v"}, {}).text.starts_with("penstock "));
}

TEST_CASE("an unknown verb names the nearest") {
  CHECK(tests::message_of([] { run_penstock({"schdule"}); }) ==
        "unknown verb 'schdule'\nhelp: did you mean 'schedule'? for example "
        "penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms");
}

TEST_CASE("a plan goes through its file: check, simulate and explain agree with it") {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  const Answer plan = run_penstock(with(plan_arguments(), {"-o", file, "--json"}));
  REQUIRE(plan.exit == 0);
  const Json best = *parse_json(plan.text, "plan").find("best");
  const std::string step = best.find("prediction")->find("step_time_ns")->text();

  CHECK(run_penstock({"check", file}).exit == 0);
  const Json simulated = parse_json(run_penstock({"simulate", file, "--json"}).text, "simulate");
  CHECK(simulated.find("prediction")->find("step_time_ns")->text() == step);
  CHECK(
      run_penstock({"simulate", file}).text.find("as the plan file predicts, to the nanosecond") !=
      std::string::npos);
  const Json explained = parse_json(run_penstock({"explain", file, "--json"}).text, "explain");
  CHECK(explained.find("changes")->elements().size() == 6);
  // Transfers that block can only take longer.
  const Json blocked = parse_json(
      run_penstock({"simulate", file, "--executor", "deepspeed", "--json"}).text, "deepspeed");
  CHECK(std::stoll(blocked.find("prediction")->find("step_time_ns")->text()) >= std::stoll(step));
  // The plan as its own baseline.
  CHECK(run_penstock(with(plan_arguments(), {"--baseline", file})).text.find("as fast as plan 1") !=
        std::string::npos);
}

TEST_CASE("a plan on an uneven machine: simulate and explain mean the same step") {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  REQUIRE(run_penstock(with(plan_arguments(), {"-o", file})).exit == 0);
  const auto run = [&](const Arguments& arguments) {
    return parse_json(run_penstock(arguments).text, "result");
  };
  const auto step = [](const Json& json, const char* part, const char* key) {
    return std::stoll(json.find(part)->find(key)->text());
  };
  const auto even = step(run({"simulate", file, "--json"}), "prediction", "step_time_ns");
  const Json slow = run({"simulate", file, "--slow", "rank=0:2", "--jitter-percent", "5",
                         "--samples", "20", "--json"});
  const auto uneven = step(slow, "prediction", "step_time_ns");
  CHECK(uneven > even);
  CHECK(step(slow, "scenario", "step_time_ns") == uneven);
  CHECK(step(slow, "scenario", "step_time_without_ns") == even);
  CHECK(step(slow, "jitter", "step_time_ns") == uneven);
  CHECK(step(slow, "jitter", "step_time_p5_ns") < step(slow, "jitter", "step_time_p95_ns"));
  const Json explained = run({"explain", file, "--slow", "rank=0:2", "--json"});
  CHECK(step(explained, "prediction", "step_time_ns") == uneven);
  const std::string text = run_penstock({"simulate", file, "--slow", "rank=0:2"}).text;
  CHECK(text.find("(without the scenario)") != std::string::npos);
  CHECK(text.find("\nScenario\n  rank 0 computes 2 times as long\n") != std::string::npos);
}

TEST_CASE("a tampered plan file has findings, and the exit code says so") {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  std::string text = run_penstock(with(plan_arguments(), {"-o", "-"})).text;
  const std::string key = "\"makespan_ns\": ";
  const std::size_t at = text.find(key) + key.size();
  text.replace(at, 1, text[at] == '9' ? "8" : "9");
  write_file(file, text);
  const Answer answer = run_penstock({"check", file});
  CHECK(answer.exit == 1);
  CHECK(answer.text.find("finding") != std::string::npos);
}

TEST_CASE("the number of threads does not show") {
  const std::string one = run_penstock(with(plan_arguments(), {"--threads", "1"})).text;
  CHECK(one == run_penstock(with(plan_arguments(), {"--threads", "3"})).text);
}

TEST_CASE("when nothing fits, the answer is no and no file is written") {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  Arguments arguments = plan_arguments();
  arguments[5] = "1";  // one A100 cannot hold 6.7 billion parameters
  const Answer answer = run_penstock(with(arguments, {"-o", file}));
  CHECK(answer.exit == 1);
  CHECK(answer.text.find("\nNo plan fits.\n") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("compare takes every combination and keeps those without a plan") {
  Arguments arguments = plan_arguments();
  arguments[0] = "compare";
  const Answer answer = run_penstock(
      with(arguments, {"--vary", "schedule=1f1b,zb-h1", "--vary", "gpus=1,8", "--json"}));
  CHECK(answer.exit == 0);
  const Json rows = *parse_json(answer.text, "compare").find("rows");
  REQUIRE(rows.elements().size() == 4);
  CHECK(rows.elements()[0].find("why_not") != nullptr);
  CHECK(rows.elements()[1].find("relative_speed")->text() == "1");
  CHECK(rows.elements()[3].find("settings")->find("schedule")->text() == "zb-h1");
  CHECK(run_penstock(with(arguments, {"--vary", "gpus=1"})).exit == 1);
}
