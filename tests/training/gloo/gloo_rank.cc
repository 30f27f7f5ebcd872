// One rank of gloo_transport_test: does as its first argument says and leaves what went wrong in
// FOLDER/RANK. Its exit code is 0 when all was as it should be, 1 after a TransportFailure.
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "runtime_bridge/heartbeat.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/launcher.h"
#include "training/gloo/gloo_transport.h"

namespace penstock {
namespace {

using Bits = std::uint16_t;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

template <class Number>
Buffer buffer_of(std::vector<Number>& numbers, ElementType type) {
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(numbers.data());
  buffer.elements = numbers.size();
  buffer.type = type;
  return buffer;
}

// Tags are received in another order than they were sent in, from and to every rank, at once.
void exchange_messages(Transport& transport) {
  constexpr std::array<MessageTag, 3> kSent{5, 6, 7}, kReceived{7, 5, 6};
  const int ranks = transport.size(), rank = transport.rank();
  std::vector<std::unique_ptr<Transfer>> transfers;
  std::vector<std::vector<std::int64_t>> out, in;
  out.reserve(100);
  in.reserve(100);
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    for (const MessageTag tag : kSent) {
      out.emplace_back(20000, rank * 100 + static_cast<int>(tag));
      transfers.push_back(transport.send(peer, tag, buffer_of(out.back(), ElementType::kInt64)));
    }
    for (const MessageTag tag : kReceived) {
      in.emplace_back(20000, -1);
      transfers.push_back(transport.receive(peer, tag, buffer_of(in.back(), ElementType::kInt64)));
    }
  }
  for (auto transfer = transfers.rbegin(); transfer != transfers.rend(); ++transfer) {
    (*transfer)->wait();
    require((*transfer)->done(), "what was waited for is done");
    require((*transfer)->ended().has_value(), "its end is known");
  }
  std::size_t next = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    for (const MessageTag tag : kReceived) {
      const std::int64_t expected = peer * 100 + static_cast<int>(tag);
      require(in[next] == std::vector<std::int64_t>(20000, expected), "a message was mixed up");
      ++next;
    }
  }
}

// Six elements, all `one` times the rank's number; `sum` is what `members` make of them.
template <class Number>
void reduce(Transport& transport, CommunicatorId group, ElementType type, Number own, Number sum,
            int position, int members) {
  std::vector<Number> numbers(6, own);
  transport.all_reduce(group, buffer_of(numbers, type))->wait();
  const std::string name(name_of(type));
  require(numbers == std::vector<Number>(6, sum), "all_reduce of " + name);
  numbers.assign(6, own);
  transport.reduce_scatter(group, buffer_of(numbers, type))->wait();
  for (int i = position * 6 / members; i < (position + 1) * 6 / members; ++i) {
    require(numbers[static_cast<std::size_t>(i)] == sum, "reduce_scatter of " + name);
  }
}

template <class Number>
void gather(Transport& transport, CommunicatorId group, ElementType type,
            const std::vector<Number>& of_members, int position) {
  const std::size_t part = 6 / of_members.size();
  std::vector<Number> numbers(6, Number{}), expected;
  for (const Number number : of_members) expected.insert(expected.end(), part, number);
  for (std::size_t i = 0; i < part; ++i) {
    const std::size_t at = static_cast<std::size_t>(position) * part + i;
    numbers[at] = expected[at];
  }
  transport.all_gather(group, buffer_of(numbers, type))->wait();
  require(numbers == expected, "all_gather of " + std::string(name_of(type)));
}

// Three ranks hold 1, 2 and 3. The same numbers as bfloat16 and float16.
constexpr std::array<Bits, 7> kBFloat16{0, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0};
constexpr std::array<Bits, 7> kFloat16{0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};

// `numbers` are those of the members; their sum is at most 6.
void use_group(Transport& transport, CommunicatorId group, const std::vector<int>& numbers,
               int position) {
  const int own = numbers[static_cast<std::size_t>(position)];
  int sum = 0;
  for (const int number : numbers) sum += number;
  const int members = static_cast<int>(numbers.size());
  const auto at = [](const auto& table, int i) { return table[static_cast<std::size_t>(i)]; };
  reduce<float>(transport, group, ElementType::kFloat32, static_cast<float>(own),
                static_cast<float>(sum), position, members);
  reduce<double>(transport, group, ElementType::kFloat64, own, sum, position, members);
  reduce<std::int64_t>(transport, group, ElementType::kInt64, own, sum, position, members);
  reduce<Bits>(transport, group, ElementType::kBFloat16, at(kBFloat16, own), at(kBFloat16, sum),
               position, members);
  reduce<Bits>(transport, group, ElementType::kFloat16, at(kFloat16, own), at(kFloat16, sum),
               position, members);
  gather<std::uint8_t>(transport, group, ElementType::kByte, {numbers.begin(), numbers.end()},
                       position);
  gather<double>(transport, group, ElementType::kFloat64, {numbers.begin(), numbers.end()},
                 position);
  gather<Bits>(transport, group, ElementType::kBFloat16, {numbers.begin(), numbers.end()},
               position);
}

// Several collectives of a group under way at once; they run in order.
void use_group_ahead(Transport& transport, CommunicatorId group) {
  std::vector<std::vector<float>> numbers(8, std::vector<float>(100000, 1.0F));
  std::vector<std::unique_ptr<Transfer>> transfers;
  transfers.reserve(numbers.size());
  for (auto& some : numbers) {
    transfers.push_back(transport.all_reduce(group, buffer_of(some, ElementType::kFloat32)));
  }
  while (!transfers.back()->done()) usleep(100);
  for (const auto& transfer : transfers) require(transfer->done(), "collectives out of order");
  require(numbers[0] == std::vector<float>(100000, 3.0F), "a sum of ones");
}

void use_collectives(Transport& transport) {
  const int rank = transport.rank();
  const CommunicatorId all = transport.form_group("all", {0, 1, 2});
  use_group(transport, all, {1, 2, 3}, rank);
  use_group_ahead(transport, all);
  use_group(transport, transport.form_group("all", {0, 1, 2}), {1, 2, 3}, rank);  // once more
  use_group(transport, transport.form_group("job", {0, 1, 2}), {1, 2, 3}, rank);
  if (rank != 1) {
    // Of the same name as the group before, and another one all the same.
    const CommunicatorId outer = transport.form_group("all", {0, 2});
    use_group(transport, outer, {1, 3}, rank / 2);
  }
  const CommunicatorId alone = transport.form_group("alone" + std::to_string(rank), {rank});
  use_group(transport, alone, {rank + 1}, 0);
  transport.barrier();
}

void refuse(Transport& transport) {
  std::vector<float> numbers(5);
  const CommunicatorId all = transport.form_group("all", {0, 1});
  const auto refuses = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kInternal;
    }
    return false;
  };
  Buffer buffer = buffer_of(numbers, ElementType::kFloat32);
  require(refuses([&] { (void)transport.all_gather(all, buffer); }), "five elements in two parts");
  require(refuses([&] { (void)transport.send(transport.rank(), 1, buffer); }),
          "a letter to itself");
  require(refuses([&] { (void)transport.send(2, 1, buffer); }), "a rank that is not there");
  buffer.on_device = true;
  require(refuses([&] { (void)transport.all_reduce(all, buffer); }), "memory on a GPU");
  transport.barrier();
}

// Steps of messages along a chain of ranks and, with `reducing`, a sum over all. In step 17 the
// last rank does `last_does`.
template <class Deed>
void run_steps(Transport& transport, Heartbeat& heartbeat, bool reducing, const Deed& last_does) {
  const int rank = transport.rank(), last = transport.size() - 1;
  std::vector<int> members;
  for (int i = 0; i <= last; ++i) members.push_back(i);
  const CommunicatorId all = transport.form_group("all", members);
  std::vector<float> from(1000), to(1000), sum(1000);
  for (int step = 0; step < 1000; ++step) {
    heartbeat.at(step, 0);
    if (rank == last && step == 17) last_does();
    std::vector<std::unique_ptr<Transfer>> transfers;
    if (rank < last) {
      transfers.push_back(transport.send(rank + 1, 1, buffer_of(to, ElementType::kFloat32)));
    }
    if (rank > 0) {
      transfers.push_back(transport.receive(rank - 1, 1, buffer_of(from, ElementType::kFloat32)));
    }
    for (const auto& transfer : transfers) transfer->wait();
    heartbeat.at(step, 1);
    if (reducing) transport.all_reduce(all, buffer_of(sum, ElementType::kFloat32))->wait();
  }
}

// Gloo's thread for events, and no other, leaves the processor to those that hold a connection.
void see_threads(Transport& transport) {
  int batch = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const int policy = sched_getscheduler(std::stoi(thread.path().filename()));
    require(policy == SCHED_OTHER || policy == SCHED_BATCH, "a thread of a policy of its own");
    if (policy == SCHED_BATCH) ++batch;
  }
  require(batch == 1, std::to_string(batch) + " batch threads");
  require(sched_getscheduler(0) == SCHED_OTHER, "the rank's own thread is one of them");
  transport.barrier();
}

struct Job {
  std::string scenario;
  LaunchEnvironment place;
  Duration limit{};
};

void run_scenario(const Job& job, Transport& transport, Heartbeat& heartbeat) {
  const std::string& name = job.scenario;
  const bool reducing = name != "killed_in_chain";
  if (name == "messages") return exchange_messages(transport);
  if (name == "collectives") return use_collectives(transport);
  if (name == "refusals") return refuse(transport);
  if (name == "threads") return see_threads(transport);
  if (name.starts_with("killed")) {
    return run_steps(transport, heartbeat, reducing, [] { std::raise(SIGKILL); });
  }
  if (name == "stopped") {
    return run_steps(transport, heartbeat, reducing, [] { std::raise(SIGSTOP); });
  }
  if (name == "fails") {
    return run_steps(transport, heartbeat, reducing,
                     [] { throw std::runtime_error("the data file is empty"); });
  }
  if (name == "aborts") {
    return run_steps(transport, heartbeat, reducing, [&] { transport.abort("enough"); });
  }
  throw std::logic_error("no scenario " + name);
}

void join_and_run(const Job& job) {
  GlooOptions options;
  options.rank = job.place.rank;
  options.ranks = job.place.ranks;
  options.store = {job.place.host, job.place.port, job.place.key_prefix};
  options.limit = options.rendezvous_limit = job.limit;
  if (job.scenario == "late" && options.rank == 2) return;
  const auto transport = make_gloo_transport(options);
  HeartbeatOptions heart;
  heart.rank = options.rank;
  heart.ranks = options.ranks;
  heart.process = "pid " + std::to_string(getpid());
  heart.interval = std::chrono::milliseconds(100);
  heart.silence = std::chrono::milliseconds(1500);
  Heartbeat heartbeat(heart, connect_store(options.store, job.limit));
  run_watched(heartbeat, [&] { run_scenario(job, *transport, heartbeat); });
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    environment[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  return environment;
}

// Arguments: scenario, limit in milliseconds, folder.
int run(const std::vector<std::string>& words) {
  const Environment environment = own_environment();
  end_with_launcher(environment);
  const Job job{words[1], *read_launch_environment(environment),
                std::chrono::milliseconds(std::stoi(words[2]))};
  std::ofstream file(words[3] + "/" + std::to_string(job.place.rank));
  try {
    join_and_run(job);
    return 0;
  } catch (const TransportFailure& failure) {
    file << failure.what();
    return 1;
  } catch (const std::exception& error) {
    file << error.what();
    return 2;
  }
}

}  // namespace
}  // namespace penstock

int main(int count, char** words) { return penstock::run({words, words + count}); }
