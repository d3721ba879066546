// Collectives: cut into chunks (streams), planned as phases, queued per dimension and run
// (astra-sim-semantics 4).
#include <algorithm>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

bool gathers_or_scatters(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
}

}  // namespace

void Simulation::start_collective(u32 rank, u32 node) {
    Rank& r = ranks_[rank];
    const Op& op = op_of(rank, node);
    if (themis_) {
        themis_->collective_starts(rank, queue_.now());
    }
    if constexpr (recorded_run) {
        record_collective(rank, node);
    }
    i64 priority = op.priority;
    if (model_.system.priority != Priority::given) {
        priority = model_.system.priority == Priority::lifo ? r.next_priority++ : r.next_priority--;
    }
    const u32 communicator = communicator_of(rank, op);
    if (folded_) [[unlikely]] {
        note_collective(rank, communicator);
    }
    const u32 plan = model_.form_of(communicator).plan[static_cast<std::size_t>(op.collective)];
    const u32 custom = op.custom != none ? op.custom : model_.plans[plan].custom;
    if (custom != none) {
        start_custom(rank, node, plan, custom, priority);
    } else {
        start_chunks(rank, node, plan, priority);
    }
}

void Simulation::start_custom(u32 rank, u32 node, u32 plan, u32 custom, i64 priority) {
    const u32 dataset = datasets_.take({rank, node, 0});
    planned_.assign(1, Phase{});
    make_stream(rank, dataset, plan, custom, priority);
}

// Upstream gives every chunk the same size, at least one byte per rank of the whole system, and
// rounds their number up; without the quirk the chunks add up to the collective's size.
void Simulation::start_chunks(u32 rank, u32 node, u32 plan_index, i64 priority) {
    const Op& op = op_of(rank, node);
    const Plan& plan = model_.plans[plan_index];
    if (plan.levels.empty()) {  // a group of one rank
        local_.schedule(rank, 0, node_done, node, none);
        return;
    }
    const u64 splits = model_.system.chunks;
    u64 left = op.bytes;
    u64 chunk = model_.quirks.padded_chunks ? left / splits : (left + splits - 1) / splits;
    const bool whole = op.collective == CollectiveKind::barrier;  // a signal is not cut
    u64 pieces = whole ? 1 : std::max<u64>(1, std::min(splits, left));
    if (model_.quirks.padded_chunks) {
        if (op.collective != CollectiveKind::all_gather && grid_.ranks() > chunk) {
            chunk = grid_.ranks();
            left = splits * chunk;
        }
        chunk = std::max<u64>(chunk, 1);  // an all-gather of fewer bytes than chunks: endless upstream
        if (left == 0) {
            local_.schedule(rank, 0, node_done, node, none);
            return;
        }
        pieces = (left + chunk - 1) / chunk;
    }
    const bool balanced = themis_ && plan.shared_load && left > 0 &&
                          (gathers_or_scatters(op.collective) ||
                           op.collective == CollectiveKind::all_reduce);
    const u32 dataset = datasets_.take({rank, node, 0});
    for (u64 piece = 0; balanced ? left > 0 : piece < pieces; ++piece) {
        u64 data = chunk;
        if (balanced) {
            const u64 number = streams_made(rank, communicator_of(rank, op));
            ThemisDecision decision =
                themis_->choose(number, left, chunk, op.collective, op.involved);
            data = decision.bytes;
            left -= data;
            order_ = std::move(decision.order);
        } else {
            if (!model_.quirks.padded_chunks) {
                data = left / pieces + (piece < left % pieces ? 1 : 0);
            }
            order_levels(rank, op, plan);
        }
        planned_.clear();
        build_phases(rank, op, plan, data, balanced);
        make_stream(rank, dataset, plan_index, none, priority);
    }
}

// The levels in the order in which a stream visits them: data that grows takes the inner ones last,
// and so does what spreads from one rank.
void Simulation::order_levels(u32 rank, const Op& op, const Plan& plan) {
    order_.resize(plan.levels.size());
    for (u32 level = 0; level < order_.size(); ++level) {
        order_[level] = level;
    }
    if (op.collective == CollectiveKind::all_gather || op.collective == CollectiveKind::gather ||
        op.collective == CollectiveKind::broadcast) {
        std::reverse(order_.begin(), order_.end());
    }
    if (model_.system.inter_dimension == InterDimension::round_robin && plan.shared_load) {
        u32& rotation = ranks_[rank].rotation;
        std::rotate(order_.begin(), order_.begin() + rotation, order_.end());
        rotation = (rotation + 1) % static_cast<u32>(order_.size());
    }
}

void Simulation::build_phases(u32 rank, const Op& op, const Plan& plan, u64 data, bool balanced) {
    const ChunkPlace chunk{rank, communicator_of(rank, op), &plan};
    usable_.clear();
    for (u32 level : order_) {
        const bool involved = !plan.masked || (op.involved >> plan.levels[level].dimension & 1) != 0;
        if (involved && plan.levels[level].size > 1) {
            usable_.push_back(level);
        }
    }
    ensure(!usable_.empty(), "a collective over no dimension");
    const bool hierarchical =
        op.collective == CollectiveKind::all_reduce && model_.system.local_bw_aware;
    if (!hierarchical) {
        for (u32 level : usable_) {
            add_phase(chunk, level, op.collective, Half::any, data);
        }
        leave_out_phases(chunk, op.collective);
        return;
    }
    const std::size_t scattered = balanced ? usable_.size() : usable_.size() - 1;
    for (std::size_t i = 0; i < scattered; ++i) {
        add_phase(chunk, usable_[i], CollectiveKind::reduce_scatter, Half::first, data);
    }
    if (!balanced) {
        add_phase(chunk, usable_.back(), CollectiveKind::all_reduce, Half::first, data);
    }
    for (std::size_t i = scattered; i-- > 0;) {
        add_phase(chunk, usable_[i], CollectiveKind::all_gather, Half::last, data);
    }
}

// Of a collective with a root, a rank takes part in a phase only if it has data there: on the way to
// the root if it was first in all phases before, on the way from the root if it is first in all after.
void Simulation::leave_out_phases(const ChunkPlace& chunk, CollectiveKind kind) {
    const bool to_root = kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
    const bool from_root = kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter;
    if (!to_root && !from_root) {
        return;
    }
    bool idle = false;
    for (std::size_t i = 0; i < planned_.size(); ++i) {
        Phase& phase = planned_[to_root ? i : planned_.size() - 1 - i];
        phase.idle = idle;
        idle = idle || place_in(chunk, phase.level).position != 0;
    }
}

void Simulation::add_phase(const ChunkPlace& chunk, u32 level_index, CollectiveKind kind, Half half,
                           u64& data) {
    Rank& r = ranks_[chunk.rank];
    const Level& level = chunk.plan->levels[level_index];
    Phase phase;
    phase.data = data;
    phase.level = level_index;
    phase.kind = kind;
    phase.fixed_hand_over = level.fixed_hand_over;
    phase.program = level.program[static_cast<std::size_t>(kind)];
    if (level.turn != none && takes_alternate(chunk, level)) {
        phase.program = level.alternate[static_cast<std::size_t>(kind)];
    }
    ensure(phase.program != no_program, "a phase without a program");
    phase.queue = model_.lanes[chunk.communicator] * queues_per_lane_ +
                  level.dimension * model_.system.queues_per_dimension;
    if (model_.quirks.half_queues) {
        choose_queue_by_half(r, level.dimension, half, phase);
    } else {
        choose_queue_by_chunk(chunk, half, phase);
    }
    const Program& program = model_.programs[phase.program];
    // Upstream's tree runs an all-reduce whatever asked for it, and the schedulers see what runs.
    if (gathers_or_scatters(kind) && program.result.num == program.result.den) {
        phase.kind = CollectiveKind::all_reduce;
    }
    data = program.result.of(data, program.round_up);
    planned_.push_back(phase);
}

// Whether a phase runs the second of two programs: every second chunk of the communicator does, so
// that its members agree. Upstream counts the phases of each rank.
bool Simulation::takes_alternate(const ChunkPlace& chunk, const Level& level) {
    const u64 number = model_.quirks.phases_as_ready ? next_turn(chunk, level)
                                                     : streams_made(chunk.rank, chunk.communicator);
    return number % 2 != 0;
}

u64 Simulation::next_turn(const ChunkPlace& chunk, const Level& level) {
    std::vector<TurnCount>& turns = ranks_[chunk.rank].turns;
    const u32 base = chunk.plan->over_members ? model_.communicators[chunk.communicator].base : 0;
    auto found = std::find_if(turns.begin(), turns.end(), [&](const TurnCount& t) {
        return t.turn == level.turn && t.base == base;
    });
    if (found == turns.end()) {
        found = turns.insert(found, {level.turn, base, 0});
    }
    return found->count++;
}

// Counts the phases of each half of a dimension's queues, whatever their communicator.
void Simulation::choose_queue_by_half(Rank& r, u32 dimension, Half half, Phase& phase) const {
    const u32 queues = model_.system.queues_per_dimension;
    RoundRobin& robin = r.robin[dimension];
    u32 queue;
    if (half == Half::any) {
        queue = robin.any;
        robin.any = (robin.any + 1) % queues;
        phase.clockwise = queues == 1 || queue < queues / 2;
    } else if (half == Half::first) {
        queue = robin.first;
        robin.first = queues > 1 ? (robin.first + 1) % (queues / 2) : 0;
        phase.clockwise = true;
    } else {
        queue = robin.last;
        robin.last = queues > 1 && robin.last + 1 < queues ? robin.last + 1
                     : queues > 1                          ? queues / 2
                                                           : 0;
        phase.clockwise = false;
    }
    phase.queue += queue;
}

// The number of the chunk within its communicator decides, so that all members agree on the queue
// and on the direction around a ring.
void Simulation::choose_queue_by_chunk(const ChunkPlace& chunk, Half half, Phase& phase) {
    const u32 queues = model_.system.queues_per_dimension;
    const u64 number = streams_made(chunk.rank, chunk.communicator);
    const u32 queue = static_cast<u32>(number % queues);
    phase.clockwise = half == Half::any ? queues == 1 || queue < queues / 2 : half == Half::first;
    phase.queue += queue;
}

u32 Simulation::store_phases() {
    const std::size_t length = planned_.size();
    if (free_phases_.size() <= length) {
        free_phases_.resize(length + 1);
    }
    u32 first;
    if (free_phases_[length].empty()) {
        first = static_cast<u32>(phases_.size());
        phases_.resize(phases_.size() + length);
    } else {
        first = free_phases_[length].back();
        free_phases_[length].pop_back();
    }
    std::copy(planned_.begin(), planned_.end(), phases_.begin() + first);
    return first;
}

// A stream starts at once: nothing limits how many of them wait in the queues.
void Simulation::make_stream(u32 rank, u32 dataset, u32 plan, u32 custom, i64 priority) {
    const u32 stream = streams_.take();
    Stream& s = streams_[stream];
    const u32 communicator = communicator_of(rank, op_of(rank, datasets_[dataset].node));
    s.id = model_.communicators[communicator].first_stream + streams_made(rank, communicator)++;
    s.tag = static_cast<u32>(s.id % tag_space) + tag_space;
    s.priority = priority;
    s.rank = rank;
    s.dataset = dataset;
    s.plan = plan;
    s.custom = custom;
    s.first_phase = store_phases();
    s.end_phase = s.first_phase + static_cast<u32>(planned_.size());
    ++datasets_[dataset].streams_left;
    if (custom == none && !match_by_tag_) {
        join_meeting(stream, communicator);
        // Streams that do not meet do not hear of each other, whatever their numbers and sizes.
        if (!model_.quirks.mismatched_collectives_meet) {
            s.tag = s.meeting % tag_space + tag_space;
        }
    }
    proceed(stream);
}

// Takes the stream to its next phase, or to its end. The completion of the collective, and all the
// work this starts, comes before the stream leaves its queue; the slot it held in the old queue is
// filled before it starts in the new one.
void Simulation::proceed(u32 stream) {
    const u32 rank = streams_[stream].rank;
    const u32 old_queue = streams_[stream].queue;
    const u32 phase =
        streams_[stream].phase == none ? streams_[stream].first_phase : streams_[stream].phase + 1;
    const bool ended = phase == streams_[stream].end_phase;
    if (folded_) [[unlikely]] {
        settle_ties(rank);
    }
    if (ended) {
        stream_finished(streams_[stream].dataset);
    }
    if (old_queue != none) {
        if (folded_) [[unlikely]] {
            ties_.leaves(rank, queue_.now(), old_queue);
        }
        std::vector<u32>& waiting = ranks_[rank].queues[old_queue].streams;
        waiting.erase(std::find(waiting.begin(), waiting.end(), stream));
    }
    if (ended) {
        remove_from_queue(rank, old_queue);
        leave_meeting(stream);
        const u32 first = streams_[stream].first_phase;
        free_phases_[streams_[stream].end_phase - first].push_back(first);
        streams_.give_back(stream);
        return;
    }
    Stream& s = streams_[stream];
    s.phase = phase;
    s.queue = phases_[phase].queue;
    s.initialised = false;
    const u32 queue = s.queue;
    std::vector<u32>& entered = ranks_[rank].queues[queue].streams;
    insert_into_queue(entered, stream);
    if constexpr (recorded_run) {
        record_entry(stream);
    }
    if (folded_) [[unlikely]] {
        ties_.enters(rank, queue_.now(), queue, one_at_a_time_ && entered.back() == stream,
                     model_.system.intra_dimension == IntraDimension::rg);
    }
    if (old_queue != none) {
        remove_from_queue(rank, old_queue);
    }
    start_queue(rank, queue);
}

void Simulation::stream_finished(u32 dataset) {
    const Recorder::Scope scope(recorder());
    if constexpr (recorded_run) {
        record_stream_end(dataset);
    }
    if (--datasets_[dataset].streams_left > 0) {
        return;
    }
    const Dataset done = datasets_[dataset];
    datasets_.give_back(dataset);
    complete_node(done.rank, done.node);
}

void Simulation::remove_from_queue(u32 rank, u32 queue) {
    --ranks_[rank].queues[queue].running;
    if constexpr (recorded_run) {
        record_leaving(rank, queue);
    }
    start_queue(rank, queue);
}

void Simulation::start_queue(u32 rank, u32 queue) {
    for (;;) {
        Queue& q = ranks_[rank].queues[queue];
        if (q.running >= queue_threshold_ || q.running >= q.streams.size()) {
            return;
        }
        if (!model_.quirks.phases_as_ready && !take_turn(q)) {
            return;
        }
        const u32 stream = q.streams[q.running];
        streams_[stream].initialised = true;
        const Recorder::Scope scope(recorder());
        if constexpr (recorded_run) {
            record_phase(rank, queue, stream);
        }
        start_phase(stream);
        ++q.running;
    }
}

// All members of a communicator start the phases of its chunks in one order, that of the member which
// comes first to each. Were each to start what is ready, two ranks that are not in step would run
// different chunks and wait for each other for ever. This cannot: take, of the phases that have begun
// somewhere and not ended everywhere, the one that began first. The phase before it has ended, and
// so has all that comes before it in its queue, so every member can start it.
//
// Moves the stream whose turn it is to the front of those that wait; false if it has yet to come.
bool Simulation::take_turn(Queue& q) {
    const Stream& head = streams_[q.streams[q.running]];
    if (head.end_phase - head.first_phase == 1) {
        return true;  // chunks of one phase are in order anyway
    }
    const u32 communicator =
        communicator_of(head.rank, op_of(head.rank, datasets_[head.dataset].node));
    const u32 shared = circle(head.rank, communicator);
    Turns& turns = turns_[shared][head.queue % queues_per_lane_];
    auto same = [this, communicator](const Turn& turn, u32 stream) {
        const Stream& s = streams_[stream];
        return s.id - model_.communicators[communicator].first_stream == turn.stream &&
               s.phase - s.first_phase == turn.phase;
    };
    if (q.turn == turns.passed + turns.coming.size()) {
        if (folded_ && !turns.coming.empty() && turns.coming.back().tick == queue_.now() &&
            turns.coming.back().event != ties_.event()) {
            ties_.note("chunks take the turns of a group in one tick", head.rank);
        }
        const u64 number = head.id - model_.communicators[communicator].first_stream;
        turns.coming.push_back({number, head.phase - head.first_phase, members_of(head, shared),
                                queue_.now(), ties_.event()});
    }
    Turn& turn = turns.coming[q.turn - turns.passed];
    const auto waiting = q.streams.begin() + q.running;
    const auto found = std::find_if(waiting, q.streams.end(),
                                    [&](u32 stream) { return same(turn, stream); });
    if (folded_ && found != waiting && turn.tick == queue_.now()) {
        ties_.note("members of a group would start different chunks in one tick", head.rank);
    }
    if (found == q.streams.end()) {
        return false;
    }
    std::rotate(waiting, found, found + 1);
    ++q.turn;
    --turn.members_left;
    for (; !turns.coming.empty() && turns.coming.front().members_left == 0; ++turns.passed) {
        turns.coming.erase(turns.coming.begin());
    }
    return true;
}

void Simulation::insert_into_queue(std::vector<u32>& queue, u32 stream) {
    const Phase& phase = phase_of(streams_[stream]);
    const bool reordered = model_.system.intra_dimension != IntraDimension::fifo &&
                           streams_[stream].custom == none && gathers_or_scatters(phase.kind);
    const std::size_t at =
        reordered ? intra_dimension_point(queue, stream) : insertion_point(queue, stream);
    queue.insert(queue.begin() + static_cast<std::ptrdiff_t>(at), stream);
}

// Behind everything that runs or has at least the same priority.
std::size_t Simulation::insertion_point(const std::vector<u32>& queue, u32 stream) const {
    const i64 priority = streams_[stream].priority;
    if (model_.system.intra_dimension == IntraDimension::fifo) {
        // The waiting part is sorted, so look from the back, where the point usually is.
        std::size_t at = queue.size();
        while (at > 0 && !streams_[queue[at - 1]].initialised &&
               streams_[queue[at - 1]].priority < priority) {
            --at;
        }
        return at;
    }
    std::size_t at = 0;
    while (at < queue.size() &&
           (streams_[queue[at]].initialised || streams_[queue[at]].priority >= priority)) {
        ++at;
    }
    return at;
}

// Where a reduce-scatter or all-gather phase waits under the other intra-dimension policies
// (astra-sim-semantics 4.7; Themis, ISCA 2022, section 4.3 for smallest chunk first).
std::size_t Simulation::intra_dimension_point(const std::vector<u32>& queue, u32 stream) const {
    const Stream& s = streams_[stream];
    auto phases_after = [](const Stream& x) { return x.end_phase - x.phase - 1; };
    auto largest_side = [this](const Stream& x) {
        const Program& program = model_.programs[phase_of(x).program];
        return std::max(phase_of(x).data, program.result.of(phase_of(x).data, program.round_up));
    };
    std::size_t at = 0;
    switch (model_.system.intra_dimension) {
        case IntraDimension::smallest_first: {
            if (phases_after(s) == 1) {
                return queue.size();
            }
            const u64 own = largest_side(s);
            while (at < queue.size() &&
                   (streams_[queue[at]].initialised || largest_side(streams_[queue[at]]) < own)) {
                ++at;
            }
            return at;
        }
        case IntraDimension::less_remaining_phase_first:
            while (at < queue.size() && (streams_[queue[at]].initialised ||
                                         phases_after(streams_[queue[at]]) < phases_after(s))) {
                ++at;
            }
            return at;
        case IntraDimension::rg:
            return alternating_point(queue, s);
        case IntraDimension::fifo:
            break;
    }
    return insertion_point(queue, stream);
}

// RG: keeps reduce-scatters and all-gathers alternating. A pair of both kinds that ends with the
// element looked at is left in one piece.
std::size_t Simulation::alternating_point(const std::vector<u32>& queue, const Stream& s) const {
    CollectiveKind before = CollectiveKind::barrier;
    CollectiveKind current = CollectiveKind::barrier;
    std::size_t at = 0;
    auto look = [&] {
        before = current;
        current = phase_of(streams_[queue[at]]).kind;
    };
    while (at < queue.size()) {
        look();
        const Stream& other = streams_[queue[at]];
        if (other.initialised) {
            ++at;
            if (at < queue.size() && !streams_[queue[at]].initialised) {
                look();
                ++at;
            }
        } else if (other.priority > s.priority ||
                   (gathers_or_scatters(before) && gathers_or_scatters(current) &&
                    before != current)) {
            ++at;
        } else {
            break;
        }
    }
    return at;
}

void Simulation::start_phase(u32 stream) {
    Stream& s = streams_[stream];
    if (s.custom != none) {
        start_custom_phase(stream);
        return;
    }
    const Phase& phase = phase_of(s);
    if (phase.idle) {
        local_.schedule(s.rank, 0, phase_done, stream, none);
        return;
    }
    s.place = place_in(chunk_of(s), phase.level);
    const Program& program = model_.programs[phase.program];
    if (const auto* machine = std::get_if<ExchangeProgram>(&program.machine)) {
        if (shortcuts_ && closes(stream, *machine)) [[unlikely]] {
            return;
        }
        start_exchange(stream, program);
    } else {
        start_graph(stream);
    }
}

Place Simulation::place_in(const ChunkPlace& chunk, u32 level_index) const {
    return place_on(model_, *chunk.plan, level_index, chunk.communicator, real(chunk.rank));
}

// One write and two reads of the reduced bytes (astra-sim-semantics 5.2). The order of the
// operations decides the truncated value.
u64 Simulation::reduction_ticks(u64 bytes) const {
    const double bandwidth = model_.system.memory_bytes_per_s;
    if (bandwidth <= 0.0) {
        return 0;
    }
    return model_.scale.ticks(static_cast<double>(bytes) / bandwidth * 1e9, 3);
}

}  // namespace yantra
