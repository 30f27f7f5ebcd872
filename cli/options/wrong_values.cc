// Only what needs no other value is read here: whether values agree, the question says.
#include "cli/options/wrong_values.h"

#include <algorithm>
#include <string_view>

#include "cli/options/counts_of_types.h"
#include "cli/options/global_batch.h"
#include "cli/options/gpu_counts.h"
#include "cli/options/memory_limit.h"
#include "cli/options/question.h"
#include "cli/words/device_called.h"
#include "cli/words/field_words.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_called.h"
#include "cli/words/sharding_called.h"
#include "cli/words/trainer_called.h"

namespace penstock {
namespace {

void read_gpus(const std::string& text) {
  if (names_types(text) || gpu_counts(text)) return;
  parse_int("--gpus", text, 1);
}

// Keys that are no degrees are read with the question.
void read_pins(const std::string& text) {
  for (const auto& [typed, value] : parse_key_values("--pin", text)) {
    const std::string key = key_called(typed);
    const bool is_degree = !key.empty() && key.size() <= 3 && key != "M";
    const bool is_searched = value == "auto" || value == "any" || value == "all";
    if (is_degree && !is_searched) parse_int("--pin " + field_word(key), value, 1);
  }
}

void read_schedules(const std::string& text) {
  for (const std::string& name : parse_list("--schedule", text)) {
    schedule_called("--schedule", name);
  }
}

}  // namespace

void WrongValues::check(const SearchOptions& given) {
  const auto read = [this](const std::optional<std::string>& text, const auto& one) {
    if (text) check([&] { one(*text); });
  };
  if (!given.cluster) read(given.device, [](const auto& text) { sheet_of(text); });
  read(given.gpus, read_gpus);
  read(given.global_batch, read_samples);
  read(given.sequence_length, [](const auto& text) { parse_int("--sequence-length", text, 1); });
  for (const std::string& pins : given.pins) check([&] { read_pins(pins); });
  for (const std::string& names : given.schedules) check([&] { read_schedules(names); });
  read(given.sharding, [](const auto& text) { sharding_called("--sharding", text); });
  read(given.trainer, [](const auto& text) { parse_trainer(text); });
  read(given.memory_limit, [](const auto& text) { read_memory_limit(kMemoryLimit, text); });
  read(given.reserve_gib, [](const auto& text) { parse_gib("--reserve-gib", text); });
  read(given.budget, [](const auto& text) { parse_budget("--budget", text); });
}

// What stdin holds is read once.
void WrongValues::check_missing(const SearchOptions& given) {
  if (letters_.empty() || given.profile == "-") return;
  // "--gpus H100:8": the answer to it names the device.
  const bool has_device = std::any_of(letters_.begin(), letters_.end(), [](const Error& letter) {
    return std::string_view(letter.what()).find("help: write --device ") != std::string_view::npos;
  });
  SearchOptions known = given;
  if (has_device && !known.device) known.device = "h100-sxm";
  // "--device list" is no part of an example.
  const bool asks_for_list = std::any_of(letters_.begin(), letters_.end(), [](const Error& letter) {
    return std::string_view(letter.what()).find("is no GPU\n") != std::string_view::npos;
  });
  if (asks_for_list && known.device) {
    std::replace(known.command.words.begin(), known.command.words.end(), *known.device,
                 std::string("h100-sxm"));
  }
  check([&] { require_inputs(known); });
}

void WrongValues::check(const TrainingCostOptions& training) {
  check([&] { static_cast<void>(training.question()); });
  check([&] { training.read_price(); });
}

void WrongValues::refuse() const {
  if (letters_.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < letters_.size(); ++i) {
    const std::string letter = letters_[i].what();
    const bool is_known = text.find(letter) != std::string::npos;
    if (!is_known) text += (text.empty() ? "" : "\nerror: ") + letter;
  }
  throw Error(letters_.front().kind(), text);
}

}  // namespace penstock
