// What `penstock train` was asked for besides the plan. A value; the verb fills it, train_rank()
// (runtime_bridge/torch) carries it out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/units.h"
#include "runtime_bridge/evaluation.h"
#include "training/rank_setup.h"
#include "training/token_data.h"

namespace penstock {

enum class TransportKind {
  kGloo,
  kNccl,      // GPUs only
  kLoopback,  // all ranks as threads of this process
};

struct DataOptions {
  std::vector<std::string> files;   // names or patterns of names
  std::optional<TokenType> type;    // of token ids; nothing: a text, whose bytes are the tokens
  std::vector<std::string> labels;  // of images, where `files` do not hold them too
  std::vector<std::string> validation_files, validation_labels;
  double validation_fraction = 0.0;  // or so much of `files`, its end
  // Or samples that differ in length (read_documents.h), so many tokens of them in a step, as they
  // are fed, each cut to the longest.
  std::vector<std::string> documents;
  std::int64_t tokens_per_batch = 0;
  int longest = 0;
  bool operator==(const DataOptions&) const = default;
};

struct TrainOptions {
  DataOptions data;
  EvaluationOptions evaluation;  // batches 0: as many as the data have
  std::int64_t steps = 10;
  TrainingOptions training;  // learning rate, clipping, seed, ...
  TransportKind transport = TransportKind::kGloo;
  std::string device = "cpu";  // or "cuda": of each rank the GPU of its local rank
  int threads_per_rank = 1;    // of LibTorch
  bool pin_threads = true;     // each rank to processors of its own, where there are enough
  // Of a spilled plan on the CPU: between the device and the host, each way; nothing: as fast as
  // memory is.
  std::optional<BytesPerSecond> host_bandwidth{};
  // Of a spilled plan: one step is tried first with so large a share of the device kept free.
  std::optional<double> pilot_margin{};
  Duration time_out = std::chrono::seconds(60);  // without an answer from a peer
  std::string log;                               // penstock.run/1; empty: none
  bool timeline = false;                         // the log holds when every action ran
  // Somebody looks at what every rank computes: exact times on a GPU, and where the ranks are.
  bool watch_ranks = false;
  std::string tensorboard;            // a folder for event files; empty: none
  std::string checkpoint_folder;      // empty: none
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end and on SIGUSR1
  // Or at the best interval for losses that come so far apart; nothing: as above.
  std::optional<Duration> between_failures{};
  bool mirror = false;                  // each rank's part in another's memory, too (mirror.h)
  int checkpoint_keep = 2;              // complete ones; older ones are removed
  bool resume = false;                  // from the newest complete checkpoint of the folder
  bool resume_if_any = false;           // with resume: or from the beginning, where there is none
  std::vector<std::string> may_change;  // names of check_resumed(): may differ from the checkpoint
  bool operator==(const TrainOptions&) const = default;
};

}  // namespace penstock
