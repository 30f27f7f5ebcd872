#include "runtime_bridge/plan_message.h"

#include <cstdint>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

constexpr PlanMessageHeader kHeader{0x0123456789abcdef, 7, 0xfedcba9876543210};

PlannedStep planned(std::vector<int> order = {1, 0}) {
  auto plan = std::make_shared<const PlanFile>(tiny_plan());
  auto samples = std::make_shared<StepSamples>();
  samples->order = std::move(order);
  samples->real_tokens = 90;
  samples->padded_tokens = 100;
  samples->objective_ns = 0.1;  // no short decimal: it must come back to the bit
  samples->planning = Duration(12345);
  samples->fingerprint = fingerprint_of(*plan, samples->order);
  return {std::move(plan), std::move(samples)};
}

std::string message() { return write_plan_message(kHeader, planned(), layout_text(tiny_plan())); }
std::string refusal(std::string_view bytes) {
  return tests::refusal_of(
      [&] { (void)read_plan_message(bytes, layout_text(tiny_plan()), "the plan"); });
}

TEST_CASE("what is read is what was written") {
  const std::string bytes = message();
  CHECK(read_plan_message_header(bytes, "the plan") == kHeader);
  const PlannedStep read = read_plan_message(bytes, layout_text(tiny_plan()), "the plan");
  const PlannedStep expected = planned();
  CHECK(*read.plan == *expected.plan);
  CHECK(read.samples->order == expected.samples->order);
  CHECK(read.samples->real_tokens == 90);
  CHECK(read.samples->padded_tokens == 100);
  CHECK(read.samples->objective_ns == 0.1);
  CHECK(read.samples->planning == Duration(12345));
  CHECK(read.samples->fingerprint == expected.samples->fingerprint);
}

// A plan that is its layout is, but for the samples, one long repetition of the dictionary.
TEST_CASE("of a plan that is like its layout little is left") {
  const std::string layout = layout_text(tiny_plan());
  CHECK(layout.size() > 2000);
  CHECK(message().size() < 300);
}

TEST_CASE("every byte counts: one that is changed or missing is seen") {
  const std::string bytes = message();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    CHECK(refusal(changed).starts_with("the plan: "));
    CHECK(refusal(std::string_view(bytes).substr(0, i)).starts_with("the plan: is "));
  }
  CHECK(refusal(bytes + 'x').starts_with("the plan: is cut off"));
}

TEST_CASE("what is no plan, or one of another version, is said to be that") {
  CHECK(refusal("").starts_with("the plan: is no plan of a step, 0 bytes"));
  CHECK(refusal(std::string(100, 'x')).starts_with("the plan: is no plan of a step, 100 bytes"));
  std::string later = message();
  later[8] = 2;
  CHECK(refusal(later).starts_with("the plan: is a plan of version 2, and this penstock reads"));
}

TEST_CASE("a plan with another layout is not made into one of this") {
  const std::string layout = layout_text(tiny_plan()), other(layout.rbegin(), layout.rend());
  const std::string words =
      tests::refusal_of([&] { (void)read_plan_message(message(), other, "the plan"); });
  CHECK(words != "");
}

TEST_CASE("samples that are not those of the plan are refused") {
  const auto written = [](std::vector<int> order) {
    return write_plan_message(kHeader, planned(std::move(order)), layout_text(tiny_plan()));
  };
  CHECK(refusal(written({0, 0})).find("/order: is not an order of the 2 samples") !=
        std::string::npos);
  CHECK(refusal(written({0})).find("/order: is not an order of the 2 samples") !=
        std::string::npos);
  CHECK(refusal(written({0, 2})).find("/order/1") != std::string::npos);
  PlannedStep other = planned();
  auto samples = std::make_shared<StepSamples>(*other.samples);
  ++samples->fingerprint;
  other.samples = samples;
  CHECK(refusal(write_plan_message(kHeader, other, layout_text(tiny_plan())))
            .find("/fingerprint: is not that of the plan") != std::string::npos);
}

TEST_CASE("which documents a step takes, and how long they are, changes their fingerprint") {
  const std::uint64_t one = fingerprint_of_documents({3, 5}, {{8, 0}, {9, 2}});
  CHECK(one == fingerprint_of_documents({3, 5}, {{8, 0}, {9, 2}}));
  CHECK(one != fingerprint_of_documents({5, 3}, {{8, 0}, {9, 2}}));
  CHECK(one != fingerprint_of_documents({3, 5}, {{8, 0}, {9, 3}}));
  CHECK(one != fingerprint_of_documents({3}, {{8, 0}}));
}

}  // namespace
}  // namespace penstock
