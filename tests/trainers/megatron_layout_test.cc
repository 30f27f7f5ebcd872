#include "trainers/megatron/megatron_layout.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

std::vector<long> layers_of(const std::string& text) {
  const MegatronLayout layout = read_megatron_layout(text);
  CHECK(layout.why_not == "");
  std::vector<long> counts;
  counts.reserve(layout.stages.size());
  for (const std::string& stage : layout.stages) {
    counts.push_back(std::count(stage.begin(), stage.end(), 't'));
  }
  return counts;
}

long sum(const std::vector<long>& counts) {
  long all = 0;
  for (const long count : counts) all += count;
  return all;
}

// Megatron-LM's own examples.
TEST_CASE("the published layouts have their stages and layers") {
  CHECK(layers_of("Et*3|(tt|)*29,m|L").size() == 32);
  CHECK(sum(layers_of("Et*3|(tt|)*29,m|L")) == 61);
  CHECK(layers_of("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL").size() == 40);
  CHECK(sum(layers_of("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL")) == 80);
}

TEST_CASE("empty pieces are read as what they are") {
  CHECK(layers_of("E||t|L") == std::vector<long>{0, 0, 1, 0});
  CHECK(read_megatron_layout("").stages == std::vector<std::string>{""});
}

TEST_CASE("what is no layout says why") {
  CHECK(read_megatron_layout("E x|L").why_not == "' ' is none of E, t, m, L and |");
  CHECK(read_megatron_layout("E(t|").why_not.starts_with("a ( is not closed"));
  CHECK(read_megatron_layout("E((t|)*2)*2L").why_not.starts_with("a ( is not closed"));
  CHECK(read_megatron_layout("E(t|)L").why_not == "a group (...) needs *n after it");
  CHECK(read_megatron_layout("(t*99999)*99999").why_not.starts_with("more than"));
  CHECK(read_megatron_layout("t*99999999999999999999999t").why_not.starts_with("more than"));
}

TEST_CASE("what is written is read as the same layers") {
  CHECK(spread_evenly(30, 4) == std::vector<int>{8, 8, 7, 7});
  CHECK(write_megatron_layout({8, 8, 7, 7}, 0) == "Et*8|t*8|t*7|t*7L");
  CHECK(layers_of(write_megatron_layout({1, 2, 0, 3}, 1)) == std::vector<long>{1, 2, 0, 3});
}

}  // namespace
}  // namespace penstock
