// A signature is all that the definition says, number by number, and a difference is the first of them.
//
// The oracle writes the signature of a rank without remembering anything, and looks at every member of a
// level. Classes, jobs and groups are random, so that members of a level are of one class or of several.
//
// needs: fold/destinations.cpp, fold/capabilities.cpp, fold/neighbourhoods.cpp, fold/rank_names.cpp, model/layout.cpp, fabric/grid.cpp, collective/communicator.cpp, workload/rank_rules.cpp
#include "fold/signatures.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "fold/destinations.hpp"
#include "model/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 ranks = 16;
constexpr u32 plain = 0, halves = 1, listed = 2, by_position = 3, on_table = 4, mixed_kinds = 5;   // plans

// Sends from each position to the next, the last to nobody.
Program line_of(u32 size) {
    GraphProgram graph;
    for (u32 at = 0; at < size; ++at) {
        graph.first_op.push_back(static_cast<u32>(graph.ops.size()));
        if (at + 1 < size) {
            GraphOp send;
            send.kind = GraphOp::send;
            send.peer = at + 1;
            graph.ops.push_back(send);
        }
        GraphOp receive;
        receive.kind = GraphOp::receive;
        receive.peer = 0;
        graph.ops.push_back(receive);
    }
    graph.first_op.push_back(static_cast<u32>(graph.ops.size()));
    return {graph, {1, 1}, true};
}

// Sends to the position two ahead; from each position alike.
Program step_of_two() {
    GraphProgram graph;
    graph.symmetry = Symmetry::add;
    graph.first_op = {0, 1};
    graph.ops.resize(1);
    graph.ops[0].kind = GraphOp::send;
    graph.ops[0].peer = 2;
    return {graph, {1, 1}, true};
}

Program exclusive(i32 bits) {
    Run run;
    run.count = 2;
    run.out = run.into = bits;
    run.by_xor = true;
    ExchangeProgram machine;
    machine.runs = {run};
    machine.sends = 1;
    return {machine, {1, 1}, true};
}

// A grid of 4 x 2 x 2, with communicators on all ranks, halves of its rings, listed ranks and graphs.
Model model_of(test::Random& random) {
    std::vector<std::shared_ptr<const Job>> jobs;
    for (u32 rank = 0; rank < ranks; ++rank) {
        std::vector<test::Node> nodes;
        for (u64 left = 1 + random.below(4); left > 0; --left) {
            Op op = test::message(random.one_in(2), static_cast<u32>(random.below(ranks)), 1);
            if (random.one_in(2)) {
                const CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather};
                op = test::collective(kinds[random.below(2)], 1);
                op.communicator = static_cast<u32>(random.below(6));
            }
            nodes.push_back({op, {}});
        }
        jobs.push_back(test::job_of(nodes));
    }
    Model model = test::model_of({{Block::ring, 4, 1.0, 1.0, 1.0}, {Block::ring, 2, 1.0, 1.0, 1.0},
                                  {Block::switched, 2, 1.0, 1.0, 1.0}}, jobs);
    model.system.local_bw_aware = random.one_in(2);
    const auto program = [&](const Program& added) {
        model.programs.push_back(added);
        return static_cast<u32>(model.programs.size() - 1);
    };
    const auto plan_of = [&](Level level, u32 all_reduce, u32 all_gather) {
        level.program.fill(no_program);
        level.alternate.fill(no_program);
        level.program[static_cast<u32>(CollectiveKind::all_reduce)] = all_reduce;
        level.program[static_cast<u32>(CollectiveKind::all_gather)] = all_gather;
        Plan plan;
        plan.levels = {level};
        plan.communicator_size = level.size;
        model.plans.push_back(plan);
    };
    const u32 ring = program(test::ring(3, {1, 1}, {1, 1}));
    const u32 xors = program(exclusive(1));
    plan_of({.size = 2, .stride = 2, .dimension = 0}, ring, xors);
    plan_of({.size = 4, .dimension = 0}, ring, program(step_of_two()));
    model.plans.back().over_members = true;
    plan_of({.size = 4, .dimension = 0}, program(line_of(4)), ring);
    plan_of({.size = 2, .stride = 4, .dimension = 1}, ring, xors);
    model.plans.back().levels.push_back(model.plans.back().levels[0]);
    model.plans.back().levels[1].size = 1;
    plan_of({.size = 4, .dimension = 0}, ring, ring);
    Level& alternating = model.plans.back().levels[0];
    if (random.one_in(2)) {
        alternating.alternation = 0;
        alternating.alternate[static_cast<u32>(CollectiveKind::all_gather)] = program(exclusive(2));
    }
    std::vector<u32> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    const auto whole = std::make_shared<Shape>(all);
    model.layouts.clear();
    for (u32 plan : {plain, halves, listed, by_position, on_table, mixed_kinds}) {
        GroupLayout layout{plan == listed ? std::make_shared<Shape>(std::vector<u32>{0, 9, 3, 6}) : whole, {}};
        layout.plan.fill(plan);
        model.layouts.push_back(layout);
        model.communicators.resize(model.layouts.size());
        model.communicators.back().layout = plan;
    }
    model.layouts[mixed_kinds].plan[static_cast<u32>(CollectiveKind::all_gather)] = halves;
    model.queue_sets = {0, 1, 1, 2, 0, 3};
    return model;
}

// Groups of listed ranks are named by their members alone.
bool may_run(const Model& model, u32 rank) {
    for (const Op& op : model.job(rank).ops) {
        if (op.kind == OpKind::collective && !model.is_member(rank, op.communicator)) {
            return false;
        }
    }
    return true;
}

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
    Grid grid{model.dimensions, model.tables};
    Neighbourhoods neighbourhoods{model, grid, capabilities};
    SearchBudget budget;
    RankClasses classes{{}, 0};
    Signatures signatures{model, names, classes, grid, neighbourhoods, budget};

    std::vector<Number> slow(u32 rank, bool distances) {
        std::vector<Number> all{{classes.of(rank), Difference::graph}};
        const JobNames& job = names.of(rank);
        for (u32 index = 0; index < job.communicators.size(); ++index) {
            const u32 communicator = names.communicator(rank, index);
            all.push_back({model.queue_sets[communicator], Difference::plan, communicator});
            for (u32 kind = 0; kind < collective_kinds; ++kind) {
                if ((job.communicators[index].kinds >> kind & 1) != 0) {
                    add_plan(all, rank, communicator, model.layout_of(communicator).plan[kind], distances);
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
    void add_plan(std::vector<Number>& all, u32 rank, u32 communicator, u32 number, bool distances) {
        const Plan& plan = model.plans[number];
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
            const Place place = place_on(model, plan, at, communicator, rank);
            std::set<u64> members;
            for (u32 position = 0; position < level.size; ++position) {
                members.insert(as(place.rank_at(position), communicator));
            }
            const bool whole = !plan.over_members && level.size == model.dimensions[level.dimension].size;
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

// Whom a rank may send to, from the programs.
std::vector<u32> destinations_of(const Model& model, u32 rank) {
    std::multiset<u32> all;
    std::vector<std::pair<u32, u32>> seen;   // communicators and kinds, once each
    std::set<u32> peers;
    for (const Op& op : model.job(rank).ops) {
        const u32 kind = static_cast<u32>(op.collective);
        if (op.kind == OpKind::send && peers.insert(op.peer).second) {
            all.insert(op.peer);
        }
        if (op.kind != OpKind::collective ||
            std::find(seen.begin(), seen.end(), std::pair{op.communicator, kind}) != seen.end()) {
            continue;
        }
        seen.emplace_back(op.communicator, kind);
        const Plan& plan = model.plans[model.layout_of(op.communicator).plan[kind]];
        for (u32 at = 0; at < plan.levels.size(); ++at) {
            const Level& level = plan.levels[at];
            std::set<u32> kinds{kind};
            if (op.collective == CollectiveKind::all_reduce && model.system.local_bw_aware) {
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
                const Place place = place_on(model, plan, at, op.communicator, rank);
                const u32 n = place.size;
                if (const auto* graph = std::get_if<GraphProgram>(&model.programs[program].machine)) {
                    if (graph->symmetry == Symmetry::add) {
                        all.insert(place.rank_at((place.position + 2) % n));
                    } else if (place.position + 1 < n) {
                        all.insert(place.rank_at(place.position + 1));
                    }
                    continue;
                }
                for (const Run& run : std::get<ExchangeProgram>(model.programs[program].machine).runs) {
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
    const Model model = model_of(random);
    Search search(model, capabilities_of(model));
    const Destinations destinations(model, search.names);
    std::vector<u32> run;
    for (u32 rank = 0; rank < ranks; ++rank) {
        if (may_run(model, rank)) {
            run.push_back(rank);
            std::vector<u32> found;
            destinations.for_each(rank, [&](u32 to) { found.push_back(to); });
            std::sort(found.begin(), found.end());
            check(found == destinations_of(model, rank), "messages go to other ranks", rank);
        }
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
        for (u32 rank : run) {
            check(search.signatures.of(rank) == values_of(search.slow(rank, distances)), "a signature", seed);
            check_difference(search, rank, run[random.below(run.size())], distances);
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 1000; ++seed) {
        signatures_are_what_the_definition_says(seed);
    }
}
