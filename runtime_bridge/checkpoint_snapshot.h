// A rank's share of a checkpoint, copied so that training can go on, and how a tensor or a part of
// one is named in a file.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime_bridge/checkpoint_manifest.h"
#include "runtime_bridge/safetensors.h"
#include "training/section_state.h"

namespace penstock {

// Copies between the memory of a Buffer, which may be on a GPU, and the host's.
struct BufferCopy {
  std::function<void(const Buffer& from, std::byte* to)> to_host;
  std::function<void(const std::byte* from, const Buffer& to)> from_host;
};
BufferCopy copy_in_host_memory();

struct SnapshotTensor {
  std::string name;                 // of the tensor
  std::vector<std::int64_t> shape;  // of all of it
  std::size_t begin = 0, end = 0;   // the elements in `data`
  ElementType type = ElementType::kByte;
  std::vector<std::byte> data;
};

struct SnapshotFile {
  std::string name;  // "section-3.parameters-0-of-2.safetensors"
  int section = 0;
  StateKind kind = StateKind::kParameters;
  std::vector<SnapshotTensor> tensors;
};

// What all holders have is divided over them, tensor by tensor; what only one has, it writes.
std::vector<SnapshotFile> take_snapshot(const std::vector<SectionState>& states,
                                        const BufferCopy& copy);

// On the disk when it returns.
CheckpointFile write_snapshot_file(const std::string& folder, const SnapshotFile& file);

// What a file says of one of its tensors.
struct StoredPiece {
  std::string name;  // of the whole tensor
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;
  std::string checksum;
  StoredTensor stored;
};
// Error{kBadInput} when the metadata that a checkpoint's file has are missing or do not fit.
std::vector<StoredPiece> pieces_in(const SafetensorsHeader& header, const std::string& file);

}  // namespace penstock
