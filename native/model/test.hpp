// Small models, and jobs as lists of nodes.
#pragma once

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/test.hpp"
#include "collective/test.hpp"
#include "model/model.hpp"

namespace yantra::test {

struct Node {
    Op op;
    std::vector<u32> parents;
};

inline std::shared_ptr<const Job> job_of(const std::vector<Node>& nodes) {
    auto graph = std::make_shared<Graph>();
    auto job = std::make_shared<Job>();
    std::vector<std::vector<u32>> children(nodes.size());
    for (u32 at = 0; at < nodes.size(); ++at) {
        graph->id.own().push_back(at);
        graph->parent_count.own().push_back(static_cast<u32>(nodes[at].parents.size()));
        job->ops.push_back(nodes[at].op);
        for (u32 parent : nodes[at].parents) {
            children[parent].push_back(at);
        }
    }
    graph->child_begin.own().push_back(0);
    for (const std::vector<u32>& of : children) {
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

inline Model model_of(std::vector<Dimension> dimensions,
                      std::vector<std::shared_ptr<const Job>> jobs) {
    Model model;
    model.semantics.scale = TimeScale::picoseconds();
    model.network.dimensions = std::move(dimensions);
    model.network.tables.resize(model.network.dimensions.size());
    model.work.resources.capacity = {1, 1, 1};
    model.collectives = collectives_over(model.network.dimensions);
    model.work.job_of.resize(model.ranks());
    std::iota(model.work.job_of.begin(), model.work.job_of.end(), 0);
    model.work.rules.resize(jobs.size());
    model.work.distinct_jobs = std::move(jobs);
    return model;
}

}  // namespace yantra::test
