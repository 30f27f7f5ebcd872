#include "manager/port/port_events.h"

#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "manager/port/http_client.h"
#include "manager/port/open_port.h"
#include "manager/port/send_command.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

const PortKey kKey(std::string(32, 'k'));

struct Scene {
  UtcTime now{1000s};
  PortEvents port{{}, kKey, {"gpt", 300, false, {}, {}}, [this] { return now; }};
  ManagerLine line{http_exchange({"127.0.0.1", port.port()}), kKey, "gpt"};

  JobStatus status() {
    std::string trouble;
    const auto text = line.status(trouble);
    REQUIRE(text);
    return read_job_status(parse_json(*text, "s"), "s");
  }
};

JobState running() {
  JobState state;
  state.job = "gpt";
  state.phase = JobPhase::kRunning;
  state.last_step = 5;
  return state;
}

TEST_CASE("a command is an event, and its sender gets what was decided") {
  Scene scene;
  scene.port.begin(running());
  SentCommand sent;
  std::jthread sender([&] {
    sent = scene.line.send({"id1", CommandKind::kLeave, "test", "a", 1, {}});
  });
  std::vector<Event> events;
  while (events.empty()) events = scene.port.poll();
  REQUIRE(events.size() == 1);
  CHECK(std::get<CommandGiven>(events[0]).machine == "a");
  JobDecision decision;
  decision.next = running();
  decision.answer = CommandAnswer{"id1", true, "it leaves"};
  scene.port.decided(TimePassed{}, decision);  // another event's decision is not the answer
  scene.port.decided(events[0], decision);
  sender.join();
  CHECK(sent == SentCommand{true, true, "it leaves"});
}

TEST_CASE("time counts by phase, and a step that is done again is not productive") {
  Scene scene;
  scene.port.begin(running());
  JobDecision decision;
  decision.next = running();
  const auto finish = [&](std::int64_t step) {
    scene.now += 10s;
    decision.next.last_step = step;
    scene.port.decided(StepFinished{1, step, 1.0, 8s}, decision);
  };
  finish(6);
  finish(7);
  finish(6);  // from a checkpoint
  finish(7);
  finish(8);
  decision.next.phase = JobPhase::kStopping;
  decision.log = {{scene.now, 1, "event", "stop", "Because."}};
  scene.port.decided(TimePassed{}, decision);
  scene.now += 10s;
  decision.log.clear();
  scene.port.decided(TimePassed{}, decision);
  const JobStatus status = scene.status();
  CHECK(status.in_phase.at("running") == 50s);
  CHECK(status.in_phase.at("stopping") == 10s);
  CHECK(status.goodput == 0.4);  // 3 steps of 8 s in 60 s
  CHECK(status.step == 8);
  REQUIRE(status.decisions.size() == 1);
  CHECK(status.decisions[0].reason == "Because.");
}

TEST_CASE("a port that others can reach wants a key file that was named") {
  JobFile job;
  job.name = "gpt";
  job.address = "0.0.0.0:0";
  CHECK_THROWS_WITH((void)open_port(job, PlanBook{}, [] { return UtcTime{}; }),
                    doctest::Contains("token_file"));
  job.address = "";
  CHECK(open_port(job, PlanBook{}, [] { return UtcTime{}; }) == nullptr);
}

}  // namespace
}  // namespace penstock
