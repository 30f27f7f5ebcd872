#include "cli/io/files.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"

using namespace penstock;

TEST_CASE("a file comes with its path and its hash") {
  const std::string path = "data/profiles/gpt-6.7b.a100-40gb.json";
  const Loaded<ModelProfile> loaded = load_profile(path);
  CHECK(loaded.file == InputFile{path, content_hash(read_file(path))});
  CHECK(loaded.value.name == "GPT-6.7B");
}

TEST_CASE("no such file is a missing resource") {
  try {
    load_plan("no-such-file.json");
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissingResource);
  }
}

TEST_CASE("the format of a file, if it says one") {
  CHECK(format_of(Json::object().set("format", "penstock.plan/1")) == "penstock.plan/1");
  CHECK(format_of(Json::object().set("format", 1)).empty());
  CHECK(format_of(Json::array()).empty());
}

TEST_CASE("a text names its format wherever the member stands") {
  CHECK(own_format_in("{\"format\": \"penstock.plan/2\", \"a\": 1}") == "penstock.plan/2");
  CHECK(own_format_in("{\"a\": [1, 2],\n \"format\" :\n\t\"penstock.job/1\"}") == "penstock.job/1");
  // Another program's format, the name in another place, an end before the value's.
  CHECK(own_format_in("{\"format\": \"csv\", \"x\": \"penstock.plan/2\"}").empty());
  CHECK(own_format_in("run.sh writes \"penstock.plan/2\"").empty());
  CHECK(own_format_in("{\"format\": \"penstock.plan/2").empty());
  CHECK(own_format_in("").empty());
}

TEST_CASE("a folder beside whose name a file stands is taken for it") {
  std::filesystem::create_directories("book_folder");
  write_file("book_folder.json", "{}");
  CHECK(tests::message_of([] {
          load_plan_book("book_folder");
        }).ends_with("did you mean 'book_folder.json'?"));
  std::filesystem::remove_all("book_folder");
  std::filesystem::remove("book_folder.json");
}

TEST_CASE("JSON is read whatever its name ends with, but for records and notebooks") {
  for (const char* path : {"json_inside.out", "json_inside.yaml", "json_inside.log"}) {
    CAPTURE(path);
    write_file(path, "\n{\"hidden_size\": 8}\n");
    CHECK(is_model_config(load_json(path).value));
    write_file(path, "loss 8");
    CHECK(tests::message_of([path] { load_json(path); }).find("not a JSON file, but") !=
          std::string::npos);
    std::filesystem::remove(path);
  }
  for (const char* path : {"json_inside.jsonl", "json_inside.ipynb"}) {
    CAPTURE(path);
    write_file(path, "{\"hidden_size\": 8}");
    CHECK(tests::message_of([path] { load_json(path); }).find("not a JSON file, but") !=
          std::string::npos);
    std::filesystem::remove(path);
  }
}

TEST_CASE("a byte order mark is no part of a JSON file, and a list is no model") {
  const std::string path = "byte_order_mark.json";
  write_file(path, "\xEF\xBB\xBF{\"hidden_size\": 8}");
  CHECK(is_model_config(load_json(path).value));
  std::filesystem::remove(path);
  CHECK(tests::message_of([] {
          expect_profile(Json::array(), "list.json");
        }).starts_with("list.json: this is not a JSON object {...}\nhelp: "));
}
