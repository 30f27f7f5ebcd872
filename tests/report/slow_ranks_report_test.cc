#include "report/slow_ranks_report.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

// Rank 3 of four replicas is slow since step 40, rank 6 since the beginning.
SlowRanks two_slow_ranks() {
  SlowRanks ranks;
  ranks.slow.resize(2);
  ranks.slow[0] = {3, 1, 1, 1.312, 4, false, false, 40, 59};
  ranks.slow[1] = {6, 2, 0, 1.2, 0, true, true, 3, 59};
  ranks.hosts = {"a", "a", "b", "b", "b", "b", "b", "b"};
  return ranks;
}

TEST_CASE("a slow rank is named with its machine, its peers and since when") {
  const SlowRanks ranks = two_slow_ranks();
  CHECK(words_of(ranks.slow[0], ranks.hosts) ==
        "rank 3 (stage 1 of replica 1, on b) computes 1.31 times as long as the median of the 4 "
        "replicas of its stage, since step 40");
  CHECK(words_of(ranks.slow[1], {}) ==
        "rank 6 (stage 2 of replica 0) computes 1.20 times as long as the other ranks, by what the "
        "plan predicts, since the beginning");
}

TEST_CASE("each machine stands once in Varuna's list") {
  SlowRanks ranks = two_slow_ranks();
  CHECK(slow_machines_text(ranks) == "b\n");
  ranks.hosts.clear();
  CHECK(slow_machines_text(ranks) == "rank 3\nrank 6\n");
  ranks.slow.clear();
  CHECK(slow_machines_text(ranks).empty());
}

TEST_CASE("a stage that is slow on all replicas may be the plan's fault") {
  const std::string text = slow_ranks_text(two_slow_ranks(), 5, Screen{});
  CHECK(text.find("slow ranks, in 5 windows of 10 steps:\n  rank 3 (stage 1") == 0);
  CHECK(text.find("note: Every replica of such a stage is slow") != std::string::npos);
  CHECK(slow_ranks_text({}, 0, Screen{}) == "slow ranks: too few steps to say, a window has 10\n");
  CHECK(
      slow_ranks_text({}, 7, Screen{}) ==
      "slow ranks: none is more than 15.0 % slower than its like, twice in a row, in 7 windows of "
      "10 steps\n");
}

TEST_CASE("a file of slow ranks is read as it was written") {
  const SlowRanks ranks = two_slow_ranks();
  const std::string text = slow_ranks_file(ranks);
  CHECK(text.find("\"format\": \"penstock.slow/1\"") != std::string::npos);
  CHECK(text.find("\"host\": \"b\"") != std::string::npos);
  CHECK(read_slow_ranks(parse_json(text, "s"), "s") == ranks.slow);
  std::string wrong = text;
  wrong.replace(wrong.find("\"factor\": 1.2"), 13, "\"factor\": 0.2");
  CHECK(tests::message_of([&] {
          static_cast<void>(read_slow_ranks(parse_json(wrong, "s"), "s"));
        }).find("/slow/1/factor") != std::string::npos);
}

}  // namespace
}  // namespace penstock
