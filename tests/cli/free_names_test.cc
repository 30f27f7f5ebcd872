#include "cli/answers/commands/free_names.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "tests/core/temporary_folder.h"

namespace penstock {

TEST_CASE("a proposal writes over no file that lies there") {
  const tests::TemporaryFolder folder;
  const std::string plan = folder / "plan.json", other = folder / "plan-2.json";
  const std::string message =
      "no plan\nhelp: penstock plan m.json -o " + plan + "; then penstock explain " + plan;
  CHECK(with_free_names(message, {"explain", "m.json"}) == message);
  std::ofstream(plan) << "{}";
  CHECK(with_free_names(message, {"explain", "m.json"}) ==
        "no plan\nhelp: penstock plan m.json -o " + other + "; then penstock explain " + other);
  // Who typed the name wants it.
  CHECK(with_free_names(message, {"plan", "m.json", "-o", plan}) == message);
  CHECK(with_free_names(message, {"plan", "m.json", "--output=" + plan}) == message);
  std::ofstream(other) << "{}";
  CHECK(with_free_names(message, {"explain", "m.json"}).find("plan-3.json") != std::string::npos);
}

TEST_CASE("names that only begin alike stay, and so do pages and pictures") {
  const tests::TemporaryFolder folder;
  const std::string plan = folder / "plan.json", page = folder / "report.html";
  std::ofstream(plan) << "{}";
  std::ofstream(page) << "<p>";
  const std::string message = "a\nhelp: penstock plan m.json -o " + plan + "; not " + plan + "l";
  CHECK(with_free_names(message, {"explain"}) ==
        "a\nhelp: penstock plan m.json -o " + (folder / "plan-2.json") + "; not " + plan + "l");
  const std::string drawn = "a\nhelp: penstock report p.json -o " + page;
  CHECK(with_free_names(drawn, {"report"}) == drawn);
}

}  // namespace penstock
