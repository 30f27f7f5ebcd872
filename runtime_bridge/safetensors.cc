// The reader trusts nothing: lengths are compared with the file's before anything is allocated,
// products of sizes are checked for overflow, and the tensors, sorted by their offsets, must cover
// the data without gaps or overlaps. The writer pads the header with blanks to a multiple of eight
// bytes, as the format's reference does, so that tensors can be mapped aligned.
#include "runtime_bridge/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr const char* kMetadata = "__metadata__";

struct TypeName {
  ElementType type;
  std::string_view name;
};
constexpr std::array<TypeName, 6> kTypeNames{{{ElementType::kByte, "U8"},
                                              {ElementType::kInt64, "I64"},
                                              {ElementType::kFloat16, "F16"},
                                              {ElementType::kBFloat16, "BF16"},
                                              {ElementType::kFloat32, "F32"},
                                              {ElementType::kFloat64, "F64"}}};

// Nothing when it exceeds 2^63 - 1.
std::optional<std::uint64_t> product(const std::vector<std::int64_t>& shape, std::uint64_t factor) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (const std::int64_t size : shape) {
    if (factor > static_cast<std::uint64_t>(kMost) / static_cast<std::uint64_t>(size)) {
      return std::nullopt;
    }
    factor *= static_cast<std::uint64_t>(size);
  }
  return factor;
}

ElementType read_type(const JsonReader& reader) {
  const std::string name = reader.string();
  const auto* found = std::ranges::find(kTypeNames, name, &TypeName::name);
  if (found == kTypeNames.end()) reader.expected("one of U8, I64, F16, BF16, F32, F64");
  return found->type;
}

StoredTensor read_tensor(const std::string& name, JsonReader reader) {
  StoredTensor tensor;
  tensor.name = name;
  tensor.type = read_type(reader.at("dtype"));
  for (const JsonReader& size : reader.at("shape").elements()) {
    tensor.shape.push_back(size.integer(0, kMost));
  }
  const std::vector<JsonReader> offsets = reader.at("data_offsets").elements();
  if (offsets.size() != 2) reader.fail("data_offsets: expected [begin, end]");
  tensor.begin = static_cast<std::uint64_t>(offsets[0].integer(0, kMost));
  tensor.end = static_cast<std::uint64_t>(offsets[1].integer(0, kMost));
  reader.finish();
  const auto bytes = product(tensor.shape, bytes_of(tensor.type));
  if (tensor.end < tensor.begin || !bytes || tensor.end - tensor.begin != *bytes) {
    reader.fail("shape and dtype do not make as many bytes as data_offsets span");
  }
  return tensor;
}

void check_no_gaps(const SafetensorsHeader& header, std::uint64_t data_bytes,
                   const std::string& file) {
  std::uint64_t next = 0;
  for (const StoredTensor& tensor : header.tensors) {
    if (tensor.begin != next) {
      throw_bad_input(file + ": tensor '" + tensor.name + "' begins at byte " +
                      std::to_string(tensor.begin) + " of the data, expected " +
                      std::to_string(next) + ": tensors must follow each other without gaps");
    }
    next = tensor.end;
  }
  if (next != data_bytes) {
    throw_bad_input(file + ": the header describes " + std::to_string(next) +
                    " bytes of data, the file has " + std::to_string(data_bytes) +
                    ": it was cut off, or is no safetensors file");
  }
}

}  // namespace

std::uint64_t elements_of(const std::vector<std::int64_t>& shape) {
  const auto elements = product(shape, 1);
  if (!elements) throw Error(ErrorKind::kInternal, "a tensor of more than 2^63 elements");
  return *elements;
}

std::uint64_t header_length(std::string_view first_bytes, std::uint64_t file_bytes,
                            const std::string& file) {
  if (first_bytes.size() < 8 || file_bytes < 8) {
    throw_bad_input(file + ": shorter than 8 bytes: no safetensors file");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(first_bytes[i]);
  }
  if (length > kMostHeaderBytes || length > file_bytes - 8) {
    throw_bad_input(file + ": a header of " + std::to_string(length) + " bytes in a file of " +
                    std::to_string(file_bytes) + ": cut off, or no safetensors file");
  }
  return length;
}

SafetensorsHeader read_safetensors_header(std::string_view text, std::uint64_t file_bytes,
                                          const std::string& file) {
  if (file_bytes < 8 + text.size()) throw_bad_input(file + ": shorter than its header");
  const Json json = parse_json(text, file);
  JsonReader reader(json, file);
  SafetensorsHeader header;
  for (auto& [name, member] : reader.members()) {
    if (name == kMetadata) {
      for (const auto& [key, value] : member.members()) header.metadata[key] = value.string();
    } else {
      header.tensors.push_back(read_tensor(name, member));
    }
  }
  std::ranges::stable_sort(header.tensors, [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_no_gaps(header, file_bytes - 8 - text.size(), file);
  return header;
}

std::string write_safetensors_header(const SafetensorsHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) {
    Json metadata = Json::object();
    for (const auto& entry : header.metadata) metadata.set(entry.first, entry.second);
    json.set(kMetadata, std::move(metadata));
  }
  for (const StoredTensor& tensor : header.tensors) {
    Json shape = Json::array();
    for (const std::int64_t size : tensor.shape) shape.push(size);
    Json offsets = Json::array();
    offsets.push(tensor.begin).push(tensor.end);
    Json entry = Json::object();
    entry.set("dtype",
              std::string(std::ranges::find(kTypeNames, tensor.type, &TypeName::type)->name));
    entry.set("shape", std::move(shape)).set("data_offsets", std::move(offsets));
    json.set(tensor.name, std::move(entry));
  }
  std::string text = to_text(json);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    length[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i) & 0xFF);
  }
  return length + text;
}

}  // namespace penstock
