// SkyPilot's catalog of one cloud, a CSV table of instances: what an hour of a GPU costs. Prices
// are those of whole instances in US dollars per hour, listed and for spot machines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

struct CatalogRow {
  int line = 0;
  std::string instance;       // may be empty
  std::string accelerator;    // "A100-80GB"
  double accelerators = 0.0;  // per instance; > 0, and less than 1 of a part of one
  std::optional<double> price, spot_price;
  std::string region, zone;  // may be empty
};

struct PriceCatalog {
  std::string file;
  std::vector<CatalogRow> rows;  // those with an accelerator
};

// Which price is wanted.
struct PriceQuestion {
  std::optional<std::string> region;  // of any other no row is taken
  bool spot = false;
  std::vector<std::pair<std::string, std::string>> names;  // device type, accelerator: by hand
  std::string date;                                        // when the catalog was fetched
};

// Columns are found by their names: AcceleratorName, AcceleratorCount, Price and Region are needed,
// SpotPrice, InstanceType and AvailabilityZone may be absent. Error{kBadInput} with line and
// column.
PriceCatalog read_price_catalog(std::string_view text, const std::string& file);

// Whether a catalog's accelerator is this device type, by model, memory and form: "A100-80GB" is
// "a100-80gb" and "a100-sxm-80gb"; "H100" is "h100-sxm" but not "h100-pcie". What names leave open
// of memory is told by `memory_gib`, and a bare A100 of the catalog has 40 GB, a bare V100 16.
bool is_same_device(std::string_view accelerator, std::string_view device, double memory_gib);

}  // namespace penstock
