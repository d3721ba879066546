#include "execution/nodes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/never.hpp"

namespace yantra {

Nodes::Nodes(const Model& model, const Actors& actors)
    : model_(model),
      actors_(actors),
      slots_(static_cast<u32>(model.work.resources.capacity.size())) {
    const auto& work = model.work;
    const auto job_of = [&](u32 at) -> const std::shared_ptr<const Job>& {
        return work.distinct_jobs[work.job_of[actors.rank(ActorId(at)).index()]];
    };
    state_.actors.resize(actors.count());
    state_.occupied.resize(std::size_t{actors.count()} * slots_);
    state_.finish.assign(actors.count(), never);
    std::size_t nodes = 0;
    for (u32 at = 0; at < actors.count(); ++at) {
        nodes += job_of(at)->graph->size();
    }
    state_.start.reserve(nodes);
    state_.end.reserve(nodes);
    for (u32 at = 0; at < actors.count(); ++at) {
        ReadySet ready(slots_);
        for (u32 slot = 0; slot < slots_; ++slot) {
            if (work.resources.capacity[slot] == 0) {
                ready.shut(slot);
            }
        }
        state_.actors[ActorId(at)].ready = std::move(ready);
        add(ActorId(at), job_of(at), none);
    }
}

const Nodes::Part& Nodes::add(ActorId actor, std::shared_ptr<const Job> job, u32 arrival) {
    OfActor& a = state_.actors[actor];
    Part part;
    part.first = static_cast<u32>(a.waiting.size());
    part.first_place = static_cast<u32>(state_.start.size());
    part.arrival = arrival;
    const u32 rank = actors_.rank(actor).index();
    if (const RankRules* const rules = model_.work.rules[model_.work.job_of[rank]].get();
        rules != nullptr && arrival == none) {
        part.tables = tables_of(*rules, rank);
        part.is_template = true;
    }
    const Graph& graph = *job->graph;
    a.waiting.insert(a.waiting.end(), graph.parent_count.begin(), graph.parent_count.end());
    ensure(state_.start.size() + graph.size() < none, "more nodes in a run than 32 bits count");
    state_.start.resize(state_.start.size() + graph.size(), never);
    state_.end.resize(state_.end.size() + graph.size(), never);
    part.ops = job->ops.data();
    part.graph = &graph;
    part.only_child = job->only_child.data();
    part.position = job->position.empty() ? nullptr : job->position.data();
    part.job = std::move(job);
    a.parts.push_back(std::move(part));
    return a.parts.back();
}

const Nodes::Part& Nodes::Parts::of_several(NodeId node) const {
    const auto after = std::upper_bound(
        later_.begin(), later_.end(), node.index(),
        [](u32 number, const Part& part) { return number < part.first; });
    return after == later_.begin() ? first_ : *(after - 1);
}

}  // namespace yantra
