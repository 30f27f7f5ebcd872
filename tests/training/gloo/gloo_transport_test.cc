// Real processes (gloo_rank.cc) on one host. The launcher ends what does not end by itself, so no
// test waits longer than its limits.
#include "training/gloo/gloo_transport.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime_bridge/launcher.h"
#include "tests/core/messages.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Outcome {
  LaunchResult launch;
  std::vector<std::string> said;  // by rank
  Duration took{};
};

Outcome run(const std::string& scenario, int ranks, Duration limit, Duration grace) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("penstock_gloo_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  LaunchOptions options;
  options.ranks = ranks;
  options.grace = grace;
  options.to_end = seconds(1);
  options.serve = [] {
    std::shared_ptr<StoreServer> server = serve_store(0);
    const int port = server->port();
    return HostedStore{std::move(server), port};
  };
  const std::string in_ms = std::to_string(limit / milliseconds(1));
  options.start = start_program(PENSTOCK_GLOO_RANK, {scenario, in_ms, folder});
  const SteadyTime begin = steady_now();
  Outcome outcome;
  outcome.launch = launch(options);
  outcome.took = steady_now() - begin;
  for (int rank = 0; rank < ranks; ++rank) {
    std::stringstream text;
    text << std::ifstream(folder + "/" + std::to_string(rank)).rdbuf();
    outcome.said.push_back(text.str());
  }
  std::filesystem::remove_all(folder);
  return outcome;
}

const RankEnd& end_of(const Outcome& outcome, int rank) {
  return *std::ranges::find(outcome.launch.ends, rank, &RankEnd::rank);
}

void check_all_well(const Outcome& outcome) {
  for (const RankEnd& end : outcome.launch.ends) {
    CAPTURE(end.rank);
    CAPTURE(outcome.said[static_cast<std::size_t>(end.rank)]);
    CHECK(!end.failed());
  }
}

// Every survivor of `ranks` ended by itself and named the last rank.
void check_blamed_the_last(const Outcome& outcome, int ranks, const std::string& words) {
  const std::string last = "rank " + std::to_string(ranks - 1) + " (pid " +
                           std::to_string(end_of(outcome, ranks - 1).process) + ") " + words;
  for (int rank = 0; rank < ranks - 1; ++rank) {
    CAPTURE(rank);
    const std::string& said = outcome.said[static_cast<std::size_t>(rank)];
    CHECK(said.substr(0, last.size()) == last);
    CHECK(end_of(outcome, rank).exit_code == 1);
    CHECK(!end_of(outcome, rank).ended_by_us);
  }
}

TEST_CASE("messages find the receive of their tag, in any order") {
  check_all_well(run("messages", 2, seconds(20), seconds(5)));
  check_all_well(run("messages", 4, seconds(20), seconds(5)));
}

TEST_CASE("collectives of groups, for every type") {
  check_all_well(run("collectives", 3, seconds(20), seconds(5)));
}

TEST_CASE("Gloo's thread for events takes the processor from no thread that runs") {
  check_all_well(run("threads", 2, seconds(20), seconds(5)));
}

TEST_CASE("what cannot be moved is refused") {
  check_all_well(run("refusals", 2, seconds(20), seconds(5)));
}

TEST_CASE("when a rank is killed all others end at once, and name it") {
  const Outcome outcome = run("killed", 4, seconds(60), seconds(20));
  check_blamed_the_last(outcome, 4, "was lost in step 17: no heartbeat for ");
  CHECK(end_of(outcome, 3).signal == SIGKILL);
  CHECK(outcome.launch.first_failure() == end_of(outcome, 3));
  CHECK(outcome.took < seconds(30));  // half the time limit: nobody waited for that
}

TEST_CASE("a rank that only saw another stop names the one that was killed") {
  const Outcome outcome = run("killed_in_chain", 3, seconds(60), seconds(20));
  check_blamed_the_last(outcome, 3, "was lost in step 1");  // 17, the others may be one further
}

TEST_CASE("a rank that hangs is named when the time limit has passed") {
  const Outcome outcome = run("stopped", 3, seconds(4), seconds(5));
  check_blamed_the_last(outcome, 3, "was lost in step 17: no heartbeat for ");
  // It cannot end by itself.
  CHECK(end_of(outcome, 2).ended_by_us);
  CHECK(outcome.took < seconds(30));
}

TEST_CASE("the others say why a rank gave up") {
  const Outcome outcome = run("fails", 3, seconds(60), seconds(20));
  check_blamed_the_last(outcome, 3, "stopped in step 17: the data file is empty");
  CHECK(end_of(outcome, 2).exit_code == 2);
}

TEST_CASE("after abort() every rank ends") {
  const Outcome outcome = run("aborts", 3, seconds(60), seconds(20));
  CHECK(outcome.said[2].ends_with("(rank 2: enough)"));
  for (int rank = 0; rank < 3; ++rank) CHECK(end_of(outcome, rank).exit_code == 1);
  CHECK(outcome.took < seconds(30));
}

TEST_CASE("ranks that do not come are named") {
  const Outcome outcome = run("late", 3, seconds(2), seconds(20));
  const std::string expected = "rank 2 of 3 did not arrive at 127.0.0.1:";
  CHECK(outcome.said[0].substr(0, expected.size()) == expected);
  CHECK(outcome.said[1].substr(0, expected.size()) == expected);
}

TEST_CASE("a store that nobody serves, and one that is served already") {
  const auto server = serve_store(0);
  const int port = server->port();
  const std::string taken = tests::message_of([&] { (void)serve_store(port); });
  const std::string start = "the job's store cannot be served at 127.0.0.1:" + std::to_string(port);
  CHECK(taken.substr(0, start.size()) == start);

  auto client = connect_store({"127.0.0.1", port, "a"}, seconds(5));
  client->set("key", "value");
  CHECK(client->get("key") == "value");
  CHECK(client->get("other") == std::nullopt);
  CHECK(connect_store({"127.0.0.1", port, "b"}, seconds(5))->get("key") == std::nullopt);

  // The first of a job says which one it is; its later attempts are of the same.
  const auto refusal = [&](const std::string& prefix) {
    return tests::message_of([&] { (void)connect_store({"127.0.0.1", port, prefix}, seconds(5)); });
  };
  (void)connect_store({"127.0.0.1", port, "/a1b2/worker/attempt_0"}, seconds(5));
  (void)connect_store({"127.0.0.1", port, "/a1b2/worker/attempt_1"}, seconds(5));
  CHECK(refusal("/a1b3/worker/attempt_0").find("another PENSTOCK_JOB_TOKEN than this rank has") !=
        std::string::npos);
  CHECK(refusal("/worker/attempt_0").find("and this rank has none") != std::string::npos);

  // Who waits for a rank of another token is told.
  GlooOptions first, other;
  first.store = {"127.0.0.1", port, "/a1b2/worker/attempt_0"};
  first.ranks = other.ranks = 2;
  first.refusal_limit = milliseconds(50);
  other.store = {"127.0.0.1", port, "/other/worker/attempt_0"};
  other.rank = 1;
  CHECK(tests::message_of([&] {
          (void)make_gloo_transport(other);
        }).find("another PENSTOCK_JOB_TOKEN") != std::string::npos);
  const SteadyTime begin = steady_now();
  CHECK(tests::message_of([&] { (void)make_gloo_transport(first); })
            .starts_with("rank 1 of 2 came to 127.0.0.1:" + std::to_string(port) +
                         " with another PENSTOCK_JOB_TOKEN than this rank"));
  CHECK(steady_now() - begin < seconds(30));
  // A job of three ranks does not wait for one of two.
  first.ranks = 3;
  first.rendezvous_limit = seconds(2);
  CHECK(tests::message_of([&] {
          (void)make_gloo_transport(first);
        }).starts_with("ranks 1, 2 of 3 did not arrive"));

  GlooOptions options;
  options.store.port = 1;  // nobody serves there
  options.rendezvous_limit = seconds(1);
  const std::string nobody = tests::message_of([&] { (void)make_gloo_transport(options); });
  CHECK(nobody.starts_with("nobody serves the job's store at 127.0.0.1:1"));
}

}  // namespace
}  // namespace penstock
