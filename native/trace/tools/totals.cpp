#include "trace/tools/totals.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace yantra {

namespace {

// Attribute numbers in the trace.
struct Names {
    explicit Names(const Trace& trace) {
        for (std::size_t i = 0; i < known.size(); ++i) {
            at[i] = trace.attribute_names.find(known[i]);
        }
    }
    enum Known : std::size_t { num_ops, tensor_size, comm_type, comm_size, act_alloc, act_free,
                               op_class, phase, pg_name, count };
    static constexpr std::array<const char*, count> known{"num_ops",   "tensor_size", "comm_type",
                                                          "comm_size", "act_alloc",   "act_free",
                                                          "op_class",  "phase",       "pg_name"};
    std::array<std::uint32_t, count> at{};
};

struct Values {
    std::array<std::uint64_t, Names::op_class> number{};
    std::string_view op_class, phase, group;
};

Values values_of(const Trace& trace, std::size_t record, const Names& names) {
    Values values;
    for (const Attribute& item : trace.attributes_of(record)) {
        const auto found = std::ranges::find(names.at, item.name);
        const auto which = static_cast<std::size_t>(found - names.at.begin());
        if (which < Names::op_class && is_integer(item.kind)) {
            values.number[which] = item.value;
        } else if (item.kind == AttributeKind::string && which < Names::count) {
            (which == Names::op_class ? values.op_class
             : which == Names::phase  ? values.phase
                                      : values.group) = trace.text_of(item);
        }
    }
    return values;
}

using ComputeKey = std::pair<std::string_view, std::string_view>;
using CommunicationKey = std::tuple<std::int32_t, std::uint64_t, std::string_view>;

}  // namespace

Totals total(const Trace& trace, std::size_t parts) {
    const Names names(trace);
    std::map<ComputeKey, ComputeTotal> compute;
    std::map<CommunicationKey, CommunicationTotal> communication;
    Totals totals;
    totals.activations.assign(trace.size() == 0 ? 0 : std::min(parts, trace.size()), 0);
    std::uint64_t alive = 0;
    for (std::size_t record = 0; record < trace.size(); ++record) {
        const Values values = values_of(trace, record, names);
        const std::int32_t type = trace.type[record];
        if (type == static_cast<std::int32_t>(NodeType::comp)) {
            ComputeTotal& sum = compute[{values.op_class, values.phase}];
            ++sum.count;
            sum.operations += values.number[Names::num_ops];
            sum.bytes += values.number[Names::tensor_size];
        } else if (type >= static_cast<std::int32_t>(NodeType::comm_send)) {
            CommunicationTotal& sum =
                communication[{type, values.number[Names::comm_type], values.group}];
            ++sum.count;
            sum.bytes += values.number[Names::comm_size];
        }
        alive += values.number[Names::act_alloc];
        auto& highest = totals.activations[record * totals.activations.size() / trace.size()];
        highest = std::max(highest, static_cast<std::int64_t>(alive));
        totals.activations_peak = std::max(totals.activations_peak, highest);
        alive -= values.number[Names::act_free];
    }
    for (auto& [key, sum] : compute) {
        std::tie(sum.op_class, sum.phase) = key;
        totals.compute.push_back(std::move(sum));
    }
    for (auto& [key, sum] : communication) {
        std::tie(sum.type, sum.comm_type, sum.group) = key;
        totals.communication.push_back(std::move(sum));
    }
    return totals;
}

}  // namespace yantra
