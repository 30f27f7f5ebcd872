#include "manager/event.h"

#include <array>

#include "report/words.h"

namespace penstock {
namespace {

struct NamedKind {
  CommandKind kind;
  std::string_view name;
};
constexpr std::array kCommands{
    NamedKind{CommandKind::kJoin, "join"},       NamedKind{CommandKind::kLeave, "leave"},
    NamedKind{CommandKind::kPreempt, "preempt"}, NamedKind{CommandKind::kCheckpoint, "checkpoint"},
    NamedKind{CommandKind::kMorph, "morph"},     NamedKind{CommandKind::kStop, "stop"}};

std::string gpus_text(int gpus) { return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"); }

struct Words {
  std::string operator()(const TimePassed&) const { return "time passed"; }
  std::string operator()(const MachineJoined& e) const {
    return "machine " + e.machine + " joined with " + gpus_text(e.gpus) +
           (e.device.empty() ? "" : " of type " + e.device);
  }
  std::string operator()(const MachineLeaves& e) const {
    return "machine " + e.machine + " will be gone by " + to_text(e.gone_by) +
           (e.notice.empty() ? "" : " (" + e.notice + ")");
  }
  std::string operator()(const NoticeWithdrawn& e) const {
    return "the notice for machine " + e.machine + " was withdrawn";
  }
  std::string operator()(const MachineLost& e) const {
    return "machine " + e.machine + " was lost" + (e.reason.empty() ? "" : " (" + e.reason + ")");
  }
  std::string operator()(const MachineSlow& e) const {
    if (e.factor <= 1.0) return "machine " + e.machine + " is no longer slow";
    return "machine " + e.machine + " takes " + fixed(e.factor, 2) + " times as long";
  }
  std::string operator()(const SlowAdvised& e) const {
    return "a simulation with the slow machines: " + to_text(e.kept) + " a step as it runs" +
           (e.other ? ", " + to_text(e.other->step) + " with " + e.what : "");
  }
  std::string operator()(const PlanFound& e) const {
    return "a search found a plan for " + gpus_text(e.page) + ", " + to_text(e.page.step) +
           " a step";
  }
  std::string operator()(const RanksReady& e) const {
    return "the ranks of generation " + std::to_string(e.generation) + " are connected";
  }
  std::string operator()(const RankEnded& e) const {
    const std::string who =
        "rank " + std::to_string(e.rank) + " of generation " + std::to_string(e.generation);
    if (e.code) return who + " ended with exit code " + std::to_string(*e.code);
    if (e.signal != 0) return who + " was ended by signal " + std::to_string(e.signal);
    return who + " has ended, nobody saw how";
  }
  std::string operator()(const StepFinished& e) const {
    return "step " + std::to_string(e.step) + " was finished in " + to_text(e.time);
  }
  std::string operator()(const CheckpointWritten& e) const {
    return "a checkpoint of step " + std::to_string(e.step) + " was written";
  }
  std::string operator()(const CommandGiven& e) const {
    // A signal has no id but its name and time.
    const std::string id = e.id.starts_with(e.who) ? "" : " (id " + e.id + ")";
    return "command of " + e.who + ": " + std::string(name_of(e.kind)) +
           (e.machine.empty() ? "" : " " + e.machine) + id;
  }
};

}  // namespace

std::string_view name_of(CommandKind kind) {
  for (const NamedKind& each : kCommands) {
    if (each.kind == kind) return each.name;
  }
  return "";
}

std::optional<CommandKind> command_called(std::string_view name) {
  for (const NamedKind& each : kCommands) {
    if (each.name == name) return each.kind;
  }
  return std::nullopt;
}

std::string words_of(const Event& event) { return std::visit(Words{}, event); }

}  // namespace penstock
