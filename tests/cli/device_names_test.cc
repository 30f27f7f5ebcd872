#include "cli/io/device_names.h"

#include <doctest/doctest.h>

#include "cli/words/device_facts.h"

namespace penstock {
namespace {

Loaded<ModelProfile> measured_on(const std::vector<std::string>& devices) {
  Loaded<ModelProfile> profile;
  profile.file.path = "p.json";
  profile.value.section_types.resize(1);
  for (const std::string& device : devices) {
    Measurement measurement;
    measurement.device = device;
    profile.value.section_types[0].measurements.push_back(measurement);
  }
  return profile;
}

Loaded<ClusterSpec> cluster_of(const std::vector<std::string>& devices) {
  Loaded<ClusterSpec> cluster;
  cluster.file.path = "c.json";
  for (const std::string& device : devices) {
    DeviceType type;
    type.name = device;
    cluster.value.device_types.push_back(type);
  }
  return cluster;
}

TEST_CASE("a profile takes the cluster's name of a device that one datasheet has two names for") {
  Loaded<ModelProfile> profile = measured_on({"a100-80gb", "v100-16gb", "a100-80gb"});
  CHECK(take_device_names(cluster_of({"a100-sxm-80gb"}), profile) ==
        std::vector<std::string>{"a100-sxm-80gb of c.json is a100-80gb of p.json"});
  CHECK(devices_of(profile.value) == std::vector<std::string>{"a100-sxm-80gb", "v100-16gb"});
}

TEST_CASE("names that are equal, of another device or of none stay as they are") {
  Loaded<ModelProfile> profile = measured_on({"a100-80gb", "a100-sxm-80gb", "a100-40gb", "mine"});
  const std::vector<std::string> before = devices_of(profile.value);
  CHECK(take_device_names(cluster_of({"a100-80gb"}), profile).empty());
  CHECK(take_device_names(cluster_of({"a100-80gb", "a100-sxm-80gb"}), profile).empty());
  CHECK(take_device_names(cluster_of({"h100-sxm", "yours"}), profile).empty());
  CHECK(devices_of(profile.value) == before);
}

TEST_CASE("a device is found among names by its own or by another one of its datasheet") {
  CHECK(device_among({"a100-40gb", "a100-sxm-80gb"}, "a100-80gb") == "a100-sxm-80gb");
  CHECK(device_among({"a100-sxm-80gb", "a100-80gb"}, "a100-80gb") == "a100-80gb");
  CHECK(device_among({"a100-40gb"}, "a100-80gb").empty());
  CHECK(device_among({"mine"}, "mine") == "mine");
}

}  // namespace
}  // namespace penstock
