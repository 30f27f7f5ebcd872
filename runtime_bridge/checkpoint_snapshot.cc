// Every holder of a section writes one file per kind of state. State that only this holder has
// (ZeRO-1, weights of FSDP) is in its file, or where several groups have it (HSDP) in that of one
// of them; what all holders have alike is dealt out among them in
// turn, so that nothing is stored twice and the files are about as large. A part of a tensor is
// stored under its name and range, "w[0:128]", and __metadata__ holds its range, its whole shape
// and a checksum.
#include "runtime_bridge/checkpoint_snapshot.h"

#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_checksum.h"
#include "runtime_bridge/safetensors_file.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string range_text(std::size_t begin, std::size_t end) {
  return "[" + std::to_string(begin) + ":" + std::to_string(end) + "]";
}

// A whole tensor keeps its name, so that other tools find it.
std::string stored_name(const SnapshotTensor& tensor) {
  const bool is_whole = tensor.begin == 0 && tensor.end == elements_of(tensor.shape);
  return tensor.name + (is_whole ? "" : range_text(tensor.begin, tensor.end));
}

std::string write_piece(const SnapshotTensor& tensor) {
  Json shape = Json::array();
  for (const std::int64_t size : tensor.shape) shape.push(size);
  Json json = Json::object();
  json.set("checksum", checksum_of(std::span(tensor.data)))
      .set("begin", std::uint64_t{tensor.begin})
      .set("end", std::uint64_t{tensor.end})
      .set("shape", std::move(shape));
  return to_text(json, std::numeric_limits<int>::max());
}

StoredPiece read_piece(const StoredTensor& stored, const std::string& text,
                       const std::string& file) {
  const Json json = parse_json(text, file);
  JsonReader reader(json, file, "/__metadata__/" + stored.name);
  StoredPiece piece;
  piece.stored = stored;
  piece.checksum = reader.at("checksum").string();
  piece.begin = static_cast<std::size_t>(reader.at("begin").integer(0, kMost));
  piece.end = static_cast<std::size_t>(reader.at("end").integer(0, kMost));
  for (const JsonReader& size : reader.at("shape").elements()) {
    piece.shape.push_back(size.integer(1, std::numeric_limits<int>::max()));
  }
  reader.finish();
  const std::size_t elements = (stored.end - stored.begin) / bytes_of(stored.type);
  if (piece.end < piece.begin || piece.end - piece.begin != elements) {
    reader.fail("begin and end do not span the stored elements");
  }
  piece.name = stored.name;
  if (piece.shape != stored.shape) {
    const std::string range = range_text(piece.begin, piece.end);
    if (!piece.name.ends_with(range)) reader.fail("the name does not end in " + range);
    piece.name.resize(piece.name.size() - range.size());
  }
  return piece;
}

SnapshotTensor copy_of(const StatePiece& piece, const BufferCopy& copy) {
  SnapshotTensor tensor;
  tensor.name = piece.name;
  tensor.shape = piece.shape;
  tensor.begin = piece.begin;
  tensor.end = piece.end;
  tensor.type = piece.buffer.type;
  tensor.data.resize(piece.buffer.bytes());
  copy.to_host(piece.buffer, tensor.data.data());
  return tensor;
}

SnapshotFile file_of(const SectionState& state, StateKind kind, const BufferCopy& copy) {
  SnapshotFile file;
  file.section = state.section;
  file.kind = kind;
  file.name = "section-" + std::to_string(state.section) + "." + std::string(name_of(kind)) + "-" +
              std::to_string(state.holder) + "-of-" + std::to_string(state.holders) +
              ".safetensors";
  const auto& pieces = kind == StateKind::kParameters ? state.parameters : state.optimizer;
  int shared = 0, only_here = 0;  // counted on all who have the same alike
  for (const StatePiece& piece : pieces) {
    const bool writes = piece.only_here ? only_here++ % state.shard_groups == state.shard_group
                                        : shared++ % state.holders == state.holder;
    // Of a tensor that lies elsewhere.
    if (piece.only_here && piece.begin == piece.end) continue;
    if (writes) file.tensors.push_back(copy_of(piece, copy));
  }
  return file;
}

}  // namespace

BufferCopy copy_in_host_memory() {
  const auto check = [](const Buffer& buffer) {
    if (buffer.on_device) throw Error(ErrorKind::kInternal, "memory of a GPU copied as the host's");
    return buffer.bytes() > 0;
  };
  BufferCopy copy;
  copy.to_host = [check](const Buffer& from, std::byte* to) {
    if (check(from)) std::memcpy(to, from.data, from.bytes());
  };
  copy.from_host = [check](const std::byte* from, const Buffer& to) {
    if (check(to)) std::memcpy(to.data, from, to.bytes());
  };
  return copy;
}

std::vector<SnapshotFile> take_snapshot(const std::vector<SectionState>& states,
                                        const BufferCopy& copy) {
  std::vector<SnapshotFile> files;
  for (const SectionState& state : states) {
    for (const StateKind kind : {StateKind::kParameters, StateKind::kOptimizer}) {
      SnapshotFile file = file_of(state, kind, copy);
      if (!file.tensors.empty()) files.push_back(std::move(file));
    }
  }
  return files;
}

CheckpointFile write_snapshot_file(const std::string& folder, const SnapshotFile& file) {
  std::vector<TensorToStore> tensors;
  tensors.reserve(file.tensors.size());
  std::map<std::string, std::string> metadata;
  for (const SnapshotTensor& tensor : file.tensors) {
    const std::string name = stored_name(tensor);
    const bool is_whole = name == tensor.name;
    const auto elements = static_cast<std::int64_t>(tensor.end - tensor.begin);
    tensors.push_back({name, tensor.type,
                       is_whole ? tensor.shape : std::vector<std::int64_t>{elements},
                       std::span(tensor.data)});
    metadata[name] = write_piece(tensor);
  }
  const WrittenFile written = write_safetensors(folder + "/" + file.name, tensors, metadata);
  return {file.name, file.section, file.kind, written.bytes, written.header_checksum};
}

std::vector<StoredPiece> pieces_in(const SafetensorsHeader& header, const std::string& file) {
  std::vector<StoredPiece> pieces;
  for (const StoredTensor& tensor : header.tensors) {
    const auto text = header.metadata.find(tensor.name);
    if (text == header.metadata.end()) {
      throw_bad_input(file + ": nothing in __metadata__ on tensor '" + tensor.name +
                      "': not written by penstock train");
    }
    pieces.push_back(read_piece(tensor, text->second, file));
  }
  return pieces;
}

}  // namespace penstock
