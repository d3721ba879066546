// A signature is all that the definition says, and a difference is the first of them.
// needs: the parts of a run
#include "fold/signatures.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "fold/test.hpp"

#include "fold/capabilities.cpp"
#include "fold/destinations.cpp"
#include "fold/neighbourhoods.cpp"
#include "fold/rank_names.cpp"
#include "fold/signatures.cpp"

namespace {

using namespace yantra;
using test::any_model;
using test::check;
using test::ranks;

struct Number {
    u64 value;
    Difference difference;
    u32 communicator = none;
    bool operator==(const Number&) const = default;
};

struct Search {
    Search(const Model& of, FoldingCapabilities with) : model(of), capabilities(std::move(with)) {}

    const Model& model;
    FoldingCapabilities capabilities;
    RankNames names{model};
    Grid grid{model.network.dimensions, model.network.tables};
    Neighbourhoods neighbourhoods{model, grid, capabilities};
    SearchBudget budget;
    RankClasses classes{{}, 0};
    Signatures signatures{model, names, classes, grid, neighbourhoods, budget};

    std::vector<Number> slow(u32 rank, bool distances) {
        std::vector<Number> all{{classes.of(rank), Difference::graph}};
        const JobNames& job = names.of(rank);
        for (u32 index = 0; index < job.communicators.size(); ++index) {
            const u32 communicator = names.communicator(rank, index);
            all.push_back({model.collectives.queue_sets[communicator], Difference::plan, communicator});
            for (u32 kind = 0; kind < collective_kinds; ++kind) {
                if ((job.communicators[index].kinds >> kind & 1) != 0) {
                    add_plan(all, rank, communicator, model.collectives.layout_of(communicator).plan[kind], distances);
                }
            }
        }
        for (u32 name : job.peers) {
            const u64 seen = names.peer_index(name, rank);
            all.push_back({names.peer_index(rank, name), Difference::peers});
            all.push_back({u64{classes.of(name)} << 32U | seen, Difference::exchange});
            if (distances) {
                all.push_back({neighbourhoods.distance(rank, name), Difference::distance});
            }
        }
        return all;
    }

private:
    void add_plan(std::vector<Number>& all, u32 rank, u32 communicator, u32 number,
                  bool distances) {
        const Plan& plan = model.collectives.plans[number];
        all.push_back({0, Difference::plan, communicator});   // from no bytes on
        all.push_back({neighbourhoods.plan_number(number), Difference::plan, communicator});
        for (u32 at = 0; at < plan.levels.size(); ++at) {
            const Level& level = plan.levels[at];
            const Neighbourhood& around = neighbourhoods.of(number, at);
            if (level.size == 1) {
                continue;
            }
            if (around.by_position) {
                all.push_back({u64{communicator} << 32U | rank, Difference::position, communicator});
                continue;
            }
            const Place place = place_on(model.collectives, plan, at, communicator, rank);
            std::set<u64> members;
            for (u32 position = 0; position < level.size; ++position) {
                members.insert(as(place.rank_at(position), communicator));
            }
            const bool whole = !plan.over_members && level.size == model.network.dimensions[level.dimension].size;
            if (members.size() == 1 && (whole || !distances)) {
                all.push_back({*members.begin(), Difference::neighbours, communicator});
                continue;
            }
            for (const Offset& offset : around.offsets) {
                const u32 other = neighbour(place, offset);
                all.push_back({as(other, communicator), Difference::neighbours, communicator});
                if (distances && !whole && other != rank) {
                    all.push_back({neighbourhoods.distance(rank, other), Difference::distance, communicator});
                }
            }
        }
    }
    u64 as(u32 rank, u32 communicator) const {
        return u64{classes.of(rank)} << 32U | names.communicator_index(rank, communicator);
    }
};

std::vector<u64> values_of(const std::vector<Number>& all) {
    std::vector<u64> values;
    for (const Number& number : all) {
        values.push_back(number.value);
    }
    return values;
}

void check_difference(Search& search, u32 rank, u32 other, bool distances) {
    const std::vector<Number> own = search.slow(rank, distances);
    const std::vector<Number> theirs = search.slow(other, distances);
    std::size_t at = 0;
    while (at + 1 < std::min(own.size(), theirs.size()) && own[at].value == theirs[at].value) {
        ++at;
    }
    const Split split = search.signatures.difference(rank, other);
    check(split.rank == rank && split.other == other, "a difference of other ranks", rank);
    check(split.difference == own[at].difference && split.communicator == own[at].communicator,
          "another difference", rank);
}

std::vector<u32> destinations_of(const Model& model, u32 rank) {
    std::multiset<u32> all;
    std::vector<std::pair<u32, u32>> seen;   // communicators and kinds, once each
    std::set<u32> peers;
    for (const Op& op : model.work.job(rank).ops) {
        const u32 kind = static_cast<u32>(op.collective);
        if (op.kind == OpKind::send && peers.insert(op.peer).second) {
            all.insert(op.peer);
        }
        if (op.kind != OpKind::collective ||
            std::find(seen.begin(), seen.end(), std::pair{op.communicator, kind}) != seen.end()) {
            continue;
        }
        seen.emplace_back(op.communicator, kind);
        const Plan& plan = model.collectives.plans[model.collectives.layout_of(op.communicator).plan[kind]];
        for (u32 at = 0; at < plan.levels.size(); ++at) {
            const Level& level = plan.levels[at];
            std::set<u32> kinds{kind};
            if (op.collective == CollectiveKind::all_reduce && model.collectives.system.local_bw_aware) {
                kinds.insert(static_cast<u32>(CollectiveKind::reduce_scatter));
                kinds.insert(static_cast<u32>(CollectiveKind::all_gather));
            }
            std::set<u32> programs;
            for (u32 each : kinds) {
                programs.insert(level.program[each]);
                programs.insert(level.alternation != none ? level.alternate[each] : no_program);
            }
            programs.erase(no_program);
            for (u32 program : level.size > 1 ? programs : std::set<u32>{}) {
                const Place place = place_on(model.collectives, plan, at, op.communicator, rank);
                const u32 n = place.size;
                if (const auto* graph = std::get_if<GraphProgram>(&model.collectives.programs[program].machine)) {
                    if (graph->symmetry == Symmetry::add) {
                        all.insert(place.rank_at((place.position + 2) % n));
                    } else if (place.position + 1 < n) {
                        all.insert(place.rank_at(place.position + 1));
                    }
                    continue;
                }
                for (const Run& run : std::get<ExchangeProgram>(model.collectives.programs[program].machine).runs) {
                    const u32 out = static_cast<u32>(run.out);
                    all.insert(place.rank_at(run.by_xor ? place.position ^ out : (place.position + out) % n));
                    if (!run.by_xor) {
                        all.insert(place.rank_at((place.position + n - out) % n));
                    }
                }
            }
        }
    }
    return {all.begin(), all.end()};
}

void signatures_are_what_the_definition_says(u32 seed) {
    test::Random random(seed);
    const Model model = any_model(random, ranks);
    Search search(model, capabilities_of(model));
    const Destinations destinations(model, search.names);
    for (u32 rank = 0; rank < ranks; ++rank) {
        std::vector<u32> found;
        destinations.for_each(rank, [&](u32 to) { found.push_back(to); });
        std::sort(found.begin(), found.end());
        check(found == destinations_of(model, rank), "messages go to other ranks", rank);
    }
    for (u32 round = 0; round < 4; ++round) {
        const u32 count = round < 2 ? 1 : 1 + static_cast<u32>(random.below(3));
        std::vector<u32> class_of(ranks);
        for (u32& of : class_of) {
            of = static_cast<u32>(random.below(count));
        }
        search.classes.replace(class_of, count);
        const bool distances = round % 2 == 0;
        search.signatures.start_round(distances);
        for (u32 rank = 0; rank < ranks; ++rank) {
            check(search.signatures.of(rank) == values_of(search.slow(rank, distances)), "a signature", seed);
            check_difference(search, rank, static_cast<u32>(random.below(ranks)), distances);
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 1000; ++seed) {
        signatures_are_what_the_definition_says(seed);
    }
}
