// Python's view of scheduling.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "workload/schedule.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

// A slot of `unlimited` means no slot.
struct OpColumns {
    std::vector<u8> kind;
    std::vector<u8> slot;
    std::vector<u64> ticks;
    std::vector<u64> bytes;
};

OpColumns columns_of(const Job& job) {
    OpColumns columns;
    for (const Op& op : job.ops) {
        columns.kind.push_back(static_cast<u8>(op.kind));
        columns.slot.push_back(op.resource);
        columns.ticks.push_back(op.ticks);
        columns.bytes.push_back(op.bytes);
    }
    return columns;
}

std::shared_ptr<const Job> schedule(const Job& job, const Array<i64>& priority,
                                    const std::optional<Array<i64>>& of_collective) {
    const std::span<const i64> none_given;
    return scheduled(job, span_of(priority), of_collective ? span_of(*of_collective) : none_given);
}

}  // namespace

void register_schedules(nb::module_& module) {
    Choices<OpKind>(module, "OpKind")
        .value("TIMED", OpKind::timed)
        .value("COLLECTIVE", OpKind::collective)
        .value("SEND", OpKind::send)
        .value("RECEIVE", OpKind::receive)
        .value("MEMORY", OpKind::memory)
        .value("SKIP", OpKind::skip);
    Class<OpColumns> columns(module, "OpColumns");
    columns.column("kind", &OpColumns::kind);
    columns.column("slot", &OpColumns::slot);
    columns.column("ticks", &OpColumns::ticks);
    columns.column("bytes", &OpColumns::bytes);
    module.def("op_columns", &columns_of, "job"_a);
    module.def("scheduled", &schedule, "job"_a, "priority"_a, "of_collective"_a.none() = nb::none());
}

}  // namespace yantra
