// HappeningLog: each start and end of nodes, or the first collective of a type in a group at a
// rank, whose ring ASTRA-sim logs.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "engine/actors.hpp"
#include "execution/happening.hpp"
#include "execution/nodes.hpp"

namespace yantra::inline YANTRA_RUN {

class HappeningLog {
public:
    HappeningLog(const Actors& actors, const Nodes& nodes) : actors_(actors), nodes_(nodes) {}

    // Call before the start.
    void keep(Notes notes) {
        notes_ = notes;
        seen_of_groups_.resize(notes == Notes::groups ? actors_.count() : 0);
    }
    const std::vector<Happening>& happenings() const { return happenings_; }

    void starts(ActorId actor, NodeId node, const Op& op) {
        if (notes_ != Notes::nothing &&
            (notes_ == Notes::nodes || op.kind == OpKind::collective)) [[unlikely]] {
            start(actor, node);
        }
    }
    void ends(ActorId actor, NodeId node) {
        if (notes_ == Notes::nodes) [[unlikely]] {
            add(actor, node.index(), Happening::ends);
        }
    }
    void finishes(ActorId actor) {
        if (notes_ != Notes::nothing) [[unlikely]] {
            add(actor, none, Happening::finishes);
        }
    }

private:
    [[gnu::noinline]] void start(ActorId actor, NodeId node);
    [[gnu::noinline]] void add(ActorId actor, u32 node, Happening::What what);
    bool is_first_of_group(ActorId actor, NodeId node);

    const Actors& actors_;
    const Nodes& nodes_;
    Notes notes_ = Notes::nothing;
    std::vector<Happening> happenings_;
    IdVector<ActorId, std::vector<u16>> seen_of_groups_;
};

}  // namespace yantra
