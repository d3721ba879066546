#include "execution/happening_log.hpp"

#include <vector>

#include "base/ensure.hpp"

namespace yantra {

void HappeningLog::start(ActorId actor, NodeId node) {
    if (notes_ == Notes::nodes || is_first_of_group(actor, node)) {
        add(actor, node.index(), Happening::starts);
    }
}

void HappeningLog::add(ActorId actor, u32 node, Happening::What what) {
    happenings_.push_back({actors_.rank(actor).index(), node, what});
}

bool HappeningLog::is_first_of_group(ActorId actor, NodeId node) {
    constexpr std::size_t types = 16;   // there are ten
    const Nodes::Parts& parts = nodes_.state().actors[actor].parts;
    if (parts.are_several()) {
        return nodes_.communicator_of(actor, node) != 0;
    }
    const Nodes::Part& part = parts.front();
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
    std::vector<u16>& seen = seen_of_groups_[actor];
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
