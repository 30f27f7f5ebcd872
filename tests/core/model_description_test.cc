#include "core/values/model_description.h"

#include <string>

#include <doctest/doctest.h>

#include "core/values/plan_file.h"
#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

constexpr const char* kGpt = R"({"family": "gpt", "layers": 4, "hidden": 256, "heads": 8,
  "feed_forward": 1024, "vocabulary": 256, "positions": 128, "tied_embedding": true,
  "precision": "bfloat16", "optimizer": "sgd"})";

ModelDescription read(const std::string& text) {
  const Json json = parse_json(text, "m.json");
  return read_description(JsonReader(json, "m.json", "/description"));
}

std::string complaint(const std::string& text) {
  return tests::message_of([&] { static_cast<void>(read(text)); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("a description is read as it was written") {
  const ModelDescription gpt = read(kGpt);
  CHECK(gpt.layers == 4);
  CHECK(gpt.feed_forward == 1024);
  CHECK(gpt.tied_embedding);
  CHECK(gpt.precision == Precision::kBFloat16);
  CHECK(gpt.optimizer == OptimizerKind::kSgd);
  CHECK(read(to_text(write_description(gpt))) == gpt);

  ModelDescription mlp = gpt;
  mlp.family = ModelFamily::kMlp;
  mlp.heads = 0;
  CHECK(read(to_text(write_description(mlp))) == mlp);

  ModelDescription t5 = gpt;
  t5.family = ModelFamily::kT5;
  t5.decoder_layers = 3;
  CHECK(read(to_text(write_description(t5))) == t5);

  ModelDescription archive;
  archive.family = ModelFamily::kTorchScript;
  archive.archive = "model.pt";
  archive.archive_hash = "fnv1a64:0123456789abcdef";
  archive.cutpoints = {"embedding", "blocks.0"};
  CHECK(read(to_text(write_description(archive))) == archive);

  ModelDescription classifier = archive;
  classifier.image = {3, 224, 224};
  CHECK(read(to_text(write_description(classifier))) == classifier);
  CHECK_FALSE(is_same_model(classifier, archive));
  CHECK(complaint(replaced(to_text(write_description(classifier)), "224", "0"))
            .find("/description/image/1: expected an integer from 1 to 65536") !=
        std::string::npos);
  classifier.image.pop_back();
  CHECK(complaint(to_text(write_description(classifier))).find("channels, height and width") !=
        std::string::npos);

  // What was seen of an archive is written, and makes no other model of it.
  ModelDescription seen = archive;
  seen.division =
      ArchiveDivision{128,
                      {{{"float32", {0, 128, 768}, {1, 0, 0}}},
                       {{"float32", {0, 128, 768}, {1, 0, 0}}, {"bool", {128, -1}, {0, 2}}}}};
  CHECK(read(to_text(write_description(seen))) == seen);
  CHECK(is_same_model(seen, archive));
  CHECK_FALSE(is_same_model(seen, gpt));
  CHECK_FALSE(is_same_model(seen, std::nullopt));
  seen.division->handed_on.pop_back();
  CHECK(complaint(to_text(write_description(seen))).find("one list for each of 2 cutpoints") !=
        std::string::npos);
}

TEST_CASE("a plan file hands the description on, and does without one") {
  PlanFile file = read_plan(parse_json(kTinyPlan, "tiny.json"), "tiny.json");
  CHECK_FALSE(file.description.has_value());
  file.description = read(kGpt);
  CHECK(read_plan(write_plan(file), "again.json") == file);
}

TEST_CASE("what no model can be is refused with place, value and remedy") {
  CHECK(complaint(replaced(kGpt, "\"heads\": 8", "\"heads\": 7")) ==
        "m.json:1: /description/heads: expected a divisor of hidden = 256, got 7");
  CHECK(complaint(replaced(kGpt, "\"vocabulary\": 256", "\"vocabulary\": 255"))
            .find("/description/vocabulary: expected an integer from 256") != std::string::npos);
  CHECK(complaint(replaced(kGpt, "\"gpt\"", "\"opt\"")) ==
        "m.json:1: /description/family: expected one of gpt, bert, mlp, t5, torchscript, got "
        "\"opt\"");
  CHECK(complaint(replaced(kGpt, "\"family\": \"gpt\"", "\"family\": \"torchscript\"")) != "");
}

}  // namespace
}  // namespace penstock
