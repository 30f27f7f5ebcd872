// A question of measured files, asked through the headers alone.
#pragma once

#include <string>

#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "search/question.h"

namespace penstock::tests {

// GPT-6.7B with 2,048 tokens a sample on the first `gpus` of 64 A100s.
inline Question measured_question(int gpus, int global_batch) {
  const std::string profile = "data/profiles/gpt-6.7b.a100-40gb.json";
  const std::string cluster = "data/clusters/a100-40gb-p4d-8x8.json";
  Question question;
  question.profile = {read_profile(parse_json(read_file(profile), profile), profile),
                      {profile, ""}};
  question.cluster = {read_cluster(parse_json(read_file(cluster), cluster), cluster),
                      {cluster, ""}};
  question.request.gpus = gpus;
  question.request.global_batch = global_batch;
  question.request.sequence_length = 2048;
  return question;
}

}  // namespace penstock::tests
