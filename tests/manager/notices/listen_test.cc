#include "manager/notices/listen.h"

#include <doctest/doctest.h>

#include "tests/manager/notices/scripted_service.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

const UtcTime kNow = utc("2026-01-01T00:00:00Z");
const AskTime kClock = [] { return kNow; };

struct FakeCloud final : CloudNotices {
  NoticesRead ask(const AskTime& /*clock*/) override { return now; }
  [[nodiscard]] Duration pause() const override { return 1s; }
  bool approve(const CloudNotice& notice) override {
    approved.push_back(notice.id);
    return true;
  }
  NoticesRead now;
  Lines approved;
};

struct FakeManager final : NoticeReceiver {
  SentCommand tell(const CommandGiven& command) override {
    ids.push_back(command.id);
    commands.push_back(command);
    return answer;
  }
  bool has_left(const std::vector<std::string>& /*machines*/) override { return left; }
  SentCommand answer{true, true, "leaves"};
  bool left = false;
  Lines ids;
  std::vector<CommandGiven> commands;
};

struct Scene {
  explicit Scene(const std::string& cloud_name = "vm1")
      : listener(cloud, manager, "node1", cloud_name) {}
  FakeCloud cloud;
  FakeManager manager;
  NoticeListener listener;
  Lines listen() { return listener.listen_once(kClock); }
};

CloudNotice loss(std::vector<std::string> machines = {}) {
  return {CloudNoticeKind::kLoss, kNow + 30s, "azure/1", "Azure announces", std::move(machines)};
}

TEST_CASE("a notice is told once, however often it is heard") {
  Scene scene;
  scene.cloud.now.notices = {loss()};
  CHECK(scene.listen() == Lines{"Azure announces", "the manager: leaves"});
  CHECK(scene.listen().empty());
  REQUIRE(scene.manager.commands.size() == 1);
  CHECK(command_words(scene.manager.commands[0]) == "preempt node1 at 2026-01-01T00:00:30.000Z");
  CHECK(scene.manager.commands[0].who == "node1");
}

TEST_CASE("a manager that does not answer is told again under the same id") {
  Scene scene;
  scene.cloud.now.notices = {loss()};
  scene.manager.answer = {false, false, "Connection refused"};
  CHECK(scene.listen().size() == 2);
  CHECK(scene.listen().empty());  // the same trouble is said once
  scene.manager.answer = {true, true, "leaves"};
  CHECK(scene.listen() == Lines{"the manager: leaves"});
  CHECK(scene.manager.ids == Lines(3, scene.manager.ids[0]));
  // Another listener, after this one was killed, makes the same id.
  Scene next;
  next.cloud.now.notices = {loss()};
  (void)next.listen();
  CHECK(next.manager.ids[0] == scene.manager.ids[0]);
}

TEST_CASE("a risk asks for a checkpoint, and another machine's notice for nothing") {
  Scene scene;
  scene.cloud.now.notices = {loss({"vm2", "vm3"})};
  CHECK(scene.listen().empty());
  CloudNotice risk = loss();
  risk.kind = CloudNoticeKind::kRisk;
  scene.cloud.now.notices = {risk};
  (void)scene.listen();
  REQUIRE(scene.manager.commands.size() == 1);
  CHECK(scene.manager.commands[0].kind == CommandKind::kCheckpoint);
}

TEST_CASE("an event is approved once, by its first machine, when the job has left all of them") {
  Scene first("vm1");
  Scene second("vm2");
  for (Scene* scene : {&first, &second}) {
    scene->cloud.now.notices = {loss({"vm2", "vm1"})};
    (void)scene->listen();
    CHECK(scene->cloud.approved.empty());
    scene->manager.left = true;
    (void)scene->listen();
    (void)scene->listen();
  }
  CHECK(first.cloud.approved == Lines{"azure/1"});
  CHECK(second.cloud.approved.empty());
}

TEST_CASE("a notice that has vanished is forgotten, but not because of trouble") {
  Scene scene;
  scene.cloud.now.notices = {loss()};
  (void)scene.listen();
  scene.cloud.now = {{}, "answered 500"};
  CHECK(scene.listen() == Lines{"answered 500"});
  scene.cloud.now = {{loss()}, ""};
  CHECK(scene.listen().empty());
  scene.cloud.now = {};
  CHECK(scene.listen() == Lines{"no longer announced: preempt node1 at 2026-01-01T00:00:30.000Z"});
}

}  // namespace
}  // namespace penstock
