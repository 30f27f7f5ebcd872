// Indexes the pieces of every tensor over all files of the checkpoint, then copies to each rank the
// ranges that it holds, whichever files they lie in. So the division that wrote a checkpoint need
// not be the one that reads it. Invariant: every element that is asked for is found; a gap, another
// type or another shape is refused with the file's name.
#include "runtime_bridge/checkpoint_reader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_checksum.h"
#include "runtime_bridge/checkpoint_writer.h"
#include "runtime_bridge/safetensors_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDamaged = ".damaged";

std::string manifest_of(const std::string& path) { return path + "/manifest.json"; }

std::string remedy(const std::string& path) {
  return "; remove " + path + " to resume from the checkpoint before it";
}

void check_sizes(const Checkpoint& checkpoint) {
  for (const CheckpointFile& file : checkpoint.manifest.files) {
    const std::string path = checkpoint.path + "/" + file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) throw_bad_input(path + ": " + error.message() + remedy(checkpoint.path));
    if (bytes != file.bytes) {
      throw_bad_input(path + ": has " + std::to_string(bytes) + " bytes, the manifest says " +
                      std::to_string(file.bytes) + remedy(checkpoint.path));
    }
  }
}

// The tensors of one section and kind, wherever they lie.
class StoredState {
 public:
  StoredState(const Checkpoint& checkpoint, int section, StateKind kind) : path_(checkpoint.path) {
    for (const CheckpointFile& entry : checkpoint.manifest.files) {
      if (entry.section != section || entry.kind != kind) continue;
      SafetensorsFile& file = opened(path_ + "/" + entry.name);
      if (file.written() != WrittenFile{entry.bytes, entry.header_checksum}) {
        throw DamagedCheckpoint(file.path() +
                                ": does not match its checksum in manifest.json: it was changed "
                                "or damaged");
      }
      for (StoredPiece& piece : pieces_in(file.header(), file.path())) {
        pieces_.push_back({std::move(piece), &file});
      }
    }
    std::ranges::stable_sort(pieces_, {}, [](const Piece& piece) { return piece.stored.begin; });
  }

  [[nodiscard]] std::vector<std::byte> read(const StatePiece& wanted) {
    std::vector<std::byte> data(wanted.buffer.bytes());
    std::size_t next = wanted.begin;
    for (const Piece& piece : pieces_) {
      const StoredPiece& stored = piece.stored;
      if (stored.name != wanted.name) continue;
      check_same(piece, wanted);
      if (stored.begin > next || stored.end <= next || next >= wanted.end) continue;
      const std::size_t end = std::min(stored.end, wanted.end);
      copy(piece, next, end, data.data() + (next - wanted.begin) * bytes_of(wanted.buffer.type));
      next = end;
    }
    if (next < wanted.end) missing(wanted);
    return data;
  }

  // Names that nobody asks for belong to another model.
  void check_all_known(const std::vector<StatePiece>& wanted) const {
    for (const Piece& piece : pieces_) {
      if (std::ranges::find(wanted, piece.stored.name, &StatePiece::name) == wanted.end()) {
        throw_bad_input(piece.file->path() + ": holds tensor '" + piece.stored.name +
                        "', which this model does not have");
      }
    }
  }

 private:
  // It is there with its size, so what cannot be read in it is damage.
  SafetensorsFile& opened(const std::string& path) {
    try {
      files_.push_back(std::make_unique<SafetensorsFile>(path));
    } catch (const Error& error) {
      throw DamagedCheckpoint(error.what());
    }
    return *files_.back();
  }

  struct Piece {
    StoredPiece stored;
    SafetensorsFile* file;
  };

  static void check_same(const Piece& piece, const StatePiece& wanted) {
    if (piece.stored.shape == wanted.shape && piece.stored.stored.type == wanted.buffer.type)
      return;
    throw_bad_input(piece.file->path() + ": tensor '" + wanted.name + "' is " +
                    in_words(piece.stored.stored.type, piece.stored.shape) + ", this model's is " +
                    in_words(wanted.buffer.type, wanted.shape));
  }
  static std::string in_words(ElementType type, const std::vector<std::int64_t>& shape) {
    std::string text = std::string(name_of(type)) + " [";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    }
    return text + "]";
  }
  [[noreturn]] void missing(const StatePiece& wanted) const {
    throw_bad_input(path_ + ": no file holds all of tensor '" + wanted.name +
                    "': written with another optimizer or model");
  }

  void copy(const Piece& piece, std::size_t begin, std::size_t end, std::byte* to) {
    if (last_read_ != &piece) {
      data_ = piece.file->read(piece.stored.stored);
      last_read_ = &piece;
      if (checksum_of(std::span<const std::byte>(data_)) != piece.stored.checksum) {
        throw DamagedCheckpoint(piece.file->path() + ": tensor '" + piece.stored.stored.name +
                                "' does not match its checksum: the file is damaged");
      }
    }
    const std::size_t size = bytes_of(piece.stored.stored.type);
    if (begin < end) {
      std::memcpy(to, data_.data() + (begin - piece.stored.begin) * size, (end - begin) * size);
    }
  }

  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::vector<Piece> pieces_;
  const Piece* last_read_ = nullptr;  // several parts of one tensor are often wanted in a row
  std::vector<std::byte> data_;
};

void load(const Checkpoint& checkpoint, const SectionState& state, StateKind kind,
          const BufferCopy& copy) {
  StoredState stored(checkpoint, state.section, kind);
  const bool is_parameters = kind == StateKind::kParameters;
  const std::vector<StatePiece>& wanted = is_parameters ? state.parameters : state.optimizer;
  if (is_parameters) stored.check_all_known(wanted);
  for (const StatePiece& piece : wanted) copy.from_host(stored.read(piece).data(), piece.buffer);
}

}  // namespace

Checkpoint open_checkpoint(const std::string& path) {
  const std::string file = manifest_of(path);
  Checkpoint checkpoint{path, read_manifest(parse_json(read_file(file), file), file)};
  check_sizes(checkpoint);
  return checkpoint;
}

std::string set_aside(const std::string& path) {
  std::string aside = path + kDamaged;
  std::error_code ignored;
  if (fs::exists(path, ignored)) fs::remove_all(aside, ignored);
  fs::rename(path, aside, ignored);  // another rank may have
  return aside;
}

bool was_set_aside(const std::string& path) {
  std::error_code ignored;
  return !fs::exists(path, ignored) && fs::exists(path + kDamaged, ignored);
}

NewestCheckpoint newest_checkpoint(const std::string& folder) {
  std::vector<std::pair<std::int64_t, bool>> steps;  // and whether it was set aside
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename();
    const bool is_aside = name.ends_with(kDamaged);
    if (is_aside) name.resize(name.size() - std::string_view(kDamaged).size());
    if (const auto step = step_of_name(name)) steps.emplace_back(*step, is_aside);
  }
  std::ranges::sort(steps, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  NewestCheckpoint newest;
  for (const auto& [step, is_aside] : steps) {
    if (is_aside) {
      newest.passed_over.push_back(folder + "/" + checkpoint_name(step) + kDamaged +
                                   ": it was set aside, since it is damaged");
      continue;
    }
    try {
      newest.checkpoint = open_checkpoint(folder + "/" + checkpoint_name(step));
      break;
    } catch (const Error& wrong) {
      newest.passed_over.emplace_back(wrong.what());
    }
  }
  return newest;
}

void load_checkpoint(const Checkpoint& checkpoint, const std::string& model,
                     const std::vector<SectionState>& states, const BufferCopy& copy) {
  const CheckpointInfo& info = checkpoint.manifest.info;
  if (info.model != model) {
    throw_bad_input(manifest_of(checkpoint.path) + ": is a checkpoint of " + info.model +
                    ", this run trains " + model + ": give it its own checkpoint folder");
  }
  for (const SectionState& state : states) {
    if (state.section >= info.sections) {
      throw_bad_input(manifest_of(checkpoint.path) + ": has " + std::to_string(info.sections) +
                      " sections, this model has a section " + std::to_string(state.section));
    }
    load(checkpoint, state, StateKind::kParameters, copy);
    load(checkpoint, state, StateKind::kOptimizer, copy);
  }
}

}  // namespace penstock
