// "step: 10  loss:  8.2  grad_norm:  1.2  memory: 12.34GiB(15.45%)  tps: 1,234  tflops: 12.34  mfu:
// 5.67%", with colours and a prefix of the logger: one line for step 1 and one per log interval,
// tps the mean over it. Older versions write wps for tps and no tflops.
#include <optional>

#include "trainers/logs/log_lines.h"
#include "trainers/torchtitan/torchtitan.h"

namespace penstock {
namespace {

// The word behind "label:"; nothing without the label.
std::optional<std::string_view> value_after(std::string_view line, std::string_view label) {
  std::size_t at = 0;
  while ((at = line.find(label, at)) != std::string_view::npos) {
    // "step:" is in "global_step:", too.
    if (at == 0 || line[at - 1] == ' ') break;
    at += label.size();
  }
  if (at == std::string_view::npos) return {};
  const std::string_view rest = trimmed(line.substr(at + label.size()));
  return rest.substr(0, rest.find_first_of(" \t"));
}

bool has_twice(std::string_view line, std::string_view label) {
  return line.find(label) != line.rfind(label);
}

class TorchtitanReader {
 public:
  TorchtitanReader(const LogText& text, const std::string& file) : text_(text), file_(file) {}

  LogContents read() {
    for (const TextLine& line : text_.lines) {
      if (line.text.find("validate step:") != std::string::npos) continue;
      if (value_after(line.text, "step:") && value_after(line.text, "loss:")) {
        add_step(line);
      } else if (line.text.find("Training starts at step") != std::string::npos) {
        add_fact(kBatch, line, "global batch size");
        add_fact(kSequence, line, "sequence length");
      }
    }
    return std::move(log_);
  }

 private:
  void add_step(const TextLine& line) {
    const auto step_text = value_after(line.text, "step:");
    auto speed_text = value_after(line.text, "tps:");
    if (!speed_text) speed_text = value_after(line.text, "wps:");
    if (!speed_text || speed_text->empty() || has_twice(line.text, "step:")) {
      if (log_.broken++ == 0) log_.first_broken = line.number;
      return;
    }
    const auto step = whole_number(*step_text);
    if (!step || *step > kMostCounted) {
      bad_log_value(file_, line.number, "step", "a whole number from 0 to 10^9", *step_text);
    }
    const auto speed = real_number(*speed_text);
    if (!speed || *speed > 1e15) {
      bad_log_value(file_, line.number, "tps", "tokens per second and GPU", *speed_text);
    }
    add_memory(line);
    if (*speed == 0.0) {
      ++log_.idle;
      return;
    }
    LogLine found{.number = line.number, .rank = line.rank, .iteration = *step};
    found.tokens_per_s_per_gpu = *speed;
    found.loss = real_number(value_after(line.text, "loss:").value_or("")).value_or(0.0);
    found.gradient_norm =
        real_number(value_after(line.text, "grad_norm:").value_or("")).value_or(0.0);
    if (log_.started.empty()) log_.started = time_in(line.text);
    log_.lines.push_back(found);
  }

  // "12.34GiB(15.45%)". The prefix counts the ranks of a node, so it does not tell the job's.
  void add_memory(const TextLine& line) {
    constexpr double kMost = 1 << 20;  // 2^50 bytes
    const auto text = value_after(line.text, "memory:");
    if (!text) return;
    const std::size_t unit = text->find("GiB");
    const auto reserved = real_number(text->substr(0, unit));
    if (unit == std::string_view::npos || !reserved || *reserved > kMost) {
      bad_log_value(file_, line.number, "memory", "GiB, such as 12.34GiB(15.45%)", *text);
    }
    keep_memory(log_.memory, {.rank = -1,
                              .allocated = std::nullopt,
                              .reserved = {static_cast<std::int64_t>(*reserved * (1 << 30))}});
  }

  void add_fact(const char* what, const TextLine& line, std::string_view label) {
    const auto value = number_after(line.text, label);
    if (value) log_.facts[what] = {*value, line.number};
  }

  const LogText& text_;
  const std::string& file_;
  LogContents log_;
};

}  // namespace

LogContents read_torchtitan_log(const LogText& text, const std::string& file) {
  return TorchtitanReader(text, file).read();
}

}  // namespace penstock
