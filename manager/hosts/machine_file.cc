// Reads the list of machines that a person or a scheduler writes while the manager runs.
//
// A file is taken whole or not at all: whoever writes it may be half way through, and a list that
// is cut off would take machines from the job. The content that was looked at last is remembered,
// so that each mistake is said once. Names of hosts are kept to what cannot be misread on a command
// line.
#include "manager/hosts/machine_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr int kMostGpus = 1 << 16;

bool is_name(const std::string& host) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@%-";
  return !host.empty() && host.size() <= 255 && host.front() != '-' &&
         host.find_first_not_of(kLetters) == std::string::npos;
}

// A number alone is none: somebody meant something else.
bool is_type(const std::string& device) {
  return is_name(device) && device.find_first_not_of("0123456789.") != std::string::npos;
}

[[noreturn]] void bad_line(const std::string& place, const std::string& what) {
  throw_bad_input(place + ": " + what +
                  "\nhelp: a line is a host, its number of GPUs, and their type if the job's "
                  "book counts types: gpu7 8 a100-40gb");
}

class Machines {
 public:
  void add(ListedMachine machine, const std::string& place) {
    if (!is_name(machine.host)) {
      bad_line(place, "'" + machine.host + "' is not the name of a host");
    }
    if (!hosts_.insert(machine.host).second) {
      bad_line(place, machine.host + " is named a second time");
    }
    if (!machine.device.empty() && !is_type(machine.device)) {
      bad_line(place, "'" + machine.device + "' is not a device type");
    }
    all_.push_back(std::move(machine));
  }
  [[nodiscard]] std::vector<ListedMachine> take() { return std::move(all_); }

 private:
  std::vector<ListedMachine> all_;
  std::set<std::string> hosts_;
};

void read_line(const std::string& line, const std::string& place, Machines& machines) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line + " ") {
    if (c == '#') break;
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
      continue;
    }
    if (!word.empty()) words.push_back(word);
    word.clear();
  }
  if (!word.empty()) words.push_back(word);
  if (words.empty()) return;
  if (words.size() > 3) bad_line(place, "there are " + std::to_string(words.size()) + " words");
  ListedMachine machine{words[0], 1, words.size() == 3 ? words[2] : ""};
  if (words.size() >= 2) {
    const char* const last = words[1].data() + words[1].size();
    const auto [end, error] = std::from_chars(words[1].data(), last, machine.gpus);
    if (error != std::errc() || end != last || machine.gpus < 1 || machine.gpus > kMostGpus) {
      bad_line(place, "expected a number of GPUs, got '" + words[1] + "'");
    }
  }
  machines.add(std::move(machine), place);
}

std::vector<ListedMachine> read_json(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  JsonReader reader(json, file);
  Machines machines;
  if (auto format = reader.get("format"); format && format->string() != "penstock.machines/1") {
    format->expected("penstock.machines/1");
  }
  for (JsonReader& each : reader.at("machines").elements()) {
    ListedMachine machine;
    machine.host = each.at("host").string();
    if (auto gpus = each.get("gpus")) {
      machine.gpus = static_cast<int>(gpus->integer(1, kMostGpus));
    }
    if (auto device = each.get("device")) machine.device = device->string();
    each.finish();
    machines.add(std::move(machine), file + ":" + std::to_string(each.value().line()));
  }
  reader.finish();
  return machines.take();
}

}  // namespace

std::vector<ListedMachine> read_machines(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return read_json(text, file);
  Machines machines;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    read_line(std::string(text.substr(at, end - at)), file + ":" + std::to_string(++number),
              machines);
    at = end + 1;
  }
  return machines.take();
}

MachineFile::Look MachineFile::look() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    if (std::exchange(missing_, true)) return {};
    content_.reset();
    return {std::nullopt, path_ + ": cannot be read"};
  }
  missing_ = false;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text == content_) return {};
  content_ = text;
  try {
    std::vector<ListedMachine> machines = read_machines(text, path_);
    if (machines == good_) return {};
    good_ = std::move(machines);
    return {good_, ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

}  // namespace penstock
