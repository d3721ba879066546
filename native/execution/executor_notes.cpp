// Notes for a log: each start and end of nodes, or only collectives that begin a ring.
//
// ASTRA-sim logs a group's ring when the first collective of a type starts in it at a rank; which
// one depends on the run.

#include "base/ensure.hpp"
#include "base/vector.hpp"
#include "execution/executor.hpp"

namespace yantra {

void Executor::note(ActorId actor, u32 node, Happening::What what) {
    const bool only_groups = what == Happening::starts && notes_ == Notes::groups;
    if (only_groups && !is_first_of_group(actor, NodeId(node))) {
        return;
    }
    happenings_.push_back({actors_.rank(actor).index(), node, what});
}

// The first of its type at the actor in its group, as the trace names groups.
bool Executor::is_first_of_group(ActorId actor, NodeId node) {
    constexpr std::size_t types = 16;   // there are ten
    const Parts& parts = state_.actors[actor].parts;
    if (parts.are_several()) {
        return communicator_of(actor, node) != 0;
    }
    const Part& part = parts.front();
    if (part.communicator(part.op(node).communicator) == 0) {
        return false;
    }
    const Graph& graph = *part.graph;
    const i32 group = graph.pg_name[node.index()];
    if (group < 0) {
        return true;
    }
    const u64 type = graph.comm_type.value[node.index()];
    ensure(type < types, "a collective of no known type");
    Vector<u16>& seen = seen_of_groups_[actor];
    if (seen.empty()) {
        seen.resize(graph.pg_names.size());
    }
    u16& types_seen = seen[static_cast<std::size_t>(group)];
    const auto bit = static_cast<u16>(1U << type);
    const bool is_first = (types_seen & bit) == 0;
    types_seen |= bit;
    return is_first;
}

}  // namespace yantra
