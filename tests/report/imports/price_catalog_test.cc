#include "report/imports/price_catalog.h"

#include <string>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "report/imports/cluster_changes.h"
#include "tests/report/imports/complaint.h"

namespace penstock {
namespace {

constexpr const char* kHead =
    "InstanceType,AcceleratorName,AcceleratorCount,GpuInfo,Price,SpotPrice,Region,"
    "AvailabilityZone\n";

PriceCatalog read(const std::string& rows) { return read_price_catalog(kHead + rows, "vms.csv"); }

ClusterSpec cluster(const std::string& devices) {
  const std::string text =
      R"({"format": "penstock.cluster/1", "name": "some",
    "sources": [{"id": "sheet", "origin": "datasheet", "text": "a sheet"}],
    "device_types": [)" +
      devices +
      R"(], "node_types": [{"name": "node", "device_type": "a100-80gb", "devices": 2}],
    "nodes": [{"node_type": "node", "count": 1}],
    "levels": [{"name": "wire", "latency_us": 1, "bandwidth_bytes_per_s": 1e9}]})";
  return read_cluster(parse_json(text, "c.json"), "c.json");
}

std::string device(const std::string& name, const std::string& bytes) {
  return "{\"name\": \"" + name + "\", \"memory_bytes\": " + bytes +
         ", \"reserve_bytes\": 1, \"memory_bandwidth_bytes_per_s\": 1}";
}

const std::string& one_device() {
  static const std::string text = device("a100-80gb", "85031714816");
  return text;
}

TEST_CASE("cells in quotes hold commas, quotes and line ends") {
  const PriceCatalog catalog = read(
      "big,A100-80GB,8.0,\"{'Name': \"\"A100\"\",\n 'x': 1}\",16,,us,us-1\r\n"
      "cpu,,,,1.5,0.5,us,us-1\n\n"
      "one,V100,1,,3,1,us,\n");
  REQUIRE(catalog.rows.size() == 2);
  CHECK(catalog.rows[0].accelerator == "A100-80GB");
  CHECK(catalog.rows[0].accelerators == 8.0);
  CHECK(catalog.rows[0].price == 16.0);
  CHECK(!catalog.rows[0].spot_price);
  CHECK(catalog.rows[1].line == 6);
  CHECK(catalog.rows[1].spot_price == 1.0);
}

TEST_CASE("columns are found by name, wherever they stand") {
  const PriceCatalog catalog =
      read_price_catalog("Region,Price,AcceleratorCount,AcceleratorName\neu,8,2,H100\n", "vms.csv");
  CHECK(catalog.rows[0].price == 8.0);
  CHECK(catalog.rows[0].region == "eu");
  CHECK(has(complaint([] { return read_price_catalog("Region,Price\neu,8\n", "vms.csv"); }),
            "vms.csv:1: there is no column AcceleratorName; there is Region, Price"));
}

TEST_CASE("names are matched by model, memory and form") {
  CHECK(is_same_device("A100-80GB", "a100-80gb", 79.2));
  CHECK(is_same_device("A100-80GB", "a100-sxm-80gb", 79.2));
  CHECK(is_same_device("A100", "a100-40gb", 39.6));
  CHECK(!is_same_device("A100", "a100-80gb", 79.2));
  CHECK(!is_same_device("A100-80GB", "a100-40gb", 39.6));
  // The device's name leaves it open, its memory does not.
  CHECK(is_same_device("A100-80GB", "a100", 79.2));
  CHECK(is_same_device("V100", "v100-16gb", 15.8));
  CHECK(!is_same_device("V100", "v100-sxm-32gb", 31.7));
  CHECK(is_same_device("H100", "h100-sxm", 79.2));
  CHECK(is_same_device("H100-SXM", "NVIDIA H100 80GB HBM3", 79.2));
  CHECK(!is_same_device("H100", "h100-pcie", 79.2));
  CHECK(!is_same_device("H100", "h20", 95.0));
  CHECK(!is_same_device("GB200", "b200", 180.0));
  CHECK(is_same_device("RTX4090", "rtx-4090", 24.0));
}

// 20 / 8 = 2.5 against 12 / 4 = 3 and 2.6 / 1.
TEST_CASE("the cheapest row per device is taken, and named") {
  const PriceCatalog catalog = read(
      "m,A100-80GB,4,,12,2,us,us-a\nl,A100-80GB,8,,20,,eu,eu-b\ns,A100-80GB,1,,2.6,0.5,us,us-c\n");
  const ClusterChanges changes = set_prices(cluster(one_device()), catalog, {});
  CHECK(changes.cluster.device_types[0].usd_per_hour == 2.5);
  REQUIRE(changes.changes.size() == 1);
  CHECK(
      has(changes.changes[0],
          "a100-80gb: 2.5000 USD per hour: list price of 8 x A100-80GB (l), eu-b, 20 USD per hour "
          "(line 3), the cheapest per device of 3 rows in all regions"));
  const auto source = static_cast<std::size_t>(changes.cluster.device_types[0].source);
  CHECK(has(changes.cluster.sources[source].text, "price: list price of 8 x A100-80GB"));
  CHECK(changes.cluster.sources[source].text.ends_with("; the rest: a sheet"));
  CHECK(has(changes.cluster.sources[source].text, "catalog vms.csv, line 3, date not said"));
  CHECK(read_cluster(write_cluster(changes.cluster), "new.json") == changes.cluster);

  PriceQuestion spot_in_us{.region = "us", .spot = true, .names = {}, .date = "2026-11-22"};
  CHECK(
      set_prices(cluster(one_device()), catalog, spot_in_us).cluster.device_types[0].usd_per_hour ==
      0.5);
}

TEST_CASE("what has no price is named with what is near; when nothing has one, that is an error") {
  const PriceCatalog catalog = read("l,A100-80GB,8,,20,,eu,eu-b\nh,H100-MEGA,8,,40,,us,us-b\n");
  const std::string two = one_device() + ", " + device("h100-mega-x", "85031714816");
  const ClusterChanges changes = set_prices(cluster(two), catalog, {});
  REQUIRE(changes.notes.size() == 1);
  CHECK(changes.notes[0] == "'h100-mega-x' is not in the catalog; near: H100-MEGA, A100-80GB");
  PriceQuestion question;
  question.names = {{"h100-mega-x", "H100-MEGA"}};
  CHECK(set_prices(cluster(two), catalog, question).cluster.device_types[1].usd_per_hour == 5.0);
  question.names = {{"h100-mega-x", "H100-MIGA"}};
  CHECK(has(complaint([&] { return set_prices(cluster(two), catalog, question); }),
            "has no accelerator 'H100-MIGA'"));
  question.names = {{"toy", "H100-MEGA"}};
  CHECK(has(complaint([&] { return set_prices(cluster(two), catalog, question); }),
            "no device type 'toy'"));
  question = {.region = "us", .spot = false, .names = {}, .date = {}};
  CHECK(has(complaint([&] { return set_prices(cluster(one_device()), catalog, question); }),
            "'a100-80gb' has no list price in us; there is one in eu"));
}

TEST_CASE("a table that is none is refused with its line") {
  CHECK(has(complaint([] { return read_price_catalog("", "vms.csv"); }), "vms.csv:1: expected a"));
  CHECK(has(complaint([] { return read("a,H100,8\n"); }), "vms.csv:2: expected 8 cells"));
  CHECK(has(complaint([] { return read("a,H100,0,,1,,us,\n"); }),
            "vms.csv:2: AcceleratorCount: expected a number of 0.01 or more, got '0'"));
  CHECK(has(complaint([] { return read("a\xff,H100,8,,1,,us,\n"); }),
            "vms.csv:2: InstanceType: expected a name in plain letters, got 'a?'"));
  CHECK(has(complaint([] { return read("a,H100,8,,cheap,,us,\n"); }), "Price: expected a price"));
  CHECK(has(complaint([] { return read("a,H100,8,,-1,,us,\n"); }), "got '-1'"));
  CHECK(has(complaint([] { return read("a,H100,8,\"x,1,,us,\n"); }), "a quote is not closed"));
  CHECK(has(complaint([] { return read("a,H1\"00,8,,1,,us,\n"); }), "a quote inside a cell"));
  CHECK(has(complaint([] { return read("a,\"H100\"x,8,,1,,us,\n"); }), "expected a comma"));
  CHECK(has(complaint([] { return read("cpu,,,,1,,us,\n"); }), "no row has an accelerator"));
}

}  // namespace
}  // namespace penstock
