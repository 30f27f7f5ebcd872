#include "manager/port/status_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "manager/log_line.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string in_seconds(Duration time) {
  return rounded(std::chrono::round<std::chrono::milliseconds>(time));
}

std::string headline(const JobStatus& status) {
  std::string text = status.job + ": " + status.phase;
  if (!status.why.empty()) text += " (" + status.why + ")";
  text += ", step " + with_commas(status.step) + " of " + with_commas(status.steps);
  if (status.loss) {
    text += std::isfinite(*status.loss) ? ", loss " + fixed(*status.loss, 4)
                                        : std::string(", the loss is no longer a finite number");
  }
  return text;
}

std::string speed_line(const JobStatus& status) {
  if (!status.step_time) return "";
  std::string text = "Last step: " + to_text(*status.step_time);
  if (status.predicted_step && *status.predicted_step > Duration{}) {
    const double ratio = static_cast<double>(status.step_time->count()) /
                         static_cast<double>(status.predicted_step->count());
    text += ", predicted " + to_text(*status.predicted_step) + " (" + (ratio >= 1.0 ? "+" : "-") +
            fixed(100.0 * std::abs(ratio - 1.0), 0) + " %)";
  }
  if (status.tokens_per_s) text += "; " + rate(*status.tokens_per_s) + " tokens/s";
  return text;
}

std::string next_step_line(const JobStatus& status, UtcTime now) {
  if (!status.next_step_at) return "";
  if (*status.next_step_at <= now) {
    return "The next step was expected " + in_seconds(now - *status.next_step_at) + " ago.";
  }
  return "The next step is expected in " + in_seconds(*status.next_step_at - now) + ".";
}

std::string losses_line(const JobStatus& status, UtcTime now) {
  std::string text = "Newest checkpoint: step " + with_commas(status.checkpoint_step);
  if (status.checkpoint_at) text += ", " + in_seconds(now - *status.checkpoint_at) + " old";
  text += ". " + count_of(status.restarts, "restart") + ", " +
          count_of(status.lost_steps, "lost step") + ".";
  return text;
}

std::string time_line(const JobStatus& status) {
  if (status.in_phase.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [phase, time] : status.in_phase) parts.push_back(phase + " " + in_seconds(time));
  std::string text = "Since the manager began: " + joined(parts, ", ");
  if (status.goodput) text += "; " + percent(*status.goodput) + " of it in steps that count";
  return text;
}

std::string machines_table(const JobStatus& status, std::size_t width) {
  const bool has_types = std::ranges::any_of(
      status.machines, [](const MachineStatus& machine) { return !machine.device.empty(); });
  std::vector<Column> columns{left_column("machine"), right_column("GPUs")};
  if (has_types) columns.push_back(left_column("type"));
  for (const char* header : {"ranks", "state", "gone by"}) columns.push_back(left_column(header));
  TextTable table(std::move(columns));
  for (const MachineStatus& machine : status.machines) {
    const std::string slow =
        machine.slow_factor > 1.0 ? ", " + fixed(machine.slow_factor, 2) + " times as long" : "";
    std::vector<std::string> cells{machine.name, std::to_string(machine.gpus)};
    if (has_types) cells.push_back(machine.device);
    cells.insert(cells.end(), {ranges(machine.ranks), machine.condition + slow,
                               machine.gone_by ? to_text(*machine.gone_by) : ""});
    table.add(std::move(cells));
  }
  return table.text(width);
}

}  // namespace

std::string status_text(const JobStatus& status, UtcTime now, Screen screen) {
  const std::size_t width = screen.width();
  std::vector<std::string> lines = {headline(status)};
  if (!status.plan.empty()) {
    lines.push_back("Plan of generation " + std::to_string(status.generation) + ": " + status.plan);
  }
  lines.push_back(std::to_string(status.gpus_used) + " of " + count_of(status.gpus_present, "GPU") +
                  " in use");
  lines.push_back(speed_line(status));
  lines.push_back(next_step_line(status, now));
  lines.push_back(losses_line(status, now));
  lines.push_back(time_line(status));
  std::erase(lines, "");
  std::string text = wrapped(lines, width, "", "  ");
  if (!status.machines.empty()) text += "\n" + machines_table(status, width);
  if (!status.decisions.empty()) text += "\nLast decisions\n";
  for (const LogEntry& entry : status.decisions) {
    text += wrapped(log_line(entry), width, "  ", "           ");
  }
  return text;
}

}  // namespace penstock
