// " [2024-05-01 12:00:00] iteration       10/     100 | consumed samples: 1280 | elapsed time per
// iteration (ms): 1234.5 | ... | global batch size: 128 | ... | number of skipped iterations: 0 |":
// one line per log interval, the time its mean. Older versions have no date and other names for the
// speed, which is not read; Megatron-DeepSpeed has seconds in some.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "trainers/logs/log_lines.h"
#include "trainers/megatron/megatron.h"

namespace penstock {
namespace {

constexpr std::string_view kMilliseconds = "elapsed time per iteration (ms)";
constexpr std::string_view kSeconds = "elapsed time per iteration (s)";

using Field = std::pair<std::string_view, std::string_view>;  // name, value

// Those that a '|' ends: what follows the last one may be cut off.
std::vector<Field> fields_of(std::string_view line) {
  std::vector<Field> fields;
  for (std::size_t end = line.find('|'); end != std::string_view::npos; end = line.find('|')) {
    const std::string_view field = trimmed(line.substr(0, end));
    line.remove_prefix(end + 1);
    const std::size_t colon = field.find(':');
    if (fields.empty() || colon == std::string_view::npos) {
      fields.emplace_back(field, "");
    } else {
      fields.emplace_back(trimmed(field.substr(0, colon)), trimmed(field.substr(colon + 1)));
    }
  }
  return fields;
}

std::string_view value_of(const std::vector<Field>& fields, std::string_view name) {
  for (const Field& field : fields) {
    if (field.first == name) return field.second;
  }
  return {};
}

// Of "[2024-05-01 12:00:00] iteration       10/     100".
std::optional<std::int64_t> iteration_of(std::string_view head) {
  constexpr std::string_view kWord = "iteration ";
  const std::size_t at = head.rfind(kWord);
  const std::size_t slash = head.find('/', at == std::string_view::npos ? 0 : at);
  if (at == std::string_view::npos || slash == std::string_view::npos) return {};
  return whole_number(trimmed(head.substr(at + kWord.size(), slash - at - kWord.size())));
}

bool begins_as_number(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

class MegatronReader {
 public:
  MegatronReader(const LogText& text, const std::string& file) : text_(text), file_(file) {}

  LogContents read() {
    for (const TextLine& line : text_.lines) {
      if (line.text.find("elapsed time per iteration (") != std::string::npos) {
        add_step(line);
      } else if (line.text.find("memory (MB) |") != std::string::npos) {
        add_memory(line);
      } else {
        add_facts(line);
      }
    }
    return std::move(log_);
  }

 private:
  void add_step(const TextLine& line) {
    const std::vector<Field> fields = fields_of(line.text);
    LogLine step{.number = line.number, .rank = line.rank};
    const auto iteration = fields.empty() ? std::nullopt : iteration_of(fields.front().first);
    if (!iteration || *iteration > kMostCounted || !set_time(fields, step)) {
      if (log_.broken++ == 0) log_.first_broken = line.number;
      return;
    }
    step.iteration = *iteration;
    step.batch = count_in(fields, "global batch size", line.number);
    step.skipped = count_in(fields, "number of skipped iterations", line.number);
    step.not_a_number = count_in(fields, "number of nan iterations", line.number);
    step.loss = real_number(value_of(fields, "lm loss")).value_or(0.0);
    step.gradient_norm = real_number(value_of(fields, "grad norm")).value_or(0.0);
    if (log_.started.empty()) log_.started = time_in(fields.front().first);
    log_.lines.push_back(step);
  }

  // False where another line was written into the middle of this one, or its end is missing.
  bool set_time(const std::vector<Field>& fields, LogLine& step) const {
    for (const auto& [name, unit] : {std::pair{kMilliseconds, TimeUnit::kMilliseconds},
                                     std::pair{kSeconds, TimeUnit::kSeconds}}) {
      const std::string_view value = value_of(fields, name);
      if (value.empty()) continue;
      const std::optional<Duration> time = parse_decimal_duration(value, unit);
      if (time && *time > Duration{}) {
        step.step_time = *time;
        return true;
      }
      if (!time && begins_as_number(value) && value.find(' ') != std::string_view::npos) {
        return false;
      }
      bad_log_value(file_, step.number, name, "a time > 0", value);
    }
    return false;
  }

  // 0 where there is no such field.
  std::int64_t count_in(const std::vector<Field>& fields, std::string_view name, int line) const {
    const std::string_view value = value_of(fields, name);
    if (value.empty()) return 0;
    const std::optional<std::int64_t> count = whole_number(value);
    if (!count || *count > kMostCounted) {
      bad_log_value(file_, line, name, "a whole number from 0 to 10^9", value);
    }
    return *count;
  }

  // "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.5 | max allocated: 2.5 |
  // reserved: 3.0 | max reserved: 3.5": MB of 2^20 bytes.
  void add_memory(const TextLine& line) {
    const auto rank = number_after(line.text, "[Rank ");
    // Nothing but a '|' tells whether the last number is whole, and here it has none.
    const std::string whole = line.text + '|';
    const std::vector<Field> fields = fields_of(whole);
    const auto allocated = real_number(value_of(fields, "max allocated"));
    const auto reserved = real_number(value_of(fields, "max reserved"));
    constexpr double kMost = 1e9;  // 2^50 bytes
    if (!rank || *rank >= (1 << 20) || !allocated || !reserved || *allocated > kMost ||
        *reserved > kMost) {
      return;
    }
    const auto bytes = [](double mebibytes) {
      return Bytes{static_cast<std::int64_t>(mebibytes * (1 << 20))};
    };
    keep_memory(log_.memory, {.rank = static_cast<int>(*rank),
                              .allocated = bytes(*allocated),
                              .reserved = bytes(*reserved)});
  }

  // "using world size: 8, ..." and the list of arguments, "  seq_length ............ 2048".
  void add_facts(const TextLine& line) {
    static constexpr std::array<std::pair<std::string_view, const char*>, 9> kArguments{{
        {"  global_batch_size ..", kBatch},
        {"  micro_batch_size ..", kMicroBatch},
        {"  seq_length ..", kSequence},
        {"  pipeline_model_parallel_size ..", kPipeline},
        {"  tensor_model_parallel_size ..", kTensor},
        {"  world_size ..", kWorld},
        {"  context_parallel_size ..", kContext},
        {"  expert_model_parallel_size ..", kExperts},
        {"  virtual_pipeline_model_parallel_size ..", kChunks},
    }};
    for (const auto& [label, what] : kArguments) {
      const std::size_t at = line.text.find(label);
      if (at == std::string::npos) continue;
      const std::size_t value = line.text.find_first_not_of('.', at + label.size());
      if (value != std::string::npos) add_fact(what, line, line.text.substr(value), "");
    }
    if (line.text.find("  use_distributed_optimizer ..") != std::string::npos) {
      log_.facts[kSharded] = {line.text.ends_with(" True") ? 1 : 0, line.number};
    }
    if (line.text.find("  recompute_granularity ..") != std::string::npos) {
      const bool is_any = !line.text.ends_with(" None");
      log_.facts[kRecompute] = {is_any ? line.text.ends_with(" full") ? 2 : 1 : 0, line.number};
    }
    if (line.text.find("using world size:") == std::string::npos) return;
    add_fact(kWorld, line, line.text, "using world size:");
    add_fact(kContext, line, line.text, "context-parallel size:");
    add_fact(kTensor, line, line.text, "tensor-model-parallel size:");
    add_fact(kPipeline, line, line.text, "pipeline-model-parallel size:");
  }

  void add_fact(const char* what, const TextLine& line, std::string_view text,
                std::string_view label) {
    const auto value = number_after(text, label);
    if (value) log_.facts[what] = {*value, line.number};
  }

  const LogText& text_;
  const std::string& file_;
  LogContents log_;
};

}  // namespace

LogContents read_megatron_log(const LogText& text, const std::string& file) {
  return MegatronReader(text, file).read();
}

}  // namespace penstock
