#include "core/values/json.h"

#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

Json parse(std::string_view text) { return parse_json(text, "f.json"); }

// What the Error says; empty when there was none.
template <class Function>
std::string complaint(Function&& function) {
  return tests::message_of([&] { function(); });
}

std::string complaint_about(std::string_view text) {
  return complaint([text] { (void)parse(text); });
}

TEST_CASE("numbers keep the text they were written with") {
  const Json json = parse("[4, -4, -0, 18.522, 1.50e+3, 12345678901234567890123, 1E-400]");
  const char* expected[] = {"4",     "-4", "-0", "18.522", "1.50e+3", "12345678901234567890123",
                            "1E-400"};
  REQUIRE(json.elements().size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(json.elements()[i].text() == expected[i]);
  CHECK(parse("42").text() == "42");
  CHECK(parse("/* 7 */8//9").text() == "8");
}

TEST_CASE("every value knows its line, numbers before a line's end too") {
  const Json json = parse(
      "// a comment\n"
      "{\n"
      "  \"a\": 1\n"
      "  ,\n"
      "  \"b\":\n"
      "    2.5,\r\n"
      "  \"c\": [\n"
      "    true, null,\n"
      "    \"x\"\n"
      "  ],\n"
      "  \"d\": {}}\n");
  CHECK(json.line() == 2);
  CHECK(json.find("a")->line() == 3);
  CHECK(json.find("b")->line() == 6);
  CHECK(json.find("c")->line() == 7);
  CHECK(json.find("c")->elements()[0].line() == 8);
  CHECK(json.find("c")->elements()[1].line() == 8);
  CHECK(json.find("c")->elements()[2].line() == 9);
  CHECK(json.find("d")->line() == 11);
  CHECK(json.find("e") == nullptr);
}

TEST_CASE("objects keep the order of their keys") {
  const Json json = parse(R"({"b": 1, "a": 2})");
  CHECK(json.members()[0].first == "b");
  CHECK(json.members()[1].first == "a");
}

TEST_CASE("what is not JSON is refused with file and line") {
  CHECK(complaint_about("") ==
        "f.json:1: syntax error while parsing value - unexpected end of input; expected '[', '{', "
        "or a literal");
  CHECK(complaint_about("[1,\n 2\n") ==
        "f.json:2: syntax error while parsing array - unexpected end of input; expected ']'");
  CHECK(complaint_about("{\"a\": 1\n\"b\": 2}") ==
        "f.json:2: syntax error while parsing object - unexpected string literal; expected '}'");
  CHECK(complaint_about("[]\n[]") ==
        "f.json:2: syntax error while parsing value - unexpected '['; expected end of input");
  CHECK(complaint_about("[1.\n]") ==
        "f.json:1: syntax error while parsing value - invalid number; expected digit after '.'; "
        "last read: '1.<U+000A>'");
  CHECK(complaint_about("[1e999]") == "f.json:1: number overflow parsing '1e999'");
}

TEST_CASE("text that is not UTF-8 is refused, and the message stays text") {
  CHECK(complaint_about("\n\"\xff\"") ==
        "f.json:2: syntax error while parsing value - invalid string: ill-formed UTF-8 byte; last "
        "read: '\"?'");
  CHECK(complaint_about("\"\\ud800\"").starts_with("f.json:1: "));
}

TEST_CASE("a message shows only the end of a long token") {
  const std::string text = "\"" + std::string(100'000, 'a');
  CHECK(complaint_about(text).size() < 250);
}

TEST_CASE("a key may not appear twice in one object") {
  CHECK(complaint_about("{\"a\": 1,\n \"a\": 2}") ==
        "f.json:2: the key \"a\" appears twice in one object; keep one of them");
  CHECK(complaint_about(R"([{"a": 1}, {"a": {"a": 2}}])").empty());
}

TEST_CASE("64 levels may be nested and no more") {
  const std::string open(64, '[');
  const std::string close(64, ']');
  CHECK(complaint_about(open + close).empty());
  CHECK(complaint_about(open + "\n[]" + close) == "f.json:2: nested deeper than 64 levels");
  CHECK(complaint_about(std::string(1'000'000, '[')) == "f.json:1: nested deeper than 64 levels");
}

TEST_CASE("equality does not count lines but counts the text of numbers") {
  CHECK(parse("[1,\n2]") == parse("[1, 2]"));
  CHECK_FALSE(parse("1") == parse("1.0"));
  CHECK_FALSE(parse("\"1\"") == parse("1"));
  CHECK_FALSE(parse("[]") == parse("{}"));
}

TEST_CASE("values are built from what C++ has") {
  Json json = Json::object();
  json.set("i", std::int64_t{-5}).set("u", std::numeric_limits<std::uint64_t>::max());
  json.set("d", 0.1).set("s", "x").set("b", true).set("n", Json()).set("t", Json::number("1.50"));
  CHECK(
      to_text(json) ==
      R"({"i": -5, "u": 18446744073709551615, "d": 0.1, "s": "x", "b": true, "n": null, "t": 1.50})");
  CHECK(Json(1e22).text() == "1e+22");
  CHECK(complaint([] { (void)Json(std::numeric_limits<double>::infinity()); }) ==
        "JSON has no way to write an infinite number or NaN");
}

TEST_CASE("what fits stays on one line, the rest is indented by two") {
  const Json json =
      parse(R"({"a": [1, 2, 3], "b": {"c": [], "d": {}}, "e": [{"f": 1}, {"g": 2}]})");
  CHECK(to_text(json) == R"({"a": [1, 2, 3], "b": {"c": [], "d": {}}, "e": [{"f": 1}, {"g": 2}]})");
  CHECK(to_text(json, 20) ==
        "{\n"
        "  \"a\": [1, 2, 3],\n"
        "  \"b\": {\n"
        "    \"c\": [],\n"
        "    \"d\": {}\n"
        "  },\n"
        "  \"e\": [\n"
        "    {\"f\": 1},\n"
        "    {\"g\": 2}\n"
        "  ]\n"
        "}");
}

TEST_CASE("a line takes exactly its width, the comma included") {
  const Json json = parse(R"([[1, 2, 3], [4, 5, 6]])");
  CHECK(to_text(json, 12) == "[\n  [1, 2, 3],\n  [4, 5, 6]\n]");  // 2 + 9 + 1 columns
  CHECK(to_text(json, 11) == "[\n  [\n    1, 2,\n    3\n  ],\n  [\n    4, 5,\n    6\n  ]\n]");
}

TEST_CASE("plain values fill their lines") {
  const Json json = parse(R"(["0F0", "0F1", "0F2", "0F3", [1], "0F4"])");
  CHECK(to_text(json, 16) ==
        "[\n"
        "  \"0F0\", \"0F1\",\n"
        "  \"0F2\", \"0F3\",\n"
        "  [1],\n"
        "  \"0F4\"\n"
        "]");
}

TEST_CASE("strings are escaped where JSON wants it") {
  CHECK(to_text(Json("a\"b\\c\n\t\r\x01\x7f/\u00e9\U0001F600")) ==
        "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f/\u00e9\U0001F600\"");
  CHECK(parse(R"("\u00e9\ud83d\ude00\u0000")").text() == std::string("\u00e9\U0001F600\0", 7));
}

TEST_CASE("bytes that are not UTF-8 are replaced, so that what is written can be read") {
  // a lone continuation, an overlong slash, a surrogate, a cut character
  const std::string text =
      "a\x80"
      "b\xc0\xaf"
      "c\xed\xa0\x80"
      "d\xe2\x82";
  CHECK(to_text(Json(text)) == R"("a\ufffdb\ufffd\ufffdc\ufffd\ufffd\ufffdd\ufffd\ufffd")");
  CHECK(complaint_about(to_text(Json(text))).empty());
}

TEST_CASE("what is written reads back as the same value at any width") {
  const Json json = parse(
      R"({"a": [1, -2.50, 3e8, "x\ny", null, true, [], {}], "b": {"c": [[[1], [2, 3]], {"d": ""}]}})");
  for (int width = 0; width < 120; ++width) CHECK(parse(to_text(json, width)) == json);
}

TEST_CASE("a message names file, line, path, what was expected and what was there") {
  const Json json = parse("{\"list\": [\n  {\"n\": -4}]}");
  CHECK(complaint([&] {
          JsonReader reader(json, "p.json");
          JsonReader element = reader.at("list").elements()[0];
          (void)element.at("n").integer(0, std::numeric_limits<std::int64_t>::max());
        }) == "p.json:2: /list/0/n: expected an integer >= 0, got -4");
}

TEST_CASE("a value that was not read from a text has no line") {
  CHECK(complaint([] { (void)JsonReader(Json(1), "f", "/x").string(); }) ==
        "f: /x: expected a string, got 1");
}

TEST_CASE("a missing key is named at the object that lacks it") {
  const Json json = parse("[\n{}]");
  CHECK(complaint([&] { (void)JsonReader(json, "f").elements()[0].at("name"); }) ==
        "f:2: /0: the key \"name\" is missing here; add it");
  CHECK(complaint([&] { (void)JsonReader(json, "f").at("name"); }) ==
        "f:1: expected an object, got an array of 1");
}

TEST_CASE("an unknown key is refused with the nearest known key") {
  const Json json = parse("{\"name\": \"x\",\n\"forwrad_ms\": 3}");
  const auto read = [&](std::string_view stem) {
    JsonReader reader(json, "f");
    (void)reader.at("name");
    if (!stem.empty()) (void)reader.get_duration(stem);
    reader.finish();
  };
  CHECK(complaint([&] { read("forward"); }) ==
        "f:2: unknown key \"forwrad_ms\"; did you mean \"forward_ms\"?");
  CHECK(complaint([&] { read(""); }) ==
        "f:2: unknown key \"forwrad_ms\"; remove it; the nearest known key is \"name\"");
  CHECK(complaint([&] { JsonReader(json, "f").finish(); }) ==
        "f:1: unknown key \"name\"; remove it");
}

TEST_CASE("integers are whole, in range and written without a point") {
  const auto read = [](const char* text) {
    const Json json = parse(text);
    return complaint([&] { (void)JsonReader(json, "f").integer(1, 8); });
  };
  CHECK(read("1").empty());
  CHECK(read("8").empty());
  CHECK(read("0") == "f:1: expected an integer from 1 to 8, got 0");
  CHECK(read("9") == "f:1: expected an integer from 1 to 8, got 9");
  CHECK(read("4.0") == "f:1: expected an integer from 1 to 8, got 4.0");
  CHECK(read("1e0") == "f:1: expected an integer from 1 to 8, got 1e0");
  CHECK(read("\"4\"") == "f:1: expected an integer from 1 to 8, got \"4\"");
  CHECK(read("99999999999999999999") ==
        "f:1: expected an integer from 1 to 8, got 99999999999999999999");
}

TEST_CASE("numbers lie in their range") {
  constexpr double kMost = std::numeric_limits<double>::max();
  const auto read = [](const char* text, double least, double most) {
    const Json json = parse(text);
    return complaint([&] { (void)JsonReader(json, "f").number(least, most); });
  };
  CHECK(read("0.5", 0, 1).empty());
  CHECK(read("1", 0, 1).empty());
  CHECK(read("1.01", 0, 1) == "f:1: expected a number from 0 to 1, got 1.01");
  CHECK(read("-1", 0, kMost) == "f:1: expected a number >= 0, got -1");
  CHECK(read("0", std::numeric_limits<double>::min(), kMost) ==
        "f:1: expected a number > 0, got 0");
  CHECK(read("null", 0, 1) == "f:1: expected a number from 0 to 1, got null");
}

TEST_CASE("bytes go up to 2^53") {
  const auto read = [](const char* text) {
    const Json json = parse(text);
    return complaint([&] { (void)JsonReader(json, "f").bytes(); });
  };
  CHECK(read("9007199254740992").empty());
  CHECK(read("9007199254740993") ==
        "f:1: expected a number of bytes, an integer from 0 to 2^53, got 9007199254740993");
  CHECK(read("-1") == "f:1: expected a number of bytes, an integer from 0 to 2^53, got -1");
  CHECK(read("1.5") == "f:1: expected a number of bytes, an integer from 0 to 2^53, got 1.5");
}

TEST_CASE("a duration takes its unit from its key") {
  const auto read = [](const char* text) {
    const Json json = parse(text);
    return JsonReader(json, "f").duration("t").count();
  };
  CHECK(read(R"({"t_ns": 7})") == 7);
  CHECK(read(R"({"t_us": 1.5})") == 1'500);
  CHECK(read(R"({"t_ms": 18.522})") == 18'522'000);
  CHECK(read(R"({"t_s": 1e-9})") == 1);
  CHECK(read(R"({"t_ns": 0.2})") == 1);
}

TEST_CASE("a duration that is missing, doubled, negative or too long is refused") {
  const auto read = [](const char* text) {
    const Json json = parse(text);
    return complaint([&] { (void)JsonReader(json, "f").duration("t"); });
  };
  CHECK(read("{}") == "f:1: the key \"t_ns\" (or _us, _ms, _s) is missing here; add it");
  CHECK(read("{\"t_ms\": 1,\n\"t_ns\": 1}") ==
        "f:1: /t_ms: the same time is given as \"t_ns\" too; keep one");
  CHECK(read(R"({"t_ns": -4})") == "f:1: /t_ns: expected a duration >= 0, got -4");
  CHECK(read(R"({"t_s": 1000001})") ==
        "f:1: /t_s: expected a duration of at most 1000000 s, got 1000001");
  CHECK(read(R"({"t_s": "1"})") == "f:1: /t_s: expected a duration >= 0, a number, got \"1\"");
}

TEST_CASE("members come in file order and count as known") {
  const Json json = parse(R"({"b": 1, "a": 2})");
  JsonReader reader(json, "f");
  const auto members = reader.members();
  REQUIRE(members.size() == 2);
  CHECK(members[0].first == "b");
  CHECK(members[1].second.path() == "/a");
  CHECK(members[1].second.integer(0, 9) == 2);
  reader.finish();
}

TEST_CASE("a long value is shown by its start") {
  const std::string text = "\"" + std::string(79, 'x') + "\u00e9yyyy\"";
  const Json json = parse(text);
  CHECK(complaint([&] { (void)JsonReader(json, "f").boolean(); }) ==
        "f:1: expected true or false, got \"" + std::string(79, 'x') + "\"...");
}

TEST_CASE("a file that is not there is a missing resource") {
  try {
    (void)read_file("no/such/file.json");
    FAIL("an Error was expected");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissingResource);
    CHECK(std::string(error.what()) ==
          "no/such/file.json: cannot read this file: No such file or directory");
  }
  CHECK(complaint([] { (void)read_file("."); }) == ".: cannot read this file: Is a directory");
  CHECK(complaint([] { write_file("no/such/file.json", "x"); }) ==
        "no/such/file.json: there is no folder no/such\nhelp: make it first: mkdir -p no/such");
}

TEST_CASE("a file that is written reads back and leaves nothing beside it") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("penstock_" + std::to_string(std::random_device{}()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "a.json";
  write_file(path, "first");
  write_file(path, std::string_view("a\0b\n", 4));
  CHECK(read_file(path) == std::string("a\0b\n", 4));
  CHECK_FALSE(std::filesystem::exists(path + ".tmp"));
  write_file("/dev/null", "x");
  CHECK_FALSE(std::filesystem::is_regular_file("/dev/null"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("the hash is 64-bit FNV-1a") {
  // The published test vectors of FNV-1a.
  CHECK(content_hash("") == "fnv1a64:cbf29ce484222325");
  CHECK(content_hash("a") == "fnv1a64:af63dc4c8601ec8c");
  CHECK(content_hash("foobar") == "fnv1a64:85944171f73967e8");
}

}  // namespace
}  // namespace penstock
