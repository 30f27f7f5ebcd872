#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "tests/core/byte_changes.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

// The messages below name lines and paths of this file.
constexpr std::string_view kProfile =
    R"({
  "format": "penstock.profile/1",
  "name": "tiny",
  "sources": [
    {"id": "run", "origin": "measured", "text": "here, today", "licence": "MIT"},
    {"id": "shape", "origin": "assumed", "text": "from tensor shapes"}
  ],
  "training": {"bytes_per_parameter": 2, "bytes_per_gradient": 4, "optimizer_bytes_per_parameter": 12, "source": "shape"},
  "section_types": [
    {
      "name": "layer",
      "parameters": [{"tensor_degree": 1, "count": 1000}, {"tensor_degree": 2, "count": 600}],
      "parameter_source": "shape",
      "measurements": [
        {"device": "a100", "tensor_degree": 1, "micro_batch_size": 1, "sequence_length": 2048,
         "forward_ms": 5.78,
         "fused_backward_ms": 9.65,
         "stash_bytes": 4096, "working_peak_bytes": 512, "boundary_bytes": 64,
         "time_source": "run", "memory_source": "shape"},
        {"device": "a100", "tensor_degree": 2, "micro_batch_size": 4, "sequence_length": 2048, "recompute": "full", "count": 10,
         "forward_us": 12.3456, "forward_spread_ns": 7,
         "input_gradient_s": 1e-6, "input_gradient_spread_us": 1,
         "weight_gradient_ns": 900.5,
         "recompute_time_us": 12, "recompute_time_spread_ns": 3,
         "weight_gradient_share": 0.25,
         "stash_bytes": 100, "weight_stash_bytes": 50, "working_peak_bytes": 0, "boundary_bytes": 0,
         "split_source": "shape"}
      ]
    }
  ],
  "sections": [
    {"name": "first", "type": "layer"},
    {"name": "second", "type": "layer"}
  ],
  "tied_weights": [
    {"name": "embedding", "sections": ["second", "first"],
     "parameters": [{"tensor_degree": 1, "count": 300}, {"tensor_degree": 2, "count": 150}]}
  ]
}
)";

ModelProfile read(std::string_view text) {
  return read_profile(parse_json(text, "p.json"), "p.json");
}

// The complaint about kProfile after its only `from` became `to`.
std::string complaint(std::string_view from, std::string_view to) {
  std::string text(kProfile);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  text.replace(at, from.size(), to);
  return tests::refusal_of([&] { (void)read(text); });
}

Timing timing(std::int64_t median, std::int64_t spread = 0) {
  return {.median = Duration(median), .spread = Duration(spread)};
}

// kProfile as C++ values, worked out by hand.
ModelProfile expected_profile() {
  const Measurement plain{.device = "a100",
                          .tensor_degree = 1,
                          .micro_batch_size = 1,
                          .sequence_length = 2048,
                          .recompute = "none",
                          .forward = timing(5'780'000),
                          .input_gradient = {},
                          .weight_gradient = {},
                          .fused_backward = timing(9'650'000),
                          .recompute_time = {},
                          .weight_gradient_share = {},
                          .count = 1,
                          .stash = {4096},
                          .weight_stash = {4096},  // as the stash, when it is not given
                          .working_peak = {512},
                          .boundary = {64},
                          .time_source = 0,
                          .split_source = 0,
                          .memory_source = 1};
  const Measurement full{.device = "a100",
                         .tensor_degree = 2,
                         .micro_batch_size = 4,
                         .sequence_length = 2048,
                         .recompute = "full",
                         .forward = timing(12'346, 7),  // 12345.6 ns rounds up
                         .input_gradient = timing(1'000, 1'000),
                         .weight_gradient = timing(901),
                         .fused_backward = {},
                         .recompute_time = timing(12'000, 3),
                         .weight_gradient_share = 0.25,
                         .count = 10,
                         .stash = {100},
                         .weight_stash = {50},
                         .working_peak = {0},
                         .boundary = {0},
                         .time_source = 0,
                         .split_source = 1,
                         .memory_source = 0};
  const SectionType layer{.name = "layer",
                          .parameters = {{1, 1000}, {2, 600}},
                          .parameter_source = 1,
                          .measurements = {plain, full}};
  return {.name = "tiny",
          .sources = {{"run", Origin::kMeasured, "here, today", "MIT"},
                      {"shape", Origin::kAssumed, "from tensor shapes", ""}},
          .training = {.bytes_per_parameter = {2},
                       .bytes_per_gradient = {4},
                       .optimizer_bytes_per_parameter = {12},
                       .optimizer_ps_per_parameter = {},
                       .source = 1},
          .section_types = {layer},
          .sections = {{"first", 0}, {"second", 0}},
          .tied_weights = {{"embedding", {SectionId(0), SectionId(1)}, {{1, 300}, {2, 150}}}}};
}

ModelProfile written_and_read(const ModelProfile& profile) {
  return read(to_text(write_profile(profile)));
}

TEST_CASE("a profile is read into exact values") { CHECK(read(kProfile) == expected_profile()); }

TEST_CASE("a profile reads back as it was written") {
  CHECK(written_and_read(expected_profile()) == expected_profile());
}

TEST_CASE("a profile with every optional part, or none, reads back as it was written") {
  ModelProfile full = expected_profile();
  full.training.optimizer_ps_per_parameter = 17;
  full.training.norm_ps_per_parameter = 3;
  for (Measurement& m : full.section_types[0].measurements) {
    m.input_gradient = timing(1, 2);
    m.weight_gradient = timing(3, 4);
    m.fused_backward = timing(5, 6);
    m.weight_gradient_share = 0.1;
    m.split_source = 1;
  }
  CHECK(written_and_read(full) == full);

  ModelProfile bare = expected_profile();
  bare.tied_weights.clear();
  bare.section_types[0].measurements[1].tensor_traffic = {
      {CollectiveKind::kAllGather, Bytes{64}, 1, 2, 3, 4, 5, 6},
      {CollectiveKind::kReduceScatter, Bytes{0}, 0, 0, 0, 0, 0, 0}};
  for (Measurement& m : bare.section_types[0].measurements) {
    m.sequence_length = 0;
    m.forward = {};
    m.input_gradient = {};
    m.weight_gradient = {};
    m.fused_backward = timing(0);
    m.recompute_time = {};
    m.weight_gradient_share = {};
    m.count = 1;
  }
  CHECK(written_and_read(bare) == bare);
}

TEST_CASE("times are written as whole nanoseconds") {
  const std::string text = to_text(write_profile(expected_profile()));
  CHECK(text.find("\"forward_ns\": 5780000,") != std::string::npos);
  CHECK(text.find("_ms\"") == std::string::npos);
}

TEST_CASE("the schema knows every key that is written") {
  const std::string path = "data/schemas/penstock.profile-1.schema.json";
  const std::string schema = read_file(path);
  CHECK(parse_json(schema, path).find("additionalProperties")->boolean() == false);
  const Json file = write_profile(expected_profile());
  for (const Json::Member& member : file.members()) {
    CHECK(schema.find("\"" + member.first + "\": {") != std::string::npos);
  }
  const Json& row = file.find("section_types")->elements()[0].find("measurements")->elements()[1];
  for (const Json::Member& member : row.members()) {
    CAPTURE(member.first);
    if (member.first.ends_with("_ns")) continue;  // patterns in the schema
    CHECK(schema.find("\"" + member.first + "\": {") != std::string::npos);
  }
}

TEST_CASE("a file of another format is refused") {
  CHECK(complaint("penstock.profile/1", "penstock.cluster/1") ==
        "p.json:2: /format: expected \"penstock.profile/1\", got \"penstock.cluster/1\"");
  CHECK(complaint("\"format\": \"penstock.profile/1\",", "") ==
        "p.json:1: the key \"format\" is missing here; add it: \"penstock.profile/1\"");
}

TEST_CASE("something else than an object is refused") {
  try {
    (void)read("[]");
    FAIL("an Error was expected");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "p.json:1: expected an object, got an array of 0");
  }
}

TEST_CASE("an unknown key is refused with the nearest known one") {
  CHECK(complaint("\"forward_ms\"", "\"foward_ms\": 1, \"forward_ms\"") ==
        "p.json:16: /section_types/0/measurements/0: unknown key \"foward_ms\"; did you mean "
        "\"forward_ms\"?");
}

TEST_CASE("a missing key is refused with its meaning") {
  CHECK(complaint("\"stash_bytes\": 4096, ", "") ==
        "p.json:15: /section_types/0/measurements/0: the key \"stash_bytes\" is missing here; add "
        "it: held from F to I or B");
  CHECK(complaint("\"forward_ms\": 5.78,", "") ==
        "p.json:15: /section_types/0/measurements/0: the key \"forward_ns\" (or _us, _ms, _s) is "
        "missing here; add it: the time of F");
}

TEST_CASE("a time below zero is refused") {
  CHECK(complaint("5.78", "-4") ==
        "p.json:16: /section_types/0/measurements/0/forward_ms: expected a duration >= 0, got -4");
}

TEST_CASE("a section type without measurements is refused") {
  const std::string_view text = kProfile;
  const std::size_t begin = text.find("        {\"device\"");
  const std::size_t end = text.find("      ]\n    }\n  ],");
  CHECK(complaint(text.substr(begin, end - begin), "") ==
        "p.json:14: /section_types/0/measurements: expected at least one element, one measured row "
        "of this type, got none");
}

TEST_CASE("a model without sections is refused") {
  CHECK(
      complaint("{\"name\": \"first\", \"type\": \"layer\"},\n    {\"name\": \"second\", \"type\": "
                "\"layer\"}",
                "") ==
      "p.json:31: /sections: expected at least one element, {\"name\": .., \"type\": ..}, along "
      "the model, got none");
}

TEST_CASE("sizes of zero and below are refused") {
  CHECK(
      complaint("\"micro_batch_size\": 4", "\"micro_batch_size\": 0") ==
      "p.json:20: /section_types/0/measurements/1/micro_batch_size: expected an integer from 1 to "
      "1000000, got 0");
  CHECK(complaint("\"stash_bytes\": 4096", "\"stash_bytes\": -1") ==
        "p.json:18: /section_types/0/measurements/0/stash_bytes: expected a number of bytes, an "
        "integer from 0 to 2^53, got -1");
  CHECK(complaint("\"count\": 1000", "\"count\": -1") ==
        "p.json:12: /section_types/0/parameters/0/count: expected an integer from 0 to "
        "1000000000000, got -1");
  CHECK(complaint("\"count\": 10,", "\"count\": 0,") ==
        "p.json:20: /section_types/0/measurements/1/count: expected an integer from 1 to "
        "9007199254740992, got 0");
  CHECK(complaint("\"bytes_per_parameter\": 2", "\"bytes_per_parameter\": 0") ==
        "p.json:8: /training/bytes_per_parameter: expected an integer from 1 to 32, got 0");
}

TEST_CASE("sizes beyond reason are refused") {
  CHECK(
      complaint("\"micro_batch_size\": 4", "\"micro_batch_size\": 1000001") ==
      "p.json:20: /section_types/0/measurements/1/micro_batch_size: expected an integer from 1 to "
      "1000000, got 1000001");
  CHECK(complaint("\"stash_bytes\": 4096", "\"stash_bytes\": 9007199254740993") ==
        "p.json:18: /section_types/0/measurements/0/stash_bytes: expected a number of bytes, an "
        "integer from 0 to 2^53, got 9007199254740993");
}

TEST_CASE("more than 60,000 sections are refused") {
  std::string many;
  for (int i = 0; i < 60'000; ++i)
    many += "{\"name\": \"" + std::to_string(i) + "\", \"type\": \"layer\"},";
  const std::string_view first = "{\"name\": \"first\"";
  CHECK(complaint(first, many + std::string(first)) ==
        "p.json:31: /sections: expected at most 60000 sections, got an array of 60002");
}

TEST_CASE("tensor degrees are positive and ascend") {
  CHECK(complaint("{\"tensor_degree\": 2, \"count\": 600}",
                  "{\"tensor_degree\": 1, \"count\": 600}") ==
        "p.json:12: /section_types/0/parameters/1/tensor_degree: expected a tensor degree greater "
        "than the one before, at least 2, got 1");
  CHECK(complaint("{\"tensor_degree\": 1, \"count\": 1000}",
                  "{\"tensor_degree\": 0, \"count\": 1}") ==
        "p.json:12: /section_types/0/parameters/0/tensor_degree: expected an integer from 1 to "
        "1000000, got 0");
}

TEST_CASE("a measurement needs the parameter count of its tensor degree") {
  CHECK(complaint("\"tensor_degree\": 2, \"micro_batch_size\"",
                  "\"tensor_degree\": 4, \"micro_batch_size\"") ==
        "p.json:20: /section_types/0/measurements/1/tensor_degree: there is no parameter count for "
        "tensor degree 4; add one to the section type's parameters");
}

TEST_CASE("names that do not resolve are refused with those there are") {
  CHECK(complaint("\"time_source\": \"run\"", "\"time_source\": \"rum\"") ==
        "p.json:19: /section_types/0/measurements/0/time_source: there is no source \"rum\"; there "
        "is \"run\", \"shape\"");
  CHECK(complaint("\"first\", \"type\": \"layer\"", "\"first\", \"type\": \"head\"") ==
        "p.json:32: /sections/0/type: there is no section type \"head\"; there is \"layer\"");
  CHECK(complaint("[\"second\", \"first\"]", "[\"second\", \"third\"]") ==
        "p.json:36: /tied_weights/0/sections/1: there is no section \"third\"; there is \"first\", "
        "\"second\"");
}

TEST_CASE("names that appear twice are refused") {
  CHECK(complaint("\"id\": \"shape\"", "\"id\": \"run\"") ==
        "p.json:6: /sources/1/id: there are two sources with the name \"run\"; rename one");
  CHECK(complaint("\"name\": \"second\"", "\"name\": \"first\"") ==
        "p.json:33: /sections/1/name: there are two sections with the name \"first\"; rename one");
  CHECK(
      complaint("\"section_types\": [",
                "\"section_types\": [{\"name\": \"layer\", \"parameters\": [{\"tensor_degree\": 1, "
                "\"count\": 1}], \"measurements\": [{\"device\": \"d\", \"tensor_degree\": 1, "
                "\"micro_batch_size\": 1, \"sequence_length\": 1, \"forward_ns\": 1, "
                "\"fused_backward_ns\": 1, \"stash_bytes\": 1, \"working_peak_bytes\": 1, "
                "\"boundary_bytes\": 1}]},") ==
      "p.json:11: /section_types/1/name: there are two section types with the name \"layer\"; "
      "rename one");
  CHECK(complaint("\"name\": \"tiny\"", "\"name\": \"\"") ==
        "p.json:3: /name: expected a name that is not empty, got \"\"");
}

TEST_CASE("the same measurement twice is refused") {
  CHECK(complaint(
            "\"tensor_degree\": 2, \"micro_batch_size\": 4, \"sequence_length\": 2048, "
            "\"recompute\": \"full\", \"count\": 10,\n         \"forward_us\": 12.3456, "
            "\"forward_spread_ns\": 7,\n         \"input_gradient_s\": 1e-6, "
            "\"input_gradient_spread_us\": 1,\n         \"weight_gradient_ns\": 900.5,\n         "
            "\"recompute_time_us\": 12, \"recompute_time_spread_ns\": 3,",
            "\"tensor_degree\": 1, \"micro_batch_size\": 1, \"sequence_length\": 2048, "
            "\"forward_ns\": 1, \"fused_backward_ns\": 1,") ==
        "p.json:20: /section_types/0/measurements/1: measurement 0 has the same device, "
        "tensor_degree, micro_batch_size, sequence_length and recompute; keep one");
}

// b = 1 takes 10 ms and b = 2 nothing: lowered to that, the section would be free.
TEST_CASE("no row takes no time where another of its key does") {
  const auto with_rows = [](std::string_view one, std::string_view two) {
    const auto row = [](int b, std::string_view times) {
      return R"({"device": "gpu", "tensor_degree": 1, "micro_batch_size": )" + std::to_string(b) +
             R"(, "sequence_length": 8, )" + std::string(times) +
             R"(, "stash_bytes": 1, "working_peak_bytes": 1, "boundary_bytes": 1})";
    };
    return R"({"format": "penstock.profile/1", "name": "m",
"sources": [{"id": "s", "origin": "assumed", "text": "t"}],
"training": {"bytes_per_parameter": 2, "bytes_per_gradient": 4, "optimizer_bytes_per_parameter": 12},
"section_types": [{"name": "x", "parameters": [{"tensor_degree": 1, "count": 1}], "measurements": [)" +
           row(1, one) + ", " + row(2, two) + R"(]}], "sections": [{"name": "a", "type": "x"}]})";
  };
  constexpr std::string_view kSome = R"("forward_ms": 10, "fused_backward_ms": 20)";
  constexpr std::string_view kNoForward = R"("forward_ms": 0, "fused_backward_ms": 20)";
  constexpr std::string_view kNoBackward =
      R"("forward_ms": 10, "input_gradient_ms": 0, "weight_gradient_ms": 0)";
  const std::string forward = with_rows(kSome, kNoForward),
                    backward = with_rows(kNoBackward, kSome);
  const std::string neither = with_rows(kNoForward, kNoForward);
  CHECK(tests::message_of([&] { static_cast<void>(read(forward)); })
            .find("/measurements/1: its forward takes no time, but "
                  "that of measurement 0 (b = 1) does") != std::string::npos);
  CHECK(tests::message_of([&] {
          static_cast<void>(read(backward));
        }).find("/measurements/0: its backward takes no time") != std::string::npos);
  CHECK(read(neither).section_types.size() == 1);  // nowhere any: such sections are made by hand

  // Each time is lowered by itself: the sum of the two gradients hides that one is 0.
  const auto complaint_of = [&](std::string_view one, std::string_view two) {
    return tests::message_of([&] { static_cast<void>(read(with_rows(one, two))); });
  };
  constexpr std::string_view kBoth =
      R"("forward_ms": 10, "input_gradient_ms": 5, "weight_gradient_ms": 5)";
  constexpr std::string_view kNoInput =
      R"("forward_ms": 10, "input_gradient_ms": 0, "weight_gradient_ms": 20)";
  constexpr std::string_view kNoWeight =
      R"("forward_ms": 10, "input_gradient_ms": 20, "weight_gradient_ms": 0)";
  constexpr std::string_view kNoFused =
      R"("forward_ms": 10, "input_gradient_ms": 5, "weight_gradient_ms": 5, "fused_backward_ms": 0)";
  CHECK(complaint_of(kBoth, kNoInput)
            .find("/measurements/1: its input gradient takes no time, but that of measurement 0") !=
        std::string::npos);
  CHECK(complaint_of(kNoWeight, kBoth).find("/measurements/0: its weight gradient takes no time") !=
        std::string::npos);
  CHECK(complaint_of(kBoth, kNoFused).find("/measurements/1: its backward takes no time") !=
        std::string::npos);
  // An embedding has no input gradient at any b.
  CHECK(complaint_of(kNoInput, kNoInput).empty());
}

TEST_CASE("what ran out of memory and decoders with a length of their own are read and written") {
  std::string text(kProfile);
  // Both rows know the decoder's length.
  std::size_t at = 0;
  for (const int length : {64, 32}) {
    const std::string key = "\"sequence_length\": 2048,";
    at = text.find(key, at) + key.size();
    text.insert(at, " \"decoder_length\": " + std::to_string(length) + ",");
  }
  const std::string end = "\"split_source\": \"shape\"}\n      ]";
  text.insert(text.find(end) + end.size(),
              ", \"out_of_memory\": [{\"device\": \"a100\", \"tensor_degree\": 2, "
              "\"micro_batch_size\": 8, \"sequence_length\": 2048, \"decoder_length\": 64, "
              "\"recompute\": \"full\"}]");
  const ModelProfile profile = read(text);
  const SectionType& type = profile.section_types.front();
  CHECK(type.measurements[0].decoder_length == 64);
  CHECK(type.measurements[1].decoder_length == 32);
  CHECK(type.out_of_memory == std::vector<OutOfMemoryKey>{{"a100", 2, 8, 2048, 64, "full"}});
  CHECK(read(to_text(write_profile(profile))) == profile);
}

TEST_CASE("a key that was measured did not run out of memory") {
  CHECK(
      complaint("\"split_source\": \"shape\"}\n      ]",
                "\"split_source\": \"shape\"}\n      ], \"out_of_memory\": [{\"device\": \"a100\", "
                "\"tensor_degree\": 1, \"micro_batch_size\": 1, \"sequence_length\": 2048}]") ==
      "p.json:28: /section_types/0/out_of_memory/0: this key was measured or is listed above; "
      "remove it here");
}

TEST_CASE("a section knows the decoder's length in all of its rows or in none") {
  CHECK(complaint("\"sequence_length\": 2048, \"recompute\"",
                  "\"sequence_length\": 2048, \"decoder_length\": 64, \"recompute\"") ==
        "p.json:20: /section_types/0/measurements/1: expected no decoder_length, as the first "
        "measurement of this type has none");
}

TEST_CASE("all measurements have a sequence length or none has") {
  CHECK(complaint("\"sequence_length\": 2048, \"recompute\"",
                  "\"sequence_length\": 0, \"recompute\"") ==
        "p.json:20: /section_types/0/measurements/1/sequence_length: expected a sequence_length >= "
        "1, as the first measurement has, got 0");
  CHECK(
      complaint("\"micro_batch_size\": 1, \"sequence_length\": 2048", "\"micro_batch_size\": 1") ==
      "p.json:20: /section_types/0/measurements/1/sequence_length: expected a sequence_length of "
      "0, as the first measurement has, got 2048");
}

TEST_CASE("the backward is fused, or has both gradients") {
  CHECK(complaint("\"fused_backward_ms\": 9.65,", "") ==
        "p.json:15: /section_types/0/measurements/0: the time of the backward is missing here; add "
        "\"fused_backward_ns\" (or _us, _ms, _s), or both input_gradient and weight_gradient");
  CHECK(complaint("\"weight_gradient_ns\": 900.5,", "") ==
        "p.json:20: /section_types/0/measurements/1: one gradient is given without the other; add "
        "\"weight_gradient_ns\" (or _us, _ms, _s), or give only fused_backward");
}

TEST_CASE("a spread needs its median") {
  CHECK(complaint("\"fused_backward_ms\"",
                  "\"input_gradient_spread_ms\": 1, \"fused_backward_ms\"") ==
        "p.json:15: /section_types/0/measurements/0: there is input_gradient_spread but no "
        "input_gradient; add \"input_gradient_ns\" (or _us, _ms, _s)");
}

TEST_CASE("recompute takes time only in a mode that recomputes") {
  CHECK(complaint("\"recompute\": \"full\", ", "") ==
        "p.json:20: /section_types/0/measurements/1: recompute_time is not 0 though recompute is "
        "\"none\"; name the recompute mode or remove the time");
}

TEST_CASE("the share of the weight gradient lies between 0 and 1") {
  CHECK(
      complaint("\"weight_gradient_share\": 0.25", "\"weight_gradient_share\": 1.5") ==
      "p.json:25: /section_types/0/measurements/1/weight_gradient_share: expected a number from 0 "
      "to 1, got 1.5");
}

TEST_CASE("an origin is one of four words") {
  CHECK(complaint("\"assumed\"", "\"guessed\"") ==
        "p.json:6: /sources/1/origin: expected \"measured\", \"datasheet\", \"derived\" or "
        "\"assumed\", got \"guessed\"");
}

TEST_CASE("tied weights join at least two different sections") {
  CHECK(complaint("[\"second\", \"first\"]", "[\"second\"]") ==
        "p.json:36: /tied_weights/0/sections: expected the names of at least two sections, got an "
        "array of 1");
  CHECK(
      complaint("[\"second\", \"first\"]", "[\"second\", \"second\"]") ==
      "p.json:36: /tied_weights/0/sections/1: the section \"second\" is listed twice; remove one");
}

TEST_CASE("tied weights are counted at every degree, and within their sections") {
  CHECK(
      complaint(", {\"tensor_degree\": 2, \"count\": 150}", "") ==
      "p.json:36: /tied_weights/0: there is no parameter count for tensor degree 2, which section "
      "\"first\" has; add one");
  CHECK(complaint("\"count\": 300", "\"count\": 1001") ==
        "p.json:36: /tied_weights/0: 1001 parameters are tied at tensor degree 1, but section "
        "\"first\" has only 1000; its type must count the tied ones too");
}

TEST_CASE("no cut and no changed character makes the reader do anything but read or refuse") {
  testing::cut_and_change_every_byte(kProfile, "p.json",
                                     [](const std::string& text) { return read(text); });
}

}  // namespace
}  // namespace penstock
