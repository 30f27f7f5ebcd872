// A device is found by any name that drivers and clouds have for it, and by its letters and digits
// alone. What is a number of devices, a machine or a place where programs run is refused with the
// device that was probably meant.
#include "cli/words/device_called.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/words/device_facts.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "estimator/shipped_data.h"
#include "report/words.h"

namespace penstock {
namespace {

// "NVIDIA A100-SXM4-80GB", as drivers and clouds call it, is "a100-sxm-80gb".
std::string without_maker(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    plain.push_back(lower == ' ' || lower == '_' ? '-' : lower);
  }
  for (const std::string_view maker : {"nvidia-", "tesla-", "amd-"}) {
    if (plain.starts_with(maker)) plain.erase(0, maker.size());
  }
  for (const std::string_view part : {"-hbm3e", "-hbm3", "-hbm2e"}) {
    if (plain.ends_with(part)) plain.erase(plain.size() - part.size());
  }
  // Each generation has one socket: SXM2 for V100, SXM4 for A100, SXM5 for H100.
  const std::size_t socket = plain.find("-sxm");
  const std::size_t number = socket + 4;
  if (socket != std::string::npos && number < plain.size() && plain[number] >= '2' &&
      plain[number] <= '6') {
    plain.erase(number, 1);
  }
  return plain;
}

// Of "h100", "-h100-" and "h100s"; empty where there is no such device.
std::string known_name(std::string_view text, const std::vector<std::string>& known) {
  while (text.starts_with('-')) text.remove_prefix(1);
  while (text.ends_with('-')) text.remove_suffix(1);
  const auto is_known = [&known](std::string_view name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  if (!is_known(text) && text.ends_with('s')) text.remove_suffix(1);
  return is_known(text) ? std::string(text) : "";
}

struct CountedDevice {
  std::string device;
  std::int64_t count;
};

// "8xh100", "8-x-h100", "2x8xh100", "8-h100s", "h100:8" and "h100-x-8".
std::optional<CountedDevice> counted_device(std::string_view plain,
                                            const std::vector<std::string>& known) {
  constexpr std::string_view kDigits = "0123456789", kMarks = "x*:=-";
  constexpr std::int64_t kMost = 1 << 17;
  const auto number_in = [](std::string_view digits) {
    std::int64_t number = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return result.ec == std::errc() && number > 0 && number <= kMost ? number : 0;
  };
  std::int64_t count = 1;
  std::string_view rest = plain;
  while (count > 0 && count <= kMost && !rest.empty() &&
         kDigits.find(rest.front()) != std::string_view::npos) {
    const std::size_t end = std::min(rest.find_first_not_of(kDigits), rest.size());
    count *= number_in(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.find_first_not_of(kMarks, end), rest.size()));
  }
  if (count > 0 && count <= kMost && rest.size() < plain.size()) {
    std::string device = known_name(rest, known);
    if (!device.empty()) return CountedDevice{std::move(device), count};
  }
  const std::size_t last = plain.find_last_not_of(kDigits) + 1;
  const std::size_t before = plain.find_last_not_of(kMarks, last == 0 ? 0 : last - 1) + 1;
  count = number_in(plain.substr(last));
  const bool has_mark =
      plain.substr(before, last - before).find_first_of("x*:=") != std::string_view::npos;
  std::string device = has_mark ? known_name(plain.substr(0, before), known) : "";
  if (count == 0 || device.empty()) return std::nullopt;
  return CountedDevice{std::move(device), count};
}

// "h100:8,a100:8" of "h100,a100".
std::string node_of_each(const std::string& names) {
  std::string counted;
  for (const std::string& name : parse_list("--device", names)) {
    counted += fmt::format("{}{}:8", counted.empty() ? "" : ",", name);
  }
  return counted;
}

// "8xH100", "H100:8" and "h100,a100": more than one device.
void refuse_several(const std::string& name, const std::vector<std::string>& known) {
  const std::string plain = without_maker(name);
  if (name.find(',') != std::string::npos && name.find_first_of(":*=") != std::string::npos) {
    bad_option("--device", fmt::format("'{}' names numbers of several", name),
               fmt::format("GPUs of several types at once are a cluster file: penstock devices {} "
                           "--cluster-out mixed.json writes it; then give --cluster mixed.json in "
                           "place of --device",
                           name));
  }
  if (name.find(',') != std::string::npos) {
    std::set<std::string> sheets;
    for (const std::string& each : parse_list("--device", name)) {
      sheets.insert(sheet_of(each).name);
    }
    if (sheets.size() == 1) {
      bad_option("--device", fmt::format("'{}' is one device by several names", name),
                 "write --device " + *sheets.begin());
    }
    bad_option("--device", fmt::format("'{}' names several", name),
               fmt::format("penstock compare --vary device={} plans for each of them; GPUs of "
                           "several types at once are a cluster file: penstock devices {} "
                           "--cluster-out mixed.json writes one; then give --cluster mixed.json "
                           "in place of --device",
                           name, node_of_each(name)));
  }
  if (const auto counted = counted_device(plain, known)) {
    bad_option(
        "--device", fmt::format("'{}' is a number of devices", name),
        fmt::format("write --device {0} --gpus {1}, the GPUs of all nodes; another --gpus that is "
                    "given stays, and of N such nodes it is N x {1}",
                    counted->device, counted->count));
  }
}

// Letters and digits: "h100sxm5" and "A100_80GB" are spelled as people like.
std::string bare(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) out.push_back(static_cast<char>(std::tolower(byte)));
  }
  // "a100-80g"
  if (out.size() > 2 && out.back() == 'g' &&
      std::isdigit(static_cast<unsigned char>(out[out.size() - 2])) != 0 && out != "a10g") {
    out.push_back('b');
  }
  // The socket's number, as in "a100sxm480gb" and "h100sxm5".
  const std::size_t socket = out.find("sxm");
  if (socket == std::string::npos || socket + 3 >= out.size()) return out;
  const bool is_size = out.ends_with("gb") && out.size() - socket < 3 + 5;
  if (out[socket + 3] >= '2' && out[socket + 3] <= '6' && !is_size) out.erase(socket + 3, 1);
  return out;
}

bool is_spelled_so(const DeviceSheet& sheet, const std::string& letters) {
  return bare(sheet.name) == letters ||
         std::any_of(sheet.aliases.begin(), sheet.aliases.end(),
                     [&](const std::string& alias) { return bare(alias) == letters; });
}

// What clouds and vendors rent, and the GPU in it: the providers' pages of instance types.
struct Machine {
  std::string_view begin, device;
};
constexpr std::array kMachines{
    Machine{"p3.", "v100-sxm-16gb"},
    Machine{"p3dn", "v100-sxm-32gb"},
    Machine{"p4d", "a100-sxm-40gb"},
    Machine{"p4de", "a100-sxm-80gb"},
    Machine{"p5.", "h100-sxm"},
    Machine{"p5e", "h200-sxm"},
    Machine{"p6-b200", "b200"},
    Machine{"g5.", "a10g"},
    Machine{"g6e", "l40s"},
    Machine{"a2-highgpu", "a100-sxm-40gb"},
    Machine{"a2-megagpu", "a100-sxm-40gb"},
    Machine{"a2-ultragpu", "a100-sxm-80gb"},
    Machine{"a3-ultragpu", "h200-sxm"},
    Machine{"a3-", "h100-sxm"},
    Machine{"a4-", "b200"},
    Machine{"standard-nd96asr", "a100-sxm-40gb"},
    Machine{"standard-nd96amsr", "a100-sxm-80gb"},
    Machine{"standard-nd96isr-h100", "h100-sxm"},
    Machine{"standard-nd96isr-h200", "h200-sxm"},
    Machine{"standard-nd96isr-mi300x", "mi300x"},
    Machine{"dgx-a100", "a100-sxm-40gb or a100-sxm-80gb"},
    Machine{"dgx-h100", "h100-sxm"},
    Machine{"dgx-h200", "h200-sxm"},
    Machine{"dgx-b200", "b200"},
    Machine{"hgx-a100", "a100-sxm-40gb or a100-sxm-80gb"},
    Machine{"hgx-h100", "h100-sxm"},
    Machine{"hgx-h200", "h200-sxm"},
    Machine{"hgx-b200", "b200"},
};

// The GPU of the machine; empty where there is none of the name.
std::string_view machine_device(const std::string& plain) {
  std::string_view device;
  std::size_t longest = 0;
  for (const Machine& machine : kMachines) {
    if (!plain.starts_with(machine.begin) || machine.begin.size() <= longest) continue;
    longest = machine.begin.size();
    device = machine.device;
  }
  return device;
}

void refuse_machine(const std::string& name, const std::string& plain) {
  const std::string_view device = machine_device(plain);
  if (device.empty()) return;
  bad_option(
      "--device", fmt::format("'{}' is a machine, and a GPU belongs here", name),
      fmt::format("write --device {}; --gpus N counts the GPUs of all machines, --nodes N the "
                  "machines",
                  device));
}

// Chips that train models and are no GPUs: their products and memories follow other rules than the
// efficiencies that are fitted here.
struct OtherChip {
  std::array<std::string_view, 4> begins;
  std::string_view words;
};
constexpr std::array kOtherChips{
    OtherChip{{"tpu", "google-tpu", "cloud-tpu", "trillium"}, "TPUs are"},
    OtherChip{{"trainium", "trn1", "trn2", "inferentia"}, "Trainium is"},
    OtherChip{{"gaudi", "intel-gaudi", "hl-", "habana"}, "Gaudi is"},
    OtherChip{{"ascend", "huawei", "910b", "910c"}, "Ascend is"},
    OtherChip{{"cerebras", "wse", "graphcore", "ipu"}, "such machines are"},
    OtherChip{{"xeon", "epyc", "intel-xeon", "apple"}, "CPUs are"},
};

void refuse_other_chip(const std::string& name, const std::string& plain) {
  for (const OtherChip& chip : kOtherChips) {
    for (const std::string_view begin : chip.begins) {
      if (begin.empty() || !plain.starts_with(begin)) continue;
      bad_option("--device", fmt::format("'{}' is no GPU, and {} not modelled", name, chip.words),
                 "name a GPU, such as h100-sxm or mi300x; of another one a penstock.device/1 file "
                 "says FLOP/s, memory, bandwidth and links (data/devices/h100-sxm.json is one to "
                 "copy, docs/file_formats.md has its keys)");
    }
  }
}

// "list", "help", "?": what is asked here is which there are.
void refuse_list(const std::string& name, std::string_view plain,
                 const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 7> kAsking{"list", "help", "?",    "ls",
                                                    "show", "-h",   "known"};
  if (std::find(kAsking.begin(), kAsking.end(), plain) == kAsking.end()) return;
  bad_option("--device", fmt::format("'{}' is no GPU", name),
             fmt::format("penstock devices lists the GPUs, with what is assumed of each: {}",
                         joined(names, ", ")));
}

// "cuda:0", "gpu", "auto": where a program runs, not what it runs on.
bool is_place(std::string_view plain) {
  for (const std::string_view place : {"cuda", "gpu", "auto", "cpu", "nvidia", "rank", "all", "any",
                                       "best", "cheapest", "fastest"}) {
    if (!plain.starts_with(place)) continue;
    if (plain.find_first_not_of(":0123456789s", place.size()) == std::string_view::npos)
      return true;
  }
  return false;
}

// "h100-80gb-sxm5": the parts of a device's name in any order, and its memory.
std::string same_parts(const std::string& plain, const std::vector<DeviceSheet>& sheets) {
  const auto parts_of = [](const std::string& name) {
    std::set<std::string> parts;
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = std::min(name.find('-', at), name.size());
      std::string part = name.substr(at, end - at);
      if (part.starts_with("sxm")) part = "sxm";
      parts.insert(std::move(part));
      at = end + 1;
    }
    return parts;
  };
  const std::set<std::string> typed = parts_of(plain);
  for (const DeviceSheet& sheet : sheets) {
    std::set<std::string> own = parts_of(sheet.name);
    if (own == typed) return sheet.name;
    const double bytes = static_cast<double>(sheet.memory.count);
    constexpr double kGiga = 1e9, kGibi = 1024.0 * 1024.0 * 1024.0;
    for (const double size : {std::floor(bytes / kGiga), std::ceil(bytes / kGibi)}) {
      std::set<std::string> with_memory = own;
      with_memory.insert(fmt::format("{:.0f}gb", size));
      if (with_memory == typed) return sheet.name;
    }
  }
  return "";
}

// "h800.json" for what is called so.
std::string file_for(const std::string& plain) {
  std::string name;
  for (const char c : plain.substr(0, 30)) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    if (is_plain) name.push_back(c);
  }
  return (name.empty() || name[0] == '-' ? "my-gpu" : name) + ".json";
}

// The device whose file is the nearest to begin with: "h800" is of the generation of h100-sxm.
std::string nearest_of_family(const std::string& chip, const std::vector<std::string>& names) {
  struct Family {
    std::string_view chip, device;
  };
  constexpr std::array kFamilies{
      Family{"h800", "h100-sxm"},     Family{"h20", "h200-sxm"}, Family{"a800", "a100-sxm-80gb"},
      Family{"a30", "a100-sxm-40gb"}, Family{"a40", "a10g"},     Family{"b100", "b200"},
      Family{"b300", "b200"},         Family{"gb300", "gb200"},  Family{"mi325x", "mi300x"},
      Family{"mi355x", "mi300x"},     Family{"l4", "l40s"},      Family{"l40", "l40s"},
      Family{"t4", "a10g"},           Family{"a10", "a10g"},     Family{"p100", "v100-sxm-16gb"},
      Family{"a6000", "a40"},         Family{"a5000", "a10g"},   Family{"l20", "l40s"}};
  for (const Family& family : kFamilies) {
    if (family.chip == chip) return std::string(family.device);
  }
  for (const std::string& name : names) {
    if (name.starts_with(chip)) return name;
  }
  // "3090", "rtx3090", "geforce-rtx-5080"
  const std::size_t digit = chip.find_first_of("0123456789");
  const bool is_of_games = chip.find("rtx") != std::string::npos ||
                           chip.find("geforce") != std::string::npos ||
                           (digit == 0 && chip.size() >= 4);
  return is_of_games ? "rtx-4090" : "h100-sxm";
}

std::string digits_in(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  return digits;
}

}  // namespace

void refuse_as_cluster(const std::string& name) {
  std::error_code error;
  if (name == "-" || std::filesystem::exists(name, error)) return;
  const std::string plain = without_maker(name);
  const char* help = "a cluster file lists other nodes and links (data/clusters has some)";
  if (const std::string_view device = machine_device(plain); !device.empty()) {
    bad_option("--cluster", fmt::format("'{}' is a machine, and a file belongs here", name),
               fmt::format("write --device {} in place of --cluster, with --gpus N for the GPUs of "
                           "all machines; {}",
                           device, help));
  }
  for (const DeviceSheet& sheet : shipped_devices()) {
    if (!sheet.is_called(plain) && !is_spelled_so(sheet, bare(plain))) continue;
    bad_option("--cluster", fmt::format("'{}' is a GPU, and a file belongs here", name),
               fmt::format("write --device {} in place of --cluster; {}", sheet.name, help));
  }
}

DeviceSheet sheet_of(const std::string& name) {
  if (name.ends_with(".json")) return read_device_sheet(load_json(name).value, name);
  const std::string plain = without_maker(name);
  std::vector<std::string> names, all;
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(name) || sheet.is_called(plain)) return std::move(sheet);
    // A colon or a star is that of a number of devices, "a100:40".
    if (plain.find_first_of(":*,") == std::string::npos && is_spelled_so(sheet, bare(plain))) {
      return std::move(sheet);
    }
    names.push_back(sheet.name);
    all.push_back(sheet.name);
    all.insert(all.end(), sheet.aliases.begin(), sheet.aliases.end());
  }
  refuse_several(name, all);
  refuse_machine(name, plain);
  refuse_other_chip(name, plain);
  refuse_list(name, plain, names);
  if (is_place(plain)) {
    bad_option(
        "--device", fmt::format("'{}' does not say which GPU", name),
        fmt::format("nothing is run: name the GPU to plan for, one of {}; penstock compare ... "
                    "--vary device=h100-sxm,a100-80gb plans for each of several",
                    joined(names, ", ")));
  }
  const std::string near = did_you_mean(name, all);
  // One letter makes another chip of a name like "b100".
  constexpr std::size_t kShortest = 6;
  const bool is_near = near.starts_with("did you mean") && name.size() >= kShortest &&
                       digits_in(near) == digits_in(name);  // an RTX 3090 is no RTX 4090
  std::string hint = is_near ? near + " " : "";
  if (const std::string same = same_parts(plain, shipped_devices()); !same.empty()) {
    hint = fmt::format("write --device {}; ", same);
  }
  // "A100 PCIe 80GB" and "V100S": of the same chip there are others.
  const std::string chip = plain.substr(0, plain.find('-'));
  std::vector<std::string> alike;
  const bool is_family = chip.find_first_of("0123456789") == std::string::npos;  // "rtx"
  for (const std::string& each : names) {
    if (is_family) continue;
    const std::string other = each.substr(0, each.find('-'));
    if (digits_in(other).empty()) continue;  // "rtx"
    if (chip.starts_with(other) || (chip.size() > 3 && other.starts_with(chip))) {
      alike.push_back(each);
    }
  }
  if (hint.empty() && !alike.empty()) hint = "did you mean " + joined(alike, " or ") + "? ";
  bad_option("--device", fmt::format("no datasheet of '{}'", name),
             fmt::format("{}known are {} (penstock devices has their figures); another GPU is a "
                         "file: penstock devices {} -o {} writes one to edit, then --device {}",
                         hint, joined(names, ", "), nearest_of_family(chip, names), file_for(plain),
                         file_for(plain)));
}

namespace {

// Of a datasheet that was written to be edited.
std::string remark_of_copy(const std::string& path) {
  DeviceSheet own = sheet_of(path);
  for (const DeviceSheet& sheet : shipped_devices()) {
    const std::string name = own.name;
    own.name = sheet.name;
    own.aliases = sheet.aliases;
    if (own == sheet) {
      return fmt::format("note: all figures in {} are those of {}, until you edit them\n", path,
                         sheet.name);
    }
    own.name = name;
  }
  return "";
}

}  // namespace

std::string remark_of_device(const std::string& name) {
  if (name.ends_with(".json")) return remark_of_copy(name);
  const std::string taken = sheet_of(name).name, begin = without_maker(name) + '-';
  std::vector<std::string> others;
  for (const DeviceSheet& sheet : shipped_devices()) {
    if (sheet.name.starts_with(begin) && sheet.name != taken) others.push_back(sheet.name);
  }
  if (others.empty()) return "";
  // One line of a narrow terminal, which the answer has no more for.
  return fmt::format("note: {} was read as {}, not {}\n", name, taken, joined(others, " or "));
}

DeviceSheet sheet_in(const ClusterSpec& cluster, const std::optional<std::string>& name,
                     std::string& called) {
  if (!name && cluster.device_types.size() != 1) {
    bad_option("--device", "missing", "add it, for example --device h100-sxm");
  }
  DeviceSheet sheet = sheet_of(name ? *name : cluster.device_types.front().name);
  std::string listed;
  for (const DeviceType& type : cluster.device_types) {
    if (sheet.is_called(type.name)) return called = type.name, sheet;
    listed += (listed.empty() ? "" : ", ") + type.name;
  }
  bad_option("--device", fmt::format("the cluster has no {}", sheet.name),
             fmt::format("it has {}; name one of them, or leave out --cluster", listed));
}

void refuse_counted_device(const std::string& name) {
  std::vector<std::string> names;
  for (const DeviceSheet& sheet : shipped_devices()) {
    names.push_back(sheet.name);
    names.insert(names.end(), sheet.aliases.begin(), sheet.aliases.end());
  }
  refuse_several(name, names);
}

std::string gpu_of_machine(const std::string& name) {
  return std::string(machine_device(without_maker(name)));
}

}  // namespace penstock
