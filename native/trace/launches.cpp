#include "trace/launches.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "trace/node_order.hpp"

namespace yantra {

namespace {

constexpr std::uint32_t not_launched = std::numeric_limits<std::uint32_t>::max();

class Launcher {
public:
    Launcher(const Trace& trace, const Launches& launches)
        : trace_(trace), launches_(launches), launch_of_(trace.size(), not_launched) {
        const Interner& names = trace.attribute_names;
        on_host_ = names.find("is_cpu_op");
        phase_ = names.find("phase");
        microbatch_ = names.find("microbatch");
        chunk_ = names.find("chunk");
    }

    Trace run() {
        const NodeOrder order = order_nodes(trace_);
        for (std::uint32_t node = 0; node < order.nodes(); ++node) {
            const std::uint32_t record = order.last(node);
            if (is_launched(record)) {
                launch_of_[record] = launch_of(record);
            }
        }
        Trace out = trace_;
        wait_for_launches(out);
        add_launches(out);
        return out;
    }

private:
    bool is_launched(std::uint32_t record) const {
        const auto type = static_cast<NodeType>(trace_.type[record]);
        if (type == NodeType::invalid || type == NodeType::metadata) {
            return false;
        }
        const Attribute* const said = attribute(record, on_host_);
        if (said == nullptr || said->value == 0) {
            return true;
        }
        if (type == NodeType::comp) {
            throw std::invalid_argument(
                called(record) + " is an operation of the host; host.launch adds the launches to traces "
                                 "that have none: leave host out");
        }
        return false;
    }

    std::uint32_t launch_of(std::uint32_t record) {
        if (launches_.of == Launches::Of::kernel) {
            names_.push_back("launch " + std::string(trace_.name(record)));
            return static_cast<std::uint32_t>(names_.size() - 1);
        }
        const auto graph = launches_.of == Launches::Of::job ? Pass{} : pass_of(record);
        const auto [place, is_new] = graphs_.try_emplace(graph, names_.size());
        if (is_new) {
            names_.emplace_back("launch graph");
        }
        return static_cast<std::uint32_t>(place->second);
    }

    using Pass = std::tuple<int, std::uint64_t, std::uint64_t>;

    Pass pass_of(std::uint32_t record) const {
        const Attribute* const phase = attribute(record, phase_);
        if (phase == nullptr || phase->kind != AttributeKind::string) {
            throw std::invalid_argument(called(record) +
                                        " says no phase, so it is part of no pass; with host.graphs: job "
                                        "all of a trace is one graph");
        }
        const std::string_view name = trace_.text_of(*phase);
        const int direction = name == "forward" ? 0 : name == "optimizer" ? 2 : 1;
        return {direction, number(record, microbatch_), number(record, chunk_)};
    }

    // Returns 0 if it is absent.
    std::uint64_t number(std::uint32_t record, std::uint32_t name) const {
        const Attribute* const found = attribute(record, name);
        return found == nullptr ? 0 : found->value + 1;
    }

    const Attribute* attribute(std::uint32_t record, std::uint32_t name) const {
        if (name == Interner::absent) {
            return nullptr;
        }
        const auto all = trace_.attributes_of(record);
        const auto found = std::ranges::find(all, name, &Attribute::name);
        return found == all.end() ? nullptr : &*found;
    }

    std::string called(std::uint32_t record) const {
        return "node " + std::to_string(trace_.id[record]) + " '" + std::string(trace_.name(record)) + "'";
    }

    void wait_for_launches(Trace& out) const {
        const std::uint64_t first = first_id();
        out.ctrl_dep.clear();
        for (std::size_t record = 0; record < trace_.size(); ++record) {
            const auto own = trace_.ctrl_deps(record);
            out.ctrl_dep.insert(out.ctrl_dep.end(), own.begin(), own.end());
            if (launch_of_[record] != not_launched) {
                out.ctrl_dep.push_back(first + launch_of_[record]);
            }
            out.ctrl_dep_begin[record + 1] = out.ctrl_dep.size();
        }
    }

    void add_launches(Trace& out) const {
        const std::uint64_t first = first_id();
        const std::uint32_t on_host = out.attribute_names.intern("is_cpu_op");
        const std::uint32_t duration = out.attribute_names.intern("duration_ns");
        for (std::size_t at = 0; at < names_.size(); ++at) {
            if (at > 0) {
                out.ctrl_dep.push_back(first + at - 1);
            }
            Attribute& is_host = out.add_attribute();
            is_host.name = on_host;
            is_host.kind = AttributeKind::boolean;
            is_host.value = 1;
            Attribute& takes = out.add_attribute();
            takes.name = duration;
            takes.kind = AttributeKind::uint64;
            takes.value = launches_.ns;
            out.add_node({first + at, names_[at], static_cast<std::int32_t>(NodeType::comp), 0,
                          launches_.ns / 1000, 0});
        }
    }

    std::uint64_t first_id() const {
        const auto highest = std::ranges::max_element(trace_.id);
        if (highest == trace_.id.end()) {
            return 0;
        }
        if (*highest >= std::numeric_limits<std::uint64_t>::max() - names_.size()) {
            throw std::invalid_argument("no ids are left for launches behind node " +
                                        std::to_string(*highest));
        }
        return *highest + 1;
    }

    const Trace& trace_;
    Launches launches_;
    std::uint32_t on_host_ = Interner::absent;
    std::uint32_t phase_ = Interner::absent;
    std::uint32_t microbatch_ = Interner::absent;
    std::uint32_t chunk_ = Interner::absent;
    std::vector<std::uint32_t> launch_of_;   // by record
    std::vector<std::string> names_;         // of the launches, in order
    std::map<Pass, std::size_t> graphs_;
};

}  // namespace

Trace with_launches(const Trace& trace, const Launches& launches) {
    return Launcher(trace, launches).run();
}

}  // namespace yantra
