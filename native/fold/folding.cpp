#include "fold/folding.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "fabric/routing/routing.hpp"
#include "fold/capabilities.hpp"
#include "fold/refinement.hpp"
#include "fold/representatives.hpp"

namespace yantra {

namespace {

// Empty if classes may exist.
std::string refusal_before_search(const Model& model, const RankNames& names,
                                  const FoldingCapabilities& capabilities) {
    const FoldingCapabilities::WhyNot& why_not = capabilities.why_not;
    if (!capabilities.refusal().empty()) {
        return capabilities.refusal();
    }
    for (const JobNames& job : names.by_job()) {
        if (job.accesses_memory && !why_not.memory.empty()) {
            return why_not.memory;
        }
        if (job.has_custom_collective && !why_not.custom_collectives.empty()) {
            return why_not.custom_collectives;
        }
    }
    const bool custom = std::any_of(model.collectives.plans.begin(), model.collectives.plans.end(),
                                    [](const Plan& plan) { return plan.custom != none; });
    return custom ? why_not.custom_collectives : "";
}

std::string refusal_of_communicators(const Folding& folding) {
    for (const std::vector<u32>& classes : folding.communicator_classes) {
        if (std::adjacent_find(classes.begin(), classes.end()) != classes.end()) {
            return "a class of ranks holds two roles in communicators alike";
        }
    }
    return "";
}

std::string refusal_of_links(const LinkPartition& links) {
    const LinkPartition::Shared shared = links.shared_link();
    if (shared.link == none) {
        return "";
    }
    return "the ranks " + std::to_string(shared.rank) + " and " + std::to_string(shared.other) +
           " do the same, and their messages share the link " + links.routes().name(shared.link) +
           "; which of them is first follows the numbers of ranks";
}

constexpr u64 fewest_nodes = 20'000;   // of all ranks, for messages to matter
constexpr u64 nodes_per_collective = 10;

// Phases have a closed form if each message takes its own time and chunks come in a known order.
bool spares_messages(const Model& model, const FoldingCapabilities& capabilities) {
    const bool is_known = capabilities.network.messages_never_wait || capabilities.network.ports_by_class;
    if (!is_known || model.semantics.quirks.phases_as_ready) {
        return false;
    }
    std::vector<u64> ranks(model.work.distinct_jobs.size());
    for (const u32 job : model.work.job_of) {
        ++ranks[job];
    }
    u64 nodes = 0;
    u64 collectives = 0;
    for (std::size_t at = 0; at < ranks.size(); ++at) {
        const std::vector<Op>& ops = model.work.distinct_jobs[at]->ops;
        const auto of_job = std::count_if(ops.begin(), ops.end(),
                                          [](const Op& op) { return op.kind == OpKind::collective; });
        nodes += ranks[at] * ops.size();
        collectives += ranks[at] * static_cast<u64>(of_job);
    }
    return nodes >= fewest_nodes && collectives * nodes_per_collective >= nodes;
}

std::string refusal_of_search(const Model& model, const Refinement& refinement, u32 least_ranks_per_class) {
    const FlowPartition* const flows = refinement.flows();
    if (flows != nullptr && !flows->why_not().empty()) {
        return flows->why_not();
    }
    if (refinement.takes_too_long()) {
        return "telling the classes of ranks apart would take too long";
    }
    std::string why = "there are fewer than " + std::to_string(least_ranks_per_class) + " ranks to a class";
    const NetworkParameters& network = model.network;
    const RoutingKind* const routing = network.fabric == nullptr ? nullptr : find_routing(network.routing.name);
    if (flows != nullptr && routing != nullptr && routing->by_hash) {
        why += "; the routing " + routing->name + " draws ways by a hash, so no two ranks fare alike: even_spray "
               "divides messages evenly among the same ways, and d_mod_k takes one by the destination";
    }
    return why;
}

}  // namespace

Folding fold(const Model& model, u32 least_ranks_per_class) {
    Folding out;
    const RankNames names(model);
    const FoldingCapabilities capabilities = capabilities_of(model);
    out.spares_messages = spares_messages(model, capabilities);
    if (out.spares_messages) {
        least_ranks_per_class = 1;
    }
    Refinement refinement(model, names, capabilities, least_ranks_per_class);
    out.refusal = refusal_before_search(model, names, capabilities);
    if (out.folds() && !refinement.run()) {
        out.refusal = refusal_of_search(model, refinement, least_ranks_per_class);
    }
    out.splits = refinement.classes().splits();
    if (!out.folds()) {
        return out;
    }
    out.class_of = refinement.classes().by_rank();
    add_representatives(out, names, refinement.classes().count());
    out.refusal = refusal_of_communicators(out);
    if (capabilities.network.shares_by_class) {
        out.flows = refinement.flows()->classes_for(out.representative);
    } else if (capabilities.network.ports_by_class) {
        out.ports_are_folded = true;
        if (!refinement.ports_follow_ranks()) {
            out.refusal = out.folds() ? refusal_of_links(refinement.links()) : out.refusal;
            out.links = std::move(refinement.links().classes());
        }
    } else if (capabilities.network.links_by_class) {
        out.refusal = out.folds() ? refusal_of_links(refinement.links()) : out.refusal;
        out.links = std::move(refinement.links().classes());
    }
    return out;
}

}  // namespace yantra
