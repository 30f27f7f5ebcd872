// Every device type of the cluster gets the lowest price per device among the catalog's rows for
// the same accelerator, in the region that was asked for. Rows are matched by name and memory
// (is_same_device), or by what --match says. Ties go by region, zone, instance and size, so the
// order of the file does not matter. A device without a row keeps its price, and the note names the
// nearest names or the regions that have one.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/values/edit_distance.h"
#include "core/values/error.h"
#include "core/values/json.h"
#include "report/imports/cluster_changes.h"
#include "report/imports/new_source.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kNamed = 3;

std::optional<double> price_of(const CatalogRow& row, bool spot) {
  return spot ? row.spot_price : row.price;
}

double per_device(const CatalogRow& row, bool spot) {
  return *price_of(row, spot) / row.accelerators;
}

class PriceSetter {
 public:
  PriceSetter(const ClusterSpec& cluster, const PriceCatalog& catalog,
              const PriceQuestion& question)
      : catalog_(catalog), question_(question), result_{cluster, {}, {}} {}

  ClusterChanges set() {
    require_names();
    for (DeviceType& type : result_.cluster.device_types) set(type);
    if (result_.changes.empty()) {
      throw_bad_input(fmt::format(
          "{}: no price for a device of the cluster '{}': {}\nhelp: name another region, or say "
          "which accelerator a device is with --match DEVICE=NAME",
          catalog_.file, result_.cluster.name, joined(result_.notes, "; ")));
    }
    return std::move(result_);
  }

 private:
  void require_names() const {
    for (const auto& [device, accelerator] : question_.names) {
      if (find_device_type(result_.cluster, device) == nullptr) {
        throw_bad_input(
            fmt::format("--match: the cluster '{}' has no device type '{}'\nhelp: name "
                        "one of its device_types",
                        result_.cluster.name, device));
      }
      if (!is_offered(accelerator)) {
        throw_bad_input(fmt::format("--match: {} has no accelerator '{}'\nhelp: near: {}",
                                    catalog_.file, accelerator, near(accelerator)));
      }
    }
  }

  [[nodiscard]] bool is_offered(const std::string& accelerator) const {
    return std::any_of(catalog_.rows.begin(), catalog_.rows.end(),
                       [&](const CatalogRow& row) { return row.accelerator == accelerator; });
  }

  [[nodiscard]] bool is_device(const CatalogRow& row, const DeviceType& type) const {
    for (const auto& [device, accelerator] : question_.names) {
      if (device == type.name) return row.accelerator == accelerator;
    }
    return is_same_device(row.accelerator, type.name,
                          static_cast<double>(type.memory.count) / (1 << 30));
  }

  void set(DeviceType& type) {
    const CatalogRow* best = nullptr;
    std::int64_t rows = 0, offered = 0;  // of the device; those with a price there
    for (const CatalogRow& row : catalog_.rows) {
      if (!is_device(row, type)) continue;
      ++rows;
      const bool is_there = !question_.region || row.region == *question_.region;
      if (!is_there || !price_of(row, question_.spot)) continue;
      ++offered;
      if (best == nullptr || is_cheaper(row, *best)) best = &row;
    }
    if (best == nullptr) {
      result_.notes.push_back(
          rows == 0
              ? fmt::format("'{}' is not in the catalog; near: {}", type.name, near(type.name))
              : fmt::format("'{}' has no {} {}{}", type.name, kind(), where(), regions_of(type)));
      return;
    }
    take(type, *best, offered);
  }

  // Ties by place and name, so that the order of the file does not matter.
  [[nodiscard]] bool is_cheaper(const CatalogRow& a, const CatalogRow& b) const {
    const auto key = [&](const CatalogRow& row) {
      return std::tuple(per_device(row, question_.spot), row.region, row.zone, row.instance,
                        row.accelerators);
    };
    return key(a) < key(b);
  }

  void take(DeviceType& type, const CatalogRow& row, std::int64_t offered) {
    type.usd_per_hour = per_device(row, question_.spot);
    const std::string place = row.zone.empty() ? row.region : row.zone;
    const std::string offer =
        fmt::format("{} x {}{}, {}, {} USD per hour", Json(row.accelerators).text(),
                    row.accelerator, row.instance.empty() ? "" : " (" + row.instance + ")", place,
                    Json(*price_of(row, question_.spot)).text());
    Source source = with_remark(
        result_.cluster, type.source, "price",
        fmt::format("{} of {}; SkyPilot's catalog {}, line {}, {}", kind(), offer,
                    name_of_file(catalog_.file), row.line,
                    question_.date.empty() ? "date not said" : "fetched " + question_.date));
    source.id = "price-" + type.name;
    type.source = add_source(result_.cluster, std::move(source));
    result_.changes.push_back(
        fmt::format("{}: {} USD per hour: {} of {} (line {}), the cheapest per device of {} {}",
                    type.name, significant(type.usd_per_hour, 5), kind(), offer, row.line,
                    count_of(offered, "row"), where()));
  }

  [[nodiscard]] std::string kind() const { return question_.spot ? "spot price" : "list price"; }
  [[nodiscard]] std::string where() const {
    return question_.region ? "in " + *question_.region : "in all regions";
  }

  // "; there is one in us-east-1, us-west-2"
  [[nodiscard]] std::string regions_of(const DeviceType& type) const {
    std::set<std::string> regions;
    for (const CatalogRow& row : catalog_.rows) {
      if (is_device(row, type) && price_of(row, question_.spot)) regions.insert(row.region);
    }
    if (regions.empty()) return "";
    const std::vector<std::string> names(regions.begin(), regions.end());
    return "; there is one in " + joined(names, ", ");
  }

  // The names of the catalog that differ least.
  [[nodiscard]] std::string near(const std::string& name) const {
    std::set<std::pair<std::size_t, std::string>> names;
    for (const CatalogRow& row : catalog_.rows) {
      names.emplace(edit_distance(lower(name), lower(row.accelerator)), row.accelerator);
    }
    std::vector<std::string> nearest;
    for (const auto& [distance, each] : names) {
      if (nearest.size() < kNamed) nearest.push_back(each);
    }
    return joined(nearest, ", ");
  }

  static std::string lower(std::string text) {
    text = text.substr(0, 80);
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  }

  const PriceCatalog& catalog_;
  const PriceQuestion& question_;
  ClusterChanges result_;
};

}  // namespace

ClusterChanges set_prices(const ClusterSpec& cluster, const PriceCatalog& catalog,
                          const PriceQuestion& question) {
  return PriceSetter(cluster, catalog, question).set();
}

}  // namespace penstock
