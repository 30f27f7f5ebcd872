#include "runtime_bridge/training_data.h"

#include <utility>

#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_checksum.h"

namespace penstock {

TrainingData read_training_data(const std::string& path, int sequence_length) {
  std::string text = read_file(path);
  TrainingData data;
  data.file.path = path;
  data.file.bytes = static_cast<std::int64_t>(text.size());
  data.file.checksum = checksum_of(text);
  data.tokens = std::make_shared<const ByteData>(std::move(text), sequence_length, path);
  return data;
}

}  // namespace penstock
