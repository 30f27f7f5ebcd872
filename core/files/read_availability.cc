// Reads a recording of available GPUs row by row. Rows of one moment become one change, since a
// wave of preemptions is one event for whoever has to react to it. What holds afterwards: times
// rise strictly, a machine is added once and lost at most once, and `gpus` of a change is the sum
// over the machines that are there.
#include "core/files/read_availability.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "core/values/byte_order_mark.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostSeconds = 1'000'000'000;  // 31 years
constexpr int kMostGpus = 1'000'000;
constexpr std::size_t kMostRows = 10'000'000;

constexpr std::string_view kHelp =
    "help: the first line is time_s,gpus or time_s,node,event,gpus, of several device types "
    "time_s,gpus:TYPE,gpus:TYPE or time_s,node,event,gpus,device; see docs/file_formats.md";
constexpr std::string_view kOfType = "gpus:";
constexpr std::size_t kMostTypes = 64;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

class AvailabilityReader {
 public:
  AvailabilityReader(std::string_view text, const std::string& file)
      : rest_(without_byte_order_mark(text)), file_(file) {}

  Availability read() {
    read_columns();
    std::size_t rows = 0;
    while (next_line()) {
      if (ended_) fail("the recording has ended above; remove what follows its end");
      if (++rows > kMostRows) fail("more rows than any recording has");
      read_row();
    }
    if (rows == 0) fail("there are no rows");
    if (names_machines_ && !ended_) {
      fail(
          "expected a last row with the event \"end\", which says when the recording ended: "
          "TIME,-,end,0");
    }
    if (!names_machines_) end_counts();
    // Types that came up later were not there before.
    for (AvailabilityChange& change : result_.changes) {
      change.of_types.resize(result_.types.size(), 0);
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input(file_ + ":" + std::to_string(line_number_) + ": " + message);
  }

  // Blank lines are skipped; a carriage return at the end of a line is not part of it.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++line_number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      cells_ = cells_of(line);
      return true;
    }
    return false;
  }

  void read_columns() {
    if (!next_line()) fail("the file is empty\n" + std::string(kHelp));
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::string name(cells_[i]);
      if (name.starts_with(kOfType) && name.size() > kOfType.size()) {
        result_.types.push_back(name.substr(kOfType.size()));
      } else if (name != "time_s" && name != "gpus" && name != "node" && name != "event" &&
                 name != "device" && name != "notice_s" && name != "usd_per_gpu_hour") {
        fail("\"" + name + "\" is not a column of a recording of available GPUs\n" +
             std::string(kHelp));
      }
      if (!columns_.emplace(name, i).second) fail("the column " + name + " stands twice");
    }
    names_machines_ = columns_.contains("node") || columns_.contains("event");
    require_column("time_s");
    if (result_.types.size() > kMostTypes) fail("more device types than any recording has");
    if (!result_.types.empty() && (names_machines_ || columns_.contains("gpus"))) {
      fail("gpus:" + result_.types.front() +
           " counts the GPUs of a type; leave out gpus, node and " +
           "event, or say the type of each node in a column device");
    }
    if (result_.types.empty()) require_column("gpus");
    if (names_machines_) {
      for (const char* name : {"node", "event"}) require_column(name);
    } else {
      for (const char* name : {"notice_s", "device"}) {
        if (columns_.contains(name)) fail(std::string(name) + " goes with node and event only");
      }
    }
  }

  void require_column(const char* name) const {
    if (!columns_.contains(name)) {
      fail("there is no column " + std::string(name) + "\n" + std::string(kHelp));
    }
  }

  [[nodiscard]] std::string_view cell(const char* column) const {
    return cells_[columns_.find(column)->second];
  }

  [[nodiscard]] std::int64_t integer(const char* column, std::int64_t most) const {
    const std::string_view text = cell(column);
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
      fail(std::string(column) + ": expected an integer from 0 to " + std::to_string(most) +
           ", got \"" + std::string(text) + "\"");
    }
    return value;
  }

  [[nodiscard]] bool says(const char* column) const {
    return columns_.contains(column) && !cell(column).empty();
  }

  void read_price(AvailabilityChange& change) const {
    if (!says("usd_per_gpu_hour")) return;
    const std::string_view text = cell("usd_per_gpu_hour");
    double value = -1.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value < 0.0 || value > 1e6) {
      fail("usd_per_gpu_hour: expected a price from 0 to 1000000, got \"" + std::string(text) +
           "\"");
    }
    change.usd_per_gpu_hour = value;
  }

  void read_row() {
    if (cells_.size() != columns_.size()) {
      fail("expected " + std::to_string(columns_.size()) + " cells, got " +
           std::to_string(cells_.size()));
    }
    const Duration at = std::chrono::seconds(integer("time_s", kMostSeconds));
    if (at < last_ || (!names_machines_ && line_number_ > 2 && at == last_)) {
      fail("time_s: " + std::string(cell("time_s")) + " is not after the row before it");
    }
    last_ = at;
    names_machines_ ? read_machine(at) : read_count(at);
  }

  AvailabilityChange& change_at(Duration at) {
    std::vector<AvailabilityChange>& changes = result_.changes;
    if (changes.empty() || changes.back().at != at) {
      changes.push_back({at,
                         changes.empty() ? 0 : changes.back().gpus,
                         {},
                         {},
                         {},
                         {},
                         changes.empty() ? std::vector<int>{} : changes.back().of_types});
    }
    return changes.back();
  }

  void read_count(Duration at) {
    AvailabilityChange& change = change_at(at);
    change.of_types.clear();
    for (const std::string& type : result_.types) {
      const std::string column = std::string(kOfType) + type;
      change.of_types.push_back(static_cast<int>(integer(column.c_str(), kMostGpus)));
    }
    if (result_.types.empty()) {
      change.gpus = static_cast<int>(integer("gpus", kMostGpus));
    } else {
      std::int64_t sum = 0;
      for (const int gpus : change.of_types) sum += gpus;
      if (sum > kMostGpus) fail("more than 1000000 GPUs at one time");
      change.gpus = static_cast<int>(sum);
    }
    read_price(change);
    result_.end = at;
  }

  // The end, and rows that change nothing, are no events.
  void end_counts() {
    std::vector<AvailabilityChange> kept;
    for (AvailabilityChange& change : result_.changes) {
      const bool is_new = kept.empty() || change.gpus != kept.back().gpus ||
                          change.of_types != kept.back().of_types || change.usd_per_gpu_hour;
      const bool counts = kept.empty() || change.at < result_.end;
      if (is_new && !counts && change.gpus != kept.back().gpus) result_.gpus_at_end = change.gpus;
      if (is_new && counts) kept.push_back(std::move(change));
    }
    result_.changes = std::move(kept);
  }

  void read_machine(Duration at) {
    const std::string_view event = cell("event");
    if (event == "end") {
      if (result_.changes.empty()) fail("the recording ends before its first machine is added");
      result_.end = at;
      ended_ = true;
    } else if (event == "add") {
      add(at, std::string(cell("node")));
    } else if (event == "remove") {
      remove(at, std::string(cell("node")));
    } else {
      fail("event: expected add, remove or end, got \"" + std::string(event) + "\"");
    }
  }

  void add(Duration at, const std::string& name) {
    const int gpus = static_cast<int>(integer("gpus", kMostGpus));
    if (gpus == 0) fail("gpus: a machine without GPUs is of no use; remove its rows");
    const int index = static_cast<int>(result_.machines.size());
    if (!indices_.emplace(name, index).second) {
      fail("node: \"" + name + "\" was added above; a machine that comes back has another name");
    }
    result_.machines.push_back({name, gpus, type_of_row()});
    is_there_.push_back(true);
    AvailabilityChange& change = change_at(at);
    if (change.gpus > kMostGpus - gpus) fail("more than 1000000 GPUs at one time");
    change.gpus += gpus;
    count(change, index, 1);
    change.added.push_back(index);
    read_price(change);
  }

  // Of the machine that is added; types are numbered as they come up.
  int type_of_row() {
    if (!columns_.contains("device")) return 0;
    if (!says("device")) fail("device: an added machine needs its type");
    const std::string type(cell("device"));
    const auto known = std::find(result_.types.begin(), result_.types.end(), type);
    if (known == result_.types.end()) {
      if (result_.types.size() == kMostTypes) fail("more device types than any recording has");
      result_.types.push_back(type);
      return static_cast<int>(result_.types.size()) - 1;
    }
    return static_cast<int>(known - result_.types.begin());
  }

  void count(AvailabilityChange& change, int machine, int sign) const {
    if (!columns_.contains("device")) return;
    const AvailableMachine& its = result_.machines[static_cast<std::size_t>(machine)];
    change.of_types.resize(result_.types.size(), 0);
    change.of_types[static_cast<std::size_t>(its.type)] += sign * its.gpus;
  }

  void remove(Duration at, const std::string& name) {
    const auto found = indices_.find(name);
    if (found == indices_.end() || !is_there_[static_cast<std::size_t>(found->second)]) {
      fail("node: \"" + name + "\" is not there; a machine is added before it is removed");
    }
    require_type_of(result_.machines[static_cast<std::size_t>(found->second)]);
    is_there_[static_cast<std::size_t>(found->second)] = false;
    AvailabilityChange& change = change_at(at);
    change.gpus -= result_.machines[static_cast<std::size_t>(found->second)].gpus;
    count(change, found->second, -1);
    // A machine that comes and goes at once was never there.
    if (std::erase(change.added, found->second) == 0) change.lost.push_back(found->second);
    read_notice(change);
    read_price(change);
  }

  // Where the row of a machine that is lost says its type at all.
  void require_type_of(const AvailableMachine& machine) const {
    if (!says("device")) return;
    const std::string& type = result_.types[static_cast<std::size_t>(machine.type)];
    if (cell("device") == type) return;
    fail("device: \"" + machine.name + "\" was added as " + type + ", and is removed as " +
         std::string(cell("device")) + "; leave the cell empty, or name the type it was added as");
  }

  // Of machines that are lost together, the shortest notice counts.
  void read_notice(AvailabilityChange& change) const {
    if (!says("notice_s")) return;
    const Duration notice = std::chrono::seconds(integer("notice_s", kMostSeconds));
    change.notice = change.notice ? std::min(*change.notice, notice) : notice;
  }

  std::string_view rest_;
  std::string file_;
  int line_number_ = 0;
  std::vector<std::string_view> cells_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  bool names_machines_ = false, ended_ = false;
  Duration last_{};
  std::map<std::string, int> indices_;
  std::vector<bool> is_there_;
  Availability result_;
};

}  // namespace

Availability read_availability(std::string_view text, const std::string& file) {
  return AvailabilityReader(text, file).read();
}

}  // namespace penstock
