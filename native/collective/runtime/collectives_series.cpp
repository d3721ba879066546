// Successive one-phase chunks: one represents all, or each is made in its turn.
//
// On one level a collective's chunks have a queue to themselves and run one by one. If their ends
// are known (PhaseTimes), they end in one event; else a chunk that ends becomes the next, with its
// place in queue and tables.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/ensure.hpp"
#include "base/vector.hpp"
#include "collective/runtime/collectives.hpp"

namespace yantra {

namespace {

constexpr std::size_t most_turns = std::numeric_limits<u8>::max();

}  // namespace

// One collective at a time, in first-in, first-out queues.
bool Collectives::keeps_turns(bool all_share_queues) const {
    const SystemParameters& system = parameters_.system;
    return options_.one_at_a_time && (!all_share_queues || options_.one_slot_kind) &&
           system.queues_per_dimension == 1 && system.active_chunks == 1 &&
           system.intra_dimension == IntraDimension::fifo && !options_.match_by_tag;
}

// Nobody else sees the others end.
bool Collectives::cut_at_once(const CollectiveRequest& request, Entry& entry) {
    u64 after = 0;
    const bool does_something = plan_series(request, parameters_.plans[entry.plan], after);
    const std::size_t most = options_.times->may_not_hold() ? most_turns : series_.size();
    if (series_.size() > 1 && series_.size() <= most && are_known(request, entry.plan)) {
        Vector<u64> more;
        for (std::size_t at = 1; at < series_.size(); ++at) {
            more.push_back(series_[at].data);
        }
        enter(request, entry);
        if (options_.times->may_not_hold()) {
            make_chunk(entry, series_, more, 0, static_cast<u8>(more.size()));
        } else {
            remember_series(request, entry.plan, more);
            const Phase first = series_.front();
            make_chunk(entry, {&first, 1}, more);
        }
        planner_.chunks_made(request.actor, request.communicator) = after;
        return does_something;
    }
    make_all(request, entry);
    return does_something;
}

// `after`: the chunk count once they are made.
bool Collectives::plan_series(const CollectiveRequest& request, const Plan& plan, u64& after) {
    u64& made = planner_.chunks_made(request.actor, request.communicator);
    const u64 before = made;
    const u32 queue_set = parameters_.queue_sets[request.communicator];
    const SeriesOf of{&plan, request.bytes, request.involved, queue_set, request.kind};
    if (of == series_of_) {   // most often that of another rank
        after = before + series_.size();
        return true;
    }
    series_.clear();
    const bool does_something = planner_.cut(request, plan, [&](const Vector<Phase>& phases) {
        ensure(phases.size() == 1, "several phases on one level");
        series_.push_back(phases.front());
        ++made;
    });
    after = made;
    made = before;
    series_of_exchanges_ = std::all_of(series_.begin(), series_.end(),
                                       [this](const Phase& phase) { return is_exchange(phase); });
    series_of_ = does_something && planner_.cuts_alike(request.kind, plan) ? of : SeriesOf{};
    return does_something;
}

void Collectives::make_all(const CollectiveRequest& request, Entry& entry) {
    const Vector<Phase> all = series_;   // what starts may re-enter here
    for (const Phase& phase : all) {
        enter(request, entry);
        make_chunk(entry, {&phase, 1});
    }
}

// Later ones only wait.
bool Collectives::cut_in_turns(const CollectiveRequest& request, Entry& entry) {
    u64 after = 0;
    const bool does_something = plan_series(request, parameters_.plans[entry.plan], after);
    if (series_.size() < 2 || series_.size() > most_turns || !series_of_exchanges_) {
        make_all(request, entry);
        return does_something;
    }
    enter(request, entry);
    make_chunk(entry, series_, {}, 0, static_cast<u8>(series_.size() - 1));
    *entry.made = after;
    return does_something;
}

const Collectives::Series* Collectives::known_series(const CollectiveRequest& request, u32 plan_index) const {
    if (known_series_.size() <= request.actor.index()) {
        return nullptr;
    }
    for (const Series& series : known_series_[request.actor.index()]) {
        if (series.bytes == request.bytes && series.communicator == request.communicator &&
            series.plan == plan_index && series.kind == request.kind && series.involved == request.involved) {
            return &series;
        }
    }
    return nullptr;
}

void Collectives::remember_series(const CollectiveRequest& request, u32 plan_index, const Vector<u64>& more) {
    if (known_series_.empty()) {
        known_series_.resize(actors_.count());
    }
    Vector<Series>& known = known_series_[request.actor.index()];
    if (known.size() < most_series && parameters_.plans[plan_index].levels.front().alternation == none) {
        known.push_back({request.bytes, request.involved, plan_index, request.communicator, request.kind,
                         series_.front(), more});
    }
}

bool Collectives::are_known(const CollectiveRequest& request, u32 plan_index) {
    const Phase& first = series_.front();
    u64 asked = ~first.data;
    for (const Phase& phase : series_) {
        const bool is_alike = phase.program == first.program && phase.queue == first.queue &&
                              phase.clockwise == first.clockwise && is_exchange(phase);
        if (!is_alike) {
            return false;
        }
        if (phase.data != asked) {
            asked = phase.data;
            const PhaseInput input = input_of(phase, request.actor, plan_index, request.communicator);
            if (options_.times->most_alike(input) < series_.size()) {
                return false;
            }
        }
    }
    return true;
}

void Collectives::next_turn(ChunkId chunk) {
    take_turn(chunk);
    start_phase(chunk);
}

void Collectives::take_turns(ChunkId chunk, u32 turns) {
    for (; turns > 0; --turns) {
        take_turn(chunk);
        chunks_[chunk].phase = chunks_[chunk].first_phase;
    }
}

void Collectives::take_turn(ChunkId chunk) {
    Chunk& c = chunks_[chunk];
    Entry entry;
    entry.of_class = tables_.communicator_class(c.table);
    entry.members = tables_.members(c.table);
    entry.member = c.member;
    entry.first_chunk = parameters_.communicators[c.communicator].first_chunk;
    tables_.leave(c.table, c.member);
    chunks_.takes_next_turn(chunk);
    const std::array shapes{shape_of(chunks_.phase(c.first_phase)), shape_of_bytes(c)};
    join_table(chunk, entry, std::span(shapes).first(tells_bytes() ? 2 : 1));
}

}  // namespace yantra
