#include "studies/fewest_gpus.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/options/search_options.h"

using namespace penstock;

namespace {

std::string asked(const char* gpus, SearchOptions options,
                  const std::vector<std::string>& types = {}) {
  options.gpus = gpus;
  options.global_batch = "64";
  SearchProgress progress;
  const auto asked_of = [&](int size) { return question_of(options, size); };
  return fewest_gpus_text(question_of(options), asked_of, progress, types);
}

SearchOptions measured() {
  SearchOptions options;
  options.profile = "data/profiles/gpt-6.7b.a100-40gb.json";
  options.cluster = "data/clusters/a100-40gb-p4d-8x8.json";
  return options;
}

}  // namespace

// 6.7e9 parameters of 16 bytes are 100 GiB; three devices of 39.6 GiB less their reserve are not
// enough, four are.
TEST_CASE("as many GPUs as hold the state and one sample") {
  CHECK(asked("1", measured()).starts_with("4 GPUs would do: "));
  CHECK(asked("2", measured()).starts_with("4 GPUs would do: "));
}

TEST_CASE("pins count") {
  SearchOptions options = measured();
  options.pins = {"T=1,D=1"};
  const std::string text = asked("1", options);
  CHECK(text.find("TP 1 x PP ") != std::string::npos);
  CHECK(text.find("x DP 1") != std::string::npos);
}

TEST_CASE("a question about all GPUs that there are has no better one") {
  CHECK(asked("64", measured()).empty());
}

// 2.65e9 parameters of 16 bytes are 39.5 GiB: more than one A100 has, and less than two.
TEST_CASE("where types are counted the remedy counts them too") {
  SearchOptions options;
  options.profile = "data/profiles/gpt-neo-2.7b.json";
  options.cluster = "data/clusters/a100-40gb-2x4-v100-16gb-4x4.json";
  const std::string text = asked("1", options, {"a100-40gb", "v100-16gb"});
  CAPTURE(text);
  CHECK(text.starts_with("2 GPUs would do: "));
  CHECK(text.ends_with("Ask with --gpus a100-40gb=2,v100-16gb=0."));
}
