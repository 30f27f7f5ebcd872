#include "cli/answers/options/worked_out.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/measured_asked.h"
#include "cli/io/files.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "core/values/architecture.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;  // so that products of three stay inside 64 bits

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  return is_whole && number > 0 && number <= kMost ? number : 0;
}

// Of a config.json among the words.
Architecture model_in(const Arguments& read) {
  const TypedFiles files = typed_files(read);
  if (files.models.empty() || !is_there(files.models.front())) return {};
  try {
    const Loaded<Json> config = load_json(files.models.front());
    return read_architecture(config.value, config.file.path);
  } catch (const Error&) {
    return {};
  }
}

// Of one sample: as typed, or as the planner takes it.
std::int64_t length_asked(const Arguments& read) {
  constexpr int kLongestDefault = 8192;
  const std::int64_t length = number_in(value_of(read, {"--sequence-length"}).value_or(""));
  return length > 0 ? length : std::min(model_in(read).positions, kLongestDefault);
}

// "--train-samples 1000000".
WorkedOut tokens_of_samples(const UnreadOption& option, const Arguments& read) {
  const std::int64_t samples = number_in(option.value), length = length_asked(read);
  if (samples == 0 || length == 0) return {};
  const std::string tokens = std::to_string(samples * length);
  return {{"--tokens", tokens},
          fmt::format("write --tokens {}, those of {} samples x {}", tokens, with_commas(samples),
                      with_commas(length))};
}

// "--train-iters 500000".
WorkedOut tokens_of_steps(const UnreadOption& option, const Arguments& read) {
  const std::int64_t steps = number_in(option.value),
                     batch = number_in(value_of(read, {"--global-batch"}).value_or("")),
                     length = length_asked(read);
  if (steps == 0 || batch == 0 || length == 0 || steps * batch > kMost * kMost / length) return {};
  const std::string tokens = std::to_string(steps * batch * length);
  return {{"--tokens", tokens},
          fmt::format("write --tokens {}, those of {} steps x {} samples x {}", tokens,
                      with_commas(steps), with_commas(batch), with_commas(length))};
}

// "--num-layers-per-virtual-pipeline-stage 4".
WorkedOut stages_of_layers(const UnreadOption& option, const Arguments& read) {
  const std::string layout = layout_typed(read), key = "PP=";
  const std::size_t at = layout.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  const std::int64_t ranks = number_in(layout.substr(begin, layout.find(' ', begin) - begin)),
                     each = number_in(option.value), layers = model_in(read).layers;
  if (ranks == 0 || each == 0 || layers == 0 || layers % (ranks * each) != 0) return {};
  const std::string stages = std::to_string(layers / ranks / each);
  return {
      {"--vp", stages},
      fmt::format("write --vp {}: {} layers / PP {} / {} a stage", stages, layers, ranks, each)};
}

// "--optim adamw_bnb_8bit": moments in 8 bits beside a master copy in 32; nothing of AdamW, which
// is assumed.
WorkedOut bytes_of_optimizer(const std::string& value) {
  const std::string name = plain_word(value);
  constexpr int kMaster = 4, kMoment = 4;
  const bool is_small =
      name.find("8bit") != std::string::npos || name.find("8-bit") != std::string::npos;
  const int bytes =
      is_small ? kMaster + 2
      : name.find("lion") != std::string::npos || name.find("momentum") != std::string::npos
          ? kMaster + kMoment
      : name == "sgd" ? kMaster
                      : 0;
  if (bytes == 0) return {};
  return {
      {"--optimizer-bytes", std::to_string(bytes)},
      fmt::format("write --optimizer-bytes {}, what {} keeps of a parameter with a master copy in "
                  "32 bits",
                  bytes, value)};
}

// "--deepspeed ds_config.json": what of it is a plan's.
WorkedOut stage_of_file(const std::string& file) {
  if (!file.ends_with(".json") || !is_there(file)) return {};
  try {
    const Json config = load_json(file).value;
    const Json* zero = config.find("zero_optimization");
    const Json* stage = zero == nullptr ? nullptr : zero->find("stage");
    const std::int64_t number = stage == nullptr ? 0 : number_in(stage->text());
    if (number < 1 || number > 3) return {};
    const std::string sharding = fmt::format("zero{}", number);
    return {{"--for", "deepspeed", "--sharding", sharding},
            fmt::format("write --for deepspeed --sharding {}, the stage in the file, of which "
                        "nothing else is read; penstock check {} judges it",
                        sharding, file)};
  } catch (const Error&) {
    return {};
  }
}

bool are_eight_bits(const std::string& name) {
  return is_among({"fp8", "fp8-format", "fp8-hybrid", "fp8-e4m3"}, name);
}

// "--bf16 --fp8-format hybrid", as Megatron-LM has them together.
WorkedOut both_precisions(const std::string& name, const std::vector<UnreadOption>& all) {
  const auto has = [&all](const auto& is_it) {
    return std::any_of(all.begin(), all.end(),
                       [&](const UnreadOption& each) { return is_it(plain_name(each.name)); });
  };
  const bool has_sixteen = has([](const std::string& other) {
    return is_among({"bf16", "fp16"}, other);
  });
  if (!has_sixteen || !has(are_eight_bits)) return {};
  if (are_eight_bits(name)) return {{"--precision", "float8"}, "write --precision float8"};
  return {{}, "leave it out: with float8 what is no product of layers is in bfloat16"};
}

}  // namespace

WorkedOut worked_out(const UnreadOption& option, const std::vector<UnreadOption>& all,
                     const Arguments& read, const Asked& asked) {
  const std::string name = plain_name(option.name);
  const bool are_steps =
      is_among({"train-iters", "max-steps", "num-steps", "iterations", "train-steps",
                "training-steps", "total-steps", "steps", "num-iterations", "train-iterations"},
               name);
  const bool are_layers =
      is_among({"num-layers-per-virtual-pipeline-stage", "layers-per-virtual-stage"}, name);
  if (are_steps && asked.has("--tokens") && !value_of(read, {"--tokens"})) {
    return tokens_of_steps(option, read);
  }
  if (is_among({"train-samples", "num-samples", "training-samples", "total-samples"}, name) &&
      asked.has("--tokens") && !value_of(read, {"--tokens"})) {
    return tokens_of_samples(option, read);
  }
  if (is_among({"deepspeed", "deepspeed-config", "deepspeed-config-file", "ds-config"}, name) &&
      asked.has("--sharding") && asked.has("--for")) {
    return stage_of_file(option.value);
  }
  if (is_among({"optim", "optimizer-name", "optimizer-type"}, name) &&
      asked.has("--optimizer-bytes") && !value_of(read, {"--optimizer-bytes"})) {
    return bytes_of_optimizer(option.value);
  }
  if (asked.has("--precision") && (are_eight_bits(name) || is_among({"bf16", "fp16"}, name))) {
    return both_precisions(name, all);
  }
  if (are_layers && asked.has("--pin")) return stages_of_layers(option, read);
  return {};
}

}  // namespace penstock
