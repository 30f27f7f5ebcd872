// The checker's own carrying out of Varuna's rules, on the tiny plan.
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

// Rank 0 recomputes for 300 ns, and its list has R0 and B0 before F1.
constexpr std::string_view kBackwardFirst =
    R"(["0F0", "0SEND_F0", "0RECV_B0", "0R0", "0B0", "0F1", "0SEND_F1", "0RECV_B1", "0R1", "0B1",
        "0NORM", "0OPT"])";

PlanFile plan_with_rule(std::string_view rule, const Edits& more = {}) {
  const std::string named = R"("rule": ")" + std::string(rule) + '"';
  Edits edits = {{R"("recompute": "none")", R"("recompute": "full")"},
                 {R"("recompute_ns": 0)", R"("recompute_ns": 300)"},
                 {R"("rule": "none")", named},
                 {kRank0, kBackwardFirst}};
  edits.insert(edits.end(), more.begin(), more.end());
  return tiny_plan(edits);
}

std::int64_t replayed(const PlanFile& file) { return check(file).replayed.count(); }

// F0 0..1000, R0 5000..5300, B0 ..7300, F1 ..8300; F1 of rank 1 8800..9800, B1 ..11800, its
// gradient at 12300; R1 ..12600, B1 ..14600, NORM and OPT ..14710.
TEST_CASE("without a rule the list is kept") { CHECK(replayed(plan_with_rule("none")) == 14710); }

// F1 moves to 1000..2000, and rank 1 has no gap: R0 5000..5300, B0 ..7300, the gradient of 1 at
// 8000, R1 ..8300, B1 ..10300, NORM and OPT ..10410. Rank 0 holds two inputs instead of one.
TEST_CASE("a forward is moved before a recompute whose gradient is not there") {
  const CheckReport in_order = check(plan_with_rule("none"));
  for (const std::string_view rule : {"varuna", "varuna-strict"}) {
    const CheckReport report = check(plan_with_rule(rule));
    CHECK(report.replayed == Duration(10410));
    CHECK(report.memory[0] == in_order.memory[0] + Bytes{100});
  }
}

// With no forward left R0 runs at once, 2000..2300, then B0 5000..7000, R1 ..7300, B1 8000..10000.
TEST_CASE("the runtime's rule recomputes at once when no forward is left") {
  CHECK(replayed(plan_with_rule("varuna-runtime")) == 10110);
}

// A prediction that was made in list order would hide the second input.
TEST_CASE("found: memory of the static order") {
  std::string text;
  const Edits stash_of_one = {{R"("stash_bytes": 200)", R"("stash_bytes": 100)"}};
  for (const Finding& finding : check(plan_with_rule("varuna", stash_of_one)).findings) {
    if (finding.message.starts_with("stash")) text = finding.place + ": " + finding.message;
  }
  CHECK(text == "rank 0: stash: expected 200 bytes, the prediction says 100");
}

TEST_CASE("found: a last stage that recomputes, or another that does not") {
  const CheckReport missing = check(tiny_plan({{R"("rule": "none")", R"("rule": "varuna")"}}));
  REQUIRE(missing.findings.size() == 2);
  CHECK(missing.findings[0].message == "0R0 must occur 1 times, found 0");
  const CheckReport last = check(plan_with_rule(
      "varuna", {{kRank1, R"(["1RECV_F0", "1F0", "1R0", "1B0", "1SEND_B0", "1RECV_F1", "1F1", "1B1",
                    "1SEND_B1"])"}}));
  REQUIRE(last.findings.size() == 1);
  CHECK(last.findings[0].message == "1R0 must occur 0 times, found 1");
}

TEST_CASE("found: a rule under an executor whose transfers queue") {
  const CheckReport report =
      check(plan_with_rule("varuna", {{R"("queues": "none")", R"("queues": "per_rank")"}}));
  REQUIRE(!report.findings.empty());
  CHECK(report.findings[0].place == "/program/rule");
}

}  // namespace
}  // namespace penstock
