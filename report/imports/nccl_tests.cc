// Text output is turned into the JSON form first (nccl_text.h), so one reader judges both. A row
// counts only if its bandwidth is bytes over its time within what two decimals allow, and if no
// value was wrong: a benchmark that computes wrong results says nothing about speed. Times are
// those out of place; where there is none, those in place, and that is noted.
#include "report/imports/nccl_tests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/imports/loose_number.h"
#include "report/imports/measured_text.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kVersion = 3;  // of the JSON, as nccl-tests 2.19.6 writes it

// One time of a result, with the counter of wrong values beside it.
struct Timed {
  std::optional<Duration> time;
  bool wrong = false;
  bool of_host = false;            // cpu_time: until the call returned
  bool is_median = false;          // of -I
  std::optional<double> gb_per_s;  // as the file says it
};

// Which results are of one curve.
using Series = std::tuple<std::string, std::string, std::string>;  // type, operation, root

std::string text_or_empty(JsonReader& object, std::string_view key) {
  const std::optional<JsonReader> value = object.get(key);
  if (!value) return "";
  const Json::Kind kind = value->value().kind();
  const bool is_text = kind == Json::Kind::kString || kind == Json::Kind::kNumber;
  const std::string text = is_text ? value->value().text() : "";
  const std::size_t first = text.find_first_not_of(' ');  // roots are padded
  return first == std::string::npos ? "" : text.substr(first);
}

bool is_object(const std::optional<JsonReader>& value) {
  return value && value->value().kind() == Json::Kind::kObject;
}

class NcclReader {
 public:
  NcclReader(const Json& json, const std::string& file) : reader_(json, file) {}

  NcclTest read(const std::string& file) {
    test_.file = file;
    if (!reader_.has("results") || !reader_.has("args")) {
      throw_bad_input(file +
                      ": expected what nccl-tests write with -J, an object with args and results\n"
                      "help: run for example: all_reduce_perf -b 8 -e 1G -f 2 -J all_reduce.json");
    }
    read_head();
    for (JsonReader& result : reader_.at("results").elements()) add(result);
    make_curve();
    tell();
    if (test_.curve.empty()) {
      throw_bad_input(fmt::format(
          "{}: /results: none of {} can be used{}\nhelp: run it again, with -c 1 to check results",
          file, count_of(results_, "result"),
          test_.notes.empty() ? "" : "; " + joined(test_.notes, "; ")));
    }
    return std::move(test_);
  }

 private:
  void read_head() {
    read_collective();
    read_version();
    test_.started = text_or_empty(reader_, "start_time");
    test_.nccl_version = text_or_empty(reader_, "nccl_version");
    JsonReader config = reader_.at("config");
    const auto count = [&](const char* key) {
      const JsonReader value = config.at(key);
      const std::optional<std::int64_t> number = loose_integer(value);
      if (!number || *number < 1 || *number > kMostRanks) value.expected("a whole number >= 1");
      return *number;
    };
    const std::int64_t per_process = count("nthreads") * count("ngpus");
    const JsonReader devices = config.at("devices");
    std::vector<JsonReader> processes = devices.elements();
    const std::int64_t ranks = per_process * std::ssize(processes);
    if (ranks < 2 || ranks > kMostRanks) {
      devices.fail(fmt::format(
          "expected 2 ranks or more, one entry per process times nthreads times ngpus, got {}",
          ranks));
    }
    test_.ranks = static_cast<int>(ranks);
    read_hosts(processes);
  }

  void read_collective() {
    const JsonReader args = reader_.at("args");
    const std::vector<JsonReader> words = args.elements();
    if (words.empty()) args.fail("expected the command line, got none");
    std::string name = words.front().string();
    name = name.substr(name.find_last_of('/') + 1);
    const std::size_t end = name.rfind("_perf");
    if (end == std::string::npos || end == 0) {
      words.front().expected("the program of a collective, such as ./build/all_reduce_perf");
    }
    test_.collective = name.substr(0, end);
  }

  void read_version() {
    const std::string version = text_or_empty(reader_, "version");
    if (version.empty() || version == std::to_string(kVersion)) return;
    test_.notes.push_back(
        fmt::format("the file is of JSON version {}, read as version {}", version, kVersion));
  }

  void read_hosts(std::vector<JsonReader>& processes) {
    std::set<std::string> hosts, groups;
    for (JsonReader& process : processes) {
      hosts.insert(text_or_empty(process, "hostname"));
      groups.insert(text_or_empty(process, "group"));
      add_gpu(text_or_empty(process, "device_info"));
    }
    if (!hosts.contains("")) test_.hosts = static_cast<int>(hosts.size());
    if (groups.size() > 1) {
      reader_.at("config").at("devices").fail(fmt::format(
          "{} groups ran at once, so that no time is that of one collective alone; run it without "
          "NCCL_TESTS_SPLIT",
          groups.size()));
    }
  }

  void add_gpu(const std::string& gpu) {
    const bool is_new = std::find(test_.gpus.begin(), test_.gpus.end(), gpu) == test_.gpus.end();
    if (is_new && !gpu.empty()) test_.gpus.push_back(gpu);
  }

  void add(JsonReader& result) {
    ++results_;
    const JsonReader size = result.at("size");
    const std::optional<std::int64_t> bytes = loose_integer(size);
    if (!bytes || *bytes < 0 || *bytes > (std::int64_t{1} << 53)) {
      size.expected("a number of bytes, an integer from 0 to 2^53");
    }
    const Timed outside = timed(result, "out_of_place"), inside = timed(result, "in_place");
    const bool is_outside = outside.time.has_value();
    const Timed& chosen = is_outside ? outside : inside;
    if (outside.wrong || inside.wrong) {
      ++wrong_;
    } else if (!chosen.time || *bytes == 0) {
      ++without_time_;
    } else {
      if (!is_outside) ++in_place_;
      if (chosen.of_host) ++of_host_;
      if (chosen.is_median) ++medians_;
      if (!agrees(chosen, *bytes)) ++other_unit_;
      const Series series{text_or_empty(result, "type"), text_or_empty(result, "redop"),
                          text_or_empty(result, "root")};
      if (!series_) series_ = series;
      if (series == *series_) {
        times_[*bytes].push_back(*chosen.time);
      } else {
        ++other_series_;
      }
    }
  }

  // Whether the bandwidth beside a time is bytes over it: to 5 %, and to the two decimals that are
  // written.
  static bool agrees(const Timed& timed, std::int64_t bytes) {
    if (!timed.gb_per_s || timed.is_median) return true;
    const auto nanoseconds = static_cast<double>(timed.time->count());
    const auto size = static_cast<double>(bytes);
    return std::abs(*timed.gb_per_s * nanoseconds - size) <= 0.05 * size + 0.01 * nanoseconds;
  }

  // Absent, null and "nan" are no time.
  Timed timed(JsonReader& result, const std::string& key) {
    Timed timed;
    std::optional<JsonReader> place = result.get(key);
    if (is_object(place)) {
      timed.time = time_of(*place, "time");
      if (!timed.time) {
        timed.time = time_of(*place, "cpu_time");
        timed.of_host = timed.time.has_value();
      }
      if (const auto speed = place->get("alg_bw")) timed.gb_per_s = loose_number(*speed);
      if (const auto wrong = place->get("nwrong")) {
        timed.wrong = loose_number(*wrong).value_or(0.0) > 0.0;
      }
    }
    std::optional<JsonReader> each = result.get(key + "_per_iter");
    if (!timed.time && is_object(each)) {
      timed.time = time_of(*each, "p50_us");
      timed.is_median = timed.time.has_value();
    }
    return timed;
  }

  static std::optional<Duration> time_of(JsonReader& object, std::string_view key) {
    const std::optional<JsonReader> value = object.get(key);
    if (!value) return {};
    return loose_time(*value, TimeUnit::kMicroseconds);
  }

  void make_curve() {
    for (auto& [bytes, times] : times_) {
      if (times.size() > 1) ++repeated_;
      std::sort(times.begin(), times.end());
      test_.curve.push_back({Bytes{bytes}, times[(times.size() - 1) / 2]});
    }
  }

  void tell() {
    const auto note = [&](int count, const std::string& what) {
      if (count > 0) {
        test_.notes.push_back(fmt::format("{}: {}", count_of(count, "result"), what));
      }
    };
    note(wrong_, "left out, since values came out wrong");
    note(without_time_, "left out, without a time or without bytes");
    note(in_place_, "in place, since there is no time out of place");
    note(of_host_, "a time of the host, not of the device (-C)");
    note(medians_, "the median of -I, since there is no mean");
    note(other_unit_, "alg_bw in GB/s is not size over time in microseconds, as which it is taken");
    if (other_series_ > 0) {
      const auto& [type, operation, root] = *series_;
      note(other_series_, fmt::format("left out, of another type, operation or root than the "
                                      "first, {} {} {}",
                                      type, operation, root));
    }
    if (repeated_ > 0) {
      test_.notes.push_back(
          fmt::format("{} measured several times: the median", count_of(repeated_, "size")));
    }
    if (test_.collective == "sendrecv") {
      test_.notes.emplace_back(
          "a ring in which every rank sends and receives at once: the time of a loaded link in "
          "both "
          "directions, not of an idle one");
    }
  }

  JsonReader reader_;
  NcclTest test_;
  std::map<std::int64_t, std::vector<Duration>> times_;
  std::optional<Series> series_;
  int results_ = 0, wrong_ = 0, without_time_ = 0, in_place_ = 0, of_host_ = 0, medians_ = 0;
  int other_series_ = 0, other_unit_ = 0, repeated_ = 0;
};

// Behind the closing quote of the string that starts at `at`, or the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

constexpr std::string_view kBlanks = " \t\r\n";

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

bool is_at(std::string_view text, std::size_t at, char c) {
  return at < text.size() && text[at] == c;
}

// Behind the list of texts that starts at or after `at`. A list that is not whole could leave a
// part of itself to the parser, whose message would show it.
std::optional<std::size_t> end_of_list(std::string_view text, std::size_t at) {
  at = skip_blanks(text, at);
  if (!is_at(text, at, '[')) return {};
  at = skip_blanks(text, at + 1);
  if (is_at(text, at, ']')) return at + 1;
  while (is_at(text, at, '"')) {
    at = skip_blanks(text, end_of_string(text, at));
    if (is_at(text, at, ']')) return at + 1;
    if (!is_at(text, at, ',')) return {};
    at = skip_blanks(text, at + 1);
  }
  return {};
}

}  // namespace

std::string without_environment(std::string_view text, const std::string& file) {
  std::string kept;
  std::size_t from = 0, at = 0;
  while (at < text.size()) {
    if (text[at] != '"') {
      ++at;
      continue;
    }
    const std::size_t end = end_of_string(text, at);
    const bool is_environment = text.substr(at, end - at) == "\"env\"";
    const std::size_t colon = skip_blanks(text, end);
    at = end;
    if (!is_environment || !is_at(text, colon, ':')) continue;
    const std::optional<std::size_t> end_of_value = end_of_list(text, colon + 1);
    if (!end_of_value) {
      throw_bad_input(fmt::format(
          "{}:{}: /env: expected a whole list of texts (its values are not shown)\nhelp: copy the "
          "file again, or remove this key, which nothing needs",
          file,
          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n')));
    }
    at = *end_of_value;
    kept += text.substr(from, colon + 1 - from);
    kept += " null";
    const std::string_view cut = text.substr(colon + 1, at - colon - 1);
    kept.append(static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n')), '\n');
    from = at;
  }
  return kept += text.substr(from);
}

NcclTest read_nccl_test(std::string_view text, const std::string& file) {
  const Json json = is_json(text) ? parse_json(without_environment(text, file), file)
                                  : nccl_text_as_json(text, file);
  return NcclReader(json, file).read(file);
}

double bus_factor(const std::string& collective, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (collective == "all_reduce") return 2.0 * others;
  const bool moves_others_only = collective == "all_gather" || collective == "reduce_scatter" ||
                                 collective == "alltoall" || collective == "gather" ||
                                 collective == "scatter";
  return moves_others_only ? others : 1.0;
}

}  // namespace penstock
