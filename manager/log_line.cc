#include "manager/log_line.h"

#include "manager/event.h"

namespace penstock {
namespace {

// Whether nobody learns more by it. What stands in brackets behind a notice was said when it came.
bool is_said(const LogEntry& entry) {
  const std::string event = entry.event.substr(0, entry.event.find(" ("));
  return event.empty() || event == words_of(TimePassed{}) ||
         entry.reason.find(event) != std::string::npos;
}

}  // namespace

std::string log_line(const LogEntry& entry) {
  constexpr std::size_t kDate = 11, kClock = 8;  // of "2026-11-28T13:58:30.731Z"
  std::string line = to_text(entry.at).substr(kDate, kClock) + ' ' + entry.decision + ": ";
  // The id of a command is 32 digits, for decisions.jsonl.
  if (!is_said(entry)) line += entry.event.substr(0, entry.event.find(" (id ")) + ". ";
  return line + entry.reason;
}

}  // namespace penstock
