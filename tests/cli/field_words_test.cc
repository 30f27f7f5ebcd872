#include "cli/words/field_words.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("the words of Megatron, torchtitan and DeepSpeed name the same degrees") {
  for (const char* tensor : {"T", "t", "TP", "tp", "tensor_parallel_size",
                             "tensor-model-parallel-size", "Tensor-Parallel-Degree"}) {
    CHECK(key_called(tensor) == "T");
  }
  CHECK(key_called("pipeline_parallel_degree") == "P");
  CHECK(key_called("pp") == "P");
  CHECK(key_called("DP") == "D");
  CHECK(key_called("VPP") == "V");
  CHECK(key_called("MBS") == "b");
  CHECK(key_called("train_micro_batch_size_per_gpu") == "b");
  CHECK(key_called("GBS") == "global-batch");
  CHECK(key_called("gradient_accumulation_steps") == "M");
  CHECK(key_called("seq_len") == "sequence-length");
}

TEST_CASE("a lone b is the micro-batch, a lone B the global batch") {
  CHECK(key_called("b") == "b");
  CHECK(key_called("B") == "global-batch");
}

TEST_CASE("other words stay what they are") {
  CHECK(key_called("schedule").empty());
  CHECK(key_or_word("link.efa") == "link.efa");
  CHECK(key_or_word("tp") == "T");
}

TEST_CASE("keys are shown in the field's words") {
  CHECK(field_word("T") == "TP");
  CHECK(field_word("b") == "mbs");
  CHECK(field_word("global-batch") == "gbs");
  CHECK(field_word("recompute") == "recompute");
}
