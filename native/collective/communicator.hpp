// Communicator: a lowest rank, and a layout of offsets (a stride if evenly spaced) with plans,
// which many communicators share. Trade-off: finding a member takes an addition.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "collective/kind.hpp"

namespace yantra {

// Offsets from the lowest member, in ring order.
class Shape {
public:
    explicit Shape(std::vector<u32> offsets);

    u32 size() const { return size_; }
    // 0 unless evenly spaced and ascending.
    u32 stride() const { return stride_; }
    // Null if there is a stride.
    const u32* listed() const { return offsets_.empty() ? nullptr : offsets_.data(); }
    u32 offset(u32 position) const { return stride_ != 0 ? position * stride_ : offsets_[position]; }
    bool ascends() const { return sorted_.empty(); }
    // None if no member has the offset.
    u32 position(u32 offset) const;
    // The offset's place in ascending order.
    u32 place(u32 offset) const;

private:
    u32 size_;
    u32 stride_ = 0;
    std::vector<u32> offsets_;
    std::vector<std::pair<u32, u32>> sorted_;   // (offset, position), if not ascending
};

struct PlanFrom {
    std::size_t kind;
    u64 bytes;
    u32 plan;
};

struct GroupLayout {
    using Plans = std::array<u32, collective_kinds>;   // into CollectiveParameters::plans; none where not offered

    std::shared_ptr<const Shape> shape;
    Plans plan = nothing();
    Plans partial = nothing();             // over some of the dimensions, if different
    std::vector<PlanFrom> larger;               // of each kind by ascending bytes; mostly empty

    static constexpr Plans nothing() {
        Plans plans{};
        plans.fill(none);
        return plans;
    }
    u32 plan_of(std::size_t kind, u64 bytes, bool over_some = false) const {
        if (over_some && partial[kind] != none) {
            return partial[kind];
        }
        u32 found = plan[kind];
        for (const PlanFrom& from : larger) {
            found = from.kind == kind && bytes >= from.bytes ? from.plan : found;
        }
        return found;
    }
    template <class Visit>
    void for_each_plan(std::size_t kind, Visit&& visit) const {
        visit(plan[kind], 0);
        if (partial[kind] != none) {
            visit(partial[kind], 0);
        }
        for (const PlanFrom& from : larger) {
            if (from.kind == kind) {
                visit(from.plan, from.bytes);
            }
        }
    }
};

struct Communicator {
    u64 first_chunk = 0;   // tags of its collectives count from here
    u32 base = 0;           // its lowest rank
    u32 layout = 0;         // into CollectiveParameters::layouts
};

}  // namespace yantra
