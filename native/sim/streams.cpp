// Collectives: cut into chunks (streams), planned as phases, queued per dimension and run
// (astra-sim-semantics 4).
#include <algorithm>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"

namespace yantra {

namespace {

constexpr u32 tag_space = 500'000'000;  // collective tags lie above all point-to-point tags

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
    i64 priority = op.priority;
    if (model_.system.priority != Priority::given) {
        priority = model_.system.priority == Priority::lifo ? r.next_priority++ : r.next_priority--;
    }
    const u32 plan =
        model_.communicators[op.communicator].plan[static_cast<std::size_t>(op.collective)];
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
    u64 chunk = left / splits;
    u64 pieces = std::max<u64>(1, std::min(splits, left));
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
    const u64 total = left;
    const bool balanced = themis_ && plan.shared_load && op.collective != CollectiveKind::all_to_all;
    const u32 dataset = datasets_.take({rank, node, 0});
    for (u64 piece = 0; balanced ? left > 0 : piece < pieces; ++piece) {
        u64 data = chunk;
        if (balanced) {
            ThemisDecision decision = themis_->choose(ranks_[rank].streams[op.communicator], left,
                                                      chunk, op.collective, op.involved);
            data = decision.bytes;
            left -= data;
            order_ = std::move(decision.order);
        } else {
            if (!model_.quirks.padded_chunks) {
                data = total * (piece + 1) / pieces - total * piece / pieces;
            }
            order_levels(rank, op, plan);
        }
        planned_.clear();
        build_phases(rank, op, plan, data, balanced);
        make_stream(rank, dataset, plan_index, none, priority);
    }
}

// The levels in the order in which a stream visits them.
void Simulation::order_levels(u32 rank, const Op& op, const Plan& plan) {
    order_.resize(plan.levels.size());
    for (u32 level = 0; level < order_.size(); ++level) {
        order_[level] = level;
    }
    if (op.collective == CollectiveKind::all_gather) {
        std::reverse(order_.begin(), order_.end());
    }
    if (model_.system.inter_dimension == InterDimension::round_robin && plan.shared_load) {
        u32& rotation = ranks_[rank].rotation;
        std::rotate(order_.begin(), order_.begin() + rotation, order_.end());
        rotation = (rotation + 1) % static_cast<u32>(order_.size());
    }
}

void Simulation::build_phases(u32 rank, const Op& op, const Plan& plan, u64 data, bool balanced) {
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
            add_phase(rank, plan, level, op.collective, Half::any, data);
        }
        return;
    }
    const std::size_t scattered = balanced ? usable_.size() : usable_.size() - 1;
    for (std::size_t i = 0; i < scattered; ++i) {
        add_phase(rank, plan, usable_[i], CollectiveKind::reduce_scatter, Half::first, data);
    }
    if (!balanced) {
        add_phase(rank, plan, usable_.back(), CollectiveKind::all_reduce, Half::first, data);
    }
    for (std::size_t i = scattered; i-- > 0;) {
        add_phase(rank, plan, usable_[i], CollectiveKind::all_gather, Half::last, data);
    }
}

void Simulation::add_phase(u32 rank, const Plan& plan, u32 level_index, CollectiveKind kind,
                           Half half, u64& data) {
    Rank& r = ranks_[rank];
    const Level& level = plan.levels[level_index];
    Phase phase;
    phase.data = data;
    phase.level = level_index;
    phase.kind = kind;
    phase.fixed_hand_over = level.fixed_hand_over;
    phase.program = level.program[static_cast<std::size_t>(kind)];
    if (level.turn != none && (r.turns[level.turn]++ & 1) != 0) {
        phase.program = level.alternate[static_cast<std::size_t>(kind)];
    }
    ensure(phase.program != no_program, "a phase without a program");
    choose_queue(r, level.dimension, half, phase);
    const Program& program = model_.programs[phase.program];
    // Upstream's tree runs an all-reduce whatever asked for it, and the schedulers see what runs.
    if (gathers_or_scatters(kind) && program.result.num == program.result.den) {
        phase.kind = CollectiveKind::all_reduce;
    }
    data = program.result.of(data, program.round_up);
    planned_.push_back(phase);
}

void Simulation::choose_queue(Rank& r, u32 dimension, Half half, Phase& phase) const {
    const u32 queues = model_.system.queues_per_dimension;
    RoundRobin& robin = r.robin[dimension];
    u32 queue;
    if (half == Half::any || !model_.quirks.half_queues) {
        queue = robin.any;
        robin.any = (robin.any + 1) % queues;
        phase.clockwise = half == Half::any ? queues == 1 || queue < queues / 2 : half == Half::first;
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
    phase.queue = dimension * queues + queue;
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
    const u32 communicator = op_of(rank, datasets_[dataset].node).communicator;
    s.id = model_.communicators[communicator].first_stream + ranks_[rank].streams[communicator]++;
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
    if (ended) {
        stream_finished(streams_[stream].dataset);
    }
    if (old_queue != none) {
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
    insert_into_queue(ranks_[rank].queues[queue].streams, stream);
    if (old_queue != none) {
        remove_from_queue(rank, old_queue);
    }
    start_queue(rank, queue);
}

void Simulation::stream_finished(u32 dataset) {
    if (--datasets_[dataset].streams_left > 0) {
        return;
    }
    const Dataset done = datasets_[dataset];
    datasets_.give_back(dataset);
    complete_node(done.rank, done.node);
}

void Simulation::remove_from_queue(u32 rank, u32 queue) {
    --ranks_[rank].queues[queue].running;
    start_queue(rank, queue);
}

void Simulation::start_queue(u32 rank, u32 queue) {
    for (;;) {
        Queue& q = ranks_[rank].queues[queue];
        if (q.running >= queue_threshold_ || q.running >= q.streams.size()) {
            return;
        }
        const u32 stream = q.streams[q.running];
        streams_[stream].initialised = true;
        start_phase(stream);
        ++q.running;
    }
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
    s.place = place_in(s.rank, model_.plans[s.plan], phase.level);
    const Program& program = model_.programs[phase.program];
    if (std::holds_alternative<ExchangeProgram>(program.machine)) {
        start_exchange(stream, program);
    } else {
        start_graph(stream);
    }
}

void Simulation::end_phase(u32 stream) { proceed(stream); }

Place Simulation::place_in(u32 rank, const Plan& plan, u32 level_index) const {
    const Level& level = plan.levels[level_index];
    Place place;
    place.size = level.size;
    place.index_stride = level.index_stride;
    if (!plan.members.empty()) {
        const auto& positions = positions_[static_cast<std::size_t>(&plan - model_.plans.data())];
        const auto found =
            std::lower_bound(positions.begin(), positions.end(), std::pair<u32, u32>{rank, 0});
        ensure(found != positions.end() && found->first == rank, "rank is not in its communicator");
        place.members = plan.members.data();
        place.position = found->second;
        return place;
    }
    place.stride = level.stride;
    place.position = rank / level.stride % level.size;
    place.base = rank - place.position * level.stride;
    return place;
}

// One write and two reads of the reduced bytes (astra-sim-semantics 5.2). The order of the
// operations decides the truncated value.
u64 Simulation::reduction_ticks(u64 bytes) const {
    const double bandwidth = model_.system.memory_bytes_per_s;
    if (bandwidth <= 0.0) {
        return 0;
    }
    return 3 * model_.scale.ticks(static_cast<double>(bytes) / bandwidth * 1e9);
}

}  // namespace yantra
