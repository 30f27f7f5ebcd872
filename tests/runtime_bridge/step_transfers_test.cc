// How far ahead of its place a receive is posted.
#include "runtime_bridge/step_transfers.h"

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "training/virtual_work.h"

namespace penstock {
namespace {

class Done : public Transfer {
 public:
  explicit Done(const bool* arrives = nullptr) : arrives_(arrives) {}
  bool done() override { return arrives_ == nullptr || *arrives_; }
  void wait() override {}

 private:
  const bool* arrives_;
};

// Writes down which messages were asked for. Nothing but transfers is called.
class Notes : public Transport {
 public:
  explicit Notes(std::optional<int> most) : most_open(most) {}
  std::vector<MessageTag> received, sent;
  bool arrives = true;  // what is received
  std::optional<int> most_open;

  [[nodiscard]] int rank() const override { return 1; }
  [[nodiscard]] int size() const override { return 3; }
  std::unique_ptr<Transfer> send(int, MessageTag tag, const Buffer&) override {
    sent.push_back(tag);
    return std::make_unique<Done>();
  }
  std::unique_ptr<Transfer> receive(int, MessageTag tag, const Buffer&) override {
    received.push_back(tag);
    return std::make_unique<Done>(&arrives);
  }
  [[nodiscard]] std::optional<int> most_open_receives() const override { return most_open; }
  CommunicatorId form_group(const std::string&, const std::vector<int>&) override { return {}; }
  std::unique_ptr<Transfer> all_reduce(CommunicatorId, const Buffer&) override { return nullptr; }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId, const Buffer&) override {
    return nullptr;
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId, const Buffer&) override { return nullptr; }
  void barrier() override {}
  void abort(const std::string&) override {}
};

// The middle of three stages: for every micro-batch m receive (tag m), forward, send (tag 10 + m).
RankProgram forwards(int micro_batches) {
  RankProgram program;
  for (int m = 0; m < micro_batches; ++m) {
    const auto tag = static_cast<MessageTag>(m);
    program.actions.push_back({ActionKind::kReceiveActivation, 1, m, 0, tag});
    program.actions.push_back({ActionKind::kForward, 1, m});
    program.actions.push_back({ActionKind::kSendActivation, 1, m, 2, 10 + tag});
  }
  return program;
}

struct Step {
  RankProgram program = forwards(4);
  SteadyRankClock clock;
  VirtualWork work{program.setup, std::make_shared<VirtualDurations>(3, 4), clock};
  Notes notes;
  StepRecord record;
  std::vector<int> order;
  StepTransfers transfers;

  explicit Step(int ahead, std::optional<int> most_open = std::nullopt)
      : notes{most_open}, transfers(program, work, notes, ahead) {
    order.resize(program.actions.size());
    std::iota(order.begin(), order.end(), 0);
    record.start.resize(order.size());
    record.end.resize(order.size());
    transfers.begin(record);
  }
};

using Tags = std::vector<MessageTag>;

TEST_CASE("receives are posted among as many transfers as are asked for, sends counted") {
  Step step(4);
  step.transfers.look_ahead(step.order, 0);  // R0 S0 R1 S1
  CHECK(step.notes.received == Tags{0, 1});
  step.transfers.look_ahead(step.order, 1);  // S0 R1 S1 R2
  CHECK(step.notes.received == Tags{0, 1, 2});
  step.transfers.look_ahead(step.order, 2);  // the same: from the send on
  CHECK(step.notes.received == Tags{0, 1, 2});
  step.transfers.look_ahead(step.order, 3);  // R1 S1 R2 S2
  CHECK(step.notes.received == Tags{0, 1, 2});
  step.transfers.look_ahead(step.order, 4);  // S1 R2 S2 R3
  CHECK(step.notes.received == Tags{0, 1, 2, 3});
  CHECK(step.notes.sent.empty());
}

TEST_CASE("with one transfer ahead a receive is posted at its place, with many all at once") {
  Step one(1);
  one.transfers.look_ahead(one.order, 0);
  CHECK(one.notes.received == Tags{0});
  one.transfers.look_ahead(one.order, 1);  // the next transfer is a send
  CHECK(one.notes.received == Tags{0});
  Step many(64);
  many.transfers.look_ahead(many.order, 0);
  CHECK(many.notes.received == Tags{0, 1, 2, 3});
}

TEST_CASE("what was posted ahead is not posted again at its place") {
  Step step(2);
  step.transfers.look_ahead(step.order, 0);  // R0 S0
  step.transfers.issue(step.order, 0, step.order.size());
  CHECK(step.notes.received == Tags{0});
  step.transfers.issue(step.order, 2, step.order.size());  // S0 and R1 stand side by side
  CHECK(step.notes.sent == Tags{10});
  CHECK(step.notes.received == Tags{0, 1});
  step.transfers.wait_for_sends();
}

TEST_CASE("a transport that takes one receive at a time gets them one at a time, in their order") {
  Step step(64, 1);
  step.notes.arrives = false;
  step.transfers.look_ahead(step.order, 0);
  CHECK(step.notes.received == Tags{0});
  // R1's place comes while R0 is open: it is late, and R2 does not overtake it.
  step.transfers.issue(step.order, 3, step.order.size());
  step.transfers.issue(step.order, 6, step.order.size());
  CHECK(step.notes.received == Tags{0});
  step.notes.arrives = true;
  step.transfers.look_ahead(step.order, 7);
  CHECK(step.notes.received == Tags{0, 1});
  // What is needed now is posted whatever is open, with what comes before it and nothing else.
  step.notes.arrives = false;
  step.transfers.issue(step.order, 9, step.order.size());
  CHECK(step.notes.received == Tags{0, 1});
  (void)step.transfers.wait_for(6);
  CHECK(step.notes.received == Tags{0, 1, 2});
  (void)step.transfers.wait_for(9);
  CHECK(step.notes.received == Tags{0, 1, 2, 3});
}

}  // namespace
}  // namespace penstock
