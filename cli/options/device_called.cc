// A device is found by any name that drivers and clouds have for it, and by its letters and digits
// alone. What is a number of devices, a machine or a place where programs run is refused with the
// device that was probably meant.
#include "cli/options/device_called.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/options/options.h"
#include "cli/options/parse.h"
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

// "8xH100", "H100:8" and "h100,a100": more than one device.
void refuse_several(const std::string& name, const std::vector<std::string>& known) {
  const std::string plain = without_maker(name);
  if (name.find(',') != std::string::npos && name.find_first_of(":*=") != std::string::npos) {
    bad_option("--device", fmt::format("'{}' names numbers of several", name),
               "GPUs of several types at once are a cluster file: --cluster FILE (data/clusters "
               "has some to copy); penstock compare --vary device=h100-sxm,a100-80gb plans for "
               "each type alone");
  }
  if (name.find(',') != std::string::npos) {
    bad_option("--device", fmt::format("'{}' names several", name),
               fmt::format("penstock compare --vary device={} plans for each of them; GPUs of "
                           "several types at once are a cluster file: --cluster FILE",
                           name));
  }
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  for (const char mark : {'x', '*', ':'}) {
    const std::size_t at = plain.find(mark);
    if (at == std::string::npos) continue;
    std::string device = plain.substr(0, at), count = plain.substr(at + 1);
    if (is_number(device)) std::swap(device, count);
    if (!is_number(count) || std::find(known.begin(), known.end(), device) == known.end()) continue;
    bad_option("--device", fmt::format("'{}' is a number of devices", name),
               fmt::format("write --device {} --gpus {}, the GPUs of all nodes", device, count));
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

void refuse_machine(const std::string& name, const std::string& plain) {
  std::string_view device;
  std::size_t longest = 0;
  for (const Machine& machine : kMachines) {
    if (!plain.starts_with(machine.begin) || machine.begin.size() <= longest) continue;
    longest = machine.begin.size();
    device = machine.device;
  }
  if (longest == 0) return;
  bad_option("--device", fmt::format("'{}' is a machine, and a GPU belongs here", name),
             fmt::format("write --device {}, with --gpus N for the GPUs of all machines", device));
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

// "cuda:0", "gpu", "auto": where a program runs, not what it runs on.
bool is_place(std::string_view plain) {
  for (const std::string_view place : {"cuda", "gpu", "auto", "cpu", "nvidia", "rank", "all"}) {
    if (!plain.starts_with(place)) continue;
    if (plain.find_first_not_of(":0123456789s", place.size()) == std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

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
  if (is_place(plain)) {
    bad_option(
        "--device", fmt::format("'{}' does not say which GPU", name),
        fmt::format("nothing is run: name the GPU to plan for, one of {}", joined(names, ", ")));
  }
  const std::string near = did_you_mean(name, all);
  // One letter makes another chip of a name like "b100".
  constexpr std::size_t kShortest = 6;
  std::string hint = near.starts_with("did you mean") && name.size() >= kShortest ? near + " " : "";
  // "A100 PCIe 80GB" and "V100S": of the same chip there are others.
  const std::string chip = plain.substr(0, plain.find('-'));
  std::vector<std::string> alike;
  const bool is_family = chip.find_first_of("0123456789") == std::string::npos;  // "rtx"
  for (const std::string& each : names) {
    if (is_family) continue;
    const std::string other = each.substr(0, each.find('-'));
    if (chip.starts_with(other) || (chip.size() > 3 && other.starts_with(chip))) {
      alike.push_back(each);
    }
  }
  if (hint.empty() && !alike.empty()) hint = "did you mean " + joined(alike, " or ") + "? ";
  bad_option("--device", fmt::format("no datasheet of '{}'", name),
             fmt::format("{}known are {}; or give the path of a penstock.device/1 file "
                         "(docs/file_formats.md)",
                         hint, joined(names, ", ")));
}

DeviceSheet sheet_in(const ClusterSpec& cluster, const std::optional<std::string>& name,
                     std::string& called) {
  if (!name && cluster.device_types.size() != 1) required(name, "--device", "--device h100-sxm");
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

}  // namespace penstock
