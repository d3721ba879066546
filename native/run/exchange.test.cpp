// A packet takes the way from its sender to its receiver, and what counts packets is used again.
// needs: the parts of a run
#include "collective/exchange/exchange.hpp"

#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "fabric/table.hpp"
#include "model/test.hpp"
#include "run/simulation.hpp"

namespace {

using namespace yantra;
using test::check;

std::shared_ptr<const BlockTable> one_way_ring(u32 ranks) {
    std::vector<u32> from, to, next;
    for (u32 at = 0; at < ranks; ++at) {
        from.push_back(at);
        to.push_back((at + 1) % ranks);
        for (u32 there = 0; there < ranks; ++there) {
            next.push_back(there == at ? none : at);
        }
    }
    return std::make_shared<BlockTable>(ranks, ranks, from, to, next);
}

u64 ticks_of(u32 ranks, CollectiveKind kind, bool one_way) {
    std::vector<std::shared_ptr<const Job>> jobs(ranks, test::job_of({{test::collective(kind, 4000), {}}}));
    Model model = test::model_of({{one_way ? Block::table : Block::ring, ranks, 1.0, 10.0, 1.0}}, jobs);
    model.network.tables[0] = one_way ? one_way_ring(ranks) : nullptr;
    Simulation run(model);
    run.start();
    check(run.run_for(~u64{0}) && run.nodes_done() == ranks, "a run does not end", ranks);
    return run.now();
}

void what_goes_round_one_way_needs_no_way_back() {
    for (const u32 ranks : {2u, 3u, 5u, 8u}) {
        for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
            check(ticks_of(ranks, kind, true) == ticks_of(ranks, kind, false), "links that lead one way", ranks);
        }
    }
}

void counters_are_used_again_when_a_phase_is_over() {
    constexpr u32 ranks = 6;
    std::size_t before = 0;
    for (const u32 repeats : {1u, 10u}) {
        std::vector<test::Node> nodes;
        for (u32 at = 0; at < repeats; ++at) {
            nodes.push_back({test::collective(CollectiveKind::all_reduce, 4000), {}});
            if (at > 0) {
                nodes.back().parents = {at - 1};
            }
        }
        Model model = test::model_of({{Block::fully_connected, ranks, 1.0, 10.0, 1.0}},
                                     std::vector<std::shared_ptr<const Job>>(ranks, test::job_of(nodes)));
        for (Program& program : model.collectives.programs) {
            auto& machine = std::get<ExchangeProgram>(program.machine);
            machine.runs[0].out = 2;
            machine.runs[0].into = -2;
            machine.neighbours_only = false;
        }
        Simulation run(model);
        run.start();
        check(run.run_for(~u64{0}) && run.nodes_done() == u64{ranks} * repeats, "a run does not end", repeats);
        const exchange::State& state = run.collectives().exchange().state();
        check(before == 0 || state.counters.size() == before, "counters are not used again", repeats);
        check(std::ranges::all_of(state.counters, [](i32 count) { return count == 0; }), "a counter is left", 0);
        before = state.counters.size();
    }
    check(before > 0, "no counters", 0);
}

}  // namespace

int main() {
    what_goes_round_one_way_needs_no_way_back();
    counters_are_used_again_when_a_phase_is_over();
}
