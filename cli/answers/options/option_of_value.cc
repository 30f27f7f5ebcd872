#include "cli/answers/options/option_of_value.h"

#include <algorithm>
#include <array>
#include <string>

#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/schedule_spelled.h"
#include "cli/words/trainer_called.h"
#include "core/values/device_sheet.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool is_sharding(std::string_view word) {
  constexpr std::array<std::string_view, 13> kShardings{
      "fsdp",   "fsdp2",  "fully-shard", "full-shard", "zero1",         "zero2", "zero3",
      "zero-1", "zero-2", "zero-3",      "ddp",        "shard-grad-op", "hsdp"};
  return is_among(kShardings, word);
}

}  // namespace

std::string_view option_of_value(std::string_view value) {
  const std::string word = plain_word(value);
  const bool counts = word.find_first_not_of("0123456789.") == std::string::npos;
  if (counts) return "";
  if (is_sharding(word)) return "--sharding";
  if (arithmetic_named(word)) return "--precision";
  if (find_trainer(trainer_called(word)) != nullptr) return "--for";
  if (!schedule_spelled(value).empty()) return "--schedule";
  return is_like_gpu(std::string(value)) ? "--device" : "";
}

bool says_nothing_of_value(std::string_view name) {
  constexpr std::array<std::string_view, 16> kNames{"strategy",
                                                    "parallelism",
                                                    "parallel",
                                                    "mode",
                                                    "backend",
                                                    "method",
                                                    "type",
                                                    "algorithm",
                                                    "dp-strategy",
                                                    "dp-mode",
                                                    "dist-strategy",
                                                    "engine",
                                                    "distributed-strategy",
                                                    "kind",
                                                    "with",
                                                    "use"};
  return is_among(kNames, name);
}

bool counts_tokens(std::string_view value) {
  constexpr std::size_t kMostDigits = 6;
  const std::size_t digits = std::min(value.find_first_not_of("0123456789."), value.size());
  if (digits == 0) return false;
  if (digits == value.size()) return value.find('.') == value.npos && digits > kMostDigits;
  return digits + 1 == value.size() && std::string_view("mMbB").find(value.back()) != value.npos;
}

}  // namespace penstock
