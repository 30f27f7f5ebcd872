#include "runtime_bridge/safetensors.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime_bridge/checkpoint_checksum.h"
#include "runtime_bridge/safetensors_file.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

using tests::message_of;

// Two tensors, 24 + 3 bytes.
const std::string kHeader =
    R"({"__metadata__":{"k":"v"},"b":{"dtype":"U8","shape":[3],"data_offsets":[24,27]},)"
    R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

std::string refusal(const std::string& header, std::uint64_t data_bytes) {
  return message_of([&] {
    (void)read_safetensors_header(header, 8 + header.size() + data_bytes, "x.safetensors");
  });
}

// {"a": {"dtype": DTYPE, "shape": SHAPE, "data_offsets": OFFSETS}}
std::string one_tensor(const std::string& type, const std::string& shape,
                       const std::string& offsets) {
  return R"({"a":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST_CASE("a header says where each tensor lies, in the order of the data") {
  const auto header = read_safetensors_header(kHeader, 8 + kHeader.size() + 27, "x");
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0] == StoredTensor{"a", ElementType::kFloat32, {2, 3}, 0, 24});
  CHECK(header.tensors[1] == StoredTensor{"b", ElementType::kByte, {3}, 24, 27});
  CHECK(header.metadata == std::map<std::string, std::string>{{"k", "v"}});
  CHECK(header.data_bytes() == 27);
}

TEST_CASE("a header is written as it is read, its data at a multiple of eight bytes") {
  const auto header = read_safetensors_header(kHeader, 8 + kHeader.size() + 27, "x");
  const std::string written = write_safetensors_header(header);
  CHECK(written.size() % 8 == 0);
  const std::uint64_t length = header_length(written, written.size() + 27, "x");
  CHECK(length == written.size() - 8);
  CHECK(read_safetensors_header(written.substr(8), written.size() + 27, "x") == header);
}

TEST_CASE("the length of the header is little-endian and no more than there is") {
  const std::string bytes("\x02\x01\0\0\0\0\0\0", 8);
  CHECK(header_length(bytes, 1000, "x") == 0x0102);
  CHECK(header_length(bytes, 8 + 0x0102, "x") == 0x0102);
  CHECK(message_of([&] { (void)header_length(bytes, 8 + 0x0101, "x"); }) ==
        "x: a header of 258 bytes in a file of 265: cut off, or no safetensors file");
  CHECK(message_of([&] { (void)header_length("abc", 3, "x"); }) ==
        "x: shorter than 8 bytes: no safetensors file");
  // One more than the most, in a file that would hold it.
  const std::string most("\x01\xE1\xF5\x05\0\0\0\0", 8);
  CHECK(!message_of([&] { (void)header_length(most, 1'000'000'000, "x"); }).empty());
}

TEST_CASE("sizes that do not fit the shape are refused") {
  CHECK(refusal(one_tensor("F32", "[2,3]", "[0,24]"), 24).empty());
  CHECK(refusal(one_tensor("F32", "[]", "[0,4]"), 4).empty());
  CHECK(refusal(one_tensor("F32", "[0,9223372036854775807]", "[0,0]"), 0).empty());
  const std::string what =
      "x.safetensors:1: /a: shape and dtype do not make as many bytes as data_offsets span";
  CHECK(refusal(one_tensor("F32", "[2,3]", "[0,23]"), 23) == what);
  CHECK(refusal(one_tensor("F64", "[2,3]", "[0,24]"), 24) == what);
  CHECK(refusal(one_tensor("U8", "[4]", "[4,0]"), 4) == what);
  // 2^32 x 2^32 elements are 2^64, which is 0 to a careless eye.
  CHECK(refusal(one_tensor("U8", "[4294967296,4294967296]", "[0,0]"), 0) == what);
}

TEST_CASE("gaps, overlaps and data that nobody describes are refused") {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  CHECK(refusal(two("[4,8]", "[0,4]"), 8).empty());
  CHECK(refusal(two("[0,4]", "[5,9]"), 9) ==
        "x.safetensors: tensor 'b' begins at byte 5 of the data, expected 4: tensors must follow "
        "each other without gaps");
  CHECK(!refusal(two("[0,4]", "[3,7]"), 7).empty());
  CHECK(!refusal(two("[0,4]", "[0,4]"), 4).empty());
  CHECK(!refusal(two("[1,5]", "[5,9]"), 9).empty());
  CHECK(refusal(two("[0,4]", "[4,8]"), 9) ==
        "x.safetensors: the header describes 8 bytes of data, the file has 9: it was cut off, or "
        "is no safetensors file");
  CHECK(!refusal(two("[0,4]", "[4,8]"), 7).empty());
}

TEST_CASE("what is no header is refused") {
  for (const char* text : {"", "[]", "{", "{}x", R"({"a":1})", R"({"__metadata__":{"a":1}})"}) {
    CAPTURE(text);
    CHECK(refusal(text, 0).starts_with("x.safetensors"));
  }
  CHECK(refusal("{}", 0).empty());
  CHECK(!refusal(one_tensor("F8", "[1]", "[0,1]"), 1).empty());
  CHECK(!refusal(one_tensor("U8", "[-1]", "[0,1]"), 1).empty());
  CHECK(!refusal(one_tensor("U8", "[1.5]", "[0,1]"), 1).empty());
  CHECK(!refusal(one_tensor("U8", "[1]", "[0]"), 1).empty());
  CHECK(!refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", 1).empty());
}

TEST_CASE("a file is, byte for byte, what the format says, and is read tensor by tensor") {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("penstock_" + std::to_string(getpid()) + ".safetensors");
  const std::array<float, 2> floats{1.0F, -2.0F};
  const std::array<std::uint8_t, 3> bytes{7, 8, 9};
  const WrittenFile written =
      write_safetensors(path,
                        {{"a", ElementType::kFloat32, {2}, std::as_bytes(std::span(floats))},
                         {"b", ElementType::kByte, {3, 1}, std::as_bytes(std::span(bytes))}},
                        {});
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  CHECK(written.bytes == text.size());
  const std::string data("\0\0\x80\x3F\0\0\0\xC0\x07\x08\x09", 11);
  CHECK(text.ends_with(data));
  CHECK((text.size() - data.size()) % 8 == 0);

  SafetensorsFile file(path);
  CHECK(file.written() == written);
  REQUIRE(file.header().tensors.size() == 2);
  const auto last = file.read(file.header().tensors[1]);
  CHECK(last == std::vector<std::byte>{std::byte{7}, std::byte{8}, std::byte{9}});
  CHECK(file.read(file.header().tensors[0]).size() == 8);
  std::filesystem::remove(path);
  CHECK(message_of([&] { SafetensorsFile gone(path); }).starts_with(path + ": "));
}

TEST_CASE("the checksum is XXH64") {
  // Published by implementations of the algorithm.
  CHECK(xxh64("") == 0xEF46DB3751D8E999);
  CHECK(xxh64("a") == 0xD24EC4F1A98C6E5B);
  CHECK(xxh64("abc") == 0x44BC2CF5AD770999);
  CHECK(xxh64("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1);
  CHECK(checksum_of(std::string_view("abc")) == "xxh64:44bc2cf5ad770999");
}

}  // namespace
}  // namespace penstock
