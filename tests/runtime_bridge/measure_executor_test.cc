#include "runtime_bridge/measure_executor.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_threads.h"
#include "training/loopback.h"

namespace penstock {
namespace {

// Takes a fixed time of the rank's processor for every message, so that no clock is asked.
class PricedTransport : public Transport {
 public:
  PricedTransport(std::unique_ptr<Transport> transport, std::int64_t ns_per_byte)
      : transport_(std::move(transport)), ns_per_byte_(ns_per_byte) {}
  [[nodiscard]] Duration taken() const { return taken_; }

  [[nodiscard]] int rank() const override { return transport_->rank(); }
  [[nodiscard]] int size() const override { return transport_->size(); }
  std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
    taken_ += Duration{1000 + ns_per_byte_ * static_cast<std::int64_t>(buffer.bytes())};
    return transport_->send(to, tag, buffer);
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
    taken_ += Duration{3000};
    return transport_->receive(from, tag, buffer);
  }
  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    return transport_->form_group(name, members);
  }
  std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer& buffer) override {
    return transport_->all_reduce(group, buffer);
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer& buffer) override {
    return transport_->reduce_scatter(group, buffer);
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer& buffer) override {
    return transport_->all_gather(group, buffer);
  }
  void barrier() override { transport_->barrier(); }
  void abort(const std::string& reason) override { transport_->abort(reason); }

 private:
  std::unique_ptr<Transport> transport_;
  std::int64_t ns_per_byte_;
  Duration taken_{};
};

// Three ranks as threads; the third stands by. Rank 1 pays twice as much per byte as rank 0.
std::array<MeasuredExecutor, 3> measured(ExecutorToMeasure question, bool priced) {
  question.messages = 4;
  question.least = 2;
  question.per_size = Duration{0};
  LoopbackHub hub(3, {});
  std::array<MeasuredExecutor, 3> results;
  on_rank_threads(3, [&](int rank) {
    PricedTransport transport(hub.transport(rank), rank == 1 ? 2 : 1);
    ExecutorToMeasure own = question;
    if (priced) own.processor_time = [&transport] { return transport.taken(); };
    try {
      results[static_cast<std::size_t>(rank)] = measure_executor(transport, own);
    } catch (const std::exception& error) {
      transport.abort(error.what());
      throw;
    }
  });
  return results;
}

// A step with messages sends 4 and receives 4 more than one without, so that a message and its
// receipt cost rank 0 (1000 + n) + 3000 ns and rank 1 (1000 + 2n) + 3000 ns for n bytes: a mean of
// 4000 + 1.5n ns, of which each side is said to take half.
TEST_CASE("what messages cost is the mean of both ranks, half of it the sender's") {
  ExecutorToMeasure question;
  question.sizes = {{1024}, {1 << 20}};
  const auto results = measured(question, true);
  const MeasuredExecutor& result = results[0];
  CHECK(result.per_action == Duration{});
  REQUIRE(result.messages.size() == 2);
  CHECK(result.messages[0] == MessageCost{Bytes{1024}, Duration{2768}, Duration{2768}});
  CHECK(result.messages[1] == MessageCost{Bytes{1 << 20}, Duration{788'432}, Duration{788'432}});
  CHECK(results[1] == MeasuredExecutor{});
  CHECK(results[2] == MeasuredExecutor{});
}

TEST_CASE("without a clock that is given, that of the process is asked") {
  ExecutorToMeasure question;
  question.sizes = {{1024}};
  const MeasuredExecutor result = measured(question, false)[0];
  REQUIRE(result.messages.size() == 1);
  CHECK(result.messages[0].bytes == Bytes{1024});
}

TEST_CASE("no sizes: what an action costs") { CHECK(measured({}, true)[0].messages.empty()); }

}  // namespace
}  // namespace penstock
