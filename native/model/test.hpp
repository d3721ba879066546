// What tests of the parts of a run share: small models, and jobs written as lists of nodes.
//
// All ranks are one communicator; collectives go around a ring on each dimension.
#pragma once

#include <memory>
#include <numeric>
#include <utility>

#include "base/test.hpp"
#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra::test {

struct Node {
    Op op;
    Vector<u32> parents;
};

inline std::shared_ptr<const Job> job_of(const Vector<Node>& nodes) {
    auto graph = std::make_shared<Graph>();
    auto job = std::make_shared<Job>();
    Vector<Vector<u32>> children(nodes.size());
    for (u32 at = 0; at < nodes.size(); ++at) {
        graph->id.own().push_back(at);
        graph->parent_count.own().push_back(static_cast<u32>(nodes[at].parents.size()));
        job->ops.push_back(nodes[at].op);
        for (u32 parent : nodes[at].parents) {
            children[parent].push_back(at);
        }
    }
    graph->child_begin.own().push_back(0);
    for (const Vector<u32>& of : children) {
        graph->child.own().insert(graph->child.own().end(), of.begin(), of.end());
        graph->child_begin.own().push_back(static_cast<u32>(graph->child.size()));
    }
    job->only_child = only_children(*graph);
    job->graph = std::move(graph);
    return job;
}

inline Op timed(u8 resource, u64 ticks) {
    Op op;
    op.kind = OpKind::timed;
    op.node_class = NodeClass::gpu;
    op.resource = resource;
    op.ticks = op.busy_ticks = ticks;
    return op;
}

inline Op collective(CollectiveKind kind, u64 bytes) {
    Op op;
    make_collective(op);
    op.node_class = NodeClass::communication;
    op.collective = kind;
    op.bytes = bytes;
    return op;
}

inline Op message(bool sends, u32 peer, u64 bytes, u32 tag = 0) {
    Op op;
    op.kind = sends ? OpKind::send : OpKind::receive;
    op.node_class = NodeClass::communication;
    op.peer = peer;
    op.bytes = bytes;
    op.tag = tag;
    return op;
}

// `sends` packets to the next position, each when the one before it has come.
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

// One job for each rank.
inline Model model_of(Vector<Dimension> dimensions, Vector<std::shared_ptr<const Job>> jobs) {
    Model model;
    model.scale = TimeScale::picoseconds();
    model.dimensions = std::move(dimensions);
    model.tables.resize(model.dimensions.size());
    model.resources.capacity = {1, 1, 1};
    Plan plan;
    plan.shared_load = true;
    u32 ranks = 1;
    for (const Dimension& dimension : model.dimensions) {
        const u32 n = dimension.size;
        Level level{.size = n, .stride = ranks, .index_stride = ranks,
                    .dimension = static_cast<u32>(plan.levels.size())};
        level.program.fill(no_program);
        const auto offer = [&](CollectiveKind kind, const Program& program) {
            level.program[static_cast<std::size_t>(kind)] = static_cast<u32>(model.programs.size());
            model.programs.push_back(program);
        };
        offer(CollectiveKind::all_reduce, ring(2 * (n - 1), {1, n}, {1, 1}));
        offer(CollectiveKind::reduce_scatter, ring(n - 1, {1, n}, {1, n}));
        offer(CollectiveKind::all_gather, ring(n - 1, {1, 1}, {n, 1}));
        plan.levels.push_back(level);
        ranks *= n;
    }
    plan.communicator_size = ranks;
    model.plans = {plan};
    Vector<u32> offsets(ranks);
    std::iota(offsets.begin(), offsets.end(), 0);
    GroupLayout layout;
    layout.shape = std::make_shared<Shape>(offsets);
    layout.plan = {};   // all kinds by the first plan
    model.layouts = {layout};
    model.communicators = {{}};
    model.queue_sets = {0};
    model.job_of.resize(ranks);
    std::iota(model.job_of.begin(), model.job_of.end(), 0);
    model.rules.resize(jobs.size());
    model.distinct_jobs = std::move(jobs);
    return model;
}

}  // namespace yantra::test
