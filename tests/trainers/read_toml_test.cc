#include "trainers/lint/read_toml.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/trainers/lint_reports.h"

namespace penstock {
namespace {

constexpr const char* kText = R"(# a job
top = 'C:\x'
[training]   # the batch
local_batch_size = 1_6
lr = 3e-4
compile = true

[parallelism]
pipeline_parallel_degree=2
module_fqns_per_model_part = [
  ["tok_embeddings", "layers.0"],  # first
  ["norm", "output"],
]
checkpoint."folder" = "a\tb"
inline = {a = 1, b = "x"}
)";

TEST_CASE("keys have their tables, values and lines") {
  const LaunchSettings read = read_toml(kText, "a.toml");
  CHECK(read.text("top") == "C:\\x");
  CHECK(read.number("training.local_batch_size")->value == 16);
  CHECK(read.find("training.local_batch_size")->line == 4);
  CHECK(read.find("training.local_batch_size")->text == "local_batch_size = 1_6");
  CHECK(read.find("training.lr")->value.text() == "3e-4");
  CHECK(read.on("training.compile"));
  CHECK(read.number("parallelism.pipeline_parallel_degree")->value == 2);
  const Json& parts = read.find("parallelism.module_fqns_per_model_part")->value;
  REQUIRE(parts.elements().size() == 2);
  CHECK(parts.elements()[1].elements()[1].text() == "output");
  CHECK(parts.elements()[1].line() == 12);
  CHECK(read.text("parallelism.checkpoint.folder") == "a\tb");
  CHECK(read.find("parallelism.inline")->value.find("b")->text() == "x");
}

TEST_CASE("what is no TOML is refused with its line") {
  const auto refused = [](const std::string& text) {
    return refusal([&text] { (void)read_toml(text, "a.toml"); });
  };
  CHECK(refused("a = 1\na = 2\n").starts_with("a.toml:2: a is there twice"));
  CHECK(refused("[t]\n[t]\n").starts_with("a.toml:2: the table [t] is there twice"));
  CHECK(refused("a = \n").starts_with("a.toml:1: '' is no value"));
  CHECK(refused("a = 'x\n'").starts_with("a.toml:1: a quote is not closed"));
  CHECK(refused("a = [1, 2").find("a [ is not closed") != std::string::npos);
  CHECK(refused("a = [1 2]").find("expected , or ]") != std::string::npos);
  CHECK(refused("a 1").find("a: expected =") != std::string::npos);
  CHECK(refused("[[a]]").find("array of tables") != std::string::npos);
  CHECK(refused("a = 2020-01-01").find("is no value") != std::string::npos);
  CHECK(refused("a = 1 b = 2").find("follows the value") != std::string::npos);
  CHECK(refused("a = " + std::string(100'000, '[')).find("nested deeper") != std::string::npos);
  CHECK(refused(std::string("\0", 1)).find("expected a key") != std::string::npos);
}

}  // namespace
}  // namespace penstock
