#include "collective/runtime/queues.hpp"

#include <algorithm>
#include <vector>

namespace yantra {

ChunkQueues::ChunkQueues(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
                         Engine& engine, Chunks& chunks, PhaseWatcher* watcher)
    : parameters_(parameters),
      semantics_(semantics),
      actors_(actors),
      engine_(engine),
      chunks_(chunks),
      watcher_(watcher),
      queues_per_set_(yantra::queues_per_set(parameters)),
      most_running_((parameters.system.active_chunks + parameters.system.queues_per_dimension - 1) /
                    parameters.system.queues_per_dimension),
      probe_(engine.recorder()) {
    const u32 sets = *std::max_element(parameters.queue_sets.begin(), parameters.queue_sets.end()) + 1;
    state_.queues.assign(actors.count(), std::vector<Queue>(sets * queues_per_set_));
    state_.orders.assign(actors.communicator_classes(), std::vector<PhaseOrder>(queues_per_set_));
    probe_.keeps(actors.count(), sets * queues_per_set_, most_running_);
}

void ChunkQueues::enter(ChunkId id) {
    const Chunk& chunk = chunks_[id];
    ChunkLine& queue = state_.queues[chunk.actor][chunk.queue].chunks;
    const std::size_t at = goes_last(queue, chunk) ? queue.size() : insertion_point(queue, chunk);
    queue.insert(at, id);
    probe_.enters(id);
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->chunk_enters(chunk.actor, chunk.queue, queue.back() == id);
    }
}

ChunkId ChunkQueues::next(ActorId actor, u32 queue) {
    Queue& q = state_.queues[actor][queue];
    if (!semantics_.quirks.phases_as_ready && !move_next_to_front(actor, q)) {
        return ChunkId::none;
    }
    const ChunkId chunk = q.chunks[q.running];
    if (q.running + std::size_t{1} < q.chunks.size()) {
        chunks_.fetch(q.chunks[q.running + std::size_t{1}]);   // it comes next, and was made long ago
    }
    Chunk& c = chunks_[chunk];
    c.started = true;
    return chunk;
}

// All members start phases in the order of whichever member comes first to each, so none deadlock:
// of the phases begun somewhere and not ended everywhere, every member can start the one begun
// first.
bool ChunkQueues::move_next_to_front(ActorId actor, Queue& q) {
    const Chunk& head = chunks_[q.chunks[q.running]];
    if (head.end_phase - head.first_phase == 1) {
        return true;  // chunks of one phase are in order anyway
    }
    const u32 of_class = actors_.communicator_class(actor, head.communicator);
    PhaseOrder& order = state_.orders[of_class][head.queue % queues_per_set_];
    PhaseStart& start = phase_to_start(head, q, order, of_class);
    const u32 communicator = head.communicator;
    const auto waiting = q.chunks.begin() + q.running;
    const auto found = std::find_if(waiting, q.chunks.end(), [&](ChunkId id) {
        const Chunk& c = chunks_[id];
        return c.id - parameters_.communicators[communicator].first_chunk == start.chunk &&
               Chunks::phase_number(c) == start.phase;
    });
    if (watcher_ != nullptr && found != waiting) [[unlikely]] {
        watcher_->phase_overtakes(actor, start.tick);
    }
    if (found == q.chunks.end()) {
        return false;
    }
    std::rotate(waiting, found, found + 1);
    ++q.next_start;
    --start.members_left;
    for (; !order.coming.empty() && order.coming.front().members_left == 0; ++order.passed) {
        order.coming.erase(order.coming.begin());
    }
    return true;
}

ChunkQueues::PhaseStart& ChunkQueues::phase_to_start(const Chunk& head, Queue& q, PhaseOrder& order,
                                                     u32 of_class) {
    if (q.next_start == order.passed + order.coming.size()) {
        if (watcher_ != nullptr) [[unlikely]] {
            watcher_->phase_order_grows(head.actor, of_class, head.queue % queues_per_set_,
                                        order.coming.empty() ? ~u64{0} : order.coming.back().tick);
        }
        const u32 ranks = parameters_.plans[head.plan].communicator_size;
        order.coming.push_back({number_of(head), Chunks::phase_number(head),
                                actors_.members(of_class, ranks), engine_.now()});
    }
    return order.coming[q.next_start - order.passed];
}

// The usual case: under FIFO the last is the least urgent.
inline bool ChunkQueues::goes_last(const ChunkLine& queue, const Chunk& chunk) const {
    if (queue.empty()) {
        return true;
    }
    const Chunk& last = chunks_[queue.back()];
    return parameters_.system.intra_dimension == IntraDimension::fifo &&
           (last.started || last.priority >= chunk.priority);
}

std::size_t ChunkQueues::insertion_point(const ChunkLine& queue, const Chunk& chunk) const {
    const bool by_policy = parameters_.system.intra_dimension != IntraDimension::fifo &&
                           chunk.custom == none && gathers_or_scatters(chunks_.phase_of(chunk).kind);
    return by_policy ? policy_point(queue, chunk) : priority_point(queue, chunk);
}

std::size_t ChunkQueues::priority_point(const ChunkLine& queue, const Chunk& chunk) const {
    if (parameters_.system.intra_dimension == IntraDimension::fifo) {
        std::size_t at = queue.size();
        while (at > 0 && !chunks_[queue[at - 1]].started &&
               chunks_[queue[at - 1]].priority < chunk.priority) {
            --at;
        }
        return at;
    }
    std::size_t at = 0;
    while (at < queue.size() &&
           (chunks_[queue[at]].started || chunks_[queue[at]].priority >= chunk.priority)) {
        ++at;
    }
    return at;
}

u64 ChunkQueues::largest_side(const Chunk& chunk) const {
    const Phase& phase = chunks_.phase_of(chunk);
    const Program& program = parameters_.programs[phase.program];
    return std::max(phase.data, program.result.of(phase.data, program.round_up));
}

// astra-sim-semantics 4.7; Themis, ISCA 2022, section 4.3 for smallest chunk first.
std::size_t ChunkQueues::policy_point(const ChunkLine& queue, const Chunk& chunk) const {
    auto phases_after = [](const Chunk& c) { return c.end_phase - c.phase - 1; };
    std::size_t at = 0;
    switch (parameters_.system.intra_dimension) {
        case IntraDimension::smallest_first: {
            if (phases_after(chunk) == 1) {
                return queue.size();
            }
            const u64 own = largest_side(chunk);
            while (at < queue.size() &&
                   (chunks_[queue[at]].started || largest_side(chunks_[queue[at]]) < own)) {
                ++at;
            }
            return at;
        }
        case IntraDimension::less_remaining_phase_first:
            while (at < queue.size() && (chunks_[queue[at]].started ||
                                         phases_after(chunks_[queue[at]]) < phases_after(chunk))) {
                ++at;
            }
            return at;
        case IntraDimension::rg:
            return alternating_point(queue, chunk);
        case IntraDimension::fifo:
            break;
    }
    return priority_point(queue, chunk);
}

// RG: a pair of both kinds that ends here is kept together.
std::size_t ChunkQueues::alternating_point(const ChunkLine& queue,
                                           const Chunk& chunk) const {
    CollectiveKind before = CollectiveKind::barrier;
    CollectiveKind current = CollectiveKind::barrier;
    std::size_t at = 0;
    auto look = [&] {
        before = current;
        current = chunks_.phase_of(chunks_[queue[at]]).kind;
    };
    while (at < queue.size()) {
        look();
        const Chunk& other = chunks_[queue[at]];
        if (other.started) {
            ++at;
            if (at < queue.size() && !chunks_[queue[at]].started) {
                look();
                ++at;
            }
        } else if (other.priority > chunk.priority ||
                   (gathers_or_scatters(before) && gathers_or_scatters(current) &&
                    before != current)) {
            ++at;
        } else {
            break;
        }
    }
    return at;
}

}  // namespace yantra
