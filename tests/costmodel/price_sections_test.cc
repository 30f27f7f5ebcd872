#include <doctest/doctest.h>

#include "costmodel/price_stages.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

SectionTable table_of(const ModelProfile& profile, int samples, int length) {
  return price_sections(profile, eight_per_node(1), "gpu", 1, samples, length, "none");
}

SectionPrice price_of(std::vector<Measurement> measurements, int samples, int length) {
  const SectionTable table =
      table_of(model_of(section_type("layer", 100, std::move(measurements))), samples, length);
  REQUIRE(table.why_not == "");
  return table.sections.front();
}

std::int64_t forward(std::vector<Measurement> measurements, int samples, int length) {
  return price_of(std::move(measurements), samples, length).price.forward.duration.count();
}

std::vector<std::string> notes_of(const ModelProfile& profile, int samples, int length) {
  std::vector<std::string> texts;
  for (const SectionNote& note : table_of(profile, samples, length).notes) {
    texts.push_back(note.text);
  }
  return texts;
}

TEST_CASE("a grid point is returned as it was measured") {
  Measurement m = measured(2, 1024, 333'333'333'333'337, 777'777'777'777'771);
  m.forward.spread = Duration{12'345};
  m.recompute_time = {Duration{11}, Duration{3}};
  m.input_gradient = Timing{Duration{400}, Duration{5}};
  m.weight_gradient = Timing{Duration{300}, Duration{4}};
  m.stash = {1'000'000'000'003};
  m.weight_stash = {7};
  m.working_peak = {11};
  m.boundary = {13};
  const SectionPrice section = price_of({measured(1, 1024, 10, 20), m}, 2, 1024);
  const ComputePrice expected{.forward = {Duration{333'333'333'333'337}, Duration{12'345}},
                              .input_gradient = {Duration{400}, Duration{5}},
                              .weight_gradient = {Duration{300}, Duration{4}},
                              .fused_backward = {Duration{777'777'777'777'771}, Duration{0}},
                              .recompute = {Duration{11}, Duration{3}},
                              .stash = {1'000'000'000'003},
                              .weight_stash = {7},
                              .working_peak = {11},
                              .boundary = {13}};
  CHECK(section.price == expected);
  CHECK_FALSE(section.extrapolated);
  CHECK(section.assumed_time == Duration{});
  CHECK(section.assumed_split_time == Duration{});
  CHECK(section.extrapolated_time == Duration{});
}

TEST_CASE("between two micro-batch sizes times, spreads and bytes lie on a straight line") {
  Measurement two = measured(2, 0, 200, 400);
  Measurement four = measured(4, 0, 300, 700);
  two.forward.spread = Duration{10};
  four.forward.spread = Duration{21};
  two.stash = {1000};
  four.stash = {2001};
  const SectionPrice section = price_of({four, two}, 3, 0);
  CHECK(section.price.forward.duration.count() == 250);
  CHECK(section.price.fused_backward.duration.count() == 550);
  CHECK(section.price.forward.spread.count() == 16);  // 15.5, rounded up
  CHECK(section.price.stash.count == 1501);           // 1500.5, rounded up
  CHECK_FALSE(section.extrapolated);
}

TEST_CASE("between two sequence lengths values follow a power law") {
  // Proportional: 10 us at 1024, 40 us at 4096.
  CHECK(forward({measured(1, 1024, 10'000, 0), measured(1, 4096, 40'000, 0)}, 1, 2048) == 20'000);
  // Quadratic: 10 us and 160 us.
  CHECK(forward({measured(1, 1024, 10'000, 0), measured(1, 4096, 160'000, 0)}, 1, 2048) == 40'000);
  // A zero has no power law: the straight line, a third of the way.
  CHECK(forward({measured(1, 1024, 0, 0), measured(1, 4096, 30'000, 0)}, 1, 2048) == 10'000);
}

TEST_CASE("both axes at once: rows first, then between rows") {
  // s = 1024: b = 3 -> 30 us; s = 4096: b = 3 -> 120 us; at 2048: 60 us.
  const std::vector<Measurement> grid = {measured(2, 1024, 20'000, 0), measured(4, 1024, 40'000, 0),
                                         measured(2, 4096, 80'000, 0),
                                         measured(4, 4096, 160'000, 0)};
  CHECK(forward(grid, 3, 2048) == 60'000);
  CHECK_FALSE(price_of(grid, 3, 2048).extrapolated);
}

TEST_CASE("beyond the largest micro-batch the last segment goes on") {
  const SectionPrice section =
      price_of({measured(1, 0, 100, 10), measured(2, 0, 200, 20), measured(4, 0, 300, 40)}, 8, 0);
  CHECK(section.price.forward.duration.count() == 500);  // + 50 a sample
  CHECK(section.extrapolated);
  CHECK(section.extrapolated_time.count() == 500 + 80);
}

TEST_CASE("below the smallest micro-batch the first segment goes on, never below its proportion") {
  CHECK(forward({measured(2, 0, 200, 0), measured(4, 0, 300, 0)}, 1, 0) == 150);
  // The line gives 0 at b = 1; half of 200 is 100.
  CHECK(forward({measured(2, 0, 200, 0), measured(4, 0, 600, 0)}, 1, 0) == 100);
  CHECK(price_of({measured(2, 0, 200, 0), measured(4, 0, 600, 0)}, 1, 0).extrapolated);
}

TEST_CASE("bytes that shrink with the size do not go on shrinking outside") {
  Measurement one = measured(1, 0, 10, 10), two = measured(2, 0, 20, 20);
  one.working_peak = {100};
  two.working_peak = {60};
  CHECK(price_of({one, two}, 8, 0).price.working_peak.count == 60);
}

TEST_CASE("a single micro-batch size is continued in proportion") {
  CHECK(forward({measured(2, 0, 200, 0)}, 3, 0) == 300);
  CHECK(forward({measured(2, 0, 200, 0)}, 1, 0) == 100);
  CHECK(price_of({measured(2, 0, 200, 0)}, 3, 0).extrapolated);
}

TEST_CASE("outside the measured lengths the power law goes on, at most with attention's square") {
  // Exponent 1.
  CHECK(forward({measured(1, 1024, 100, 0), measured(1, 2048, 200, 0)}, 1, 8192) == 800);
  CHECK(forward({measured(1, 1024, 100, 0), measured(1, 2048, 200, 0)}, 1, 512) == 50);
  // Exponent 3 is held at 2; falling times are held constant.
  CHECK(forward({measured(1, 1024, 10, 0), measured(1, 2048, 80, 0)}, 1, 4096) == 320);
  CHECK(forward({measured(1, 1024, 80, 0), measured(1, 2048, 40, 0)}, 1, 4096) == 40);
  // One length alone: in proportion.
  const SectionPrice section = price_of({measured(1, 1024, 100, 60)}, 1, 2048);
  CHECK(section.price.forward.duration.count() == 200);
  CHECK(section.extrapolated);
}

TEST_CASE("a longer sequence with fewer micro-batch sizes is normal") {
  const std::vector<Measurement> ragged = {measured(1, 1024, 100, 0), measured(2, 1024, 200, 0),
                                           measured(4, 1024, 400, 0), measured(1, 2048, 300, 0),
                                           measured(2, 2048, 500, 0)};
  CHECK(forward(ragged, 4, 1024) == 400);
  CHECK_FALSE(price_of(ragged, 4, 1024).extrapolated);
  CHECK(forward(ragged, 4, 2048) == 900);  // 500 + 2 x 200
  CHECK(price_of(ragged, 4, 2048).extrapolated);
  // Between the rows the longer one had to be extrapolated, so the result is.
  CHECK(price_of(ragged, 4, 1536).extrapolated);
  CHECK_FALSE(price_of(ragged, 2, 1536).extrapolated);
}

TEST_CASE("a section without sequence dimension has one price for every length") {
  const SectionPrice section = price_of({measured(1, 0, 100, 60)}, 1, 2048);
  CHECK(section.price.forward.duration.count() == 100);
  CHECK_FALSE(section.extrapolated);
}

TEST_CASE("a small micro-batch that was slower than a larger one takes the larger one's time") {
  // Forward 12, 10, 11, 30 -> 10, 10, 11, 30; backward is in order and stays.
  const std::vector<Measurement> row = {measured(1, 0, 12, 20), measured(2, 0, 10, 30),
                                        measured(3, 0, 11, 40), measured(4, 0, 30, 50)};
  CHECK(forward(row, 1, 0) == 10);
  CHECK(forward(row, 2, 0) == 10);
  CHECK(forward(row, 3, 0) == 11);
  const SectionPrice first = price_of(row, 1, 0);
  CHECK(first.launch_bound);
  CHECK(first.price.fused_backward.duration.count() == 20);
  CHECK_FALSE(price_of(row, 2, 0).launch_bound);
  CHECK_FALSE(first.extrapolated);
}

TEST_CASE("a fused backward is divided by the profile's share") {
  Measurement m = measured(1, 0, 50, 1000);
  m.weight_gradient_share = 0.46;
  m.fused_backward->spread = Duration{100};
  const SectionPrice section = price_of({m}, 1, 0);
  CHECK(section.price.weight_gradient == Price{Duration{460}, Duration{46}});
  CHECK(section.price.input_gradient == Price{Duration{540}, Duration{54}});
  CHECK(section.price.fused_backward == Price{Duration{1000}, Duration{100}});
  CHECK(section.assumed_split_time.count() == 1000);
  CHECK(section.assumed_time == Duration{});
}

TEST_CASE("without a share half of a fused backward is W, and the odd nanosecond too") {
  const SectionPrice section = price_of({measured(1, 0, 50, 101)}, 1, 0);
  CHECK(section.price.weight_gradient.duration.count() == 51);
  CHECK(section.price.input_gradient.duration.count() == 50);
}

TEST_CASE("I and W sum to B between grid points too") {
  Measurement one = measured(1, 0, 1, 101), four = measured(4, 0, 4, 305);
  one.weight_gradient_share = four.weight_gradient_share = 0.4;
  for (const int samples : {1, 2, 3, 4, 5}) {
    const ComputePrice p = price_of({one, four}, samples, 0).price;
    CHECK(p.input_gradient.duration + p.weight_gradient.duration == p.fused_backward.duration);
  }
}

TEST_CASE("a backward that was only measured in two parts is their sum") {
  Measurement m = measured(1, 0, 50, 0);
  m.fused_backward.reset();
  m.input_gradient = Timing{Duration{60}, Duration{3}};
  m.weight_gradient = Timing{Duration{40}, Duration{4}};
  const SectionPrice section = price_of({m}, 1, 0);
  CHECK(section.price.fused_backward == Price{Duration{100}, Duration{5}});  // 3, 4, 5
  CHECK(section.assumed_split_time == Duration{});
}

TEST_CASE("times that no measurement stands behind are counted as assumed") {
  Measurement m = measured(1, 0, 50, 100);
  m.recompute_time.median = Duration{7};
  m.time_source = 1;
  CHECK(price_of({m}, 1, 0).assumed_time.count() == 157);
  CHECK(price_of({m}, 1, 0).assumed_split_time == Duration{});  // once is enough
  m.time_source = 2;
  CHECK(price_of({m}, 1, 0).assumed_time.count() == 157);
  // Made from a measured and an assumed point: assumed.
  Measurement three = measured(3, 0, 150, 300);
  three.recompute_time.median = Duration{21};
  CHECK(price_of({m, three}, 2, 0).assumed_time.count() == 100 + 200 + 14);
  CHECK(price_of({m, three}, 3, 0).assumed_time == Duration{});
}

TEST_CASE("notes say what was assumed or extrapolated") {
  Measurement m = measured(1, 512, 50, 100), n = measured(4, 512, 80, 200);
  m.weight_gradient_share = n.weight_gradient_share = 0.46;
  m.split_source = n.split_source = 1;
  const ModelProfile profile = model_of(section_type("layer", 100, {m, n}));
  CHECK(notes_of(profile, 6, 1024) ==
        std::vector<std::string>{"backward split into input and weight gradient: 46 % of B taken "
                                 "for W in 'layer', assumed "
                                 "(shape: from tensor shapes)",
                                 "extrapolated micro-batch size 6 beyond measured 1..4",
                                 "extrapolated sequence length 1024 beyond measured 512"});
  m.input_gradient = m.weight_gradient = Timing{Duration{50}, Duration{}};
  m.time_source = 1;
  m.memory_source = 2;
  CHECK(notes_of(model_of(section_type("layer", 100, {m})), 1, 512) ==
        std::vector<std::string>{"compute times assumed (shape: from tensor shapes)",
                                 "activation memory from a datasheet (sheet: vendor's page)"});
}

TEST_CASE("sections of one type have one price") {
  const SectionTable table =
      table_of(model_of(section_type("layer", 100, {measured(1, 0, 5, 6)}), 3), 1, 0);
  REQUIRE(table.sections.size() == 3);
  CHECK(table.sections[2].price == table.sections[0].price);
  CHECK(table.notes.size() == 1);
}

TEST_CASE("what cannot be priced says what is missing and what there is") {
  Measurement two = measured(1, 1024, 5, 6);
  two.tensor_degree = 2;
  Measurement full = measured(1, 1024, 5, 6);
  full.recompute = "full";
  ModelProfile profile = model_of(section_type("layer", 100, {measured(1, 1024, 5, 6), two, full}));
  const auto why = [&](const std::string& device, int t, int length, const std::string& mode) {
    const SectionTable table =
        price_sections(profile, eight_per_node(1), device, t, 1, length, mode);
    CHECK(table.sections.empty());
    return table.why_not;
  };
  CHECK(why("h100", 1, 1024, "none") ==
        "no measurement of section type 'layer' (device 'h100', tensor degree 1, recompute "
        "'none'); measured on devices: gpu");
  CHECK(why("gpu", 8, 1024, "none") ==
        "no measurement of section type 'layer' (device 'gpu', tensor degree 8, recompute "
        "'none'); measured tensor degrees: 1, 2");
  CHECK(why("gpu", 1, 1024, "selective") ==
        "no measurement of section type 'layer' (device 'gpu', tensor degree 1, recompute "
        "'selective'); measured recompute modes: full, none");
  CHECK(why("gpu", 1, 0, "none") ==
        "no measurement of section type 'layer' without a sequence length (device 'gpu', tensor "
        "degree 1, recompute 'none'); measured sequence lengths: 1024");
  CHECK(why("gpu", 2, 1024, "none") ==
        "no parameter count of section type 'layer' (device 'gpu', tensor degree 2, recompute "
        "'none'); counted for tensor degrees: 1");
  profile.section_types[0].parameters = {{1, 100}, {2, 50}};
  profile.tied_weights = {{"embedding", {SectionId{0}, SectionId{0}}, {{1, 10}}}};
  CHECK(why("gpu", 2, 1024, "none") ==
        "no parameter count of tied weights 'embedding' (device 'gpu', tensor degree 2, recompute "
        "'none'); counted for tensor degrees: 1");
  CHECK(price_sections(ModelProfile{}, eight_per_node(1), "gpu", 1, 1, 0, "none").why_not ==
        "model '' has no sections");
}

}  // namespace
}  // namespace penstock
