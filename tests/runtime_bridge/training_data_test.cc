#include "runtime_bridge/training_data.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "tests/runtime_bridge/data_files.h"

namespace penstock {
namespace {

using tests::message_of;

ModelDescription gpt() {
  ModelDescription model;
  model.vocabulary = 256;
  return model;
}

TrainingData read(const DataOptions& options, int length = 4) {
  return read_training_data(options, gpt(), length);
}
DataOptions files(const std::vector<std::string>& names, std::optional<TokenType> type = {}) {
  DataOptions options;
  options.files = names;
  options.type = type;
  return options;
}
std::string refusal(const DataOptions& options) {
  return message_of([&] { (void)read(options); });
}

TEST_CASE("a text is its bytes, with the checksum that it always had") {
  const Folder folder;
  const std::string path = folder.write("t.txt", "to be or not to be, that is the question");
  const TrainingData data = read(files({path}));
  CHECK(data.files == nullptr);
  CHECK(data.file.bytes == 40);
  CHECK(data.file.checksum.starts_with("xxh64:"));
  CHECK(data.tokens->sample(gpt(), {1, 0, 0}).inputs.size() == 4);
}

TEST_CASE("integers need their type, and what is no text is not taken for one") {
  const Folder folder;
  const std::string path = folder.write("t.bin", counting<std::uint16_t>(100));
  CHECK(refusal(files({path})) ==
        path +
            ": is not a text: its byte 0 is 0; its bytes would be used as tokens\nhelp: give the "
            "type of its token ids: --dtype uint16, int32 or int64; --dtype uint8 if you mean its "
            "bytes");
  const TrainingData data = read(files({path}, TokenType::kUint16));
  CHECK(data.samples == 24);  // (100 - 1) / 4
  CHECK(data.file.bytes == 200);
  // Control characters without a byte 0.
  const std::string strange = folder.write("s.bin", std::string(200, '\x01'));
  CHECK(refusal(files({strange})).find("200 of its first 200 bytes are control characters") !=
        std::string::npos);
  // A text with an accent in Latin-1 is one.
  CHECK(refusal(files({folder.write("l.txt", "caf\xE9 au lait, s'il vous pla\xEEt")})).empty());
}

TEST_CASE("formats that are known are named") {
  const Folder folder;
  const std::string zip = folder.write("m.pt", std::string("PK\x03\x04\0\0data", 10));
  CHECK(refusal(files({zip}))
            .starts_with(
                zip + ": is a zip archive, as torch.save and numpy.savez write, and neither text"));
  // A type does not make token ids of it: 19280 is in most vocabularies.
  CHECK(refusal(files({zip}, TokenType::kUint16)) == refusal(files({zip})));
  const std::string packed = folder.write("t.gz", std::string("\x1F\x8B\x08\0data", 8));
  CHECK(refusal(files({packed}, TokenType::kUint8)) ==
        packed +
            ": is compressed with gzip, and neither text nor token ids\nhelp: decompress it "
            "first: samples are read in any order");
}

TEST_CASE("a text with --dtype is refused") {
  const Folder folder;
  const std::string path = folder.write("t.txt", std::string(300, 'a'));
  CHECK(refusal(files({path}, TokenType::kUint16)) ==
        path + ": is text, and --dtype says uint16\nhelp: leave out --dtype to train on its bytes");
  CHECK(refusal(files({path}, TokenType::kUint8)).empty());
}

TEST_CASE("a .npy file says what it holds, whatever it is called") {
  const Folder folder;
  const std::string row = folder.write("r.npy", npy("<u2", "(100,)", counting<std::uint16_t>(100)));
  CHECK(read(files({row})).samples == 24);
  const std::string table =
      folder.write("table.bin", npy("<i8", "(20, 5)", counting<std::int64_t>(100)));
  const TrainingData data = read(files({table}));
  CHECK(data.samples == 20);
  CHECK(data.files->sample(gpt(), {}, 3).inputs == std::vector<std::int64_t>{15, 16, 17, 18});
  CHECK(refusal(files({row}, TokenType::kInt32)) ==
        row +
            ": holds uint16 by its header, and --dtype says int32\nhelp: leave out --dtype; .npy "
            "files say it themselves");
}

TEST_CASE(".npy files that hold no token ids, or not all of them, are refused") {
  const Folder folder;
  const auto said = [&](const std::string& bytes) {
    return refusal(files({folder.write("x.npy", bytes)}));
  };
  CHECK(said(npy("<f4", "(2,)", "12345678")).find("its elements are '<f4'") != std::string::npos);
  CHECK(said(npy(">u2", "(4,)", "12345678")).find("its elements are '>u2'") != std::string::npos);
  CHECK(said(npy("<u2", "(9,)", "12345678"))
            .find("should hold 9 token ids by its header, and holds 4") != std::string::npos);
  // 2^62 x 4 + 4 would be 4 in 64 bits.
  CHECK(said(npy("<u2", "(4611686018427387905, 4)", "12345678"))
            .find("should hold 9223372036854775807 token ids") != std::string::npos);
  CHECK(said(npy("<u2", "(2, 2, 1)", "12345678")).find("one row, or a table") != std::string::npos);
  CHECK(said(npy("<u2", "(2, 2)", "12345678", "True")).find("in C order") != std::string::npos);
  CHECK(said(npy("<u2", "(-2,)", "12345678")).find("not a list of sizes") != std::string::npos);
  const std::string good = npy("<u2", "(4,)", "12345678");
  for (std::size_t length = 6; length < good.size(); ++length) {
    CHECK_FALSE(said(good.substr(0, length)).empty());
  }
}

TEST_CASE("several files and patterns, in the order of their names") {
  const Folder folder;
  const std::string b = folder.write("b.bin", counting<std::uint16_t>(10));
  const std::string a = folder.write("a.bin", counting<std::uint16_t>(20));
  const TrainingData data = read(files({folder.path("*.bin")}, TokenType::kUint16));
  CHECK(data.samples == 4 + 2);
  CHECK(data.file.path == a + ", " + b);
  CHECK(read(files({a, b}, TokenType::kUint16)).file == data.file);
  CHECK_FALSE(read(files({b, a}, TokenType::kUint16)).file.checksum == data.file.checksum);
  CHECK(refusal(files({folder.path("*.none")})) ==
        folder.path("*.none") + ": there is no such file");
  CHECK(refusal(files({folder.path("")})).find("is a folder") != std::string::npos);
  folder.write("a.txt", "text and more text");
  CHECK(refusal(files({a, folder.path("a.txt")})).find("not a text") != std::string::npos);
}

TEST_CASE("the same bytes as another type are other data") {
  const Folder folder;
  const std::string path = folder.write("a.bin", counting<std::int64_t>(100));
  CHECK(read(files({path}, TokenType::kInt64)).file.checksum !=
        read(files({path}, TokenType::kInt32)).file.checksum);
}

TEST_CASE("a share of the samples is left for validation, the last ones") {
  const Folder folder;
  const std::string path = folder.write("a.bin", counting<std::uint16_t>(101));
  DataOptions options = files({path}, TokenType::kUint16);
  const std::string whole = read(options).file.checksum;
  options.validation_fraction = 0.1;
  const TrainingData data = read(options);
  CHECK(data.samples == 22);  // of 25, and ceil(2.5) = 3 are left
  CHECK(data.validation == data.files);
  CHECK(data.validation_first == 22);
  CHECK(data.validation_samples == 3);
  CHECK(data.file.checksum != whole);
  options.validation_fraction = 0.99;
  CHECK(refusal(options).find("leaves none to train on") != std::string::npos);
}

TEST_CASE("of a text the end is left for validation") {
  const Folder folder;
  DataOptions options = files({folder.write("t.txt", std::string(90, 'a') + std::string(10, 'z'))});
  options.validation_fraction = 0.1;
  const TrainingData data = read(options);
  CHECK(data.validation_samples == 2);  // (10 - 1) / 4
  CHECK(data.validation->sample(gpt(), {}, 0).inputs == std::vector<std::int64_t>(4, 'z'));
  for (int i = 0; i < 50; ++i) {
    for (const std::int64_t id : data.tokens->sample(gpt(), {1, 0, i}).targets) CHECK(id == 'a');
  }
  options.validation_fraction = 0.96;
  CHECK(refusal(options).ends_with(
      "t.txt: holds 100 bytes, of which --validation-fraction leaves 4 to train on; a sample needs "
      "sequence length + 1 = 5\nhelp: give more data, or its own file with --validation-data"));
}

TEST_CASE("validation data have a file of their own, of the same kind") {
  const Folder folder;
  DataOptions options =
      files({folder.write("a.bin", counting<std::uint16_t>(101))}, TokenType::kUint16);
  options.validation_files = {folder.write("v.bin", counting<std::uint16_t>(41))};
  const TrainingData data = read(options);
  CHECK(data.samples == 25);
  CHECK(data.validation_first == 0);
  CHECK(data.validation_samples == 10);
  options.files = {folder.write("t.txt", "some text that is long enough")};
  options.type.reset();
  options.validation_files = {
      folder.write("v.npy", npy("<u2", "(9,)", counting<std::uint16_t>(9)))};
  CHECK(refusal(options).find("is token ids and --data is text") != std::string::npos);
}

TEST_CASE("ids outside the vocabulary are found before the run begins") {
  const Folder folder;
  std::string bytes = counting<std::uint16_t>(100);
  bytes[20] = 1;
  bytes[21] = 2;  // 513
  const TrainingData data = read(files({folder.write("a.bin", bytes)}, TokenType::kUint16));
  CHECK(message_of([&] {
          check_token_ids(data);
        }).find("a.bin: token 10, at byte 20, is 513; the model's vocabulary is 0 to 255") !=
        std::string::npos);
}

}  // namespace
}  // namespace penstock
