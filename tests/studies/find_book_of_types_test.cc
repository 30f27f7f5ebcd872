// Books whose pages count device types.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "costmodel/device_layout.h"
#include "studies/compare_policies.h"
#include "studies/find_book.h"
#include "studies/part_of_cluster.h"
#include "studies/plan_of_page.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

const std::vector<std::string> kTypes = {"a100-40gb", "v100-16gb"};

// Two nodes of four A100s and four of four V100s.
Question mixed_question() {
  Question question;
  question.profile.value =
      read_profile(parse_json(read_file("data/profiles/gpt-neo-2.7b.json"), "profile"), "profile");
  question.cluster.value = read_cluster(
      parse_json(read_file("data/clusters/a100-40gb-2x4-v100-16gb-4x4.json"), "cluster"),
      "cluster");
  question.request.global_batch = 32;
  question.request.pins.schedules = {"1f1b"};
  question.request.pins.tensor = 1;
  return question;
}

PlanBook mixed_book(const std::vector<std::vector<int>>& counts) {
  SearchProgress progress;
  const std::optional<PlanBook> book =
      find_book_of_types(mixed_question(), kTypes, counts, progress);
  REQUIRE(book);
  return *book;
}

const std::vector<std::vector<int>> kCounts = {{8, 8}, {0, 8}, {0, 16}, {8, 0}, {4, 0}, {4, 8}};

TEST_CASE("A part of a cluster has its first nodes of each type, the last perhaps in part") {
  const ClusterSpec cluster = mixed_question().cluster.value;
  const ClusterSpec part = part_of_cluster(cluster, kTypes, {8, 6});
  CHECK(device_count(part) == 14);
  REQUIRE(part.nodes.size() == 3);
  CHECK(part.nodes[0] == cluster.nodes[0]);
  CHECK(part.nodes[1].count == 1);
  CHECK(type_of(part, part.nodes[1]).devices == 4);
  CHECK(type_of(part, part.nodes[2]).devices == 2);
  CHECK(type_of(part, part.nodes[2]).name == "n1-v100-4 (2 of 4)");
  CHECK(device_count(part_of_cluster(cluster, kTypes, {0, 16})) == 16);
  CHECK(tests::message_of([&] {
          static_cast<void>(part_of_cluster(cluster, kTypes, {9, 0}));
        }).find("has 8 GPUs of type a100-40gb, not 9") != std::string::npos);
}

// Two A100s and two V100s: both nodes in part, and the network between them.
TEST_CASE("A level inside the nodes stays inside them where every node is there in part") {
  const ClusterSpec cluster = mixed_question().cluster.value;
  const DeviceLayout layout(part_of_cluster(cluster, kTypes, {2, 2}));
  CHECK(layout.is_within_nodes(0));
  CHECK(layout.level_between(0, 1) == 0);
  CHECK(layout.level_between(1, 2) == 1);
  CHECK(layout.level_between(2, 3) == 0);
  // A whole node of four leaves the level as it is; the other two are in a node of their own.
  const ClusterSpec larger = part_of_cluster(cluster, kTypes, {2, 4});
  CHECK(larger.levels == cluster.levels);
  CHECK(DeviceLayout(larger).level_between(1, 2) == 1);
  // Where the other type has the larger nodes, and is not there.
  ClusterSpec unlike = cluster;
  unlike.node_types[0].devices = 8;
  unlike.levels[0].devices = 8;
  CHECK(DeviceLayout(part_of_cluster(unlike, kTypes, {0, 8})).level_between(3, 4) == 1);
}

// Their four stages have one boundary between the two nodes, and M = 32 micro-batches cross it; of
// a network four times as slow each message takes four times as long.
TEST_CASE("A page of parts of nodes is priced with the network between them") {
  Question question = mixed_question();
  question.request.pins.pipeline = 4;
  const auto step_of = [&] {
    SearchProgress progress;
    const auto book = find_book_of_types(question, kTypes, {{2, 2}}, progress);
    REQUIRE(book);
    REQUIRE(book->pages.front().plan);
    return book->pages.front().step_time;
  };
  const Duration as_measured = step_of();
  LinkLevel& network = question.cluster.value.levels.back();
  for (CurvePoint& point : network.curve) point.time *= 4;
  network.shared_bandwidth.value /= 4;
  CHECK(step_of() > as_measured);
}

TEST_CASE("A page that counts types has what a search on a cluster of just these finds") {
  const PlanBook book = mixed_book(kCounts);
  REQUIRE(book.pages.size() == kCounts.size());
  for (const BookPage& page : book.pages) {
    CAPTURE(page.of_types[0]);
    CAPTURE(page.of_types[1]);
    CHECK(page.gpus == page.of_types[0] + page.of_types[1]);
    Question alone = mixed_question();
    // All nodes have four devices.
    alone.cluster.value.nodes.clear();
    for (int type = 0; type < 2; ++type) {
      const int nodes = page.of_types[static_cast<std::size_t>(type)] / 4;
      if (nodes > 0) alone.cluster.value.nodes.push_back({type, nodes});
    }
    alone.request.gpus = page.gpus;
    SearchProgress progress;
    const SearchResult found = best_plans(alone.inputs(), alone.request, progress);
    REQUIRE(page.plan.has_value() == !found.best.empty());
    if (!page.plan) continue;
    const Duration step = found.best.front().evaluation.step_time;
    CHECK(page.step_time <= step + step / 50);
    // Its plan needs no more of any type than there are, and is priced again as it was.
    CHECK(are_among(gpus_of_types(*page.plan, kTypes), page.planned_on()));
    CHECK(are_among(page.planned_on(), page.of_types));
    CHECK(plan_of_page(book, page, "b").prediction.step_time == page.step_time);
    for (const BookPage& other : book.pages) {
      if (!other.plan || !are_among(other.of_types, page.of_types)) continue;
      CHECK(page.step_time <= other.step_time);
    }
  }
}

TEST_CASE("A book that counts types is read again as it was written, and refused where it errs") {
  PlanBook book = mixed_book({{4, 0}, {4, 8}, {8, 0}});
  book.tool_version = "0.1.0";
  const auto read = [](const PlanBook& written) {
    return read_plan_book(parse_json(to_text(write_plan_book(written)), "b"), "b");
  };
  CHECK(read(book) == book);
  CHECK(book.pages[1].of_types == std::vector<int>{8, 0});
  const auto refused = [&](const PlanBook& wrong) {
    return tests::message_of([&] { static_cast<void>(read(wrong)); });
  };
  const auto says = [](const std::string& message, const std::string& part) {
    CAPTURE(message);
    return message.find(part) != std::string::npos;
  };
  PlanBook wrong = book;
  wrong.pages[1].of_types = {7, 0};
  CHECK(says(refused(wrong), "these are 7 GPUs, and gpus says 8"));
  wrong = book;
  std::swap(wrong.pages[1], wrong.pages[2]);
  CHECK(says(refused(wrong), "/pages/2/gpus"));
  wrong = book;
  wrong.pages[2] = wrong.pages[1];
  CHECK(says(refused(wrong), "stands above"));
  wrong = book;
  wrong.pages[1].step_time = wrong.pages[0].step_time + Duration{1};
  CHECK(says(refused(wrong), "longer than on fewer GPUs"));
  wrong = book;
  wrong.pages[1].found_on = {4, 4};
  CHECK(says(refused(wrong), "expected fewer GPUs than the page has"));
  wrong = book;
  wrong.pages[1].found_on = {2, 0};
  CHECK(says(refused(wrong), "of a100-40gb, and it was found on 2"));
  wrong = book;
  wrong.types[1] = "h100";
  CHECK(says(refused(wrong), "no such device type"));
}

// 4,096 types of 2^20 GPUs are 2^32 in all: 0, where 32 bits wrap around.
TEST_CASE("GPUs of thousands of types are counted in full") {
  PlanBook book = mixed_book({{4, 0}});
  book.tool_version = "0.1.0";
  book.types.clear();
  const DeviceType first = book.cluster.device_types.front();
  while (book.types.size() < 4096) {
    DeviceType other = first;
    other.name = "type-" + std::to_string(book.types.size());
    book.types.push_back(other.name);
    book.cluster.device_types.push_back(std::move(other));
  }
  book.pages.front() = {};
  book.pages.front().gpus = 1;
  book.pages.front().of_types.assign(book.types.size(), 1 << 20);
  book.pages.front().why_not = "too many";
  const std::string text = to_text(write_plan_book(book));
  CHECK(tests::message_of([&] {
          static_cast<void>(read_plan_book(parse_json(text, "b"), "b"));
        }).find("these are 4294967296 GPUs, and gpus says 1") != std::string::npos);
}

TEST_CASE("The page for what is there is the fastest of those for no more of any type") {
  const PlanBook book = mixed_book(kCounts);
  const auto page = [&](int a100, int v100) {
    return page_for(book, std::vector<int>{a100, v100}, "b").of_types;
  };
  CHECK(page(8, 8) == std::vector<int>{8, 8});
  CHECK(page(7, 9) == std::vector<int>{4, 8});
  CHECK(page(3, 16) == std::vector<int>{0, 16});
  CHECK(tests::message_of([&] {
          static_cast<void>(page(3, 7));
        }).find("no page has a plan for a100-40gb=3, v100-16gb=7") != std::string::npos);
}

// Eight V100s and eight A100s for 1,000 s, then sixteen V100s.
TEST_CASE("A recording that counts types runs the page that is left when one type is lost") {
  const PlanBook book = mixed_book(kCounts);
  Availability recording;
  recording.types = {"v100-16gb", "a100-40gb"};  // in another order than the book's
  recording.changes.resize(2);
  recording.changes[0].gpus = 16;
  recording.changes[0].of_types = {8, 8};
  recording.changes[1].at = std::chrono::seconds(1000);
  recording.changes[1].gpus = 16;
  recording.changes[1].of_types = {16, 0};
  recording.end = std::chrono::seconds(2000);
  const Availability ordered = in_types_of(book, recording, "t.csv");
  CHECK(ordered.changes[1].of_types == std::vector<int>{0, 16});
  const ChangeCosts costs{{}, std::chrono::seconds(100), {}, {}};
  const std::vector<PolicyResult> results = compare_policies(book, ordered, costs);
  const auto speed = [&](int a100, int v100) {
    return 1e9 /
           static_cast<double>(page_for(book, std::vector<int>{a100, v100}, "b").step_time.count());
  };
  CHECK(results[1].steps == doctest::Approx(1000 * speed(8, 8) + 900 * speed(0, 16)));
  CHECK(results[0].steps == doctest::Approx(results[1].steps));
  CHECK(std::ranges::none_of(
      results, [](const PolicyResult& result) { return result.name.starts_with("DP only"); }));
  recording.types[0] = "h100";
  CHECK(tests::message_of([&] {
          static_cast<void>(in_types_of(book, recording, "t.csv"));
        }).starts_with("t.csv: the book has no devices of type 'h100'"));
  recording.types.clear();
  CHECK(tests::message_of([&] {
          static_cast<void>(in_types_of(book, recording, "t.csv"));
        }).find("does not say of which type") != std::string::npos);
}

}  // namespace
}  // namespace penstock
