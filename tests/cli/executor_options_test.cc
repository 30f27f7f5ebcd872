#include "cli/options/executor_options.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;

namespace {

ExecutorModel model(const char* name, const char* queues, bool posted) {
  ExecutorOptions options;
  if (name != nullptr) options.name = name;
  if (queues != nullptr) options.queues = queues;
  options.posted = posted;
  return options.model();
}

}  // namespace

TEST_CASE("nothing given is the ideal executor") {
  CHECK_FALSE(ExecutorOptions().given());
  CHECK(ExecutorOptions().model() == ExecutorModel());
  CHECK(words_of(ExecutorModel()) == "ideal: transfers occupy no rank, no queues");
}

TEST_CASE("names say what transfers occupy and in which order they are issued") {
  CHECK(model("sender-blocks", nullptr, false).transfer == TransferMode::kSenderBlocks);
  CHECK(model("rendezvous", nullptr, false).issue == IssueOrder::kEager);
  CHECK(model("deepspeed", nullptr, false).transfer == TransferMode::kRendezvous);
  CHECK(model("deepspeed", nullptr, false).issue == IssueOrder::kDeepSpeed);
}

TEST_CASE("what departs from the name is part of it") {
  const ExecutorModel executor = model(nullptr, "per-peer", true);
  CHECK(executor.name == "ideal+queues-per-peer+posted");
  CHECK(words_of(executor) ==
        "ideal+queues-per-peer+posted: transfers occupy no rank, queues per-peer, receives are "
        "posted "
        "first");
}

TEST_CASE("unknown names find the nearest") {
  CHECK(tests::message_of([] { model("deepseed", nullptr, false); }) ==
        "--executor: unknown 'deepseed'\nhelp: did you mean 'deepspeed'?");
  CHECK(tests::message_of([] { model(nullptr, "x", false); }) ==
        "--queues: unknown 'x'\nhelp: known: none, per-direction, per-peer, per-rank");
}
