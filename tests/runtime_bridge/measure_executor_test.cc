#include "runtime_bridge/measure_executor.h"

#include <array>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_threads.h"
#include "training/loopback.h"

namespace penstock {
namespace {

// Three ranks as threads; the third stands by.
std::array<MeasuredExecutor, 3> measured(const ExecutorToMeasure& question) {
  LoopbackHub hub(3, {});
  std::array<MeasuredExecutor, 3> results;
  on_rank_threads(3, [&](int rank) {
    const auto transport = hub.transport(rank);
    try {
      results[static_cast<std::size_t>(rank)] = measure_executor(*transport, question);
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
  });
  return results;
}

TEST_CASE("ranks find out what actions and messages cost, and rank 0 has it") {
  ExecutorToMeasure question;
  question.sizes = {{1024}, {1 << 22}};
  question.messages = 4;
  question.least = 5;
  question.per_size = Duration{0};
  const auto results = measured(question);
  const MeasuredExecutor& result = results[0];
  CHECK(result.per_action > Duration{});
  CHECK(result.per_action < std::chrono::milliseconds(1));
  REQUIRE(result.messages.size() == 2);
  CHECK(result.messages[0].bytes == Bytes{1024});
  CHECK(result.messages[1].bytes == Bytes{1 << 22});
  // 4 MiB take a processor some time to copy.
  CHECK(result.messages[1].send + result.messages[1].receive > std::chrono::microseconds(50));
  CHECK(result.messages[1].send >= result.messages[0].send);
  CHECK(result.messages[1].receive >= result.messages[0].receive);
  CHECK(results[1] == MeasuredExecutor{});
  CHECK(results[2] == MeasuredExecutor{});
}

TEST_CASE("no sizes: what an action costs") {
  ExecutorToMeasure question;
  question.per_size = Duration{0};
  CHECK(measured(question)[0].messages.empty());
}

}  // namespace
}  // namespace penstock
