// Writes the state of a job as Prometheus reads it (exposition format, version 0.0.4).
//
// Every family is written once, with HELP and TYPE in front of its samples, as the format asks.
// What is not known has no sample, never a 0, and every sample carries the label of the job.
#include "manager/port/metrics_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace penstock {
namespace {

// What is no number is spelt as Go reads it, without a sign.
std::string number(double value) {
  if (!std::isfinite(value)) return "NaN";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.12g", value);
  return text.data();
}

double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// In a label \, " and line breaks are escaped.
std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text += "=\"";
  for (const char one : value) {
    if (one == '\\' || one == '"') text += '\\';
    if (one == '\n') {
      text += "\\n";
    } else {
      text += one;
    }
  }
  return text + '"';
}

class Metrics {
 public:
  explicit Metrics(const std::string& job) : job_(label("job", job)) {}

  // A name, and then its samples.
  void family(const std::string& name, std::string_view type, std::string_view help) {
    name_ = "penstock_" + name;
    text_ += "# HELP " + name_ + " ";
    text_ += help;
    text_ += "\n# TYPE " + name_ + " ";
    text_ += type;
    text_ += "\n";
  }
  void sample(double value, const std::string& labels = "") {
    text_ +=
        name_ + "{" + job_ + (labels.empty() ? "" : "," + labels) + "} " + number(value) + "\n";
  }
  void gauge(const std::string& name, std::string_view help, double value) {
    family(name, "gauge", help);
    sample(value);
  }
  // Left out where it is not known: Prometheus then says so, instead of showing a zero.
  void gauge(const std::string& name, std::string_view help, std::optional<double> value) {
    if (value) gauge(name, help, *value);
  }
  void counter(const std::string& name, std::string_view help, double value) {
    family(name, "counter", help);
    sample(value);
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string job_, name_, text_;
};

std::optional<double> seconds_of(const std::optional<Duration>& time) {
  return time ? std::optional(in_seconds(*time)) : std::nullopt;
}

}  // namespace

std::string metrics_text(const JobStatus& status) {
  Metrics metrics(status.job);
  metrics.gauge("step", "Steps that are done.", static_cast<double>(status.step));
  metrics.gauge("steps", "Steps that the job is to do.", static_cast<double>(status.steps));
  metrics.gauge("loss", "Loss of the last step.", status.loss);
  metrics.gauge("step_seconds", "Time of the last step.", seconds_of(status.step_time));
  metrics.gauge("predicted_step_seconds", "Predicted time of a step of the running plan.",
                seconds_of(status.predicted_step));
  metrics.gauge("tokens_per_second", "Tokens of the last step over its time.", status.tokens_per_s);
  metrics.gauge("generation", "How often ranks were started.",
                static_cast<double>(status.generation));
  metrics.gauge("gpus_present", "GPUs of all machines.", static_cast<double>(status.gpus_present));
  metrics.gauge("gpus_used", "GPUs on which a rank runs.", static_cast<double>(status.gpus_used));
  metrics.gauge("checkpoint_step", "Steps that the newest checkpoint holds.",
                static_cast<double>(status.checkpoint_step));
  metrics.counter("restarts_total", "Starts of ranks after the first.",
                  static_cast<double>(status.restarts));
  metrics.counter("lost_steps_total", "Steps that had to be done again.",
                  static_cast<double>(status.lost_steps));
  metrics.family("phase", "gauge", "1 for the phase that the job is in.");
  metrics.sample(1.0, label("phase", status.phase));
  metrics.family("phase_seconds_total", "counter", "Time in each phase since the manager began.");
  for (const auto& [phase, time] : status.in_phase) {
    metrics.sample(in_seconds(time), label("phase", phase));
  }
  metrics.gauge("goodput_ratio",
                "Time of steps done for the first time over all time since the manager began.",
                status.goodput);
  metrics.family("machine_slow_factor", "gauge", "Time of a machine's ranks over what is usual.");
  for (const MachineStatus& machine : status.machines) {
    metrics.sample(machine.slow_factor, label("machine", machine.name));
  }
  return std::move(metrics).text();
}

}  // namespace penstock
