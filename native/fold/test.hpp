// For tests of the search for classes: 16 ranks with jobs and groups of many kinds.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "model/test.hpp"

namespace yantra::test {

inline constexpr u32 ranks = 16;
inline constexpr u32 plain = 0, halves = 1, listed = 2, by_position = 3, on_table = 4, mixed_kinds = 5;   // plans

inline Program line_of(u32 size) {
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

inline Program step_of_two() {
    GraphProgram graph;
    graph.symmetry = Symmetry::add;
    graph.first_op = {0, 1};
    graph.ops.resize(1);
    graph.ops[0].kind = GraphOp::send;
    graph.ops[0].peer = 2;
    return {graph, {1, 1}, true};
}

inline Program exclusive(i32 bits) {
    Run run;
    run.count = 2;
    run.out = run.into = bits;
    run.by_xor = true;
    ExchangeProgram machine;
    machine.runs = {run};
    machine.sends = 1;
    return {machine, {1, 1}, true};
}

inline std::shared_ptr<const Job> any_job(Random random, u32 rank) {
    std::vector<Node> nodes;
    for (u64 left = 1 + random.below(4); left > 0; --left) {
        Op op = message(random.one_in(2), rank ^ static_cast<u32>(random.below(ranks)), 1);
        if (random.one_in(2)) {
            const CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather};
            op = collective(kinds[random.below(2)], 1);
            op.communicator = static_cast<u32>(random.below(6));
            if (op.communicator == listed && rank != 0 && rank != 3 && rank != 6 && rank != 9) {
                op.communicator = 0;
            }
        }
        nodes.push_back({op, {}});
    }
    return job_of(nodes);
}

inline Model any_model(Random& random, u64 kinds) {
    std::vector<std::shared_ptr<const Job>> jobs;
    const u32 first = static_cast<u32>(random.below(1000));
    for (u32 rank = 0; rank < ranks; ++rank) {
        jobs.push_back(any_job(Random(first + static_cast<u32>(random.below(kinds))), rank));
    }
    Model model = model_of({{Block::ring, 4, 1.0, 1.0, 1.0}, {Block::ring, 2, 1.0, 1.0, 1.0},
                                  {Block::switched, 2, 1.0, 1.0, 1.0}}, jobs);
    model.semantics.quirks.links_carry_anything = true;   // ports have laws of their own
    model.collectives.system.local_bw_aware = random.one_in(2);
    const auto program = [&](const Program& added) {
        model.collectives.programs.push_back(added);
        return static_cast<u32>(model.collectives.programs.size() - 1);
    };
    const auto plan_of = [&](Level level, u32 all_reduce, u32 all_gather) {
        level.program.fill(no_program);
        level.alternate.fill(no_program);
        level.program[static_cast<u32>(CollectiveKind::all_reduce)] = all_reduce;
        level.program[static_cast<u32>(CollectiveKind::all_gather)] = all_gather;
        Plan plan;
        plan.levels = {level};
        plan.communicator_size = level.size;
        model.collectives.plans.push_back(plan);
    };
    const u32 around = program(ring(3, {1, 1}, {1, 1}));
    const u32 xors = program(exclusive(1));
    plan_of({.size = 2, .stride = 2, .dimension = 0}, around, xors);
    plan_of({.size = 4, .dimension = 0}, around, program(step_of_two()));
    model.collectives.plans.back().over_members = true;
    plan_of({.size = 4, .dimension = 0}, program(line_of(4)), around);
    plan_of({.size = 2, .stride = 4, .dimension = 1}, around, xors);
    model.collectives.plans.back().levels.push_back(model.collectives.plans.back().levels[0]);
    model.collectives.plans.back().levels[1].size = 1;
    plan_of({.size = 4, .dimension = 0}, around, around);
    Level& alternating = model.collectives.plans.back().levels[0];
    if (random.one_in(2)) {
        alternating.alternation = 0;
        const u32 other = program(exclusive(2));
        alternating.alternate[static_cast<u32>(CollectiveKind::all_reduce)] = other;
        alternating.alternate[static_cast<u32>(CollectiveKind::all_gather)] = other;
    }
    std::vector<u32> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    const auto whole = std::make_shared<Shape>(all);
    model.collectives.layouts.clear();
    for (u32 plan : {plain, halves, listed, by_position, on_table, mixed_kinds}) {
        GroupLayout layout;
        layout.shape =
            plan == listed ? std::make_shared<Shape>(std::vector<u32>{0, 9, 3, 6}) : whole;
        layout.plan.fill(plan);
        model.collectives.layouts.push_back(layout);
        model.collectives.communicators.resize(model.collectives.layouts.size());
        model.collectives.communicators.back().layout = plan;
    }
    model.collectives.layouts[mixed_kinds].plan[static_cast<u32>(CollectiveKind::all_gather)] = halves;
    model.collectives.queue_sets = {0, 1, 1, 2, 0, 3};
    return model;
}

}  // namespace yantra::test
