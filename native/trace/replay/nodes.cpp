// The written graph. Time left after all known dependencies becomes a delay, so a replay reproduces
// the measured timeline.
#include "trace/replay/nodes.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/free_pages.hpp"
#include "base/interruption.hpp"
#include "trace/replay/assemble.hpp"

namespace yantra::replay {

namespace {

std::int64_t whole_us(std::int64_t ns) { return ns / 1000 - (ns % 1000 < 0 ? 1 : 0); }

class Writer {
public:
    Writer(Assembly& of, const Options& options)
        : of_(of), drafts_(of.drafts), options_(options), ids_(drafts_.size()), ends_(drafts_.size()),
          ends_ns_(drafts_.size()) {
        nodes_.operator_node.resize(of.of.operators.size(), none);
        nodes_.device_node.resize(of.of.ops.size(), none);
        nodes_.place_device = of.lanes.places.devices();
        nodes_.place_lane = of.lanes.places.lanes();
        nodes_.reserve((options.gaps ? std::size_t{2} : std::size_t{1}) * drafts_.size());
    }

    Nodes write(const std::vector<std::uint32_t>& order) {
        for (const std::uint32_t at : order) {
            write(at);
        }
        return std::move(nodes_);
    }

private:
    void write(std::uint32_t at) {
        const Draft& draft = drafts_[at];
        std::int64_t start = whole_us(draft.start);
        std::int64_t end = whole_us(draft.end);
        const std::uint32_t ctrl = draft.ctrl == none ? none : ids_[draft.ctrl];
        const auto wait_for_all = [&] { drafts_.each(at, [&](std::uint32_t on) { nodes_.dep.push_back(ids_[on]); }); };
        wait_for_all();
        if (options_.gaps) {
            const auto [earliest, ready_ns] = ready(at);
            std::int64_t begin_ns = ready_ns;
            if (start > earliest) {
                const std::int64_t until_ns = std::max(begin_ns, draft.start);
                const Times times{earliest, start - earliest, begin_ns, until_ns - begin_ns};
                const std::uint32_t delay =
                    nodes_.add(Kind::delay, nodes_.size() + 1, draft, options_.delay, times, ctrl);
                wait_for_all();
                nodes_.dep.push_back(delay);
                begin_ns = until_ns;
            } else if (start < earliest) {
                nodes_.shifted += start + 1 < earliest ? 1 : 0;
                start = earliest;
                end = std::max(earliest, end);
            }
            if (__builtin_add_overflow(begin_ns, draft.end - draft.start, &ends_ns_[at])) {
                throw std::overflow_error("times beyond 63 bits");
            }
        }
        ends_[at] = end;
        const Times times{start, end - start, draft.start, draft.end - draft.start};
        ids_[at] = nodes_.add(draft.kind, draft.source, draft, draft.name, times, ctrl);
        if (draft.kind == Kind::operation) {
            nodes_.operator_node[draft.source] = ids_[at];
        } else if (draft.kind == Kind::device) {
            nodes_.device_node[draft.source] = ids_[at];
        }
    }

    // When a replay has done all that a draft waits for, in us of the grid and in measured ns.
    std::pair<std::int64_t, std::int64_t> ready(std::uint32_t at) const {
        std::int64_t us = 0;
        std::int64_t ns = 0;
        bool waits = false;
        drafts_.each_of_all(at, [&](std::uint32_t on) {
            us = waits ? std::max(us, ends_[on]) : ends_[on];
            ns = waits ? std::max(ns, ends_ns_[on]) : ends_ns_[on];
            waits = true;
        });
        return {us, ns};
    }

    const Assembly& of_;
    const Drafts& drafts_;
    const Options& options_;
    Nodes nodes_;
    std::vector<std::uint32_t> ids_;
    std::vector<std::int64_t> ends_;     // of each draft in a replay, on the grid
    std::vector<std::int64_t> ends_ns_;  // and of measured durations
};

}  // namespace

Nodes build(const Recorded& of, const Options& options) {
    Assembly assembly(of, options.handover);
    const std::uint32_t anchored = options.anchors ? assembly.anchor() : 0;
    const std::vector<std::uint32_t> order = assembly.order();
    give_back_free_pages();
    look_up();
    Nodes nodes = Writer(assembly, options).write(order);
    nodes.handovers = assembly.handovers;
    nodes.anchored = anchored;
    return nodes;
}

}  // namespace yantra::replay
