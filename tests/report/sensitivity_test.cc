#include "report/sensitivity.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

Outcome answer(std::string change, double more_speed) {
  Outcome outcome;
  outcome.change = std::move(change);
  outcome.step_time = 10ms;
  outcome.more_speed = more_speed;
  return outcome;
}

// A weak one first, one without an answer, the strongest last.
Sensitivities three() {
  Outcome refused;
  refused.change = "x2";
  refused.why_not = "stage 0 over memory by 2.0 GiB";
  Sensitivities all;
  all.all = {{"link.a", "bandwidth of a", answer("x0.5", -0.05), answer("x2", 0.025)},
             {"b", "micro-batch size (1)", std::nullopt, refused},
             {"memory", "memory", std::nullopt, answer("+8 GiB", 0.1)}};
  all.all[2].more->plan = "T=1";
  all.not_answered = {"sections: p.json is not here"};
  return all;
}

}  // namespace

TEST_CASE("the strongest comes first, and bars are in proportion to it") {
  CHECK(sensitivity_text(three(), Screen{}) ==
        "  what changes         change   speed  change    speed  slower      |faster\n"
        "  memory                               +8 GiB +10.00 %              |++++++++++++\n"
        "  bandwidth of a       x0.5   -5.00 %  x2      +2.50 %        ------|+++\n"
        "  micro-batch size (1)                 x2           no              |\n"
        "The best plans after these changes:\n"
        "  memory +8 GiB: T=1\n"
        "Not possible (\"no\" in the table):\n"
        "  micro-batch size (1) x2: stage 0 over memory by 2.0 GiB\n"
        "Not answered:\n"
        "  sections: p.json is not here\n");
}

TEST_CASE("programs get the same order, times in ns, and reasons instead of times") {
  const Json json = to_json(three());
  const auto& rows = json.find("rows")->elements();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].find("key")->text() == "memory");
  const Json& found = rows[0].find("outcomes")->elements().at(0);
  CHECK(found.find("step_time_ns")->text() == "10000000");
  CHECK(found.find("more_speed")->text() == "0.1");
  CHECK(found.find("words")->text() == "T=1");
  const Json& refused = rows[2].find("outcomes")->elements().at(0);
  CHECK(refused.find("why_not")->text() == "stage 0 over memory by 2.0 GiB");
  CHECK(refused.find("step_time_ns") == nullptr);
  CHECK(json.find("not_answered")->elements().size() == 1);
}

TEST_CASE("nothing asked, nothing printed") { CHECK(sensitivity_text({}, Screen{}).empty()); }
