#include "manager/port/command_message.h"

#include <algorithm>
#include <utility>

#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr const char* kFormat = "penstock.command/1";
constexpr const char* kSource = "command";
constexpr int kMostGpus = 1 << 20;
constexpr std::size_t kLongestId = 64;

bool names_machine(CommandKind kind) {
  return kind == CommandKind::kJoin || kind == CommandKind::kLeave || kind == CommandKind::kPreempt;
}

// Something that is compared, stored and shown.
std::string read_word(const JsonReader& reader, std::size_t most = 253) {
  std::string word = reader.string();
  if (!is_machine_name(word) || word.size() > most) {
    reader.expected("a word of at most " + std::to_string(most) + " letters, digits and . _ - :");
  }
  return word;
}

void read_command(JsonReader reader, CommandGiven& command) {
  const JsonReader name = reader.at("do");
  const auto kind = command_called(name.string());
  if (!kind) name.expected("join, leave, preempt, checkpoint, morph or stop");
  command.kind = *kind;
  if (names_machine(*kind)) command.machine = read_word(reader.at("machine"));
  if (kind == CommandKind::kJoin) {
    command.gpus = static_cast<int>(reader.at("gpus").integer(1, kMostGpus));
    if (const auto device = reader.get("device")) command.device = read_word(*device);
  }
  if (kind == CommandKind::kPreempt) {
    const JsonReader at = reader.at("at");
    command.at = parse_utc_time(at.string());
    if (!command.at) at.expected("a UTC time such as \"2026-11-24T01:25:43Z\"");
  }
  reader.finish();
}

}  // namespace

bool is_machine_name(std::string_view text) {
  const auto may_be_in = [](char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
           one == '.' || one == '_' || one == '-' || one == ':';
  };
  return !text.empty() && text.size() <= 253 && text.front() != '-' && text.front() != '.' &&
         std::ranges::all_of(text, may_be_in);
}

std::string command_words(const CommandGiven& command) {
  std::string words(name_of(command.kind));
  if (!command.machine.empty()) words += " " + command.machine;
  if (command.kind == CommandKind::kJoin) {
    words += " with " + std::to_string(command.gpus) + (command.gpus == 1 ? " GPU" : " GPUs");
    if (!command.device.empty()) words += " of type " + command.device;
  }
  if (command.at) words += " at " + to_text(*command.at);
  return words;
}

CommandMessage read_command_message(const std::string& text) {
  const Json json = parse_json(text, kSource);
  JsonReader reader(json, kSource);
  const JsonReader format = reader.at("format");
  if (format.string() != kFormat) format.expected(kFormat);
  CommandMessage message;
  message.job = reader.at("job").string();
  message.challenge = reader.at("challenge").string();
  message.command.id = read_word(reader.at("id"), kLongestId);
  message.command.who = read_word(reader.at("sender"));
  read_command(reader.at("command"), message.command);
  reader.finish();
  return message;
}

std::string write_command_message(const CommandMessage& message) {
  const CommandGiven& given = message.command;
  Json command = Json::object();
  command.set("do", std::string(name_of(given.kind)));
  if (names_machine(given.kind)) command.set("machine", given.machine);
  if (given.kind == CommandKind::kJoin) command.set("gpus", given.gpus);
  if (!given.device.empty()) command.set("device", given.device);
  if (given.kind == CommandKind::kPreempt && given.at) command.set("at", to_text(*given.at));
  Json json = Json::object();
  json.set("format", kFormat).set("job", message.job).set("sender", given.who);
  json.set("id", given.id);
  json.set("challenge", message.challenge).set("command", std::move(command));
  return to_text(json);
}

}  // namespace penstock
