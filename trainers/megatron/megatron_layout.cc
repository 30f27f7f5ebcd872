// Reading follows Megatron-LM's own steps: commas are dropped, groups (X)*n are written out once
// and without nesting, then counts c*n of a single letter, and | separates stages. What Megatron
// would refuse is refused with the step that fails. Lengths are bounded before anything is written
// out.
#include "trainers/megatron/megatron_layout.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace penstock {
namespace {

// No pipeline is longer; "(t*99999)*99999" is not written out.
constexpr std::size_t kLongest = 100'000;

std::optional<std::size_t> times_at(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '*') return {};
  std::size_t end = at + 1, times = 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') {
    times = std::min(kLongest, times * 10 + static_cast<std::size_t>(text[end] - '0'));
    ++end;
  }
  if (end == at + 1) return {};
  at = end;
  return times;
}

// Step 2: (X)*n, once and without nesting.
std::string without_groups(std::string_view text, std::string& why_not) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && why_not.empty();) {
    if (text[i] != '(') {
      out += text[i++];
      continue;
    }
    const std::size_t close = text.find(')', i);
    const std::string_view inside =
        text.substr(i + 1, std::min(close, text.size()) - std::min(i + 1, text.size()));
    if (close == std::string_view::npos || inside.find('(') != std::string_view::npos) {
      why_not = "a ( is not closed before the next one; groups do not nest";
      break;
    }
    i = close + 1;
    const auto times = times_at(text, i);
    if (!times) {
      why_not = "a group (...) needs *n after it";
    } else if (out.size() + *times * inside.size() > kLongest) {
      why_not = fmt::format("more than {} letters", kLongest);
    } else {
      for (std::size_t n = 0; n < *times; ++n) out += inside;
    }
  }
  return out;
}

// Step 3: c*n, of one character.
std::string without_counts(std::string_view text, std::string& why_not) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && why_not.empty();) {
    const char c = text[i++];
    const std::size_t times = times_at(text, i).value_or(1);
    if (std::string_view("EtmL|").find(c) == std::string_view::npos) {
      why_not = fmt::format("'{}' is none of E, t, m, L and |", c);
    } else if (out.size() + times > kLongest) {
      why_not = fmt::format("more than {} letters", kLongest);
    } else {
      out.append(times, c);
    }
  }
  return out;
}

}  // namespace

MegatronLayout read_megatron_layout(std::string_view text) {
  MegatronLayout layout;
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), ','), plain.end());
  plain = without_groups(plain, layout.why_not);
  plain = without_counts(plain, layout.why_not);
  if (!layout.why_not.empty()) return layout;
  layout.stages.emplace_back();
  for (const char c : plain) {
    if (c == '|') {
      layout.stages.emplace_back();
    } else {
      layout.stages.back() += c;
    }
  }
  return layout;
}

std::string write_megatron_layout(const std::vector<int>& layers, int mtp) {
  const auto letters = [](char letter, int count) {
    if (count == 0) return std::string();
    return count == 1 ? std::string(1, letter) : fmt::format("{}*{}", letter, count);
  };
  std::string text;
  for (std::size_t s = 0; s < layers.size(); ++s) {
    text += (s == 0 ? "E" : "|") + letters('t', layers[s]);
  }
  return text + letters('m', mtp) + 'L';
}

std::vector<int> spread_evenly(int layers, int stages) {
  std::vector<int> counts(static_cast<std::size_t>(stages), layers / stages);
  for (int s = 0; s < layers % stages; ++s) ++counts[static_cast<std::size_t>(s)];
  return counts;
}

}  // namespace penstock
