// A step is mirrored before it counts as finished: before what the ranks measured of it is brought
// together, which is when rank 0 tells of it. So a step that anybody heard of is with every rank
// and its keeper.
//
// Two copies are enough. Between the second and the third all ranks exchange the norm of a step,
// for which each must have come out of keep() with the second. A rank that overwrites its first
// copy therefore knows that all have the second; whoever is lost in between leaves survivors whose
// newest copies differ by one step at most, and all of them have the older one.
#include "runtime_bridge/mirror.h"

#include <algorithm>
#include <cstring>

#include "core/values/error.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

// No plan has so many messages between two ranks; Gloo's tags are ints.
constexpr MessageTag kTag = MessageTag{1} << 30;

std::size_t bytes_of_layout(const std::vector<SnapshotFile>& layout) {
  std::size_t bytes = 0;
  for (const SnapshotFile& file : layout) {
    for (const SnapshotTensor& tensor : file.tensors) {
      bytes += (tensor.end - tensor.begin) * bytes_of(tensor.type);
    }
  }
  return bytes;
}

// Files, tensors and ranges of what a rank writes, as take_snapshot() divides it.
std::vector<SnapshotFile> layout_of(const std::vector<SectionState>& pieces) {
  BufferCopy nothing;
  nothing.to_host = [](const Buffer&, std::byte*) {};
  std::vector<SnapshotFile> layout = take_snapshot(pieces, nothing);
  for (SnapshotFile& file : layout) {
    for (SnapshotTensor& tensor : file.tensors) tensor.data = {};
  }
  return layout;
}

void fill(std::vector<SnapshotFile> layout, const std::vector<std::byte>& bytes,
          std::vector<SnapshotFile>& files) {
  std::size_t begin = 0;
  for (SnapshotFile& file : layout) {
    for (SnapshotTensor& tensor : file.tensors) {
      const std::size_t length = (tensor.end - tensor.begin) * bytes_of(tensor.type);
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
      tensor.data.assign(first, first + static_cast<std::ptrdiff_t>(length));
      begin += length;
    }
    files.push_back(std::move(file));
  }
}

Buffer buffer_of(std::vector<std::byte>& bytes) {
  return {bytes.data(), bytes.size(), ElementType::kByte};
}

std::string name_of_rank(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

int keeper_of(int rank, int ranks) { return (rank + ranks / 2) % ranks; }
int kept_by(int rank, int ranks) { return (rank + ranks - ranks / 2) % ranks; }

LastStep last_mirrored_step(const std::map<int, StepStanding>& survivors, int ranks) {
  LastStep last;
  last.mirrored = true;
  last.next_step = survivors.begin()->second.mirrored;
  std::int64_t most = last.next_step;
  for (const auto& [rank, standing] : survivors) {
    last.ranks.push_back(rank);
    last.next_step = std::min(last.next_step, standing.mirrored);
    most = std::max(most, standing.mirrored);
    if (standing.plan != survivors.begin()->second.plan) {
      last.why_not = "the plan of the run was just being changed";
    }
  }
  if (last.next_step == kNotMirrored) {
    last.why_not = "nothing is mirrored";
  } else if (most - last.next_step > 1) {
    last.why_not = "the copies of the survivors are too far apart";
  }
  for (int rank = 0; rank < ranks && last.why_not.empty(); ++rank) {
    if (survivors.contains(rank) || survivors.contains(keeper_of(rank, ranks))) continue;
    last.why_not = name_of_rank(rank) + " is lost together with " +
                   name_of_rank(keeper_of(rank, ranks)) + ", which kept its copy";
  }
  for (const auto& [rank, standing] : survivors) {
    if (standing.step + 1 == last.next_step && standing.norm) last.norm = standing.norm;
  }
  return last;
}

Mirror::Mirror(RankState& state, const std::vector<RankSetup>& holdings, Transport& transport,
               BufferCopy copy, MirrorCosts& costs)
    : state_(state),
      transport_(transport),
      copy_(std::move(copy)),
      costs_(costs),
      keeper_(keeper_of(transport.rank(), transport.size())),
      kept_(kept_by(transport.rank(), transport.size())) {
  if (transport.size() < 2) {
    throw Error(ErrorKind::kInternal, "a job of one rank has nobody to mirror to");
  }
  const auto layout_of_rank = [&](int rank) {
    return layout_of(state.pieces_of(holdings.at(static_cast<std::size_t>(rank))));
  };
  own_ = layout_of_rank(transport.rank());
  other_ = layout_of_rank(kept_);
  for (Copy& each : copies_) {
    each.own.resize(bytes_of_layout(own_));
    each.other.resize(bytes_of_layout(other_));
  }
  costs_.bytes = copies_.front().own.size();
}

// Of every section and kind, in the order of take_snapshot().
void Mirror::pack(std::vector<std::byte>& bytes) const {
  std::size_t begin = 0;
  const std::vector<SnapshotFile> taken = take_snapshot(state_.section_states(), copy_);
  for (const SnapshotFile& file : taken) {
    for (const SnapshotTensor& tensor : file.tensors) {
      if (begin + tensor.data.size() > bytes.size()) {
        throw Error(ErrorKind::kInternal, "'" + tensor.name + "' is not where the plan has it");
      }
      if (!tensor.data.empty()) {
        std::memcpy(bytes.data() + begin, tensor.data.data(), tensor.data.size());
      }
      begin += tensor.data.size();
    }
  }
}

void Mirror::keep(std::int64_t next_step) {
  const SteadyTime began = steady_now();
  const std::size_t older = 1 - newest_;
  Copy& made = copies_.at(older);
  made.next_step = kNotMirrored;
  pack(made.own);
  made.shared_numbers = state_.shared_numbers();
  std::vector<std::unique_ptr<Transfer>> transfers;
  transport_.begin_batch();
  if (!made.own.empty()) transfers.push_back(transport_.send(keeper_, kTag, buffer_of(made.own)));
  if (!made.other.empty()) {
    transfers.push_back(transport_.receive(kept_, kTag, buffer_of(made.other)));
  }
  transport_.end_batch();
  for (const auto& transfer : transfers) transfer->wait();
  made.next_step = next_step;
  newest_ = older;
  ++costs_.steps;
  costs_.time += steady_now() - began;
}

std::int64_t Mirror::newest() const { return copies_.at(newest_).next_step; }

MirroredParts Mirror::parts(const LastStep& last) const {
  const auto found = std::ranges::find(copies_, last.next_step, &Copy::next_step);
  if (found == copies_.end()) {
    throw Error(ErrorKind::kInternal,
                "no copy of " + std::to_string(last.next_step) + " steps is kept");
  }
  MirroredParts parts;
  parts.shared_numbers = found->shared_numbers;
  fill(own_, found->own, parts.files);
  if (std::ranges::find(last.ranks, kept_) == last.ranks.end()) {
    fill(other_, found->other, parts.files);
  }
  return parts;
}

}  // namespace penstock
