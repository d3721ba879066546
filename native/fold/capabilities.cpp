#include "fold/capabilities.hpp"

#include "fabric/routing/routing.hpp"
#include "network/level.hpp"

namespace yantra {

namespace {

std::string nothing_known_of(const std::string& component) {
    return "it is not known whether this " + component + " treats ranks that do the same alike";
}

FoldingCapabilities::Network network_of(const Model& model) {
    FoldingCapabilities::Network network;
    const NetworkLevel* const level =
        model.network.choice.from_outside == nullptr ? find_network_level(model.network.choice.level) : nullptr;
    const NetworkFolding folding = level == nullptr ? NetworkFolding::unknown : level->folding;
    const bool has_ports = folding == NetworkFolding::ports_by_class && !model.semantics.quirks.links_carry_anything;
    network.ports_by_class = has_ports && model.network.fabric == nullptr;
    network.messages_never_wait = (folding == NetworkFolding::messages_never_wait ||
                                   (folding == NetworkFolding::ports_by_class && !has_ports)) &&
                                  model.network.fabric == nullptr;
    network.links_by_class = folding == NetworkFolding::links_by_class && model.network.fabric == nullptr;
    network.shares_by_class = folding == NetworkFolding::shares_links;
    network.lowest_dimension_only = level != nullptr && level->traits.has(NetworkTrait::lowest_dimension_only) &&
                                    model.semantics.quirks.lowest_dimension_only;
    return network;
}

std::string why_not_shared(const Model& model) {
    if (!model.network.link_changes.empty()) {
        return "links that change at stated times are not folded";
    }
    if (!model.network.background.empty()) {
        return "traffic of the background meets some ranks and not others";
    }
    if (!model.network.formula_groups.empty()) {
        return "a network whose tiers differ is not folded";
    }
    const NetworkParameters& network = model.network;
    const RoutingKind* const routing = network.fabric == nullptr ? nullptr : find_routing(network.routing.name);
    if (routing != nullptr && routing->by_load) {
        return "the routing " + routing->name +
               " looks at the load of links, which follows the order of messages; even_spray does not";
    }
    if (routing != nullptr && routing->by_packet && !routing->divides) {
        return "the routing " + routing->name +
               " draws ways by a hash, which differ from rank to rank; even_spray divides messages evenly";
    }
    return "";
}

std::string why_not(const Model& model, const FoldingCapabilities::Network& network) {
    if (network.messages_never_wait || network.links_by_class || network.ports_by_class) {
        return "";
    }
    if (network.shares_by_class) {
        return why_not_shared(model);
    }
    return model.network.fabric != nullptr && find_network_level(model.network.choice.level) != nullptr
               ? "the network " + model.network.choice.level + " is not folded over a fabric"
               : nothing_known_of("network");
}

bool looks_same_from_each_member(Block block) {
    switch (block) {
        case Block::ring:
        case Block::fully_connected:
        case Block::switched:
            return true;
        case Block::table:
            return false;
    }
    return false;
}

std::string why_not(InterDimension order) {
    switch (order) {
        case InterDimension::ascending:
        case InterDimension::round_robin:
            return "";
        case InterDimension::themis:
        case InterDimension::themis_flex:
            return "Themis balances the load of all ranks in one table";
    }
    return nothing_known_of("order of dimensions");
}

std::string why_not(Priority priority, IntraDimension order) {
    switch (priority) {
        case Priority::lifo:
        case Priority::fifo:
        case Priority::given:
            break;
        default:
            return nothing_known_of("priority of collectives");
    }
    switch (order) {
        case IntraDimension::fifo:
        case IntraDimension::rg:
        case IntraDimension::smallest_first:
        case IntraDimension::less_remaining_phase_first:
            return "";
    }
    return nothing_known_of("order of chunks");
}

std::string why_not(RemoteMemoryKind memory) {
    switch (memory) {
        case RemoteMemoryKind::absent:
        case RemoteMemoryKind::per_rank:
            return "";
        case RemoteMemoryKind::per_node:
        case RemoteMemoryKind::pool:
            return "remote memory that ranks share serves what comes first, which can depend on their "
                   "numbers";
        case RemoteMemoryKind::pipeline:
            return "accesses to a pipelined memory share its hops with those of other ranks";
    }
    return nothing_known_of("remote memory");
}

}  // namespace

FoldingCapabilities capabilities_of(const Model& model) {
    const SystemParameters& system = model.collectives.system;
    FoldingCapabilities found;
    found.network = network_of(model);
    for (const Dimension& dimension : model.network.dimensions) {
        found.uniform_dimension.push_back(looks_same_from_each_member(dimension.block));
    }
    FoldingCapabilities::WhyNot& why = found.why_not;
    why.network = why_not(model, found.network);
    why.dimension_order = why_not(system.inter_dimension);
    why.chunk_order = why_not(system.priority, system.intra_dimension);
    if (!model.work.begins.empty()) {
        why.slow_ranks = "some ranks begin later than others";
    }
    if (!model.work.slow_spells.empty()) {
        why.slow_ranks = "some ranks are slower than others for a while";
    }
    if (system.bus.enabled) {
        why.bus = "the shared bus serves what comes first, which can depend on the numbers of ranks";
    }
    if (system.shared_bytes_per_s > 0.0 && !system.takes_units_alone) {
        why.local_bandwidth =
            "what shares the bandwidth of a rank's memory is scheduled anew as others come and go";
    }
    if (system.rendezvous) {
        why.protocol = "the rendezvous protocol is not folded";
    }
    if (model.collectives.match_by_tag) {
        why.tags = "groups have numbers so high that ASTRA-sim's tags of two of them may be equal";
    }
    why.memory = why_not(model.memory.kind);
    why.custom_collectives = "collectives given by traces are not folded";
    return found;
}

const std::string& FoldingCapabilities::refusal() const {
    for (const std::string* reason : {&why_not.network, &why_not.dimension_order, &why_not.chunk_order,
                                      &why_not.slow_ranks, &why_not.bus, &why_not.local_bandwidth,
                                      &why_not.protocol}) {
        if (!reason->empty()) {
            return *reason;
        }
    }
    return why_not.tags;
}

}  // namespace yantra
