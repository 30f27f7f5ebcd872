// Packing is first fit in the order of the samples, whose rows are as long as the longest shape
// allows. A micro-batch is packed or divided only where the table of shapes knows the new shape,
// and packed only where it is faster so.
#include "search/dynamic/form_micro_batches.h"

#include <algorithm>

namespace penstock {
namespace {

const SampleLength& sample_of(const FormingInput& input, int sample) {
  return input.batch[static_cast<std::size_t>(sample)];
}

SampleLength longest_fed(const FormingInput& input, const std::vector<int>& samples) {
  SampleLength longest;
  for (const int sample : samples) {
    longest = longest_of(longest, fed_of(sample_of(input, sample), input.rounding));
  }
  return longest;
}

FormedMicroBatch one_per_row(const FormingInput& input, const std::vector<int>& samples) {
  FormedMicroBatch formed;
  for (const int sample : samples) formed.rows.push_back({sample});
  formed.shape = input.shapes.id_of(
      padded_shape(static_cast<int>(samples.size()), longest_fed(input, samples), input.rounding));
  return formed;
}

std::vector<int> samples_in(const FormedMicroBatch& formed) {
  std::vector<int> samples;
  for (const std::vector<int>& row : formed.rows) {
    samples.insert(samples.end(), row.begin(), row.end());
  }
  return samples;
}

RowCapacity capacity_of(const MicroBatchShape& shape, const LengthRounding& rounding) {
  return {shape.tokens,
          shape.decoder_tokens > 0 ? shape.decoder_tokens - rounding.decoder_extra : 0};
}

}  // namespace

std::vector<std::vector<int>> first_fit(const FormingInput& input, const std::vector<int>& samples,
                                        const RowCapacity& capacity) {
  struct Row {
    int tokens = 0, decoder_tokens = 0;  // used
  };
  std::vector<Row> used;
  std::vector<std::vector<int>> rows;
  for (const int id : samples) {
    const SampleLength& sample = sample_of(input, id);
    const int tokens = fed_of(sample, input.rounding).tokens;
    const auto has_room = [&](const Row& row) {
      const int separator = input.rounding.separator;
      return row.tokens + separator + tokens <= capacity.tokens &&
             (sample.decoder_tokens == 0 ||
              row.decoder_tokens + separator + sample.decoder_tokens <= capacity.decoder_tokens);
    };
    const auto found = std::find_if(used.begin(), used.end(), has_room);
    if (found == used.end()) {
      used.push_back({tokens, sample.decoder_tokens});
      rows.push_back({id});
      continue;
    }
    found->tokens += input.rounding.separator + tokens;
    found->decoder_tokens += input.rounding.separator + sample.decoder_tokens;
    rows[static_cast<std::size_t>(found - used.begin())].push_back(id);
  }
  return rows;
}

std::vector<FormedMicroBatch> cut_at(const FormingInput& input, const std::vector<int>& order,
                                     const std::vector<std::size_t>& ends) {
  std::vector<FormedMicroBatch> micro_batches;
  micro_batches.reserve(ends.size());
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    micro_batches.push_back(one_per_row(input, {order.begin() + static_cast<std::ptrdiff_t>(first),
                                                order.begin() + static_cast<std::ptrdiff_t>(end)}));
    first = end;
  }
  return micro_batches;
}

std::vector<std::size_t> ends_by_tokens(const FormingInput& input, const std::vector<int>& order,
                                        std::int64_t tokens) {
  std::vector<std::size_t> ends;
  std::int64_t so_far = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const MicroBatchShape alone =
        padded_shape(1, fed_of(sample_of(input, order[at]), input.rounding), input.rounding);
    const std::int64_t more = std::int64_t{alone.tokens} + alone.decoder_tokens;
    if (so_far > 0 && so_far + more > tokens) {
      ends.push_back(at);
      so_far = 0;
    }
    so_far += more;
  }
  ends.push_back(order.size());
  return ends;
}

std::vector<std::size_t> ends_by_size(std::size_t samples, std::size_t size) {
  std::vector<std::size_t> ends;
  for (std::size_t end = size; end < samples; end += size) ends.push_back(end);
  ends.push_back(samples);
  return ends;
}

std::vector<FormedMicroBatch> packed(const FormingInput& input, const std::vector<int>& order,
                                     std::size_t rows) {
  const MicroBatchShape longest = padded_shape(1, longest_fed(input, order), input.rounding);
  const auto all = first_fit(input, order, capacity_of(longest, input.rounding));
  std::vector<FormedMicroBatch> micro_batches;
  for (std::size_t first = 0; first < all.size(); first += rows) {
    const std::size_t end = std::min(all.size(), first + rows);
    MicroBatchShape shape = longest;
    shape.samples = static_cast<int>(end - first);
    micro_batches.push_back({{all.begin() + static_cast<std::ptrdiff_t>(first),
                              all.begin() + static_cast<std::ptrdiff_t>(end)},
                             input.shapes.id_of(shape)});
  }
  return micro_batches;
}

void pack_within(const FormingInput& input, std::vector<FormedMicroBatch>& micro_batches) {
  for (FormedMicroBatch& formed : micro_batches) {
    MicroBatchShape shape = input.shapes.at(formed.shape).shape;
    auto rows = first_fit(input, samples_in(formed), capacity_of(shape, input.rounding));
    if (rows.size() >= formed.rows.size()) continue;
    shape.samples = static_cast<int>(rows.size());
    const int id = input.shapes.id_of(shape);
    const KnownShape& before = input.shapes.at(formed.shape);
    const KnownShape& after = input.shapes.at(id);
    if (after.status != ShapeStatus::kKnown || after.time_ns >= before.time_ns) continue;
    formed.rows = std::move(rows);
    formed.shape = id;
  }
}

bool divide_until(const FormingInput& input, std::size_t count,
                  std::vector<FormedMicroBatch>& micro_batches) {
  while (micro_batches.size() < count) {
    const FormedMicroBatch* longest = nullptr;
    for (const FormedMicroBatch& formed : micro_batches) {
      if (formed.rows.size() < 2) continue;
      if (longest == nullptr ||
          input.shapes.at(formed.shape).time_ns > input.shapes.at(longest->shape).time_ns) {
        longest = &formed;
      }
    }
    if (longest == nullptr) return false;
    const auto at = longest - micro_batches.data();
    const std::vector<int> samples = samples_in(*longest);
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    FormedMicroBatch second = one_per_row(input, {middle, samples.end()});
    micro_batches[static_cast<std::size_t>(at)] = one_per_row(input, {samples.begin(), middle});
    micro_batches.insert(micro_batches.begin() + at + 1, std::move(second));
  }
  return true;
}

}  // namespace penstock
