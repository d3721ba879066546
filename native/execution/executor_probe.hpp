// What a recorded run notes of nodes.
#pragma once

#include <vector>

#include "base/ensure.hpp"
#include "base/ids.hpp"
#include "engine/rank_events.hpp"
#include "record/gate.hpp"
#include "record/recorder.hpp"
#include "workload/job.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct ExecutorProbe {
    explicit ExecutorProbe(Recorder&) {}
    void keeps(const std::vector<u32>&, u32, std::size_t) {}
    void plays(u32, RankId, u64) {}
    void plays_no_more(u32) {}
    void grows(std::size_t) {}
    void issued(ActorId, u32, u64, const Op&) {}
    void ended(ActorId, u32, const Op&) {}
    void node_done(const RankEvent&, u64, u32, NodeClass) {}
    void rank_begins(const RankEvent&, u64, u32) {}
    void frees(u32) {}
    void finished(ActorId) {}
};

#else

// Nodes are numbered among those of all actors.
class ExecutorProbe {
public:
    explicit ExecutorProbe(Recorder& recorder) : recorder_(recorder) {}

    void keeps(const std::vector<u32>& capacity, u32 actors, std::size_t nodes) {
        capacity_ = capacity;
        slots_.resize(actors * capacity.size());
        recorder_.recording().finished.assign(actors, none);
        grows(nodes);
        recorder_.begin(0, none, Why::nothing, none, false);
    }
    void grows(std::size_t nodes) {
        ensure(nodes < Moment::no_subject, "more nodes than a recording numbers");
        parents_.resize(nodes);
        recorder_.recording().issued.resize(nodes, none);
        recorder_.recording().ended.resize(nodes, none);
        recorder_.recording().instance.resize(nodes, none);
    }
    // Call in order of actors.
    void plays(u32 first_node, RankId rank, u64 ranks) {
        recorder_.recording().first_node.push_back(first_node);
        recorder_.recording().rank.push_back(rank.index());
        recorder_.recording().alike.push_back(ranks);
    }
    void plays_no_more(u32 nodes) { recorder_.recording().first_node.push_back(nodes); }

    void issued(ActorId actor, u32 node, u64 now, const Op& op) {
        Recorder::Join join(recorder_, now, node);
        join.with_all(parents_[node]);
        if (holds_slot(op)) {
            slot(actor, op).pass(recorder_, join, capacity_[op.resource]);
        }
        if (op.kind == OpKind::skip) {
            join.apart();   // its end is one of the things that happen now
        }
        recorder_.recording().issued[node] = recorder_.now();
        recorder_.owner = node;
    }
    void ended(ActorId actor, u32 node, const Op& op) {
        recorder_.recording().ended[node] = recorder_.now();
        if (holds_slot(op)) {
            recorder_.push(slot(actor, op).freed, recorder_.now());
        }
    }
    void node_done(const RankEvent& event, u64 now, u32 node, NodeClass of) {
        const Why why = of == NodeClass::gpu                  ? Why::compute
                        : of == NodeClass::cpu                ? Why::host
                        : of == NodeClass::memory             ? Why::memory
                        : of == NodeClass::unexplained_device ? Why::unexplained_device
                        : of == NodeClass::unexplained_host   ? Why::unexplained_host
                        : of == NodeClass::communication      ? Why::communication
                                                              : Why::other;
        recorder_.begin(now, event.trail.cause, why, node, false);
    }
    void rank_begins(const RankEvent& event, u64 now, u32 node) {
        recorder_.begin(now, event.trail.cause, Why::begin, node, false);
    }
    void frees(u32 child) { recorder_.push(parents_[child], recorder_.now()); }
    void finished(ActorId actor) {
        recorder_.recording().finished[actor.index()] = recorder_.now();
    }

private:
    static bool holds_slot(const Op& op) {
        return op.kind != OpKind::skip && op.resource != unlimited;
    }
    Gate& slot(ActorId actor, const Op& op) {
        return slots_[actor.index() * capacity_.size() + op.resource];
    }

    Recorder& recorder_;
    std::vector<u32> capacity_;
    std::vector<Gate> slots_;           // by actor and slot
    std::vector<MomentList> parents_;   // by node: ends of those it waits for
};

#endif

}  // namespace yantra
