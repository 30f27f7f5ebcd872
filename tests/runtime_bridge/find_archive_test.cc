#include "runtime_bridge/find_archive.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "core/values/json_reader.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an archive is found from the plan's folder, from one above it, and beside the plan") {
  const fs::path folder = fs::canonical(fs::temp_directory_path()) / "penstock_find_archive_test";
  fs::remove_all(folder);
  fs::create_directories(folder / "models");
  fs::create_directories(folder / "plans" / "old");
  write_file((folder / "models" / "m.pt").string(), "archive");
  const auto found = [&](const std::string& archive, const fs::path& plan) {
    ModelDescription description;
    description.archive = archive;
    find_archive(description, plan.string());
    return description.archive;
  };
  const std::string there = folder / "models" / "m.pt";
  CHECK(found("models/m.pt", folder / "plan.json") == there);
  CHECK(found("models/m.pt", folder / "plans" / "old" / "plan.json") == there);
  CHECK(found("m.pt", folder / "models" / "plan.json") == there);
  CHECK(found(there, "plan.json") == there);
  // Where it was profiled is gone; it was copied together with the plan.
  CHECK(found("/nowhere/m.pt", folder / "models" / "plan.json") == there);
  CHECK(tests::message_of([&] { (void)found("models/n.pt", folder / "plan.json"); }) ==
        "models/n.pt: there is no such archive, neither here nor beside " +
            (folder / "plan.json").string() + "\nhelp: copy it into the plan's folder");
  ModelDescription built_in;
  find_archive(built_in, "plan.json");
  CHECK(built_in.archive.empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace penstock
