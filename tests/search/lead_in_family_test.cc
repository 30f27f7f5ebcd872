#include "search/lead_in_family.h"

#include <doctest/doctest.h>

#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

// Ends a search when it is asked for the so manieth time.
class StopAtAsk : public SearchProgress {
 public:
  explicit StopAtAsk(int at) : at_(at) {}
  bool stop() override { return ++asked >= at_; }
  int asked = 0;

 private:
  int at_;
};

constexpr int kNever = 1 << 30;

// Two stages of two sections each, b = 1.
SearchRequest request_of(const std::string& schedule) {
  SearchRequest request;
  request.gpus = 2;
  request.global_batch = 8;
  request.sequence_length = 1;
  request.pins.pipeline = 2;
  request.pins.schedules = {schedule};
  return request;
}

TEST_CASE("plans of one family recompute in the same way") {
  Plan whole, divided, none;
  for (Plan* plan : {&whole, &divided, &none}) plan->cuts = {0, 2, 4};
  whole.recompute = divided.recompute = "full";
  divided.recompute_sections = {1, 0};
  none.recompute = "none";
  CHECK(are_of_one_family(whole, whole));
  CHECK(are_of_one_family(divided, divided));
  CHECK_FALSE(are_of_one_family(whole, divided));
  CHECK_FALSE(are_of_one_family(divided, none));
  CHECK_FALSE(are_of_one_family(whole, none));
  // In how many sections is a matter of the cuts.
  Plan other = divided;
  other.cuts = {0, 1, 4};
  other.recompute_sections = {0, 2};
  CHECK(are_of_one_family(divided, other));
  other.micro_batch_size = 2;
  CHECK_FALSE(are_of_one_family(divided, other));
}

// The fastest plan has an automatic schedule: the question that pins its values is asked at last.
TEST_CASE("a search that ends within a question of its own is not complete") {
  const ModelProfile model = model_of_sections({{1, 2}, {1, 2}, {1, 2}, {1, 3}});
  const ClusterSpec cluster = cluster_of({1, 2});
  const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  const SearchRequest request = request_of("zb-auto");
  StopAtAsk never(kNever);
  const SearchResult all = best_plans(inputs, request, never);
  REQUIRE(all.complete);
  REQUIRE(all.best[0].plan.schedule == "zb-auto");
  for (int at = 1; at <= never.asked; at += testing::kWatched ? 15 : 1) {
    CAPTURE(at);
    StopAtAsk stops(at);
    const SearchResult some = best_plans(inputs, request, stops);
    CHECK_FALSE(some.complete);
    CHECK(some.least_possible == Duration{});
  }
}

// What leads takes a second, until one of its family is replayed: the groups come after the first
// time that the search asks.
TEST_CASE("the groups of a family are searched until the search is to end") {
  const ModelProfile model = model_of_sections({{1, 2}, {1, 2}, {1, 2}, {1, 3}});
  const ClusterSpec cluster = cluster_of({1, 2});
  const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  const SearchRequest request = request_of("1f1b");
  SearchProgress silent;
  const SearchResult all = best_plans(inputs, request, silent);
  REQUIRE_FALSE(all.best.empty());
  const Found slow{all.best[0].plan, Duration{1'000'000'000}, Bytes{}};
  const auto led_by = [&](int at) {
    StopAtAsk stops(at);
    AskedToStop asked_to_stop(stops);
    Incumbents leaders(1, {});
    leaders.add(slow);
    ImprovedPlans improved;
    lead_in_family(inputs, request, ImprovedPlans(), improved, leaders, asked_to_stop);
    return leaders.best().front().step_time;
  };
  CHECK(led_by(kNever) == all.best[0].evaluation.step_time);
  CHECK(led_by(2) == slow.step_time);
}

}  // namespace
}  // namespace penstock
