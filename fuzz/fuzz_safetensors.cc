// safetensors headers: what is accepted describes its data to the last byte, and nothing else. The
// input is taken as a whole file, and as the header of a file with 64 bytes of data.
#include "fuzz/fuzz.h"
#include "runtime_bridge/checkpoint_snapshot.h"
#include "runtime_bridge/safetensors.h"

namespace penstock {
namespace {

using fuzz::require;

constexpr std::uint64_t kDataBytes = 64;

void check_header(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t next = 0;
  for (const StoredTensor& tensor : header.tensors) {
    require(tensor.begin == next && tensor.end >= next && tensor.end <= data_bytes,
            "a tensor lies elsewhere");
    require(elements_of(tensor.shape) * bytes_of(tensor.type) == tensor.end - tensor.begin,
            "a tensor is not as long as its shape says");
    next = tensor.end;
  }
  require(next == data_bytes, "data that no tensor holds");
  const std::string written = write_safetensors_header(header);
  require(written.size() % 8 == 0, "data not aligned");
  require(read_safetensors_header(written.substr(8), written.size() + data_bytes, fuzz::kFile) ==
              header,
          "written and read again it is another header");
  const auto pieces =
      fuzz::accepted(written, [&](const std::string&) { return pieces_in(header, fuzz::kFile); });
  if (!pieces) return;
  for (const StoredPiece& piece : *pieces) {
    require(piece.end - piece.begin == elements_of(piece.stored.shape), "a part of another size");
  }
}

void read_as_header(const std::string& text) {
  const auto header = fuzz::accepted(text, [](const std::string& header_text) {
    return read_safetensors_header(header_text, 8 + header_text.size() + kDataBytes, fuzz::kFile);
  });
  if (!header) return;
  fuzz::remember(text);
  check_header(*header, kDataBytes);
}

void read_as_file(const std::string& bytes) {
  std::uint64_t length = 0;
  const auto header = fuzz::accepted(bytes, [&length](const std::string& file) {
    length = header_length(file, file.size(), fuzz::kFile);
    return read_safetensors_header(std::string_view(file).substr(8, length), file.size(),
                                   fuzz::kFile);
  });
  if (header) check_header(*header, bytes.size() - 8 - length);
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  penstock::read_as_header(text);
  penstock::read_as_file(text);
  return 0;
}
