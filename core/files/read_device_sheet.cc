// A datasheet gives peak rates by arithmetic, memory and links, as the makers publish them. Names
// of devices are compared in lower case and by alias, since people write A100-80GB in many ways.
// Bounds on the figures are far beyond any device, and only keep products within 64 bits.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/files/read_sources.h"
#include "core/values/device_sheet.h"

namespace penstock {
namespace {

struct ArithmeticName {
  Arithmetic arithmetic;
  std::string_view name, in_short;
};
constexpr std::array kArithmetics{
    ArithmeticName{Arithmetic::kBFloat16, "bfloat16", "bf16"},
    ArithmeticName{Arithmetic::kFloat16, "float16", "fp16"},
    ArithmeticName{Arithmetic::kTensorFloat32, "tensorfloat32", "tf32"},
    ArithmeticName{Arithmetic::kFloat32, "float32", "fp32"},
    ArithmeticName{Arithmetic::kFloat8, "float8", "fp8"},
};
constexpr int kMostProcessors = 65536;
constexpr int kMostDevicesOfNode = 1024;

double rate_of(const JsonReader& value) {
  using Limits = std::numeric_limits<double>;
  return value.number(Limits::min(), Limits::max());  // > 0
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

class SheetReader {
 public:
  explicit SheetReader(JsonReader file) : file_(std::move(file)) {}

  DeviceSheet read() {
    read_format(file_, "penstock.device/1");
    sheet_.name = read_name(need(file_, "name", "the name of the device"));
    if (auto aliases = file_.get("aliases")) {
      for (const JsonReader& alias : aliases->elements()) {
        sheet_.aliases.push_back(read_name(alias));
      }
    }
    sheet_.generation = read_name(need(file_, "generation", "for example \"hopper\""));
    sheet_.sources = read_sources(file_, ids_);
    read_peaks();
    sheet_.memory = need(file_, "memory_bytes", "what the driver reports as its total").bytes();
    sheet_.memory_source = source_of(file_, "memory_source");
    sheet_.memory_bandwidth = {
        rate_of(need(file_, "memory_bandwidth_bytes_per_s", "of its own memory"))};
    sheet_.memory_bandwidth_source = source_of(file_, "memory_bandwidth_source");
    if (const auto count = file_.get("processors"))
      sheet_.processors = read_int(*count, 1, kMostProcessors);
    read_node();
    read_network();
    read_host();
    file_.finish();
    return std::move(sheet_);
  }

 private:
  int source_of(JsonReader& object, std::string_view key) {
    return ids_.resolve(need(object, key, "the id of a source"));
  }

  void read_peaks() {
    for (JsonReader& element : need_elements(file_, "peaks", "a dense peak rate")) {
      PeakRate peak;
      const JsonReader kind = need(element, "arithmetic", "\"bfloat16\", \"float16\", ...");
      const auto arithmetic = arithmetic_named(kind.string());
      if (!arithmetic) {
        kind.expected("\"bfloat16\", \"float16\", \"tensorfloat32\" or \"float32\"");
      }
      peak.arithmetic = *arithmetic;
      if (sheet_.peak(peak.arithmetic) != nullptr) {
        kind.fail("there are two rates for " + to_text(kind.value()) + "; remove one");
      }
      peak.flops_per_s = rate_of(need(element, "flops_per_s", "dense, without sparsity"));
      peak.source = source_of(element, "source");
      element.finish();
      sheet_.peaks.push_back(peak);
    }
  }

  void read_node() {
    JsonReader node = need(file_, "node", "how the devices of a node are joined");
    sheet_.node.devices = read_int(need(node, "devices", "of one node"), 1, kMostDevicesOfNode);
    sheet_.node.name = read_name(need(node, "link", "its name, for example \"nvlink4\""));
    sheet_.node.bandwidth = {
        rate_of(need(node, "bandwidth_bytes_per_s", "of one device, in one direction"))};
    sheet_.node.source = source_of(node, "source");
    node.finish();
  }

  void read_network() {
    std::optional<JsonReader> network = file_.get("network");
    if (!network) return;
    sheet_.network.emplace();
    sheet_.network->bandwidth = {rate_of(
        need(*network, "bandwidth_bytes_per_s", "of one device between nodes, in one direction"))};
    if (const auto shared = network->get("shared_bandwidth_bytes_per_s")) {
      sheet_.network->shared_bandwidth = {rate_of(*shared)};
    }
    sheet_.network->source = source_of(*network, "source");
    network->finish();
  }

  void read_host() {
    std::optional<JsonReader> object = file_.get("host");
    if (!object) return;
    NodeHost host;
    host.memory = need(*object, "memory_bytes", "of a node, for all its devices").bytes();
    host.bandwidth = {rate_of(
        need(*object, "bandwidth_bytes_per_s", "between one device and the host, one direction"))};
    if (const auto shared = object->get("devices_per_link")) {
      host.devices_per_link = read_int(*shared, 1, sheet_.node.devices);
    }
    if (const auto duplex = object->get("duplex")) host.duplex = duplex->boolean();
    host.source = source_of(*object, "source");
    object->finish();
    sheet_.host = host;
  }

  JsonReader file_;
  DeviceSheet sheet_;
  Names ids_{"source"};
};

}  // namespace

int bytes_of(Arithmetic arithmetic) {
  const bool is_wide =
      arithmetic == Arithmetic::kTensorFloat32 || arithmetic == Arithmetic::kFloat32;
  return is_wide ? 4 : 2;
}

std::string_view name_of(Arithmetic arithmetic) {
  return kArithmetics[static_cast<std::size_t>(arithmetic)].name;
}

std::optional<Arithmetic> arithmetic_named(std::string_view name) {
  for (const ArithmeticName& known : kArithmetics) {
    if (name == known.name || name == known.in_short) return known.arithmetic;
  }
  return std::nullopt;
}

const PeakRate* DeviceSheet::peak(Arithmetic arithmetic) const {
  const auto found = std::find_if(peaks.begin(), peaks.end(), [&](const PeakRate& peak) {
    return peak.arithmetic == arithmetic;
  });
  return found == peaks.end() ? nullptr : &*found;
}

bool DeviceSheet::is_called(std::string_view wanted) const {
  const std::string name_wanted = lower(wanted);
  return lower(name) == name_wanted ||
         std::any_of(aliases.begin(), aliases.end(),
                     [&](const std::string& alias) { return lower(alias) == name_wanted; });
}

DeviceSheet read_device_sheet(const Json& json, const std::string& file) {
  return SheetReader(JsonReader(json, file)).read();
}

}  // namespace penstock
