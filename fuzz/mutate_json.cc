// How inputs are made up. Readers are strict: of texts changed at random next to none are accepted,
// and what they mean would never be tried. So most mutations change one value of the document that
// a text stands for, and half start from a text that was accepted.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "core/values/json.h"
#include "fuzz/fuzz.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace penstock {
namespace {

constexpr std::array<std::string_view, 24> kNumbers{"0",
                                                    "1",
                                                    "2",
                                                    "3",
                                                    "-1",
                                                    "7",
                                                    "64",
                                                    "65535",
                                                    "65536",
                                                    "2147483647",
                                                    "4294967295",
                                                    "9007199254740992",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551616",
                                                    "1000000000000000",
                                                    "1e15",
                                                    "1e-9",
                                                    "0.5",
                                                    "1.0",
                                                    "-0",
                                                    "1e308",
                                                    "1e400",
                                                    "4.9e-324"};

class Mutation {
 public:
  Mutation(const Json& document, unsigned seed) : random_(seed) {
    list(document);
    target_ = pick(values_.size());
  }

  // The value with the target in it changed.
  Json copy(const Json& value) {
    if (&value == values_[target_]) return changed(value);
    if (value.kind() == Json::Kind::kArray) {
      Json array = Json::array();
      for (const Json& element : value.elements()) array.push(copy(element));
      return array;
    }
    if (value.kind() == Json::Kind::kObject) {
      Json object = Json::object();
      for (const auto& [key, member] : value.members()) object.set(key, copy(member));
      return object;
    }
    return value;
  }

 private:
  void list(const Json& value) {
    values_.push_back(&value);
    for (const Json& element : value.elements()) list(element);
    for (const auto& [key, member] : value.members()) list(member);
  }

  std::size_t pick(std::size_t count) { return random_() % count; }

  Json changed(const Json& value) {
    const bool other = pick(8) == 0;
    if (other) return *values_[pick(values_.size())];
    switch (value.kind()) {
      case Json::Kind::kNumber:
        return changed_number(value.text());
      case Json::Kind::kString:
        return changed_string(value.text());
      case Json::Kind::kArray:
        return changed_array(value.elements());
      case Json::Kind::kObject:
        return changed_object(value.members());
      default:
        return pick(2) == 0 ? Json() : Json(!value.boolean());
    }
  }

  Json changed_number(const std::string& text) {
    if (pick(2) == 0 || text.size() > 15) {
      return Json::number(std::string(kNumbers[pick(kNumbers.size())]));
    }
    const auto step = static_cast<std::int64_t>(pick(5)) - 2;
    return {std::int64_t{std::strtoll(text.c_str(), nullptr, 10)} + step};
  }

  // Mostly another string of the document, which may be the name of something.
  Json changed_string(const std::string& text) {
    if (pick(2) == 0) {
      for (std::size_t tries = 0; tries < 16; ++tries) {
        const Json* other = values_[pick(values_.size())];
        if (other->kind() == Json::Kind::kString && other->text() != text) return *other;
      }
    }
    std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const std::size_t size = bytes.size();
    bytes.resize(size + 8);
    bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
    return {std::string(bytes.begin(), bytes.end())};
  }

  // One entry is left out, doubled or put elsewhere.
  template <class Entry>
  std::vector<Entry> shuffled(std::vector<Entry> entries) {
    if (entries.empty()) return entries;
    const std::size_t at = pick(entries.size());
    const auto place = entries.begin() + static_cast<std::ptrdiff_t>(at);
    switch (pick(3)) {
      case 0:
        entries.erase(place);
        break;
      case 1:
        entries.insert(place, Entry(entries[at]));
        break;
      default:
        std::swap(entries[at], entries[pick(entries.size())]);
    }
    return entries;
  }

  Json changed_array(const std::vector<Json>& elements) {
    Json array = Json::array();
    for (Json& element : shuffled(elements)) array.push(std::move(element));
    return array;
  }

  Json changed_object(const std::vector<Json::Member>& members) {
    Json object = Json::object();
    for (auto& [key, member] : shuffled(members)) object.set(std::move(key), std::move(member));
    return object;
  }

  std::minstd_rand random_;
  std::vector<const Json*> values_;
  std::size_t target_ = 0;
};

// The document with one value changed, on one line; empty when the text is no JSON.
std::string mutated(std::string_view text, unsigned seed) {
  try {
    const Json document = parse_json(text, "input");
    return to_text(Mutation(document, seed).copy(document), 1 << 30);
  } catch (const Error&) {
    return {};
  }
}

// Without an allocation that outlives an input: libFuzzer would look for a leak each time.
class AcceptedTexts {
 public:
  void add(std::string_view text) {
    if (text.size() > texts_[0].size()) return;
    const std::size_t at = count_ < texts_.size() ? count_++ : random_() % texts_.size();
    std::ranges::copy(text, texts_[at].begin());
    sizes_[at] = text.size();
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string_view any(unsigned seed) const {
    const std::size_t at = seed % count_;
    return {texts_[at].data(), sizes_[at]};
  }

 private:
  std::array<std::array<char, 16384>, 256> texts_{};
  std::array<std::size_t, 256> sizes_{};
  std::size_t count_ = 0;
  std::minstd_rand random_;
};

AcceptedTexts accepted_texts;

}  // namespace

namespace fuzz {

void remember(std::string_view text) { accepted_texts.add(text); }

}  // namespace fuzz
}  // namespace penstock

// Half start from a text that was accepted; three in four change a value, if the text is JSON.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const unsigned rest = seed / 4;
  const bool from_accepted = seed % 2 == 0 && !penstock::accepted_texts.empty();
  const bool as_json = seed % 4 >= 1;
  std::string text(reinterpret_cast<const char*>(data), size);
  if (from_accepted) text = penstock::accepted_texts.any(rest);
  std::string result = as_json ? penstock::mutated(text, rest) : std::string();
  const bool is_raw = result.empty();
  if (is_raw) result = std::move(text);
  if (result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, result.data(), result.size());
  return is_raw ? LLVMFuzzerMutate(data, result.size(), max_size) : result.size();
}
