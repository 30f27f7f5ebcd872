#include "cli/options/global_batch.h"

#include <doctest/doctest.h>

#include "cli/options/search_options.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

std::string refusal(const char* batch, bool meant, const char* gpus = "8") {
  SearchOptions options;
  options.profile = "data/models/llama-2-7b.json";
  options.device = "h100-sxm";
  options.gpus = gpus;
  options.global_batch = batch;
  options.large_batch = meant;
  return tests::message_of([&] { static_cast<void>(question_of(options)); });
}

}  // namespace

TEST_CASE("tokens become samples, K, M and B being powers of 1024") {
  CHECK(samples_in("4M", 4096) == 1024);
  CHECK(samples_in("4194304", 4096) == 1024);
  CHECK(samples_in("0.5m", 2048) == 256);
  CHECK(samples_in("1000000", 4096) == 244);  // 244.1
  CHECK(tests::message_of([] { samples_in("1", 4096); }).find("less than one sample") !=
        std::string::npos);
  CHECK(tests::message_of([] { samples_in("1e30", 1); }).find("too large") != std::string::npos);
  CHECK(tests::message_of([] { samples_in("four", 1); }).find("write for example 4M") !=
        std::string::npos);
}

TEST_CASE("a million samples are questioned, and answered where they are meant") {
  CHECK(refusal("1000000", false).find("--global-batch-tokens 1000000") != std::string::npos);
  CHECK(refusal("1000000", true).empty());
  CHECK(refusal("4M", false).find("--global-batch-tokens 4M") != std::string::npos);
  CHECK(refusal("1024", false).empty());
}

// 6.7e9 parameters times 6 FLOP times 60,000 times 4,096 tokens are 1e19 FLOP: at 9.9e14 FLOP/s
// each, 8 GPUs take at least 20 minutes, one takes hours.
TEST_CASE("a step of hours is questioned") {
  CHECK(refusal("60000", false).empty());
  CHECK(refusal("60000", false, "1").find("hours on 1 GPU") != std::string::npos);
}
