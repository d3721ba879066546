// Programs and plans of small networks for tests.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "collective/parameters.hpp"
#include "fabric/grid.hpp"

namespace yantra::test {

inline Program ring(u64 sends, Share bytes, Share result) {
    Run run;
    run.count = sends + 1;
    run.out = 1;
    run.into = -1;
    run.bytes = bytes;
    ExchangeProgram machine;
    machine.runs = {run};
    machine.sends = sends;
    return {machine, result, true};
}

inline CollectiveParameters collectives_over(const std::vector<Dimension>& dimensions) {
    CollectiveParameters made;
    made.dimensions = static_cast<u32>(dimensions.size());
    Plan plan;
    plan.shared_load = true;
    u32 ranks = 1;
    for (const Dimension& dimension : dimensions) {
        const u32 n = dimension.size;
        Level level{.size = n, .stride = ranks, .index_stride = ranks,
                    .dimension = static_cast<u32>(plan.levels.size())};
        level.program.fill(no_program);
        const auto offer = [&](CollectiveKind kind, const Program& program) {
            level.program[static_cast<std::size_t>(kind)] = static_cast<u32>(made.programs.size());
            made.programs.push_back(program);
        };
        offer(CollectiveKind::all_reduce, ring(2 * (n - 1), {1, n}, {1, 1}));
        offer(CollectiveKind::reduce_scatter, ring(n - 1, {1, n}, {1, n}));
        offer(CollectiveKind::all_gather, ring(n - 1, {1, 1}, {n, 1}));
        plan.levels.push_back(level);
        ranks *= n;
    }
    plan.communicator_size = ranks;
    made.plans = {plan};
    std::vector<u32> offsets(ranks);
    std::iota(offsets.begin(), offsets.end(), 0);
    GroupLayout layout;
    layout.shape = std::make_shared<Shape>(offsets);
    layout.plan = {};   // all kinds by the first plan
    made.layouts = {layout};
    made.communicators = {{}};
    made.queue_sets = {0};
    return made;
}

}  // namespace yantra::test
