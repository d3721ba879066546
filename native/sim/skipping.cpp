#include "sim/skipping.hpp"

#include <algorithm>
#include <tuple>

#include "base/ensure.hpp"
#include "fold/repetition.hpp"

namespace yantra {

namespace {

constexpr u32 fewest_nodes = 24;      // of a job, for its repetition to be looked for
constexpr u64 words_per_event = 4;    // that looking may cost before it waits for more events
constexpr u64 words_for_nothing = 10'000;
constexpr u32 never_node = none;

}  // namespace

Simulation::Skipping::Skipping(Simulation& run)
    : run_(run), first_open_(run.ranks_.size(), 0), shifts_(run.ranks_.size()) {
    if (!run_.network_->can_repeat()) {
        return;
    }
    u32 longest = 0;
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        if (run_.ranks_[rank].waiting.size() > run_.ranks_[longest].waiting.size()) {
            longest = rank;
        }
    }
    const Job& job = *run_.ranks_[longest].job;
    const Repeats repeats =
        job.ops.size() < fewest_nodes ? Repeats{} : find_repeats(job);
    if (repeats.period > 0) {
        period_ = repeats.period;
        run_.looked_at_ = longest;
        run_.next_look_ = period_;
    }
}

void Simulation::Skipping::look() {
    const u64 done = run_.ranks_[run_.looked_at_].done;
    while (run_.next_look_ <= done) {
        run_.next_look_ += period_;
    }
    if (told_ > words_for_nothing + words_per_event * run_.queue_.processed()) {
        return;
    }
    std::optional<State> now = state();
    if (!now) {
        ++run_.next_look_;  // another moment of the block may be easier to tell
        return;
    }
    told_ += now->words.size();
    if (kept_ && kept_->words == now->words && step_of_tags(*now)) {
        bool same = true;
        for (u32 rank = 0; rank < run_.ranks_.size() && same; ++rank) {
            same = settle(rank, *now);
        }
        const u64 skippable = same ? times() : 0;
        if (skippable > 0) {
            skip(*now, skippable);
        }
        if (same) {
            stop();
            return;
        }
    }
    if (!kept_ || ++since_kept_ == keep_after_) {
        keep_after_ *= kept_ ? 2 : 1;
        keep(std::move(*now));
    }
}

void Simulation::Skipping::keep(State&& state) {
    state.waiting.clear();
    for (const Rank& r : run_.ranks_) {
        told_ += r.waiting.size() / 8;
        state.waiting.push_back(r.waiting);
    }
    state.use = run_.network_->dimensions();
    run_.closed_.mark();
    kept_ = std::move(state);
    since_kept_ = 0;
}

// --- What a state is

std::optional<Simulation::Skipping::State> Simulation::Skipping::state() {
    State state;
    state.tick = run_.queue_.now();
    state.messages = run_.message_count_;
    state.nodes_done = run_.nodes_done_;
    live_.clear();
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        state.counts.push_back(count(rank));
        if (!tell_rank(rank, state)) {
            return std::nullopt;
        }
    }
    if (!in_step(state) || !tell_events(state) || !tell_waiting_messages(state)) {
        return std::nullopt;
    }
    std::sort(live_.begin(), live_.end());
    live_.erase(std::unique(live_.begin(), live_.end()), live_.end());
    return state;
}

// Whether the classes that meet in a circle have all entered its last collective. Else one of them may
// have left a meeting that another has yet to join.
bool Simulation::Skipping::in_step(const State& state) const {
    std::vector<u64> entered(run_.folding_->circles.size(), never);
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        const std::vector<Folding::Membership>& memberships = run_.folding_->memberships[rank];
        for (std::size_t i = 0; i < memberships.size(); ++i) {
            u64& known = entered[memberships[i].circle];
            const u64 streams = state.counts[rank].streams[i];
            if (known != never && known != streams) {
                return false;
            }
            known = streams;
        }
    }
    return true;
}

Simulation::Skipping::Counts Simulation::Skipping::count(u32 rank) {
    const Rank& r = run_.ranks_[rank];
    u32& open = first_open_[rank];
    while (open < r.waiting.size() && run_.end_[r.first_node + open] != never) {
        ++open;
    }
    Counts counts{r.done, open, r.next_priority, r.compute_busy, {}, {}};
    for (const TurnCount& turn : r.turns) {
        counts.turns.push_back(turn.count);
    }
    for (const Folding::Membership& in : run_.folding_->memberships[rank]) {
        counts.streams.push_back(r.streams[in.circle]);
    }
    return counts;
}

// False if the state is one that is not told: between the steps of an exchange, say.
bool Simulation::Skipping::tell_rank(u32 rank, State& state) {
    Rank& r = run_.ranks_[rank];
    std::vector<u64>& words = state.words;
    words.push_back(r.finished);
    if (r.finished) {
        return true;
    }
    if (!r.freed.empty()) {
        return false;
    }
    words.push_back(r.rotation);
    words.insert(words.end(), r.occupied.begin(), r.occupied.end());
    for (const RoundRobin& robin : r.robin) {
        words.insert(words.end(), {robin.any, robin.first, robin.last});
    }
    words.push_back(r.turns.size());
    for (const TurnCount& turn : r.turns) {
        words.insert(words.end(), {u64{turn.turn} << 32U | turn.base, turn.count % 2});
    }
    const u64 queues = 2 * u64{run_.model_.system.queues_per_dimension};
    for (u64 streams : state.counts[rank].streams) {
        words.push_back(streams % queues);
    }
    const std::size_t ready = words.size() + 1;
    words.push_back(0);
    r.ready.for_each([&](u32 node) { tell_node(rank, node, words); });
    words[ready - 1] = words.size() - ready;
    std::sort(words.begin() + static_cast<std::ptrdiff_t>(ready), words.end());
    const Ties::Open open = run_.ties_.open(rank);
    words.insert(words.end(), {open.slots, open.queues.size()});
    words.insert(words.end(), open.queues.begin(), open.queues.end());
    if (open.slots != 0) {
        tell_node(rank, open.node, words);
        tell_node(rank, open.other, words);
    }
    tell_turns(rank, state);
    return tell_queues(rank, state);
}

void Simulation::Skipping::tell_turns(u32 rank, State& state) {
    if (run_.model_.quirks.phases_as_ready) {
        return;
    }
    const Rank& r = run_.ranks_[rank];
    const u32 lane = run_.queues_per_lane_;
    for (const Folding::Membership& in : run_.folding_->memberships[rank]) {
        for (u32 queue = 0; queue < lane; ++queue) {
            const Turns& turns = run_.turns_[in.circle][queue];
            const Queue& q = r.queues[run_.model_.lanes[in.communicator] * lane + queue];
            state.words.insert(state.words.end(), {q.turn - turns.passed, turns.coming.size()});
            for (const Turn& turn : turns.coming) {
                state.words.insert(state.words.end(),
                                   {turn.stream - r.streams[in.circle],
                                    u64{turn.phase} << 32U | turn.members_left});
            }
        }
    }
}

bool Simulation::Skipping::tell_queues(u32 rank, State& state) {
    const Rank& r = run_.ranks_[rank];
    for (u32 queue = 0; queue < r.queues.size(); ++queue) {
        const Queue& q = r.queues[queue];
        if (q.streams.empty()) {
            continue;
        }
        state.words.insert(state.words.end(), {queue, q.running, q.streams.size()});
        for (u32 stream : q.streams) {
            if (!tell_stream(stream, state)) {
                return false;
            }
        }
    }
    state.words.push_back(never);
    return true;
}

// Of a phase that is played event by event nothing is told.
bool Simulation::Skipping::tell_stream(u32 stream, State& state) {
    const Stream& s = run_.streams_[stream];
    if (s.meeting == none || s.started != none || s.early != none) {
        return false;
    }
    const Meeting& m = run_.meetings_[s.meeting];
    const bool early =
        std::any_of(m.early.begin(), m.early.end(), [](u32 at) { return at != none; });
    if (early || m.next != none) {
        return false;
    }
    const Dataset& dataset = run_.datasets_[s.dataset];
    const Rank& r = run_.ranks_[s.rank];
    std::vector<u64>& words = state.words;
    tell_node(s.rank, dataset.node, words);
    const bool given = run_.model_.system.priority == Priority::given;
    words.insert(words.end(), {dataset.streams_left, m.number - r.streams[m.communicator],
                               static_cast<u64>(s.priority - (given ? 0 : r.next_priority)),
                               s.phase - s.first_phase, s.initialised, s.plan, m.left});
    for (u32 at = s.first_phase; at < s.end_phase; ++at) {
        const Phase& phase = run_.phases_[at];
        const Program& program = run_.model_.programs[phase.program];
        if (!std::holds_alternative<ExchangeProgram>(program.machine)) {
            return false;
        }
        words.insert(words.end(), {phase.data, u64{phase.level} << 32U | phase.program,
                                   u64{phase.queue} << 32U | static_cast<u32>(phase.kind),
                                   u64{phase.clockwise} << 2U | u64{phase.fixed_hand_over} << 1U |
                                       u64{phase.idle}});
    }
    for (u32 other : m.stream) {
        words.push_back(other != none);
    }
    return true;
}

bool Simulation::Skipping::tell_events(State& state) {
    for (const Event& event : run_.queue_.pending()) {
        state.words.insert(state.words.end(), {event.time - run_.queue_.now(), event.kind});
        switch (event.kind) {
            case event::local_batch:
                if (!tell_batch(event.index, state)) {
                    return false;
                }
                break;
            case event::arrival:
            case event::departed:
            case event::receive_ready:
                if (!tell_message(event.index, state.words)) {
                    return false;
                }
                state.tags.push_back(run_.messages_[event.index].tag);
                break;
            default:
                return false;
        }
    }
    return true;
}

bool Simulation::Skipping::tell_batch(u32 batch, State& state) {
    const u32 rank = run_.local_.rank_of(batch);
    bool told = true;
    run_.local_.for_each(batch, [&](const LocalEvent& event) {
        state.words.push_back(event.kind);
        if (event.kind == node_done) {
            tell_node(rank, event.a, state.words);
        } else if (event.kind == phase_done) {
            const Stream& s = run_.streams_[event.a];
            tell_node(rank, run_.datasets_[s.dataset].node, state.words);
            state.words.push_back(run_.meetings_[s.meeting].number -
                                  run_.ranks_[rank].streams[circle_of(s)]);
        } else {
            told = false;
        }
    });
    return told;
}

// Of a message of a collective nothing is told.
bool Simulation::Skipping::tell_message(u32 message, std::vector<u64>& words) {
    const Message& m = run_.messages_[message];
    live_.push_back(message);
    words.insert(words.end(), {u64{m.receive_posted} << 1U | u64{m.delivered}, m.bytes});
    for (const Continuation& then : {m.sent, m.received}) {
        words.push_back(then.kind);
        if (then.kind == Continuation::node) {
            tell_node(then.a, then.b, words);
        }
    }
    return m.sent.kind == Continuation::node || m.received.kind == Continuation::node;
}

// No table keeps an order of keys, so they are sorted, tags last.
bool Simulation::Skipping::tell_waiting_messages(State& state) {
    std::vector<std::pair<std::vector<u64>, u32>> sent;
    std::vector<Posted> posted;
    bool told = true;
    auto next = [this](u32 message) { return run_.messages_[message].next; };
    run_.matcher_.for_each_message(next, [&](const MatchKey& key, Matcher::Side side, u32 message) {
        if (side == Matcher::Side::receive) {
            const Continuation& then = run_.messages_[message].received;
            told = told && then.kind == Continuation::node;
            posted.push_back({key, message, then.b});
            return;
        }
        sent.push_back({{key.bytes, u64{key.src} << 32U | key.dst}, key.tag});
        told = tell_message(message, sent.back().first) && told;
    });
    std::stable_sort(sent.begin(), sent.end(), [](const auto& a, const auto& b) {
        return std::tie(a.first[0], a.first[1], a.second) < std::tie(b.first[0], b.first[1], b.second);
    });
    for (const auto& [words, tag] : sent) {
        state.words.insert(state.words.end(), words.begin(), words.end());
        state.tags.push_back(tag);
    }
    std::stable_sort(posted.begin(), posted.end(), [](const Posted& a, const Posted& b) {
        return std::tie(a.key.src, a.key.dst, a.key.bytes, a.key.tag) <
               std::tie(b.key.src, b.key.dst, b.key.bytes, b.key.tag);
    });
    state.posted.resize(run_.ranks_.size());
    for (const Posted& receive : posted) {
        state.posted[run_.messages_[receive.message].received.a].push_back(receive);
    }
    return told;
}

// --- Whether the rest of the run goes as it went from the state kept

// The tags of all messages must be equally higher; what a step is, where there is none yet, the jobs
// say.
bool Simulation::Skipping::step_of_tags(const State& now) {
    tag_step_.reset();
    for (std::size_t i = 0; i < now.tags.size(); ++i) {
        const u32 step = now.tags[i] - kept_->tags[i];
        if (step != tag_step_.value_or(step)) {
            return false;
        }
        tag_step_ = step;
    }
    return true;
}

// Finds what a rank did between the two states, and how far its nodes are again what they were.
bool Simulation::Skipping::settle(u32 rank, const State& now) {
    const Counts& before = kept_->counts[rank];
    Shift& shift = shifts_[rank];
    shift = {};
    shift.by = static_cast<u32>(now.counts[rank].done - before.done);
    if (now.counts[rank].first_open - before.first_open != shift.by) {
        return false;
    }
    follow(rank);
    compare_nodes(rank, now);
    compare_posted(rank, now);
    return shift.by > 0 || shift.started.empty();
}

// What started and ended after the state kept, and the last node whose parents did.
void Simulation::Skipping::follow(u32 rank) {
    const Rank& r = run_.ranks_[rank];
    const Graph& graph = *r.job->graph;
    const u64* const start = run_.start_.data() + r.first_node;
    const u64* const end = run_.end_.data() + r.first_node;
    Shift& shift = shifts_[rank];
    for (u32 node = kept_->counts[rank].first_open; node < graph.size(); ++node) {
        if (start[node] != never && start[node] > kept_->tick) {
            shift.started.push_back(node);
            shift.highest = std::max(shift.highest, node);
        }
        if (end[node] != never && end[node] > kept_->tick) {
            shift.ended.push_back(node);
            shift.highest = std::max(shift.highest, node);
            for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
                shift.highest = std::max(shift.highest, graph.child[i]);
            }
        }
    }
    shift.more_in_flight =
        static_cast<i64>(shift.started.size()) - static_cast<i64>(shift.ended.size());
}

void Simulation::Skipping::compare_nodes(u32 rank, const State& now) {
    const Rank& r = run_.ranks_[rank];
    const u64* const start = run_.start_.data() + r.first_node;
    const u64* const end = run_.end_.data() + r.first_node;
    Shift& shift = shifts_[rank];
    auto had = [this](u64 tick) { return tick != never && tick <= kept_->tick; };
    const u32 size = static_cast<u32>(r.waiting.size());
    for (shift.end = now.counts[rank].first_open; shift.end < size; ++shift.end) {
        const u32 later = shift.end;
        const u32 node = later - shift.by;
        const Op& op = r.job->ops[later];
        if (!tag_step_ && (op.kind == OpKind::send || op.kind == OpKind::receive)) {
            tag_step_ = op.tag - r.job->ops[node].tag;
        }
        if (r.waiting[later] != kept_->waiting[rank][node] ||
            (start[later] != never) != had(start[node]) ||
            (end[later] != never) != had(end[node]) ||
            (shift.by > 0 && !repeats(*r.job, node, later, tag_step_.value_or(0)))) {
            break;
        }
    }
}

// The receives that wait must be those that waited, in their order, up to the first that is not: there
// the nodes end that are what they were.
void Simulation::Skipping::compare_posted(u32 rank, const State& now) {
    Shift& shift = shifts_[rank];
    std::vector<Posted> before = kept_->posted[rank];
    for (Posted& receive : before) {
        receive.node += shift.by;
        receive.key.tag += tag_step_.value_or(0);
    }
    std::vector<Posted> after = now.posted[rank];
    const u64* const start = run_.start_.data() + run_.ranks_[rank].first_node;
    for (const Posted& receive : after) {
        if (start[receive.node] <= kept_->tick) {
            shift.last_posted = std::max(shift.last_posted, receive.node);
        }
    }
    for (;;) {
        auto beyond = [&shift](const Posted& receive) { return receive.node >= shift.end; };
        before.erase(std::remove_if(before.begin(), before.end(), beyond), before.end());
        after.erase(std::remove_if(after.begin(), after.end(), beyond), after.end());
        const auto [a, b] = std::mismatch(
            before.begin(), before.end(), after.begin(), after.end(),
            [](const Posted& x, const Posted& y) { return x.node == y.node && x.key == y.key; });
        if (a == before.end() && b == after.end()) {
            return;
        }
        shift.end = std::min(a == before.end() ? never_node : a->node,
                             b == after.end() ? never_node : b->node);
    }
}

// How often all ranks can do so before one touches a node that is not as it was. A rank of which ever
// fewer receives wait must keep one, so that it is never without work where it was not before.
u64 Simulation::Skipping::times() const {
    u64 fewest = never;
    for (const Shift& shift : shifts_) {
        if (shift.by == 0) {
            continue;
        }
        const u32 end = shift.more_in_flight == 0 ? shift.end : std::min(shift.end, shift.last_posted);
        fewest = std::min<u64>(fewest, end > shift.highest ? (end - 1 - shift.highest) / shift.by : 0);
    }
    return fewest == never ? 0 : fewest;
}

// --- Moving on

void Simulation::Skipping::skip(const State& now, u64 times) {
    const u64 ticks = now.tick - kept_->tick;
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        write_times(rank, ticks, times);
    }
    move_events(times, ticks * times);
    move_messages(now, times);
    move_turns(now, times);
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        move_streams(rank, now, times);
    }
    move_collectives(times);
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        move_rank(rank, now, times);
    }
    run_.network_->repeat(kept_->use, times);
    run_.closed_.repeat(times);
    run_.message_count_ += (now.messages - kept_->messages) * times;
    run_.nodes_done_ += (now.nodes_done - kept_->nodes_done) * times;
    skipped_ += (now.nodes_done - kept_->nodes_done) * times;
}

void Simulation::Skipping::write_times(u32 rank, u64 ticks, u64 times) {
    const Shift& shift = shifts_[rank];
    u64* const start = run_.start_.data() + run_.ranks_[rank].first_node;
    u64* const end = run_.end_.data() + run_.ranks_[rank].first_node;
    for (u64 time = 1; time <= times; ++time) {
        const u64 by = time * shift.by;
        for (u32 node : shift.started) {
            start[node + by] = start[node] + time * ticks;
        }
        for (u32 node : shift.ended) {
            end[node + by] = end[node] + time * ticks;
        }
    }
}

// What nodes wait for: of those between the first that has not ended and the last that was touched.
void Simulation::Skipping::move_rank(u32 rank, const State& now, u64 times) {
    Rank& r = run_.ranks_[rank];
    const Counts& counts = now.counts[rank];
    const Counts& before = kept_->counts[rank];
    const Shift& shift = shifts_[rank];
    const u32 first = counts.first_open;
    const u32 by = moved(rank, 0, times);
    if (by > 0 && shift.highest >= first) {
        const auto from = r.waiting.begin() + first;
        const auto last = r.waiting.begin() + shift.highest + 1;
        std::copy_backward(from, last, last + by);
    }
    r.ready.move_on(by);
    r.done += by;
    r.in_flight = static_cast<u32>(i64{r.in_flight} + static_cast<i64>(times) * shift.more_in_flight);
    r.next_priority += static_cast<i64>(times) * (counts.next_priority - before.next_priority);
    r.compute_busy += times * (counts.compute_busy - before.compute_busy);
    for (std::size_t i = 0; i < r.turns.size(); ++i) {
        r.turns[i].count += static_cast<u32>(times) * (counts.turns[i] - before.turns[i]);
    }
    const std::vector<Folding::Membership>& memberships = run_.folding_->memberships[rank];
    for (std::size_t i = 0; i < memberships.size(); ++i) {
        r.streams[memberships[i].circle] += times * (counts.streams[i] - before.streams[i]);
    }
    const Ties::Open open = run_.ties_.open(rank);
    open.node += by;
    open.other += by;
}

void Simulation::Skipping::move_streams(u32 rank, const State& now, u64 times) {
    const Rank& r = run_.ranks_[rank];
    const i64 priority = static_cast<i64>(times) *
                         (now.counts[rank].next_priority - kept_->counts[rank].next_priority);
    const std::vector<Folding::Membership>& memberships = run_.folding_->memberships[rank];
    std::vector<u64> by(run_.folding_->circles.size(), 0);
    for (std::size_t i = 0; i < memberships.size(); ++i) {
        by[memberships[i].circle] =
            times * (now.counts[rank].streams[i] - kept_->counts[rank].streams[i]);
    }
    for (const Queue& q : r.queues) {
        for (u32 stream : q.streams) {
            Stream& s = run_.streams_[stream];
            s.id += by[circle_of(s)];
            s.priority += priority;
            meetings_.emplace_back(s.meeting, by[circle_of(s)]);
            datasets_.push_back(s.dataset);
        }
    }
}

void Simulation::Skipping::move_collectives(u64 times) {
    std::sort(datasets_.begin(), datasets_.end());
    datasets_.erase(std::unique(datasets_.begin(), datasets_.end()), datasets_.end());
    for (u32 dataset : datasets_) {
        Dataset& d = run_.datasets_[dataset];
        d.node = moved(d.rank, d.node, times);
    }
    std::sort(meetings_.begin(), meetings_.end());
    meetings_.erase(std::unique(meetings_.begin(), meetings_.end()), meetings_.end());
    for (const auto& [meeting, by] : meetings_) {
        const Meeting& m = run_.meetings_[meeting];
        run_.meeting_of_[m.communicator][m.number] = none;
    }
    for (const auto& [meeting, by] : meetings_) {
        Meeting& m = run_.meetings_[meeting];
        m.number += by;
        std::vector<u32>& by_number = run_.meeting_of_[m.communicator];
        if (by_number.size() <= m.number) {
            by_number.resize(m.number + 1, none);
        }
        by_number[m.number] = meeting;
    }
}

void Simulation::Skipping::move_turns(const State& now, u64 times) {
    std::vector<u64> by(run_.folding_->circles.size(), 0);
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        const std::vector<Folding::Membership>& memberships = run_.folding_->memberships[rank];
        for (std::size_t i = 0; i < memberships.size(); ++i) {
            by[memberships[i].circle] =
                times * (now.counts[rank].streams[i] - kept_->counts[rank].streams[i]);
        }
    }
    for (std::size_t circle = 0; circle < by.size(); ++circle) {
        for (Turns& turns : run_.turns_[circle]) {
            for (Turn& turn : turns.coming) {
                turn.stream += by[circle];
            }
        }
    }
}

void Simulation::Skipping::move_events(u64 times, u64 ticks) {
    for (const Event& event : run_.queue_.pending()) {
        if (event.kind == event::local_batch) {
            const u32 rank = run_.local_.rank_of(event.index);
            run_.local_.for_each(event.index, [&](LocalEvent& local) {
                local.a = local.kind == node_done ? moved(rank, local.a, times) : local.a;
            });
            run_.local_.postpone(event.index, ticks);
        }
    }
    run_.queue_.leap(ticks);
}

// Messages that were sent move on with their nodes. Of the receives that wait, each that would wait
// again after so many times does, in place of those that waited up to where nodes differ.
void Simulation::Skipping::move_messages(const State& now, u64 times) {
    const u32 higher = static_cast<u32>(times) * tag_step_.value_or(0);
    std::vector<std::pair<MatchKey, u32>> sent;
    auto next = [this](u32 message) { return run_.messages_[message].next; };
    run_.matcher_.for_each_message(next, [&](const MatchKey& key, Matcher::Side side, u32 message) {
        if (side == Matcher::Side::send) {
            sent.emplace_back(key, message);
        }
    });
    run_.matcher_ = {};
    for (u32 message : live_) {
        Message& m = run_.messages_[message];
        for (Continuation* then : {&m.sent, &m.received}) {
            if (then->kind == Continuation::node) {
                then->b = moved(then->a, then->b, times);
            }
        }
        m.tag += higher;
    }
    for (auto& [key, message] : sent) {
        key.tag += higher;
        wait_again(key, Matcher::Side::send, message);
    }
    for (u32 rank = 0; rank < run_.ranks_.size(); ++rank) {
        const u32 end = shifts_[rank].end;
        for (Posted receive : now.posted[rank]) {
            const u32 node = moved(rank, receive.node, times);
            if (receive.node < end && node < end) {
                run_.messages_[receive.message].received.b = node;
                receive.key.tag += higher;
                wait_again(receive.key, Matcher::Side::receive, receive.message);
            } else if (receive.node < end) {
                run_.messages_.give_back(receive.message);
            }
        }
        for (const Posted& receive : now.posted[rank]) {
            if (receive.node >= end) {
                wait_again(receive.key, Matcher::Side::receive, receive.message);
            }
        }
    }
}

void Simulation::Skipping::wait_again(const MatchKey& key, Matcher::Side side, u32 message) {
    const u32 partner = run_.matcher_.match(
        key, side, message, [this](u32 m) -> u32& { return run_.messages_[m].next; });
    ensure(partner == none, "a message waits where its other half does");
}

}  // namespace yantra
