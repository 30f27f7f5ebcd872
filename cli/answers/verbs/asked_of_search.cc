#include "cli/answers/verbs/asked_of_search.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "core/values/error.h"

namespace penstock {
namespace {

std::string model_in(const Arguments& words) {
  const Arguments models = typed_files(words).models;
  return models.empty() ? "" : models.front();
}

bool asks_for_deadline(const std::string& plain) {
  return is_among(
      {"deadline", "max-days", "days", "max-hours", "within", "finish-in", "time-budget",
       "training-days", "max-training-days", "max-duration", "training-time", "finish-by"},
      plain);
}

bool counts_gpus(const std::string& plain) {
  return is_among({"gpus", "num-gpus", "ngpus", "nodes", "nnodes", "num-nodes", "world-size"},
                  plain);
}

bool packs(const std::string& plain) {
  return is_among({"packing", "pack", "packed", "sample-packing", "padding-free"}, plain);
}

bool varies_lengths(const std::string& plain) {
  return packs(plain) || plain.find("length") != std::string::npos ||
         is_among({"varlen", "bucketing", "dynamic-batching", "ragged", "remove-padding"}, plain);
}

}  // namespace

std::string tokens_of_batch(const std::string& lengths, const std::string& samples) {
  constexpr std::int64_t kMostLines = 100'000, kMostSamples = 1 << 20;
  std::int64_t count = 0;
  std::from_chars(samples.data(), samples.data() + samples.size(), count);
  if (!is_digits(samples) || count <= 0 || count > kMostSamples) return "";
  std::ifstream file(lengths);
  std::int64_t sum = 0, lines = 0;
  for (std::string line; lines < kMostLines && std::getline(file, line);) {
    std::int64_t length = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), length);
    if (read.ec != std::errc() || length <= 0 || length > kMostSamples) continue;
    sum += length;
    ++lines;
  }
  return lines == 0 ? "" : fmt::format("{}", (sum * count + lines - 1) / lines);
}

std::string deadline_asked(const Arguments& words) {
  const std::string model = model_in(words);
  std::vector<GivenOption> taken_out;
  bool has_deadline = false, has_tokens = false, has_gpus = false, is_about_cost = false;
  std::string batch;
  for (const GivenOption& option : given_words({}, words).options) {
    const std::string plain = plain_name(option);
    has_tokens = has_tokens || plain.ends_with("tokens");
    has_gpus = has_gpus || counts_gpus(plain);
    is_about_cost = is_about_cost || option.value == "cost" || plain == "cheapest";
    has_deadline = has_deadline || asks_for_deadline(plain);
    const bool is_batch = is_among({"batch", "batch-size", "bs"}, plain);
    if (is_batch) batch = option.value;
    if (is_batch || asks_for_deadline(plain)) taken_out.push_back(option);
  }
  if (model.empty() || !has_deadline || !has_tokens || has_gpus) return "";
  Arguments command = with_taken("compare", {model}, without(words, taken_out));
  if (!batch.empty()) command.insert(command.end(), {"--global-batch", batch});
  if (is_about_cost && !value_of(command, {"--usd-per-gpu-hour"})) {
    command.insert(command.end(), {"--usd-per-gpu-hour", "2.5"});
  }
  command.insert(command.end(), {"--vary", "gpus=64,128,256,512"});
  return whole_command("compare", command);
}

std::string lengths_asked(const Arguments& words) {
  const std::string model = model_in(words);
  if (model.empty()) return "";
  std::vector<GivenOption> taken_out;
  std::string lengths, samples;
  bool is_packed = false, is_asked = false;
  for (const GivenOption& option : given_words({}, words).options) {
    const std::string plain = plain_name(option);
    const bool is_file = is_lengths_file(option.value);
    if (is_file) lengths = option.value;
    const bool is_length = varies_lengths(plain) && (is_file || key_called(plain).empty());
    is_packed = is_packed || packs(plain);
    is_asked = is_asked || is_length;
    if (key_called(plain) == "global-batch") samples = option.value;
    if (is_file || is_length) taken_out.push_back(option);
  }
  if (lengths.empty() || !is_asked) return "";
  Arguments command = with_taken("dynamic", {model}, without(words, taken_out));
  command.insert(command.end(), {"--lengths", lengths});
  if (is_packed) command.emplace_back("--pack");
  if (const std::string tokens = tokens_of_batch(lengths, samples); !tokens.empty()) {
    command.insert(command.end(), {"--tokens-per-batch", tokens});
  }
  return whole_command("dynamic", command);
}

std::string remark_on_lengths(const std::string& file) {
  if (is_there(file)) return "";
  return fmt::format(
      "; {0} is not there yet, and has the tokens of one sample a line: printf '512\\n2048\\n' > "
      "{0} writes one of two",
      shell_word(file));
}

namespace {

// "--dataset lengths.txt"
std::optional<GivenOption> lengths_called_otherwise(const Arguments& words) {
  for (const GivenOption& option : given_words({}, words).options) {
    if (is_among({"dataset", "data", "documents", "corpus", "samples", "lengths-file", "seq-lens",
                  "sequence-lengths", "length-file"},
                 plain_name(option)) &&
        is_there(option.value)) {
      return option;
    }
  }
  return {};
}

bool is_batch_of_samples(const GivenOption& option) {
  const std::string plain = plain_name(option);
  const bool is_batch =
      key_called(plain) == "global-batch" || is_among({"batch", "batch-size", "bs"}, plain);
  return is_batch && is_digits(option.value);
}

}  // namespace

void refuse_batch_of_samples(const OptionTable& table, const Arguments& words) {
  const std::vector<GivenOption> options = given_words(table, words).options;
  const auto batch = std::find_if(options.begin(), options.end(), is_batch_of_samples);
  if (batch == options.end() || model_in(words).empty()) return;
  Arguments command = without(words, {*batch});
  if (value_of(command, {"--tokens-per-batch"})) return;
  std::string lengths = value_of(command, {"--lengths"}).value_or("");
  if (const auto other = lengths_called_otherwise(command); lengths.empty() && other) {
    lengths = other->value;
    command = with_instead(command, *other, {"--lengths", lengths});
  }
  const std::string tokens = tokens_of_batch(lengths, batch->value);
  if (!read_by_verb("dynamic", command)) return;
  if (lengths.empty()) command.insert(command.end(), {"--lengths", "FILE"});
  command.insert(command.end(), {"--tokens-per-batch", tokens.empty() ? "N" : tokens});
  throw_bad_input(fmt::format(
      "unknown option '{}'\nhelp: batches are counted in tokens here, over all GPUs: {}, {}{}",
      batch->name, whole_command("dynamic", command),
      tokens.empty() ? fmt::format("where N is {} x the mean length of your samples", batch->value)
                     : fmt::format("{} of the mean length in {}", batch->value, lengths),
      is_there(lengths) && tokens.empty()
          ? fmt::format(
                "; {} says no lengths yet: they are one number of tokens a line, or a field "
                "\"tokens\" in lines of JSON",
                lengths)
      : !lengths.empty() && !is_there(lengths)
          ? fmt::format("; {} is not there yet: the tokens of each sample, one a line", lengths)
      : lengths.empty() ? " and FILE has the tokens of each sample, one a line"
                        : ""));
}

}  // namespace penstock
