#include "runtime_bridge/read_documents.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "tests/runtime_bridge/data_files.h"

namespace penstock {
namespace {

ModelDescription gpt() {
  ModelDescription model;
  model.vocabulary = 256;
  return model;
}

std::string refusal(const std::string& text, const ModelDescription& model = gpt()) {
  const Folder folder;
  const std::string path = folder.write("d", text);
  const std::string message = tests::message_of([&] { (void)read_documents({path}, model, 64); });
  return message.starts_with(path) ? message.substr(path.size()) : message;
}

TEST_CASE("a line of a text is a document, whose bytes are the tokens") {
  const Folder folder;
  const std::string path = folder.write("d.txt", "to be\n\nor\r\n  not");
  const DocumentFiles files = read_documents({path}, gpt(), 4);
  REQUIRE(files.documents.documents() == 3);  // a blank line is none
  CHECK(files.documents.sample(1) == TokenSample{{'o'}, {'r'}});
  CHECK(files.documents.length(0).tokens == 4);  // cut
  CHECK(files.documents.length(2).tokens == 4);
  CHECK(files.documents.cut() == 2);
}

TEST_CASE("JSON Lines hold token ids or texts, and of two parts both count") {
  const Folder folder;
  const std::string path = folder.write("d.jsonl",
                                        "{\"tokens\": [1, 2, 3], \"task\": \"a\"}\n"
                                        "{\"text\": \"be\"}\n"
                                        "{\"input_ids\": [4, 5], \"labels\": [6]}\n"
                                        "{\"inputs\": \"a\", \"targets\": \"b\"}\n"
                                        "{\"input_ids\": [7, 8]}\n");
  const DocumentFiles files = read_documents({path}, gpt(), 64);
  REQUIRE(files.documents.documents() == 5);
  CHECK(files.documents.sample(0) == TokenSample{{1, 2}, {2, 3}});
  CHECK(files.documents.sample(2) == TokenSample{{4, 5}, {5, 6}});
  CHECK(files.documents.sample(3) == TokenSample{{'a'}, {'b'}});
  CHECK(files.documents.sample(4) == TokenSample{{7}, {8}});
}

TEST_CASE("what cannot be trained on is refused with its line") {
  CHECK(refusal("ab\nc\n") ==
        ":2: a document of one token has nothing to predict\nhelp: leave it out");
  CHECK(refusal("{\"tokens\": [1, 256]}").find(":1: token id 256 is outside the model's") == 0);
  CHECK(refusal("{\"tokens\": [1, -1]}").find("/tokens/1: expected an integer") !=
        std::string::npos);
  CHECK(refusal("{\"words\": [1]}").find(":1: no member holds token ids or text") == 0);
  CHECK(refusal("{\"text\": \"ab\"}\n[1, 2]").find(":2: expected a JSON object") == 0);
  CHECK(refusal("\n\n").find(": there are no documents") == 0);
  ModelDescription bert = gpt();
  bert.family = ModelFamily::kBert;
  CHECK(refusal("ab", bert).find("--documents: a model of the family bert takes samples of one") ==
        0);
}

}  // namespace
}  // namespace penstock
