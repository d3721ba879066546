#include "fold/destinations.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "fold/neighbourhoods.hpp"

namespace yantra {

namespace {

void for_each_of_graph(const GraphProgram& graph, const Place& place,
                       const LinkPartition::VisitDestination& visit) {
    const u32 position = graph.symmetry == Symmetry::none ? place.position : 0;
    for (u32 op = graph.first_op[position]; op < graph.first_op[position + 1]; ++op) {
        if (graph.ops[op].kind == GraphOp::send) {
            visit(place.rank_at(peer_position(graph, place, graph.ops[op].peer)));
        }
    }
}

void for_each_of_exchange(const ExchangeProgram& machine, const Place& place,
                          const LinkPartition::VisitDestination& visit) {
    for (const Run& run : machine.runs) {
        visit(neighbour(place, {run.out, run.by_xor}));
        if (!run.by_xor) {
            visit(neighbour(place, {-run.out, false}));  // in a phase that runs anticlockwise
        }
    }
}

}  // namespace

void Destinations::for_each(u32 rank, const LinkPartition::VisitDestination& visit) const {
    const JobNames& named = names_.of(rank);
    for (u32 index = 0; index < named.communicators.size(); ++index) {
        for (u32 kind = 0; kind < collective_kinds; ++kind) {
            if ((named.communicators[index].kinds >> kind & 1) != 0) {
                for_each_of_collective(rank, names_.communicator(rank, index), kind, visit);
            }
        }
    }
    for (u32 index = 0; index < named.peers.size(); ++index) {
        if (named.sends[index]) {
            visit(names_.peer(rank, index));
        }
    }
}

void Destinations::for_each_of_collective(u32 rank, u32 communicator, u32 kind,
                                          const LinkPartition::VisitDestination& visit) const {
    model_.collectives.layout_of(communicator).for_each_plan(kind, [&](u32 plan, u64) {
        for_each_of_plan(rank, communicator, kind, model_.collectives.plans[plan], visit);
    });
}

void Destinations::for_each_of_plan(u32 rank, u32 communicator, u32 kind, const Plan& plan,
                                    const LinkPartition::VisitDestination& visit) const {
    for (u32 level = 0; level < plan.levels.size(); ++level) {
        if (plan.levels[level].size <= 1) {
            continue;
        }
        const Place place = place_on(model_.collectives, plan, level, communicator, rank);
        for (u32 number : programs_of(plan.levels[level], kind)) {
            const Program& program = model_.collectives.programs[number];
            if (const auto* graph = std::get_if<GraphProgram>(&program.machine)) {
                for_each_of_graph(*graph, place, visit);
            } else if (const auto* exchange = std::get_if<ExchangeProgram>(&program.machine)) {
                for_each_of_exchange(*exchange, place, visit);
            }
        }
    }
}

std::vector<u32> Destinations::programs_of(const Level& level, u32 kind) const {
    std::vector<u32> kinds{kind};
    if (kind == static_cast<u32>(CollectiveKind::all_reduce) && model_.collectives.system.local_bw_aware) {
        kinds.push_back(static_cast<u32>(CollectiveKind::reduce_scatter));
        kinds.push_back(static_cast<u32>(CollectiveKind::all_gather));
    }
    std::vector<u32> programs;
    for (u32 each : kinds) {
        for (u32 number : {level.program[each], level.alternation == none ? no_program : level.alternate[each]}) {
            if (number != no_program) {
                programs.push_back(number);
            }
        }
    }
    std::sort(programs.begin(), programs.end());
    programs.erase(std::unique(programs.begin(), programs.end()), programs.end());
    return programs;
}

}  // namespace yantra
