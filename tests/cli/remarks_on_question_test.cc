#include "cli/reports/remarks_on_question.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

Variant row(const std::string& schedule, int ranks, Duration step) {
  Variant variant;
  variant.settings = {{"schedule", schedule}};
  variant.best.emplace();
  variant.best->plan.schedule = schedule;
  variant.best->plan.pipeline = ranks;
  variant.best->evaluation.step_time = step;
  return variant;
}

std::string remarks(const std::vector<Variant>& rows, SearchRequest request, int gpus) {
  const Varied varied{{"schedule", {"1f1b", "zb-h1"}}};
  request.gpus = gpus;
  return remarks_on_rows({}, varied, request, rows);
}

bool is_noted(const std::vector<Variant>& rows, const SearchRequest& request = {}) {
  constexpr int kNode = 8;
  return remarks(rows, request, kNode).find("no row has a pipeline") != std::string::npos;
}

}  // namespace

TEST_CASE("rows of schedules without a pipeline say why they are alike") {
  const Duration step{6'346'000'000}, other{6'400'000'000};
  CHECK(is_noted({row("1f1b", 1, step), row("zb-h1", 1, step)}));
  CHECK(!is_noted({row("1f1b", 1, step), row("gpipe", 1, other)}));  // GPipe keeps more
  CHECK(!is_noted({row("1f1b", 1, step), row("zb-h1", 2, step)}));
  CHECK(!is_noted({Variant{}, Variant{}}));
  const std::vector<Variant> alike{row("1f1b", 1, step), row("zb-h1", 1, step)};
  CHECK(remarks(alike, {}, 8).find("--pp 4") != std::string::npos);
  CHECK(remarks(alike, {}, 2).find("--pp 2") != std::string::npos);  // no more ranks than GPUs
  CHECK(remarks(alike, {}, 1).empty());
  SearchRequest pinned;
  pinned.pins.pipeline = 1;
  CHECK(!is_noted({row("1f1b", 1, step), row("zb-h1", 1, step)}, pinned));
}

TEST_CASE("a batch that fits no micro-batches is told with batches of all replicas") {
  const std::string note = remark_of_uneven_batch(256, "mbs", 3, 48);
  CHECK(note.find("gbs = 256 is no multiple of mbs = 3") != std::string::npos);
  CHECK(note.find("they take gbs = 240 or 288") != std::string::npos);
  CHECK(remark_of_uneven_batch(16, "mbs", 3, 48).find("gbs = 15 or 18") != std::string::npos);
}

TEST_CASE("groups of shards that are all replicas are one group") {
  SearchRequest request;
  request.pins.shard_group = 8;
  Plan plan;
  plan.data = 4;
  plan.context = 2;
  CHECK(remark_of_one_group(request, plan).find("--pin DP=16") != std::string::npos);
  plan.data = 16;
  plan.shard_group = 8;
  CHECK(remark_of_one_group(request, plan).empty());
  CHECK(remark_of_one_group({}, plan).empty());
}

}  // namespace penstock
