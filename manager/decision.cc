#include "manager/decision.h"

#include <array>
#include <limits>

#include "manager/state_json.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kSignals{"checkpoint", "checkpoint_and_exit", "kill"};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Writer {
  Json operator()(const StartRanks& act) const {
    Json json = Json::object();
    json.set("act", "start").set("generation", act.generation).set("page", act.page);
    json.set("ranks", json_of(act.ranks));
    json.set("checkpoint_every", act.checkpoint_every);
    return json.set("between_losses_ns", std::int64_t{act.between_losses.count()});
  }
  Json operator()(const SignalRanks& act) const {
    Json json = Json::object();
    json.set("act", "signal").set("generation", act.generation);
    json.set("signal", std::string(kSignals[static_cast<std::size_t>(act.signal)]));
    return json.set("machine", act.machine);
  }
  Json operator()(const ReleaseMachine& act) const {
    Json json = Json::object();
    return json.set("act", "release").set("machine", act.machine);
  }
};

ProcessSignal read_signal(const JsonReader& reader) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == reader.string()) return static_cast<ProcessSignal>(i);
  }
  reader.expected("\"checkpoint\", \"checkpoint_and_exit\" or \"kill\"");
}

StartRanks read_start(JsonReader& reader) {
  StartRanks start;
  start.generation = reader.at("generation").integer(0, kMost);
  start.page = static_cast<int>(reader.at("page").integer(0, 1 << 20));
  read_json(reader.at("ranks"), start.ranks);
  start.checkpoint_every = reader.at("checkpoint_every").integer(0, kMost);
  if (const auto apart = reader.get("between_losses_ns")) {
    start.between_losses = Duration{apart->integer(0, kMost)};
  }
  return start;
}

}  // namespace

Json write_act(const Act& act) { return std::visit(Writer{}, act); }

Act read_act(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const std::string kind = reader.at("act").string();
  Act act;
  if (kind == "start") {
    act = read_start(reader);
  } else if (kind == "signal") {
    act = SignalRanks{reader.at("generation").integer(0, kMost), read_signal(reader.at("signal")),
                      reader.at("machine").string()};
  } else if (kind == "release") {
    act = ReleaseMachine{reader.at("machine").string()};
  } else {
    reader.at("act").expected("\"start\", \"signal\" or \"release\"");
  }
  reader.finish();
  return act;
}

Json write_log_entry(const LogEntry& entry) {
  Json json = Json::object();
  json.set("at", to_text(entry.at)).set("generation", entry.generation);
  json.set("event", entry.event).set("decision", entry.decision);
  return json.set("reason", entry.reason);
}

}  // namespace penstock
