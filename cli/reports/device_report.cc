// Figures are those of the datasheet: what an estimate takes of them is fitted, and less
// (docs/estimates.md). Rates of links count one direction.
#include "cli/reports/device_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "estimator/default_cluster.h"
#include "estimator/estimate_profile.h"
#include "report/json_array.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr double kTera = 1e12, kGiga = 1e9, kBits = 8.0;

// "3,350", "52.77": no decimals of whole numbers.
std::string short_number(double value) {
  const double whole = std::round(value);
  const bool is_whole = std::abs(value - whole) < 0.005;
  return is_whole ? with_commas(static_cast<std::int64_t>(whole)) : significant(value, 4);
}
std::string giga(double rate) { return short_number(rate / kGiga); }

// Of the numbers in which a model is estimated where nothing else is asked for.
const PeakRate& usual_peak(const DeviceSheet& device) {
  return *device.peak(default_arithmetic(device));
}

// "400 Gb/s (50 GB/s) per GPU"
std::string network_words(const DeviceSheet& device) {
  const double rate = bandwidth_between_nodes(device);
  const bool is_shared = device.network && device.network->shared_bandwidth.value > 0.0;
  return fmt::format("{} Gb/s ({} GB/s) {}", giga(kBits * rate), giga(rate),
                     is_shared ? "for the node" : "per GPU");
}

std::string origin_of(const Source& source) {
  switch (source.origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kDatasheet:
      return "datasheet";
    case Origin::kDerived:
      return "derived";
    case Origin::kAssumed:
      break;
  }
  return "assumed";
}

struct Figure {
  std::string what, value;
  int source = -1;  // -1: there is none, it is assumed
};

std::vector<Figure> figures_of(const DeviceSheet& device) {
  std::vector<Figure> figures;
  for (const PeakRate& peak : device.peaks) {
    figures.push_back({fmt::format("dense {}", name_of(peak.arithmetic)),
                       short_number(peak.flops_per_s / kTera) + " TFLOP/s", peak.source});
  }
  figures.push_back({"memory", gib(device.memory) + " GiB", device.memory_source});
  figures.push_back({"memory bandwidth", giga(device.memory_bandwidth.value) + " GB/s",
                     device.memory_bandwidth_source});
  figures.push_back({"GPUs of a node", std::to_string(device.node.devices), device.node.source});
  figures.push_back({fmt::format("{} inside a node", device.node.name),
                     giga(device.node.bandwidth.value) + " GB/s per GPU", device.node.source});
  figures.push_back({"network between nodes", network_words(device),
                     device.network ? device.network->source : -1});
  if (device.host) {
    figures.push_back(
        {"memory of the host", gib(device.host->memory) + " GiB", device.host->source});
    figures.push_back({"link to the host",
                       fmt::format("{} GB/s for {}", giga(device.host->bandwidth.value),
                                   count_of(device.host->devices_per_link, "GPU")),
                       device.host->source});
  }
  return figures;
}

std::string source_text(const DeviceSheet& device, int source) {
  return source < 0 ? "no source: a card of 400 Gb/s for each GPU is assumed"
                    : device.sources[static_cast<std::size_t>(source)].text;
}

std::string origin_of(const DeviceSheet& device, int source) {
  return source < 0 ? "assumed" : origin_of(device.sources[static_cast<std::size_t>(source)]);
}

// The sources in the order of the figures, each once.
std::vector<int> sources_of(const std::vector<Figure>& figures) {
  std::vector<int> sources;
  for (const Figure& figure : figures) {
    const bool is_new = std::find(sources.begin(), sources.end(), figure.source) == sources.end();
    if (is_new) sources.push_back(figure.source);
  }
  return sources;
}

TextTable figures_table(const DeviceSheet& device) {
  TextTable table({left_column("figure"), right_column("value"), left_column("from")});
  for (const Figure& figure : figures_of(device)) {
    table.add({figure.what, figure.value, origin_of(device, figure.source)});
  }
  return table;
}

}  // namespace

TextTable devices_table(const std::vector<DeviceSheet>& devices) {
  Column aliases = left_column("also called");
  aliases.drop = 1;
  TextTable table({left_column("device"), right_column("GiB"), right_column("TFLOP/s"),
                   left_column("dense in"), right_column("memory GB/s"), right_column("GPUs/node"),
                   left_column("inside"), right_column("GB/s"), right_column("net Gb/s"), aliases});
  for (const DeviceSheet& device : devices) {
    const PeakRate& peak = usual_peak(device);
    table.add({device.name, gib(device.memory), short_number(peak.flops_per_s / kTera),
               std::string(name_of(peak.arithmetic)), giga(device.memory_bandwidth.value),
               std::to_string(device.node.devices), device.node.name,
               giga(device.node.bandwidth.value), giga(kBits * bandwidth_between_nodes(device)),
               joined(device.aliases, ", ")});
  }
  return table;
}

std::vector<Json> device_rows(const std::vector<DeviceSheet>& devices) {
  std::vector<Json> rows;
  rows.reserve(devices.size());
  for (const DeviceSheet& device : devices) {
    const PeakRate& peak = usual_peak(device);
    rows.push_back(Json::object()
                       .set("device", device.name)
                       .set("aliases", strings(device.aliases))
                       .set("memory_bytes", device.memory.count)
                       .set("arithmetic", std::string(name_of(peak.arithmetic)))
                       .set("flops_per_s", peak.flops_per_s)
                       .set("memory_bandwidth_bytes_per_s", device.memory_bandwidth.value)
                       .set("devices_per_node", device.node.devices)
                       .set("link", device.node.name)
                       .set("link_bytes_per_s", device.node.bandwidth.value)
                       .set("network_bytes_per_s", bandwidth_between_nodes(device)));
  }
  return rows;
}

std::string device_report(const DeviceSheet& device, Screen screen) {
  std::string name = device.name;
  if (!device.aliases.empty()) name += ", also called " + joined(device.aliases, ", ");
  std::string out = wrapped(name, screen.width(), "", "  ") + '\n' +
                    figures_table(device).text(screen.width()) + "\nSources:\n";
  for (const int source : sources_of(figures_of(device))) {
    out += wrapped(fmt::format("{}: {}", origin_of(device, source), source_text(device, source)),
                   screen.width(), "- ", "  ");
  }
  return out;
}

}  // namespace penstock
