// Reads the table that nccl-tests print: comment lines name devices, version and columns, and every
// other line is a row. Launchers put names of ranks before each line, which are cut off. Which
// collective it was is not in the table: the program's name says it, or the file's; and of those
// that reduce to no root the ratio of the two bandwidths, of the fastest row, whose two decimals
// say most.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/imports/measured_text.h"
#include "report/imports/nccl_tests.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 10> kCollectives{
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
    "sendrecv",   "scatter",    "gather",         "reduce",   "hypercube"};

bool is_whole(std::string_view word) {
  return !word.empty() && word.size() < 16 &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

// A number as the table has it, or nothing for N/A.
std::optional<double> number_of(std::string_view word) {
  const std::string text(word);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// "all_reduce" of "./build/all_reduce_perf", "all_reduce_perf_mpi"; empty: no such program.
std::string_view collective_in(std::string_view word) {
  const std::size_t end = word.find("_perf");
  if (end == std::string_view::npos) return {};
  std::string_view name = word.substr(0, end);
  const std::size_t begin = name.find_last_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (begin != std::string_view::npos) name.remove_prefix(begin + 1);
  const auto* const found = std::find(kCollectives.begin(), kCollectives.end(), name);
  return found == kCollectives.end() ? std::string_view() : *found;
}

// "22707" -> "2.27.7"
std::string version_of(std::string_view code) {
  if (!is_whole(code) || code.size() > 6) return std::string(code);
  const int number = std::stoi(std::string(code));
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

class NcclText {
 public:
  explicit NcclText(const std::string& file) : file_(file) {}

  Json read(std::string_view text) {
    for (const TableLine& line : table_lines_of(text)) read_line(line);
    if (columns_.empty() || results_.elements().empty()) {
      fail("no table of nccl-tests was found, a line \"# size count type ..\" and rows below it",
           "keep all that the test printed, or write JSON with -J");
    }
    if (devices_.elements().empty()) {
      fail("the ranks are not listed, so how many there were is not known",
           "keep the lines \"#  Rank  0 Group  0 Pid ..\" above the table");
    }
    read_collective_of_file();
    judge_ratio();
    Json config = Json::object().set("nthreads", Json::number("1"));
    config.set("ngpus", Json::number("1")).set("devices", std::move(devices_));
    Json json = Json::object();
    json.set("args", Json::array().push(fmt::format("{}_perf", collective_)));
    if (!library_.empty()) json.set("nccl_version", library_);
    return json.set("config", std::move(config)).set("results", std::move(results_));
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& help) const {
    throw_bad_input(fmt::format("{}: {}\nhelp: {}", file_, what, help));
  }

  void read_line(const TableLine& line) {
    for (const std::string_view word : line.words) read_word(word);
    if (line.text.find('#') == std::string_view::npos) {
      read_row(line);
    } else if (line.text.find(" device ") != std::string_view::npos) {
      read_rank(line);
    } else {
      read_header(line);
    }
  }

  void read_word(std::string_view word) {
    constexpr std::string_view kLibrary = "nccl-library=";
    if (word.starts_with(kLibrary)) library_ = version_of(word.substr(kLibrary.size()));
    const std::string_view collective = collective_in(word);
    if (collective.empty() || collective == collective_) return;
    if (!collective_.empty()) {
      fail(fmt::format("{} and {} are in one file", collective_, collective),
           "a file per collective: split it");
    }
    collective_ = collective;
  }

  // "#  Rank  0 Group  0 Pid  1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3"
  void read_rank(const TableLine& line) {
    const auto behind = [&line](std::string_view word) -> std::string_view {
      const auto at = std::find(line.words.begin(), line.words.end(), word);
      return at == line.words.end() || at + 1 == line.words.end() ? std::string_view() : at[1];
    };
    const std::string_view rank = behind("Rank"), host = behind("on"), group = behind("Group");
    if (!is_whole(rank)) return;
    if (!ranks_.insert(std::string(rank)).second) {
      fail(fmt::format("line {} lists rank {} again: the tests were built without MPI, and every "
                       "process ran alone",
                       line.number, rank),
           "build them with MPI=1, and run them again");
    }
    Json device = Json::object();
    device.set("rank", std::string(rank)).set("hostname", std::string(host));
    device.set("device_info", gpu_in(line));
    devices_.push(std::move(device.set("group", std::string(group))));
  }

  // Behind the address in brackets; a launcher may have put others before it.
  static std::string gpu_in(const TableLine& line) {
    const auto address = std::find_if(line.words.rbegin(), line.words.rend(),
                                      [](std::string_view word) { return word.ends_with(']'); });
    std::string gpu;
    for (auto word = address.base(); word != line.words.end(); ++word) {
      gpu += (gpu.empty() ? "" : " ") + std::string(*word);
    }
    return address == line.words.rend() ? "" : gpu;
  }

  // "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong"
  void read_header(const TableLine& line) {
    const auto size = std::find(line.words.begin(), line.words.end(), "size");
    if (size == line.words.end() || line.words.end() - size < 6 || size[1] != "count") return;
    columns_.assign(size, line.words.end());
  }

  void read_row(const TableLine& line) {
    if (columns_.size() < 6) return;
    // A launcher may have put the rank's name before it: "[1,0]<stdout>:".
    for (std::size_t at = 0; at + 5 < line.words.size(); ++at) {
      const bool begins = is_whole(line.words[at]) && is_whole(line.words[at + 1]) &&
                          !is_whole(line.words[at + 2]) && !number_of(line.words[at + 2]);
      if (!begins) continue;
      add_row(line, at);
      return;
    }
  }

  void add_row(const TableLine& line, std::size_t at) {
    Json result = Json::object(), place = Json::object();
    int places = 0;
    const std::size_t columns = std::min(columns_.size(), line.words.size() - at);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string_view column = columns_[c];
      const std::string word(line.words[at + c]);
      if (column == "time") {
        put(result, places++, std::move(place));
        place = Json::object();
      }
      const auto number = number_of(word);
      const Json value = number ? Json::number(word) : Json();
      if (column == "size") result.set("size", value);
      if (column == "type" || column == "redop" || column == "root") {
        result.set(std::string(column), word);
      }
      if (column == "redop") reduces_ = word != "none";
      if (column == "root") has_root_ = word != "-1";
      if (column == "time") place.set("time", value);
      if (column == "algbw") place.set("alg_bw", value);
      if (column == "busbw") place.set("bus_bw", value);
      if (column == "#wrong") place.set("nwrong", value);
      if (places == 1) note_ratio(column, number.value_or(0.0));
    }
    put(result, places, std::move(place));
    if (places > 0) results_.push(std::move(result));
  }

  static void put(Json& result, int places, Json place) {
    if (places != 1 && places != 2) return;
    result.set(places == 1 ? "out_of_place" : "in_place", std::move(place));
  }

  // Of the fastest row, whose two decimals say most.
  void note_ratio(std::string_view column, double number) {
    if (column == "algbw") row_algorithm_ = number;
    if (column != "busbw" || row_algorithm_ <= algorithm_) return;
    algorithm_ = row_algorithm_;
    bus_ = number;
  }

  // The file may be named after what it holds: "h100_all_reduce.txt".
  void read_collective_of_file() {
    if (!collective_.empty()) return;
    const std::string name = file_.substr(file_.find_last_of('/') + 1);
    for (const std::string_view collective : kCollectives) {
      if (!collective_.empty() || name.find(collective) == std::string::npos) continue;
      collective_ = collective;
    }
    if (collective_.empty()) collective_ = reducing_collective();
    if (collective_.empty()) {
      fail("the table does not say which collective it is of",
           "keep the command line in the file, or name the file after it: all_reduce.txt");
    }
  }

  // Two of them reduce to no root, and the ratio of the bandwidths is one's twice the other's.
  [[nodiscard]] std::string reducing_collective() const {
    if (!reduces_ || has_root_ || !is_fast_enough()) return "";
    for (const char* collective : {"all_reduce", "reduce_scatter"}) {
      if (has_ratio_of(collective)) return collective;
    }
    return "";
  }

  // Two decimals are 1 % then.
  [[nodiscard]] bool is_fast_enough() const {
    constexpr double kFastEnough = 1.0;  // GB/s
    return algorithm_ >= kFastEnough && ranks_.size() > 1;
  }

  [[nodiscard]] bool has_ratio_of(const std::string& collective) const {
    const double expected = bus_factor(collective, static_cast<int>(ranks_.size()));
    return std::abs(bus_ - expected * algorithm_) <= 0.03 * expected * algorithm_;
  }

  void judge_ratio() const {
    if (!is_fast_enough() || has_ratio_of(collective_)) return;
    const double expected = bus_factor(collective_, static_cast<int>(ranks_.size()));
    fail(fmt::format("busbw is {:.2f} times algbw, and {} among {} ranks has {:.2f}",
                     bus_ / algorithm_, collective_, ranks_.size(), expected),
         "the table is of another collective, or some of its ranks are not listed");
  }

  const std::string& file_;
  std::string collective_, library_;
  std::set<std::string> ranks_;
  std::vector<std::string> columns_;
  Json devices_ = Json::array(), results_ = Json::array();
  bool reduces_ = false, has_root_ = false;
  double algorithm_ = 0.0, bus_ = 0.0, row_algorithm_ = 0.0;
};

}  // namespace

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

std::vector<TableLine> table_lines_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<TableLine> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    TableLine line{static_cast<int>(lines.size()) + 1, text.substr(at, end - at), {}};
    std::size_t word = 0;
    while ((word = line.text.find_first_not_of(kBlanks, word)) != std::string_view::npos) {
      const std::size_t behind = std::min(line.text.find_first_of(kBlanks, word), line.text.size());
      line.words.push_back(line.text.substr(word, behind - word));
      word = behind;
    }
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

Json nccl_text_as_json(std::string_view text, const std::string& file) {
  return NcclText(file).read(text);
}

}  // namespace penstock
