#include "training/loopback.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/training/buffers.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::buffer_of;
using testing::first_failure;
using testing::on_ranks;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a message goes to the receive of its tag, messages of one tag in order") {
  LoopbackHub hub(2, {});
  CHECK(first_failure(2, [&](int rank) {
          const auto transport = hub.transport(rank);
          if (rank == 0) {
            std::vector<float> first{1, 2}, second{3, 4}, other{5};
            const auto a = transport->send(1, 7, buffer_of(first));
            const auto b = transport->send(1, 8, buffer_of(other));
            const auto c = transport->send(1, 7, buffer_of(second));
            c->wait();
            b->wait();
            a->wait();
            return;
          }
          std::vector<float> first(2), second(2), other(1);
          const auto b = transport->receive(0, 8, buffer_of(other));
          b->wait();
          CHECK(other[0] == 5);
          const auto a = transport->receive(0, 7, buffer_of(first));
          const auto c = transport->receive(0, 7, buffer_of(second));
          c->wait();
          a->wait();
          CHECK(first == std::vector<float>{1, 2});
          CHECK(second == std::vector<float>{3, 4});
          CHECK(a->done());
          CHECK(a->ended().has_value());
        }) == "");
}

TEST_CASE("two sides of unequal size are our bug, and told") {
  LoopbackHub hub(2, {});
  const auto sender = hub.transport(0), receiver = hub.transport(1);
  std::vector<float> two(2), three(3);
  const auto sent = sender->send(1, 1, buffer_of(two));
  CHECK_THROWS_WITH_AS((void)receiver->receive(0, 1, buffer_of(three)),
                       "rank 1, for a message from rank 0 (tag 1, 12 bytes): the other side has 8 "
                       "bytes",
                       Error);
}

TEST_CASE("all ranks get the sum, in parts or as a whole") {
  // Rank r has r, r + 10, r + 20, r + 30 in each of four places: sums over four ranks 6 + 40 i.
  LoopbackHub hub(4, {});
  CHECK(first_failure(4, [&](int rank) {
          const auto transport = hub.transport(rank);
          const auto group = transport->form_group("all", {0, 1, 2, 3});
          const auto values = [&] {
            std::vector<std::int64_t> v(4);
            for (std::size_t i = 0; i < 4; ++i) v[i] = rank + 10 * static_cast<int>(i);
            return v;
          };
          auto sums = values();
          transport->all_reduce(group, buffer_of(sums))->wait();
          CHECK(sums == std::vector<std::int64_t>{6, 46, 86, 126});

          auto own = values();
          transport->reduce_scatter(group, buffer_of(own))->wait();
          CHECK(own[static_cast<std::size_t>(rank)] == 6 + 40 * rank);

          transport->all_gather(group, buffer_of(own))->wait();
          CHECK(own == std::vector<std::int64_t>{6, 46, 86, 126});
          transport->barrier();
        }) == "");
}

TEST_CASE(
    "groups that share ranks do not mix, and calls that are under way at once keep their order") {
  LoopbackHub hub(3, {});
  CHECK(first_failure(3, [&](int rank) {
          const auto transport = hub.transport(rank);
          std::vector<std::unique_ptr<Transfer>> transfers;
          std::vector<std::vector<double>> values(
              4, std::vector<double>{static_cast<double>(rank + 1)});
          values[1][0] *= 10;
          if (rank < 2) {
            const auto low = transport->form_group("low", {0, 1});
            transfers.push_back(transport->all_reduce(low, buffer_of(values[0])));
            transfers.push_back(transport->all_reduce(low, buffer_of(values[1])));
          }
          if (rank > 0) {
            const auto high = transport->form_group("high", {1, 2});
            transfers.push_back(transport->all_reduce(high, buffer_of(values[2])));
          }
          for (const auto& transfer : transfers) transfer->wait();
          if (rank < 2) CHECK(values[0][0] == 3);
          if (rank < 2) CHECK(values[1][0] == 30);
          if (rank > 0) CHECK(values[2][0] == 5);
        }) == "");
}

TEST_CASE("members that call different things are told which") {
  LoopbackHub hub(2, {});
  const auto first = hub.transport(0), second = hub.transport(1);
  const auto group = first->form_group("pair", {0, 1});
  CHECK(second->form_group("pair", {0, 1}) == group);
  std::vector<float> two(2), four(4), three(3);
  const auto begun = first->all_reduce(group, buffer_of(two));
  CHECK_THROWS_WITH_AS((void)second->all_gather(group, buffer_of(four)),
                       "group 'pair': rank 1 calls all_gather of 4 float32, rank 0 all_reduce of 2 "
                       "float32",
                       Error);
  CHECK_THROWS_AS((void)first->reduce_scatter(group, buffer_of(three)), Error);
  CHECK_THROWS_AS((void)second->form_group("pair", {1}), Error);
  CHECK_THROWS_AS((void)second->form_group("others", {0}), Error);
}

TEST_CASE("buffers on a GPU are refused unless an engine can copy them") {
  LoopbackHub hub(2, {});
  std::vector<float> values(1);
  Buffer buffer = buffer_of(values);
  buffer.on_device = true;
  CHECK_THROWS_AS((void)hub.transport(0)->send(1, 1, buffer), Error);
}

TEST_CASE("whoever waits for a rank that does nothing is told its number") {
  // 0 waits for 1, 1 for 2; 2 does nothing until the others have given up.
  LoopbackOptions options;
  options.time_out = milliseconds(300);
  LoopbackHub hub(3, options);
  std::vector<std::optional<int>> blamed(3);
  const auto thrown = on_ranks(3, [&](int rank) {
    const auto transport = hub.transport(rank);
    std::vector<float> values(1);
    if (rank == 2) return;
    // Rank 0 begins to wait when rank 1 is about to.
    const auto start = rank == 0 ? transport->receive(1, 4, buffer_of(values))
                                 : transport->send(0, 4, buffer_of(values));
    if (rank == 0) start->wait();
    try {
      transport->receive(rank + 1, 5, buffer_of(values))->wait();
    } catch (const TransportFailure& failure) {
      blamed[static_cast<std::size_t>(rank)] = failure.peer();
      throw;
    }
  });
  CHECK(blamed[0] == 2);
  CHECK(blamed[1] == 2);
  CHECK(thrown[0] ==
        "rank 0 waited 300 ms for a message from rank 1 (tag 5, 4 bytes); rank 1 did not come, and "
        "all wait for rank 2 in the end");
  CHECK(thrown[1] ==
        "rank 1 waited 300 ms for a message from rank 2 (tag 5, 4 bytes); rank 2 did not come");
}

TEST_CASE("a collective names the members that did not come") {
  LoopbackOptions options;
  options.time_out = milliseconds(300);
  LoopbackHub hub(4, options);
  const auto thrown = on_ranks(4, [&](int rank) {
    if (rank % 2 == 1) return;
    const auto transport = hub.transport(rank);
    std::vector<double> values(1);
    const auto group = transport->form_group("job", {0, 1, 2, 3});
    // Both come at about the same time.
    const auto two = transport->form_group("even", {0, 2});
    transport->all_reduce(two, buffer_of(values))->wait();
    transport->all_reduce(group, buffer_of(values))->wait();
  });
  const std::string why = " waited 300 ms for all_reduce of job; ranks 1, 3 did not come";
  CAPTURE(thrown[0]);
  CAPTURE(thrown[2]);
  CHECK(contains(thrown[0] + thrown[2], why));
}

TEST_CASE("abort ends every wait at once and says who gave up and why") {
  LoopbackHub hub(3, {});  // the time-out is minutes: the test would notice
  const auto begin = steady_now();
  const auto thrown = on_ranks(3, [&](int rank) {
    const auto transport = hub.transport(rank);
    std::vector<float> values(1);
    if (rank == 0) transport->receive(1, 1, buffer_of(values))->wait();
    if (rank == 1) transport->barrier();
    if (rank == 2) transport->abort("out of memory");
  });
  CHECK(thrown[0] == "rank 2 ended the run: out of memory");
  CHECK(thrown[1] == "rank 2 ended the run: out of memory");
  CHECK(steady_now() - begin < seconds(60));
  std::vector<float> values(1);
  CHECK_THROWS_AS((void)hub.transport(0)->send(1, 1, buffer_of(values)), TransportFailure);
}

// Ten milliseconds per message and 100 per element of a collective.
class SomeDelays : public LoopbackDelays {
 public:
  [[nodiscard]] Duration of_message(int /*from*/, int /*to*/, MessageTag /*tag*/,
                                    std::size_t /*bytes*/) const override {
    return milliseconds(10);
  }
  [[nodiscard]] Duration of_collective(const std::string& /*group*/, GroupCall /*kind*/,
                                       std::size_t bytes) const override {
    return milliseconds(100) * static_cast<int>(bytes / 4);
  }
};

TEST_CASE("delays count from the sending, and from the last member of a collective") {
  const SomeDelays delays;
  LoopbackOptions options;
  options.delays = &delays;
  LoopbackHub hub(2, options);
  std::vector<SteadyTime> received(2), reduced(2);
  SteadyTime sent_after, sent_before, came_after;
  CHECK(first_failure(2, [&](int rank) {
          const auto transport = hub.transport(rank);
          const auto r = static_cast<std::size_t>(rank);
          std::vector<float> value(1);
          if (rank == 0) sent_after = steady_now();
          const auto transfer = rank == 0 ? transport->send(1, 1, buffer_of(value))
                                          : transport->receive(0, 1, buffer_of(value));
          if (rank == 0) sent_before = steady_now();
          transfer->wait();
          received[r] = *transfer->ended();
          CHECK(steady_now() >= received[r]);
          const auto group = transport->form_group("pair", {0, 1});
          if (rank == 1) came_after = steady_now();
          const auto sum = transport->all_reduce(group, buffer_of(value));
          sum->wait();
          reduced[r] = *sum->ended();
          CHECK(steady_now() >= reduced[r]);
        }) == "");
  CHECK(received[0] == received[1]);
  CHECK(received[0] >= sent_after + milliseconds(10));
  CHECK(reduced[0] == reduced[1]);
  CHECK(reduced[0] >= came_after + milliseconds(100));
}

TEST_CASE("with delays the collectives of a rank run one after the other") {
  // Rank 0 calls "low" and then "high"; "high" could run at once, but "low" lacks rank 1 until rank
  // 2 has told it. So "high" ends 100 ms after "low", which took 100 ms.
  const SomeDelays delays;
  LoopbackOptions options;
  options.delays = &delays;
  LoopbackHub hub(3, options);
  std::vector<SteadyTime> low(3), high(3);
  CHECK(first_failure(3, [&](int rank) {
          const auto transport = hub.transport(rank);
          const auto r = static_cast<std::size_t>(rank);
          std::vector<float> a(1), b(1), go(1);
          std::unique_ptr<Transfer> of_low, of_high, told;
          if (rank == 1) transport->receive(2, 1, buffer_of(go))->wait();
          if (rank < 2) {
            of_low = transport->all_reduce(transport->form_group("low", {0, 1}), buffer_of(a));
          }
          if (rank != 1) {
            of_high = transport->all_reduce(transport->form_group("high", {0, 2}), buffer_of(b));
          }
          if (rank == 2) told = transport->send(1, 1, buffer_of(go));
          if (told) told->wait();
          if (of_low) of_low->wait();
          if (of_high) of_high->wait();
          if (of_low) low[r] = *of_low->ended();
          if (of_high) high[r] = *of_high->ended();
        }) == "");
  CHECK(low[0] == low[1]);
  CHECK(high[0] == high[2]);
  CHECK(high[0] == low[0] + milliseconds(100));
}

}  // namespace
}  // namespace penstock
