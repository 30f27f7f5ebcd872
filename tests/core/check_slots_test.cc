#include <string>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "tests/core/findings_of.h"
#include "tests/core/messages.h"
#include "tests/core/slots_plan.h"

namespace penstock {
namespace {

std::string findings_with(const Edits& edits) { return findings_of(slots_plan(edits)); }
std::string refusal_with(const Edits& edits) {
  return tests::message_of([&] { (void)slots_plan(edits); });
}
bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a plan with stages in slots holds, to the nanosecond and the byte") {
  const CheckReport report = check(slots_plan());
  CHECK(findings_of(slots_plan()).empty());
  CHECK(report.replayed == Duration(210));
  CHECK(report.memory == std::vector<Bytes>{{484}});
}

TEST_CASE("on a simplex link loads and stores go one after the other") {
  const Edits simplex = {{R"("issue": "eager")", R"("issue": "eager", "host_link": "simplex")"}};
  CHECK(check(slots_plan(simplex)).replayed == Duration(225));
}

TEST_CASE("slots are written and read again") {
  PlanFile file =
      slots_plan({{R"("groups": [])", R"("groups": [], "waits": [["1B0", "2STORE"]])"},
                  {R"("issue": "eager")", R"("issue": "eager", "host_link": "simplex")"}});
  CHECK(file.program.pipelines[0].weight_slots == 2);
  CHECK(file.prices.step[1].load.duration == Duration(30));
  CHECK(file.prices.step[1].stored == Bytes{400});
  CHECK(plan_of(to_text(write_plan(file))) == file);
  // 1B0 now waits until 2STORE has ended at 115: B(1) 115..135 O(1) ..140, L(0) 115..145,
  // B(0) 145..165 O(0) ..170; S(1) 145..185 behind L(0), S(0) 185..225: hidden.
  CHECK(check(file).replayed == Duration(225));
  // For 1STORE it would wait in vain.
  CHECK(
      contains(refusal_with({{R"("groups": [])", R"("groups": [], "waits": [["1B0", "1STORE"]])"}}),
               "the lists wait for each other: 1B0 waits for 1STORE"));
  CHECK(
      contains(refusal_with({{R"("groups": [])", R"("groups": [], "waits": [["1B0", "1LOAD"]])"}}),
               "expected the name of an action that some list holds"));
}

TEST_CASE("found: state that is lost, and a step that the next one could not follow") {
  CHECK(contains(findings_with({{R"("2STORE", )", ""}}),
                 "2RESHARD loses what 2OPT changed; a STORE is missing between them"));
  CHECK(contains(findings_with({{R"("0OPT", "0STORE")", R"("0OPT", "0STORE", "0RESHARD")"}}),
                 "stage 0 is in a slot at the beginning of the step and not at its end"));
}

// 10 + 20 + 15 parameters, 11 + 21 + 16 gradients, 12 + 22 + 17 of the optimizer: 144 bytes.
TEST_CASE("found: a host that is too small for what its ranks keep there") {
  constexpr std::string_view kNode = R"("devices_per_node": 1)";
  const Edits enough = {{kNode, R"("devices_per_node": 1, "host_memory_bytes": 144)"}};
  CHECK(findings_with(enough).empty());
  CHECK(
      findings_with({{kNode, R"("devices_per_node": 1, "host_memory_bytes": 143)"}}) ==
      "/cluster/host_memory_bytes: the stages of a node's ranks take 144 bytes on the host, which "
      "has 143");
  // The first of the three stages.
  CHECK(contains(
      findings_with({{kNode, R"("devices_per_node": 1, "host_memory_bytes": 144)"},
                     {R"("store_bytes": 400)", R"("store_bytes": 400, "only_on_host_bytes": 1)"}}),
      "take 145 bytes on the host, which has 144"));
  const PlanFile file = slots_plan(enough);
  CHECK(file.cluster.host_memory == Bytes{144});
  CHECK(plan_of(to_text(write_plan(file))) == file);
}

TEST_CASE("found: memory of slots that is off by a byte, and a wrong time") {
  CHECK(findings_with({{R"("parameters_bytes": 40)", R"("parameters_bytes": 41)"}}) ==
        "rank 0: parameters: expected 40 bytes, the prediction says 41");
  CHECK(contains(findings_with({{R"("store_ns": 40)", R"("store_ns": 41)"}}),
                 "makespan: expected 211 ns, the prediction says 210 ns"));
}

TEST_CASE("slots that no list could use so are refused when the file is read") {
  CHECK(contains(refusal_with({{R"("weight_slots": 2)", R"("weight_slots": 1)"}}),
                 "rank 0 begins with stages 0, 1 on the device, and has 1 weight slots"));
  CHECK(contains(refusal_with({{R"("0RESHARD", )", ""}}),
                 "2LOAD finds no slot: stages 0, 1 fill all 2"));
  CHECK(contains(refusal_with({{R"("0LOAD",)", ""}}), "0B0 needs stage 0, which is in no slot"));
  CHECK(contains(refusal_with({{R"(, "weight_slots": 2)", ""}}),
                 "2LOAD on rank 0, which has no weight slots"));
}

// What the reader would refuse, judged by the checker's own rules.
TEST_CASE("found: slots that overflow and stages that are in none") {
  PlanFile file = slots_plan();
  file.program.pipelines[0].weight_slots = 1;
  CHECK(contains(findings_of(file), "the step begins with 2 stages on the device, which has 1"));
  CHECK(contains(findings_of(file), "2LOAD: all 1 slots are taken"));
  file = slots_plan();
  std::erase_if(file.program.actions,
                [](const Action& action) { return action.kind == ActionKind::kLoad; });
  for (Action& action : file.program.actions) action.waits_for = kWaitsForNothing;
  file.program.more_waits.clear();
  CHECK(contains(findings_of(file), "0B0: its stage is in no slot; a LOAD is missing before it"));
  file = slots_plan();
  file.program.pipelines[0].weight_slots = 0;
  CHECK(contains(findings_of(file), "2LOAD needs slots; its pipeline has no 'weight_slots'"));
}

// Two ranks, 1F1B of the tiny plan: the reductions end at 10,000 and 7,500 ns. Updates ..10,100 and
// ..7,600, NORM 10,000..10,010, then two more updates of 100 ns: 10,300 on rank 0.
TEST_CASE("a step whose check fails updates three times") {
  const Edits rolled_back = {{R"("global_barrier")", R"("rolled_back")"},
                             {R"("0NORM", "0OPT")", R"("0OPT", "0NORM", "0OPT", "0OPT")"},
                             {R"("1NORM", "1OPT")", R"("1OPT", "1NORM", "1OPT", "1OPT")"}};
  CHECK(check(tiny_plan(rolled_back)).replayed == Duration(10'300));
  CHECK(contains(findings_of(tiny_plan({rolled_back[0]})), "0OPT must occur 3 times, found 1"));
  CHECK(
      contains(findings_of(tiny_plan({rolled_back[0],
                                      {R"("0NORM", "0OPT")", R"("0NORM", "0OPT", "0OPT", "0OPT")"},
                                      rolled_back[2]})),
               "NORM must come between the first and the second OPT of every stage"));
}

}  // namespace
}  // namespace penstock
