// For each kind of imported file a table of what was read, the same as JSON, and the list of what
// became of it. NCCL's bus bandwidth is the algorithm's times the factor of nccl-tests, so that the
// table can be compared with the tool's own output.
#include "report/imports/import_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

// The algorithm's bandwidth: bytes over time.
double gb_per_s(const CurvePoint& point) {
  return static_cast<double>(point.bytes.count) / static_cast<double>(point.time.count());
}

std::string notes_text(const std::vector<std::string>& notes, Screen screen) {
  return wrapped(notes, screen.width(), "note: ", "      ");
}

std::vector<double> sorted_cells(const BandwidthMatrix& matrix) {
  std::vector<double> cells;
  for (const auto& row : matrix.gb_per_s) {
    for (const auto& cell : row) {
      if (cell) cells.push_back(*cell);
    }
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

std::string way_of(const BandwidthMatrix& matrix) {
  if (matrix.both_ways) return matrix.row + " <-> " + matrix.column;
  return matrix.row_to_column ? matrix.row + " -> " + matrix.column
                              : matrix.column + " -> " + matrix.row;
}

// By accelerator: the cheapest row per device.
std::map<std::string, const CatalogRow*> cheapest(const PriceCatalog& catalog,
                                                  const PriceQuestion& question) {
  std::map<std::string, const CatalogRow*> best;
  const auto price = [&](const CatalogRow& row) {
    return (question.spot ? row.spot_price : row.price).value_or(0.0) / row.accelerators;
  };
  for (const CatalogRow& row : catalog.rows) {
    const bool is_there = !question.region || row.region == *question.region;
    if (!is_there || !(question.spot ? row.spot_price : row.price)) continue;
    const auto [at, is_new] = best.emplace(row.accelerator, &row);
    if (!is_new && price(row) < price(*at->second)) at->second = &row;
  }
  return best;
}

std::string or_not_said(const std::string& text) { return text.empty() ? "not said" : text; }

double price_of(const CatalogRow& row, const PriceQuestion& question) {
  return (question.spot ? row.spot_price : row.price).value_or(0.0);
}

}  // namespace

std::string nccl_report(const NcclTest& test, Screen screen) {
  std::string out = fmt::format(
      "{}: {} of {} ranks on {}{}{}\n", test.file, test.collective, test.ranks,
      test.hosts > 0 ? count_of(test.hosts, "host") : "hosts that the file does not name",
      test.nccl_version.empty() ? "" : ", NCCL " + test.nccl_version,
      test.started.empty() ? "" : ", " + test.started);
  TextTable table({{"bytes"}, {"time"}, {"algorithm GB/s"}, {"bus GB/s"}});
  const double factor = bus_factor(test.collective, test.ranks);
  for (const CurvePoint& point : test.curve) {
    table.add({with_commas(point.bytes.count), aligned(point.time), significant(gb_per_s(point), 4),
               significant(gb_per_s(point) * factor, 4)});
  }
  return out + table.text(screen.width()) + notes_text(test.notes, screen);
}

Json to_json(const NcclTest& test) {
  Json points = Json::array();
  for (const CurvePoint& point : test.curve) {
    points.push(Json::object()
                    .set("bytes", point.bytes.count)
                    .set("time_ns", std::int64_t{point.time.count()}));
  }
  return Json::object()
      .set("file", test.file)
      .set("collective", test.collective)
      .set("ranks", test.ranks)
      .set("hosts", test.hosts > 0 ? Json(test.hosts) : Json())
      .set("nccl_version", test.nccl_version)
      .set("started", test.started)
      .set("curve", std::move(points))
      .set("notes", strings(test.notes));
}

std::string nvbandwidth_report(const NvBandwidth& measured, Screen screen) {
  std::string out =
      fmt::format("{}: nvbandwidth {}, CUDA {}, driver {}, {}; GB/s\n", measured.file,
                  or_not_said(measured.version), or_not_said(measured.cuda),
                  or_not_said(measured.driver), count_of(std::ssize(measured.devices), "device"));
  TextTable table({{"test", true}, {"way", true}, {"median"}, {"least"}, {"most"}});
  for (const BandwidthMatrix& matrix : measured.matrices) {
    const std::vector<double> cells = sorted_cells(matrix);
    const std::string name =
        matrix.test + (matrix.part.empty() ? std::string() : ", " + matrix.part);
    if (cells.empty()) {
      table.add({name, way_of(matrix), "-", "-", "-"});
      continue;
    }
    table.add({name, way_of(matrix), fixed(cells[(cells.size() - 1) / 2], 2),
               fixed(cells.front(), 2), fixed(cells.back(), 2)});
  }
  return out + table.text(screen.width()) + notes_text(measured.notes, screen);
}

Json to_json(const NvBandwidth& measured) {
  Json matrices = Json::array();
  for (const BandwidthMatrix& matrix : measured.matrices) {
    Json rows = Json::array();
    for (const auto& row : matrix.gb_per_s) {
      Json line = Json::array();
      for (const auto& cell : row) line.push(cell ? Json(*cell * 1e9) : Json());
      rows.push(std::move(line));
    }
    matrices.push(Json::object()
                      .set("test", matrix.test)
                      .set("part", matrix.part)
                      .set("way", way_of(matrix))
                      .set("rows", matrix.row)
                      .set("columns", matrix.column)
                      .set("bytes_per_s", std::move(rows)));
  }
  return Json::object()
      .set("file", measured.file)
      .set("version", measured.version)
      .set("devices", strings(measured.devices))
      .set("matrices", std::move(matrices))
      .set("notes", strings(measured.notes));
}

std::string catalog_report(const PriceCatalog& catalog, const PriceQuestion& question,
                           Screen screen) {
  TextTable table({{"accelerator", true},
                   {"USD per hour and device"},
                   {"devices"},
                   {"instance", true},
                   {"region", true},
                   {"line"}});
  for (const auto& [name, row] : cheapest(catalog, question)) {
    table.add({name, significant(price_of(*row, question) / row->accelerators, 5),
               significant(row->accelerators, 3), row->instance, row->region,
               std::to_string(row->line)});
  }
  return fmt::format("{}: {} with accelerators; the cheapest {} of each{}\n", catalog.file,
                     count_of(std::ssize(catalog.rows), "row"),
                     question.spot ? "spot price" : "list price",
                     question.region ? " in " + *question.region : "") +
         table.text(screen.width());
}

Json to_json(const PriceCatalog& catalog, const PriceQuestion& question) {
  Json rows = Json::array();
  for (const auto& [name, row] : cheapest(catalog, question)) {
    rows.push(Json::object()
                  .set("accelerator", name)
                  .set("usd_per_hour", price_of(*row, question) / row->accelerators)
                  .set("devices", row->accelerators)
                  .set("instance", row->instance)
                  .set("region", row->region)
                  .set("zone", row->zone)
                  .set("line", row->line));
  }
  return Json::object()
      .set("file", catalog.file)
      .set("spot", question.spot)
      .set("cheapest", std::move(rows));
}

std::string changes_report(const ClusterChanges& changes, Screen screen) {
  std::string out;
  out += wrapped(changes.changes, screen.width(), "stored: ", "  ");
  return out + notes_text(changes.notes, screen);
}

void set_changes(Json& json, const ClusterChanges& changes) {
  json.set("changes", strings(changes.changes)).set("notes", strings(changes.notes));
}

}  // namespace penstock
