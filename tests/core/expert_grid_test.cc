#include "core/values/expert_grid.h"

#include <doctest/doctest.h>

#include "core/values/held_parameters.h"

namespace penstock {
namespace {

// 256 devices: T 2, P 8, C 1, EP 32, whole experts.
Plan qwen_on_256() {
  Plan plan;
  plan.tensor = 2;
  plan.pipeline = 8;
  plan.data = 16;
  plan.expert = 32;
  plan.expert_tensor = 1;
  plan.global_batch = 16;
  plan.placement = Placement::kDataInner;
  return plan;
}

}  // namespace

// Reference: DP 16, EDP 1, so that gradients of experts need no reduction.
TEST_CASE("experts are folded into the ranks of a stage: D C T = EP ETP EDP") {
  const Plan plan = qwen_on_256();
  CHECK(plan.devices() == 256);
  CHECK(plan.weight_copies() == 16);
  CHECK(plan.expert_copies() == 1);
  CHECK(why_no_expert_grid(plan).empty());
  CHECK(expert_words(plan) == "EP 32 x ETP 1");
  CHECK(replicas_multiple(plan.other_degrees(), plan.tensor) == 16);
}

TEST_CASE("what has no place for the experts says why") {
  Plan plan = qwen_on_256();
  plan.expert = 64;
  CHECK(why_no_expert_grid(plan).find("does not divide the DP CP TP = 32 ranks") !=
        std::string::npos);
  plan = qwen_on_256();
  plan.placement = Placement::kPipelineInner;
  CHECK(why_no_expert_grid(plan).find("choose placement data-inner") != std::string::npos);
  plan = qwen_on_256();
  plan.global_batch = 24;
  CHECK(why_no_expert_grid(plan).find("the same micro-batches") != std::string::npos);
  plan = qwen_on_256();
  plan.expert = 1;
  CHECK(why_no_expert_grid(plan).find("no multiple of TP = 2") != std::string::npos);
}

// 100 parameters, of them 80 of 8 experts: T 2 holds 50, 40 of them experts'. EP 4 with whole
// experts: 10 others and 20 of experts.
TEST_CASE("a rank holds its part of the rest, and its experts") {
  SectionType type;
  type.parameters = {{1, 100}, {2, 50}};
  type.expert_parameters = 80;
  CHECK(held_parameters(type, 2, {}) == HeldParameters{50, 0});
  CHECK(held_parameters(type, 2, {1, 4, 1}) == HeldParameters{30, 20});
  CHECK(held_parameters(type, 2, {1, 4, 0}) == HeldParameters{20, 10});
  CHECK(!held_parameters(type, 4, {}));
}

TEST_CASE("ways to divide sequences are told") {
  Plan plan;
  plan.context = 4;
  CHECK(other_degrees_words(plan) == " x CP 4");
  plan.context_kind = ContextKind::kUlysses;
  plan.expert = 8;
  CHECK(other_degrees_words(plan) == " x CP 4 (Ulysses) x EP 8");
}

}  // namespace penstock
