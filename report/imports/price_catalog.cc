// Columns are found by name. An instance's price is divided by its accelerators only when asked for
// a device; rows of instances without accelerators are passed over. Catalogs and machines name one
// device in many ways, so both names are taken apart into words (maker, model, form, memory) and
// compared part by part (is_same_device()).
#include "report/imports/price_catalog.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/imports/csv.h"
#include "report/imports/printed_number.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr double kMostPrice = 1e6, kLeastCount = 0.01, kMostCount = 1e6;

class CatalogReader {
 public:
  CatalogReader(std::string_view text, const std::string& file)
      : rows_(read_csv(text, file)), file_(file) {}

  PriceCatalog read() {
    PriceCatalog catalog{.file = file_, .rows = {}};
    if (rows_.empty()) fail_at(1, "expected a table with a line of names, got an empty file");
    find_columns();
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      const CsvRow& row = rows_[i];
      if (row.cells.size() != rows_.front().cells.size()) {
        fail_at(row.line, fmt::format("expected {} cells, as in the first line, got {}",
                                      rows_.front().cells.size(), row.cells.size()));
      }
      if (cell(row, kAccelerator).empty()) continue;  // a machine without
      catalog.rows.push_back(row_of(row));
    }
    if (catalog.rows.empty()) fail_at(rows_.front().line, "no row has an accelerator");
    return catalog;
  }

 private:
  enum Column { kAccelerator, kCount, kPrice, kRegion, kSpot, kInstance, kZone, kColumns };
  static constexpr std::array<const char*, kColumns> kNames{
      "AcceleratorName", "AcceleratorCount", "Price",           "Region",
      "SpotPrice",       "InstanceType",     "AvailabilityZone"};
  static constexpr int kNeeded = kSpot;  // those before it

  void find_columns() {
    const std::vector<std::string>& header = rows_.front().cells;
    for (int column = 0; column < kColumns; ++column) {
      const auto at =
          std::find(header.begin(), header.end(), kNames[static_cast<std::size_t>(column)]);
      if (at != header.end()) {
        columns_[static_cast<std::size_t>(column)] = static_cast<int>(at - header.begin());
      } else if (column < kNeeded) {
        fail_at(rows_.front().line, fmt::format("there is no column {}; there is {}",
                                                kNames[static_cast<std::size_t>(column)],
                                                joined(header, ", ").substr(0, 200)));
      }
    }
  }

  [[nodiscard]] std::string_view cell(const CsvRow& row, Column column) const {
    const int at = columns_[static_cast<std::size_t>(column)];
    return at < 0 ? std::string_view() : trimmed(row.cells[static_cast<std::size_t>(at)]);
  }

  [[nodiscard]] CatalogRow row_of(const CsvRow& row) const {
    CatalogRow found{.line = row.line,
                     .instance = name(row, kInstance),
                     .accelerator = name(row, kAccelerator),
                     .accelerators = 0.0,
                     .price = price(row, kPrice),
                     .spot_price = price(row, kSpot),
                     .region = name(row, kRegion),
                     .zone = name(row, kZone)};
    const std::optional<double> count = real_number(cell(row, kCount));
    if (!count || *count < kLeastCount || *count > kMostCount) {
      bad_cell(row, kCount, "a number of 0.01 or more");
    }
    found.accelerators = *count;
    return found;
  }

  // What clouds call things is plain; a file in another encoding is not what it seems.
  [[nodiscard]] std::string name(const CsvRow& row, Column column) const {
    const std::string_view text = cell(row, column);
    const bool is_plain =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!is_plain) bad_cell(row, column, "a name in plain letters");
    return std::string(text);
  }

  // Nothing in an empty cell: not offered so. Free machines there are none.
  [[nodiscard]] std::optional<double> price(const CsvRow& row, Column column) const {
    const std::string_view text = cell(row, column);
    if (text.empty() || text == "nan") return {};
    const std::optional<double> value = real_number(text);
    if (!value || *value > kMostPrice) bad_cell(row, column, "a price in dollars per hour >= 0");
    return *value > 0.0 ? value : std::nullopt;
  }

  [[noreturn]] void bad_cell(const CsvRow& row, Column column, const char* what) const {
    std::string shown(cell(row, column).substr(0, 60));
    for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
    fail_at(row.line, fmt::format("{}: expected {}, got '{}'",
                                  kNames[static_cast<std::size_t>(column)], what, shown));
  }

  [[noreturn]] void fail_at(int line, const std::string& what) const {
    throw_bad_input(
        fmt::format("{}:{}: {}\nhelp: give a catalog of SkyPilot as it was downloaded, "
                    "such as aws/vms.csv",
                    file_, line, what));
  }

  std::vector<CsvRow> rows_;
  const std::string& file_;
  std::array<int, kColumns> columns_ = [] {
    std::array<int, kColumns> none{};
    none.fill(-1);
    return none;
  }();
};

// "A100-80GB" and "NVIDIA A100-SXM4-80GB" are a100 of 80 GB, "h100-pcie" is another model.
struct DeviceName {
  std::string model;
  double gigabytes = 0.0;  // 0: not said
};

std::optional<double> gigabytes_in(const std::string& word) {
  if (!word.ends_with("gb")) return {};
  return real_number(std::string_view(word).substr(0, word.size() - 2));
}

void take_word(const std::string& word, DeviceName& name) {
  if (const auto gigabytes = gigabytes_in(word)) {
    name.gigabytes = *gigabytes;
    return;
  }
  // Makers, kinds of memory, and the form that catalogs mean where they say nothing.
  static constexpr std::array<std::string_view, 4> kMakers{"nvidia", "tesla", "amd", "instinct"};
  if (std::find(kMakers.begin(), kMakers.end(), word) != kMakers.end()) return;
  if (!word.starts_with("sxm") && !word.starts_with("hbm")) name.model += word;
}

DeviceName name_in(std::string_view text) {
  DeviceName name;
  std::string word;
  for (const char c : text) {
    if (c == '-' || c == '_' || c == ' ') {
      take_word(word, name);
      word.clear();
    } else {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  take_word(word, name);
  return name;
}

// What a catalog means by a bare name of a model that comes in two sizes.
double usual_gigabytes(const std::string& model) {
  if (model == "a100") return 40.0;
  return model == "v100" ? 16.0 : 0.0;
}

}  // namespace

PriceCatalog read_price_catalog(std::string_view text, const std::string& file) {
  return CatalogReader(text, file).read();
}

bool is_same_device(std::string_view accelerator, std::string_view device, double memory_gib) {
  const DeviceName offered = name_in(accelerator), wanted = name_in(device);
  if (offered.model.empty() || offered.model != wanted.model) return false;
  const double has = offered.gigabytes > 0.0 ? offered.gigabytes : usual_gigabytes(offered.model);
  if (has == 0.0) return true;
  // Devices report a little less than their name says, and GB are not GiB.
  const double needs = wanted.gigabytes > 0.0 ? wanted.gigabytes : memory_gib;
  return std::abs(has - needs) <= 0.12 * has;
}

}  // namespace penstock
