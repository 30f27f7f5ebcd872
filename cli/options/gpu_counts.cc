#include "cli/options/gpu_counts.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
#include "estimator/shipped_data.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr int kMostGpus = 1 << 17;
constexpr int kMostCounts = 4096;
constexpr int kNode = 8;  // GPUs of most nodes
constexpr const char* kDots = "..";
constexpr std::string_view kGpus = "--gpus", kNodes = "--nodes";
constexpr std::size_t kLongestShown = 60;

int count_in(std::string_view option, std::string_view text, int least) {
  return parse_int(option, text, least, kMostGpus);
}

bool is_less(const std::string& one, const std::string& other) {
  return one.size() != other.size() ? one.size() < other.size() : one < other;
}

// Of three numbers the last is the step ("8:64:8"), or the middle one ("8:8:64"), or they are all
// that is meant ("8..16..32").
std::string three_meant(const std::vector<std::string>& numbers) {
  const std::string &first = numbers[0], &second = numbers[1], &third = numbers[2];
  if (!is_less(second, third)) return first + kDots + second + ':' + third;
  if (is_less(first, second)) return first + ',' + second + ',' + third;
  return first + kDots + third + ':' + second;
}

// "8-64" and "8:64:8" as they are written here, "8..64" and "8..64:8"; nothing where there are not
// two or three numbers between such signs.
std::optional<std::string> range_meant(const std::string& text) {
  std::vector<std::string> numbers{""};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      numbers.back() += text[i];
      continue;
    }
    if (text.compare(i, 2, kDots) == 0) {
      ++i;
    } else if (text[i] != '-' && text[i] != ':') {
      return std::nullopt;
    }
    if (numbers.back().empty()) return std::nullopt;
    numbers.emplace_back();
  }
  if (numbers.size() < 2 || numbers.size() > 3 || numbers.back().empty()) return std::nullopt;
  return numbers.size() == 3 ? three_meant(numbers) : numbers[0] + kDots + numbers[1];
}

// "8..64" and "8..64:8", whatever the step.
bool is_as_written(const std::string& text) {
  const std::size_t dots = text.find(kDots);
  return dots != std::string::npos && text.find('-') == std::string::npos &&
         text.find(kDots, dots + 1) == std::string::npos && text.rfind(':', dots) > dots;
}

void require_as_written(std::string_view option, const std::string& text) {
  const auto meant = range_meant(text);
  if (!meant || *meant == text || is_as_written(text)) return;
  bad_option(option, fmt::format("'{}' is not how a range is written", text), "write " + *meant);
}

// The option that counts such things; `typed` is --gpus or --nodes.
std::string in_place_of(std::string_view typed, std::string_view meant, const std::string& number) {
  const std::string own = fmt::format("{} {}", meant, number);
  return typed == meant ? own : fmt::format("{} instead of {}", own, typed);
}

// "16 cards", "2 nodes", "8xH100", "2x8xH100" and "h100:8" as options; nothing of anything else.
std::string with_options(std::string_view option, const std::string& text) {
  constexpr std::string_view kDigits = "0123456789";
  if (text.size() > kLongestShown) return "";              // each factor is taken off by itself
  const bool is_behind = text.find_first_of(kDigits) > 0;  // "h100:8"
  const std::size_t mark = is_behind ? text.find_last_of(":xX*=") : text.find_first_not_of(kDigits);
  if (mark == std::string::npos || mark == 0) return "";
  const std::string first = text.substr(0, mark);
  const std::size_t begin = text.find_first_not_of(is_behind ? "" : ":xX*-", mark + is_behind);
  if (begin == std::string::npos) return "";
  const std::string second = text.substr(begin);
  if (!is_behind && std::isdigit(static_cast<unsigned char>(second[0])) != 0) {
    const std::size_t end = second.find_first_not_of(kDigits);
    const std::string product = plain_number(first + 'x' + second.substr(0, end));
    return end == std::string::npos ? "" : with_options(option, product + second.substr(end));
  }
  const std::string &number = is_behind ? second : first, thing = is_behind ? first : second;
  if (number.empty() || number.find_first_not_of(kDigits) != std::string::npos) return "";
  const std::string word = plain_word(thing);
  for (const std::string_view unit : {"gpus", "gpu", "cards", "card", "devices", "ranks"}) {
    if (word == unit) return in_place_of(option, kGpus, number);
  }
  for (const std::string_view unit : {"nodes", "node", "machines", "hosts", "servers"}) {
    if (word == unit) return in_place_of(option, kNodes, number);
  }
  for (const DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(word)) {
      return fmt::format("--device {} {}", sheet.name, in_place_of(option, kGpus, number));
    }
  }
  return "";
}

// "a10g:8,t4:8": the options of each type, and what is done about one without a datasheet. Empty
// where a part counts none.
std::string types_alone(const std::string& text) {
  std::vector<std::string> known, unknown;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string options = with_options(kGpus, part);
    if (!options.empty()) {
      known.push_back(options);
      continue;
    }
    const std::size_t mark = part.find_first_of(":=");
    const bool is_counted = mark != std::string::npos && mark > 0 && mark + 1 < part.size() &&
                            part.find_first_not_of("0123456789", mark + 1) == std::string::npos;
    if (!is_counted) return "";
    const std::string name = part.substr(0, mark);
    unknown.push_back(fmt::format(
        "'{0}' has no datasheet here: penstock devices h100-sxm -o {0}.json writes one to edit, "
        "then --device {0}.json --gpus {1}",
        name, part.substr(mark + 1)));
  }
  if (known.empty() || known.size() + unknown.size() < 2) return "";
  return "of one type write " + joined(known, ", or ") +
         (unknown.empty() ? "" : "; " + joined(unknown, "; "));
}

// "32xH100,32xA100", "8 H100": a number is written with x, e, k or m at most.
void refuse_device_names(std::string_view option, const std::string& text) {
  const bool is_named = std::any_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalpha(c) != 0 &&
           std::string_view("xXeEkKmM").find(static_cast<char>(c)) == std::string_view::npos;
  });
  if (!is_named) return;
  const std::string what = fmt::format("'{}' is not a number of {}", text.substr(0, kLongestShown),
                                       option == kNodes ? "nodes" : "GPUs");
  if (text.find_first_of("123456789") == std::string::npos) {  // "auto", "all"
    bad_option(option, what,
               option == kNodes ? "write a number: --nodes 8" : "write a number: --gpus 64");
  }
  if (const std::string counted = with_options(option, text); !counted.empty()) {
    bad_option(option, what, "write " + counted);
  }
  if (option == kNodes) {
    bad_option(option, what,
               "write --nodes 8; nodes of several types are counted as --cluster FILE --nodes "
               "a100-40gb=2,v100-16gb=4, with the device types of the cluster file");
  }
  const std::string alone = types_alone(text);
  bad_option(
      option, what,
      (alone.empty() ? "write --device h100-sxm --gpus 64 for one type" : alone) +
          "; GPUs of several types are a cluster "
          "file: --cluster FILE (data/clusters/a100-40gb-2x4-v100-16gb-4x4.json is an example), "
          "of which plan --gpus a100-40gb=0..8:4,v100-16gb=0..16:4 makes a book");
}

// "8.." and "..64"
void require_both_ends(std::string_view option, const std::string& text, std::size_t dots) {
  const std::size_t begin = dots + std::string_view(kDots).size();
  if (dots > 0 && begin < text.size()) return;
  const std::string first = dots > 0 ? text.substr(0, dots) : "1";
  const std::string last = begin < text.size() ? text.substr(begin) : "64";
  bad_option(option, fmt::format("'{}' has one end only", text),
             fmt::format("write for example {}..{}", first, last));
}

// "8..64:8"
void add_range(std::string_view option, const std::string& text, std::size_t dots, int least,
               std::set<int>& counts) {
  require_both_ends(option, text, dots);
  const std::size_t colon = text.find(':', dots);
  const std::size_t begin = dots + std::string_view(kDots).size();
  const int first = count_in(option, std::string_view(text).substr(0, dots), least);
  const int last = count_in(option, std::string_view(text).substr(begin, colon - begin), least);
  const int step = colon == std::string::npos
                       ? 1
                       : count_in(option, std::string_view(text).substr(colon + 1), 1);
  if (last < first) {
    bad_option(option, fmt::format("'{}' ends before it begins", text),
               fmt::format("write {}..{}", last, first));
  }
  if ((last - first) / step >= kMostCounts) {
    const int wide = (last - first) / kMostCounts / kNode + 1;
    bad_option(option, fmt::format("'{}' are more than {} numbers", text, kMostCounts),
               fmt::format("take larger steps: {}..{}:{}", first, last, wide * kNode));
  }
  for (int gpus = first; gpus <= last; gpus += step) counts.insert(gpus);
}

// "0-7", and of a list of numbers that begins there.
void refuse_range_of_ids(const std::string& text) {
  constexpr std::string_view kBegin = "0-";
  constexpr std::size_t kMostDigits = 5;
  const std::string last = text.starts_with(kBegin) ? text.substr(kBegin.size()) : "";
  const bool is_number = !last.empty() && last.size() <= kMostDigits &&
                         last.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return;
  bad_option(kGpus, fmt::format("'{}' are the numbers of devices", text),
             fmt::format("write how many there are: --gpus {}", std::stoi(last) + 1));
}

// "0,1,2,3" of CUDA_VISIBLE_DEVICES.
void refuse_ids(std::string_view option, const std::string& text) {
  if (option != kGpus || !text.starts_with("0,")) return;
  const std::vector<std::string> ids = parse_list(option, text);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != std::to_string(i)) return;
  }
  bad_option(option, fmt::format("'{}' are the numbers of devices", text.substr(0, kLongestShown)),
             fmt::format("write how many there are: --gpus {}", ids.size()));
}

// "4x4": nodes of so many GPUs, where most have eight.
void refuse_nodes_of_gpus(const std::string& text) {
  const std::size_t mark = text.find_first_of("xX*");
  constexpr std::size_t kMostDigits = 4;
  if (mark == std::string::npos || mark == 0 || mark > kMostDigits) return;
  const std::string nodes = text.substr(0, mark), each = text.substr(mark + 1);
  const bool are_numbers = nodes.find_first_not_of("0123456789") == std::string::npos &&
                           !each.empty() && each.size() <= kMostDigits &&
                           each.find_first_not_of("0123456789") == std::string::npos;
  if (!are_numbers || std::stoi(each) == kNode) return;
  bad_option(kGpus, fmt::format("'{}' is not a whole number", text),
             fmt::format("write --gpus {} --gpus-per-node {} for {} nodes of {}",
                         std::stoi(nodes) * std::stoi(each), each, nodes, each));
}

}  // namespace

std::optional<std::vector<int>> gpu_counts(const std::string& typed, std::string_view option,
                                           int least) {
  if (typed.find_first_not_of("0123456789 ") == std::string::npos) {
    static_cast<void>(parse_list(option, typed));  // "8 16" are no 816
  }
  std::string text = typed;
  std::erase(text, ' ');
  refuse_device_names(option, text);
  if (option == kNodes && text.find_first_of("xX*") != std::string::npos) {
    if (const std::string gpus = plain_number(text); !gpus.empty()) {
      bad_option(option, fmt::format("'{}' is a number of GPUs", typed.substr(0, kLongestShown)),
                 fmt::format("write --gpus {} instead of --nodes", gpus));
    }
  }
  if (option == kGpus && least > 0) refuse_range_of_ids(text);
  if (option == kGpus) refuse_nodes_of_gpus(text);
  require_as_written(option, text);
  if (text.find(',') == std::string::npos && text.find(kDots) == std::string::npos) {
    return std::nullopt;
  }
  refuse_ids(option, text);
  std::set<int> counts;
  for (const std::string& part : parse_list(option, text)) {
    require_as_written(option, part);
    const std::size_t dots = part.find(kDots);
    if (dots != std::string::npos) {
      add_range(option, part, dots, least, counts);
    } else {
      counts.insert(count_in(option, part, least));
    }
  }
  if (counts.size() > static_cast<std::size_t>(kMostCounts)) {
    bad_option(option, fmt::format("{} numbers are too many", counts.size()),
               fmt::format("give at most {}", kMostCounts));
  }
  return std::vector<int>(counts.begin(), counts.end());
}

}  // namespace penstock
