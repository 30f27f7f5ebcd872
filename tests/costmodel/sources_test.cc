#include "costmodel/sources.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

std::string shortened(const std::string& text) {
  return in_short(Source{"id", Origin::kAssumed, text, ""});
}

TEST_CASE("a source is named with its first clause") {
  CHECK(shortened("from tensor shapes") == "id: from tensor shapes");
  CHECK(shortened("from shapes, 1.5 h: stash 2b; peak. And more") == "id: from shapes, 1.5 h");
  CHECK(shortened("not published; from shapes: 4h") == "id: not published");
  CHECK(shortened("") == "id");
}

TEST_CASE("a long clause is cut at a word") {
  CHECK(shortened(
            "sampled at powers of two from 1 MiB to 1 GiB from a bandwidth fit published by X") ==
        "id: sampled at powers of two from 1 MiB to 1 GiB from a bandwidth fit ...");
  CHECK(shortened(std::string(100, 'x')) == "id: " + std::string(72, 'x') + " ...");
}

TEST_CASE("only datasheets and assumptions count as assumed") {
  const std::vector<Source> sources = {{"a", Origin::kMeasured, "", ""},
                                       {"b", Origin::kDerived, "", ""},
                                       {"c", Origin::kDatasheet, "", ""},
                                       {"d", Origin::kAssumed, "", ""}};
  CHECK(unmeasured_source(sources, 0) == nullptr);
  CHECK(unmeasured_source(sources, 4) == nullptr);
  REQUIRE(unmeasured_source(sources, 1) == &sources[1]);
  CHECK_FALSE(is_assumed(unmeasured_source(sources, 0)));
  CHECK_FALSE(is_assumed(unmeasured_source(sources, 1)));
  CHECK(is_assumed(unmeasured_source(sources, 2)));
  CHECK(is_assumed(unmeasured_source(sources, 3)));
}

TEST_CASE("times from a datasheet carry the error that their source gives") {
  std::vector<Source> sources = {{"guess", Origin::kAssumed, "", ""},
                                 {"sheet", Origin::kDatasheet, "", ""}};
  SectionType type;
  type.measurements.resize(2);
  CHECK(error_of_assumed_times(type, sources) == ErrorBand{kNotMeasured, kNotMeasured});
  type.measurements[1].time_source = 1;
  CHECK(error_of_assumed_times(type, sources) == ErrorBand{kFromDatasheet, kFromDatasheet});
  // Each side for itself: nobody knows which of the two sources a section goes by.
  sources[1].error = ErrorBand{0.1, 0.6};
  CHECK(error_of_assumed_times(type, sources) == ErrorBand{kNotMeasured, 0.6});
}

}  // namespace
}  // namespace penstock
