// The executor of a plan file, which books and calibrated clusters hold, too.
#include "core/files/plan_parts.h"
#include "core/values/fixed_costs.h"
#include "core/values/json_fields.h"
#include "core/values/plan_words.h"

namespace penstock {

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ExecutorModel>& executor) {
  fields("name", executor.name);
  fields.word("transfer", executor.transfer, kTransferWords);
  fields.word("queues", executor.queues, kQueueWords);
  fields("receive_must_be_posted", executor.receive_must_be_posted);
  fields.word("issue", executor.issue, kIssueWords);
  fields.word("optimizer", executor.optimizer, kOptimizerWords);
  if (fields.holds("host_link", executor.host_link != HostLink::kDuplex)) {
    fields.word("host_link", executor.host_link, kHostLinkWords);
  }
  for (const FixedCost& one : kFixedCosts) {
    if (one.may_be_left_out) {
      fields.time_unless_zero(one.field, executor.*one.cost);
    } else {
      fields.time(one.field, executor.*one.cost);
    }
  }
}

ExecutorModel read_executor(JsonReader reader) {
  ExecutorModel executor;
  ReadFields fields(reader);
  fields_of(fields, executor);
  reader.finish();
  return executor;
}

Json write_executor(const ExecutorModel& executor) { return json_of(executor); }

}  // namespace penstock
