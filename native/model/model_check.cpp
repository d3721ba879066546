#include "model/model_check.hpp"

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

void check_network(const Model& model) {
    ensure(!model.network.dimensions.empty(), "model: a network has one dimension or more");
    ensure(model.network.tables.size() == model.network.dimensions.size(), "model: a place for a table by dimension");
    u64 ranks = 1;
    for (std::size_t d = 0; d < model.network.dimensions.size(); ++d) {
        const u32 size = model.network.dimensions[d].size;
        const BlockTable* const table = model.network.tables[d].get();
        ensure(size > 0, "model: a dimension without ranks");
        ensure(table == nullptr || table->ranks() == size, "model: a table of another number of ranks");
        ranks *= size;
        ensure(ranks < none, "model: more ranks than 32 bits count");
    }
    ensure(model.network.fabric == nullptr || model.network.placement.size() >= ranks,
           "model: a place in the fabric by rank");
    ensure(model.collectives.dimensions == model.network.dimensions.size(), "model: collectives over other dimensions");
    ensure(model.memory.ranks_per_node > 0, "model: a node without ranks");
    if (model.memory.kind == RemoteMemoryKind::pipeline) {
        ensure(model.memory.chunk_bytes > 0.0 && !model.memory.hops.empty(),
               "model: a pipelined memory without chunks or hops");
        for (const MemoryHop& hop : model.memory.hops) {
            ensure(hop.bytes_per_ns > 0.0, "model: a hop of no bandwidth");
        }
    }
}

u32 highest_offset(const Shape& shape) {
    if (shape.stride() != 0) {
        return shape.offset(shape.size() - 1);
    }
    return *std::max_element(shape.listed(), shape.listed() + shape.size());
}

void check_communicators(const Model& model) {
    std::vector<u32> highest;
    for (const GroupLayout& layout : model.collectives.layouts) {
        highest.push_back(highest_offset(*layout.shape));
    }
    const u32 ranks = model.ranks();
    for (const Communicator& communicator : model.collectives.communicators) {
        ensure(communicator.layout < model.collectives.layouts.size(), "model: a communicator without a layout");
        ensure(communicator.base < ranks && highest[communicator.layout] < ranks - communicator.base,
               "model: a communicator has a rank that is not there");
    }
    ensure(!model.collectives.communicators.empty() && model.collectives.layout_of(0).shape->size() == ranks,
           "model: the first communicator is all ranks");
    const std::size_t count = model.collectives.communicators.size();
    ensure(model.collectives.queue_sets.size() == count, "model: a queue set by communicator");
    ensure(model.work.resources.collective.size() == count && model.work.resources.send.size() == count,
           "model: slots by communicator");
}

void check_slots(const ResourceMap& slots) {
    const auto is_there = [&](u8 slot) { return slot < slots.capacity.size(); };
    ensure(is_there(slots.cpu) && is_there(slots.compute) && is_there(slots.memory) &&
               std::all_of(slots.collective.begin(), slots.collective.end(), is_there) &&
               std::all_of(slots.send.begin(), slots.send.end(), is_there),
           "model: a slot that is not there");
}

void check_operations(const Model& model, std::size_t at) {
    const bool is_template = model.work.rules[at] != nullptr;
    for (const Op& op : model.work.distinct_jobs[at]->ops) {
        ensure(op.resource == unlimited || op.resource < model.work.resources.capacity.size(),
               "model: an operation in a slot that is not there");
        ensure(op.kind != OpKind::collective || op.custom == none || op.custom < model.collectives.custom.size(),
               "model: an operation of a custom collective that is not there");
        ensure(is_template || op.communicator < model.collectives.communicators.size(),
               "model: an operation of a communicator that is not there");
    }
}

}  // namespace

void check_jobs(const Model& model) {
    ensure(model.work.job_of.size() == model.ranks(), "model: one job for each rank");
    const std::size_t count = model.work.distinct_jobs.size();
    ensure(model.work.rules.size() == count, "model: rules for each job");
    for (u32 job : model.work.job_of) {
        ensure(job < count, "model: a rank of a job that is not there");
    }
    for (const auto& job : model.work.distinct_jobs) {
        ensure(job != nullptr, "model: a job is missing");
    }
}

void check_model(const Model& model) {
    check_network(model);
    check_communicators(model);
    check_slots(model.work.resources);
    check_jobs(model);
    for (std::size_t at = 0; at < model.work.distinct_jobs.size(); ++at) {
        check_operations(model, at);
    }
}

}  // namespace yantra
