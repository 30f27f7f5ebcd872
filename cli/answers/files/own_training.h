// Trainings whose files nothing here judges: scripts of one's own in PyTorch or Lightning, jobs of
// Hugging Face's Trainer and Accelerate. What can be asked in their place, with the numbers that
// they say.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// A program or a script of such a training, Accelerate's configuration, or what the Trainer prints
// of its steps.
bool is_own_training(std::string_view text);

// GPUs of all nodes and of one, as srun, torchrun and Accelerate say it; 0: it does not say so.
struct GpusOfTraining {
  int all = 0, of_node = 0;
};
GpusOfTraining gpus_of_training(std::string_view text);

// "DP=8 mbs=2 gbs=64 sharding=fsdp" of such a text; what it does not say is an example.
std::string layout_of_training(std::string_view text);

// What such a file is, and what to ask instead, in a sentence.
std::string help_for_own_training(std::string_view text);

}  // namespace penstock
